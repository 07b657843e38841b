"""One attempt to run a statement that changes rows."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from indextables.config import PREFIX, Config, canonical
from indextables.errors import MergeCardinalityError
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.maintain.row_changes import RowChanges, RowsRead
from indextables.plural import pluralize
from indextables.read.scan_spec import ADDRESS
from indextables.spark.api.dataframe_reader import frame_with_address, resolve_version
from indextables.spark.api.dataframe_writer import run_job
from indextables.spark.catalog import refresh_columns
from indextables.spark.catalyst.insert_analysis import insert_of_frame
from indextables.spark.catalyst.query_planning import TableRead, planned_reads
from indextables.spark.catalyst.relation import relation_frame
from indextables.spark.source.options import VIEW
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.read_options import ReadOptions, condition_text
from indextables.spark.source.spark_types import arrow_schema, spark_schema
from indextables.spark.statements.found_changes import FoundChanges
from indextables.spark.statements.insert import resolve_insert
from indextables.spark.statements.row_queries import CLAUSE, MARKER, Named, RowQuery, evolved, row_column
from indextables.spark.statements.row_target import RowTarget
from indextables.split.deletion_bitmap import RowNumbers, encode_bitmap
from indextables.statements.row_level_statements import (
    DeleteFrom,
    DeleteRow,
    InsertAll,
    InsertRow,
    MergeInto,
    UpdateAll,
    UpdateSet,
    UpdateTable,
)
from indextables.statements.tokens import tokens_of
from indextables.write.job_planning import plan_on
from indextables.write.write_job import Mode

RunQuery: TypeAlias = Callable[[str], DataFrame]
_MANY_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class RowChange:
    """One attempt to run a statement, on the version that the table has now."""

    spark: SparkSession
    target: RowTarget
    query: RunQuery
    options: Mapping[str, str]
    snapshot: Snapshot
    settings: Mapping[str, str]
    prefix: str

    @classmethod
    def of(cls, spark: SparkSession, target: RowTarget, query: RunQuery) -> "RowChange":
        options, snapshot = resolve_version(spark, {**target.settings, "path": target.location})
        settings = canonical(target.all_settings(spark))
        return cls(spark, target, query, options, snapshot, settings, f"{VIEW}{uuid4().hex}_")

    def delete(self, statement: DeleteFrom) -> dict[str, int]:
        with self.target_view() as view:
            query = self.row_query("DELETE", self.named(view, statement.alias))
            rows, reads = planned_reads(self.query(query.delete(statement)))
            changed = _Changed(rows, reads, FoundChanges.of(rows))
        if changed.found.total:
            changes = self.changes(Operation.DELETE, changed, {}, statement.where)
            changes.commit_without_rows(self.log(), self.snapshot, self.config())
        return {"num_affected_rows": changed.found.total}

    def update(self, statement: UpdateTable) -> dict[str, int]:
        with self.target_view() as view:
            query = self.row_query("UPDATE", self.named(view, statement.alias))
            with self.kept(self.query(query.update(statement))) as (rows, reads):
                changed = _Changed(rows, reads, FoundChanges.of(rows))
                if changed.found.total:
                    metrics = {"numUpdatedRows": changed.found.total, "numDeletedRows": 0}
                    changes = self.changes(Operation.UPDATE, changed, metrics, statement.where)
                    self.write(self.new_rows(rows, [0], self.columns), changes, self.config())
        return {"num_affected_rows": changed.found.total}

    def merge(self, statement: MergeInto) -> dict[str, int]:
        with contextlib.ExitStack() as stack:
            source, source_reads = stack.enter_context(self.source(statement))
            target = self.named(stack.enter_context(self.target_view()), statement.alias)
            query, config = self.merge_query(statement, target, source)
            rows, reads = stack.enter_context(self.kept(self.query(query.merge(statement, source))))
            changed = _Changed(rows, [*reads, *source_reads], FoundChanges.of(rows))
            if changed.found.twice:
                raise self.cardinality(statement, changed.found.twice)
            if changed.found.total:
                self.commit_merge(statement, changed, query.columns, config)
        updated, deleted, inserted = _counts(statement, changed.found)
        return {
            "num_affected_rows": changed.found.total,
            "num_updated_rows": updated,
            "num_deleted_rows": deleted,
            "num_inserted_rows": inserted,
        }

    @contextlib.contextmanager
    def source(self, statement: MergeInto) -> Iterator[tuple[Named, list[TableRead]]]:
        """The source of a MERGE, computed once, and what it reads of our tables."""
        text = f"{statement.with_clause}SELECT * FROM {statement.source}"  # noqa: S608 - the user's own SQL
        frame = self.query(text)
        with self.kept(frame.withColumn(MARKER, F.lit(True))) as (rows, reads), self.view("source", rows) as view:
            count = (
                rows.count()
            )  # then its size is known, and the keys of a small source prune the splits of the target
            yield Named(view, statement.source_alias or view, frame.schema, is_large=count > _MANY_ROWS), reads

    def merge_query(self, statement: MergeInto, target: Named, source: Named) -> tuple[RowQuery, Config]:
        """The query of a MERGE, and the settings of its write: it may add columns of the source to the table."""
        query, config = self.row_query("MERGE INTO", target, source), self.config()
        if not statement.schema_evolution and not config.write.merge_schema:
            return query, config
        columns = evolved(statement, self.columns, source.columns, case_sensitive=query.case_sensitive)
        return replace(query, columns=columns, keeps_missing=True), self.config(mergeSchema="true")

    def commit_merge(self, statement: MergeInto, changed: "_Changed", columns: StructType, config: Config) -> None:
        metrics = dict(
            zip(("numUpdatedRows", "numDeletedRows", "numInsertedRows"), _counts(statement, changed.found), strict=True)
        )
        changes = self.changes(Operation.MERGE_INTO, changed, metrics, statement.on)
        writing = [n for n in sorted(changed.found.counts) if not isinstance(statement.clauses[n].action, DeleteRow)]
        if not writing:
            changes.commit_without_rows(self.log(), self.snapshot, config)
            return
        self.write(self.new_rows(changed.rows, writing, columns), changes, config)
        if self.target.catalog_name is not None and len(columns) > len(self.columns):
            refresh_columns(self.spark, self.target.catalog_name)

    def row_query(self, statement: str, target: Named, source: Named | None = None) -> RowQuery:
        return RowQuery(statement, target, self.columns, ReadOptions.of(self.options).case_sensitive, source)

    @property
    def columns(self) -> StructType:
        return spark_schema(self.snapshot.metadata.arrow_schema())

    def log(self) -> TransactionLog:
        return TransactionLog.open(self.target.location, self.config()).for_table(self.snapshot.metadata.id)

    def config(self, **settings: str) -> Config:
        given = {**self.settings, **{f"{PREFIX}{key}": value for key, value in settings.items()}}
        return Config.resolve(given, properties=self.snapshot.metadata.properties)

    def named(self, view: str, alias: str | None) -> Named:
        return Named(view, alias or self.target.alias, self.columns, self.target.qualifiers(alias))

    def target_view(self) -> contextlib.AbstractContextManager[str]:
        """The table as it is now, with the columns that say where a row is."""
        return self.view("target", frame_with_address(self.spark, self.options, self.snapshot))

    @contextlib.contextmanager
    def view(self, name: str, frame: DataFrame) -> Iterator[str]:
        """A temporary view of a frame."""
        frame.createTempView(f"{self.prefix}{name}")
        try:
            yield f"{self.prefix}{name}"
        finally:
            self.spark.catalog.dropTempView(f"{self.prefix}{name}")

    def rows_read(self, reads: Sequence[TableRead]) -> RowsRead:
        """The rows of the table that a statement depends on: all, if it reads the table in a subquery or a source, too."""
        same = [read.scan for read in reads if read.table.options.path == self.options["path"]]
        if len(same) != 1 or same[0] is None:
            return RowsRead(whole_table=True)
        return RowsRead(condition_text(same[0].plan.scan_spec))

    @contextlib.contextmanager
    def kept(self, frame: DataFrame) -> Iterator[tuple[DataFrame, list[TableRead]]]:
        """The rows of a frame, kept on disk, so that they are computed once; and what they read of our tables."""
        rows, reads = planned_reads(frame)
        rows.persist(StorageLevel.DISK_ONLY)
        try:
            yield rows, reads
        finally:
            rows.unpersist()

    def changes(
        self, operation: Operation, changed: "_Changed", metrics: Mapping[str, int], predicate: str | None
    ) -> RowChanges:
        return RowChanges(
            operation=operation,
            version=self.snapshot.version,
            rows={path: encode_bitmap(rows) for path, rows in changed.found.rows.items()},
            reads=self.rows_read(changed.reads),
            metrics=metrics,
            parameters={"predicate": predicate or "true"},
        )

    def new_rows(self, changes: DataFrame, clauses: Sequence[int], columns: StructType) -> DataFrame:
        """The new rows of some clauses, cast to the columns of the table as Spark casts the rows of an INSERT."""
        with self.view("columns", relation_frame(self.spark, columns, self.options)) as view:
            insert = f"INSERT INTO {quote_name([view])} SELECT 1"
            frames = [
                resolve_insert(
                    self.spark,
                    insert_of_frame(changes.where(F.col(CLAUSE) == n).select(f"{row_column(n)}.*"), insert),
                ).frame
                for n in clauses
            ]
        return reduce(DataFrame.union, frames)

    def write(self, rows: DataFrame, changes: RowChanges, config: Config) -> None:
        job = plan_on(
            self.log(),
            self.snapshot,
            arrow_schema(rows.schema),
            config,
            mode=Mode.OVERWRITE,
            overwrite=lambda *_, **__: changes,
        )
        if not job.already_committed:
            run_job(rows, job)

    def cardinality(self, statement: MergeInto, twice: Mapping[str, RowNumbers]) -> MergeCardinalityError:
        """The error that several rows of the source match one row of the table, which it shows."""
        (path, numbers), rows = next(iter(twice.items())), sum(map(len, twice.values()))
        words = {token.text.lower() for token in tokens_of(statement.on)}
        frame = frame_with_address(self.spark, self.options, self.snapshot)
        row = frame.where((F.col(ADDRESS[0]) == path) & (F.col(ADDRESS[1]) == int(numbers[0]))).first()
        example = {n: row[n] for n in self.columns.names if row is not None and n.lower() in words}
        shown = ", ".join(f"{name} = {value!r}" for name, value in example.items())
        return MergeCardinalityError(
            f"MERGE INTO {self.target.name} cannot be run (MERGE_CARDINALITY_VIOLATION): several rows of the source would "
            f"change the same row of the table ({pluralize(rows, 'such row')}, for example {shown}); make the source unique "
            "by the columns of ON; nothing was written",
            reason="several rows of the source would change the same row",
            rows=rows,
            keys=[example],
        )


@dataclass(frozen=True, slots=True)
class _Changed:
    """The rows of the query of a statement, what it reads of our tables, and what it has found."""

    rows: DataFrame
    reads: Sequence[TableRead]
    found: FoundChanges


def _counts(statement: MergeInto, found: FoundChanges) -> tuple[int, int, int]:
    """How many rows a MERGE updates, deletes and inserts."""
    kinds = ((UpdateSet, UpdateAll), (DeleteRow,), (InsertRow, InsertAll))
    updated, deleted, inserted = (found.of_actions(statement.clauses, *actions) for actions in kinds)
    return updated, deleted, inserted
