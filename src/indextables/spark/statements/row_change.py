"""One attempt to run a statement that changes rows of a table: its query is run, its rows are written, in one commit."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TypeAlias
from uuid import uuid4

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from indextables.config import PREFIX, Config, canonical
from indextables.errors import MergeCardinalityError, PredicateError
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.maintain.delete_rows import delete_rows
from indextables.maintain.row_replacement import FoundRowsOverwrite, RowsRead
from indextables.plural import pluralize
from indextables.predicate import casts, parse_condition
from indextables.read.scan_spec import ADDRESS
from indextables.spark.catalyst.insert_analysis import insert_of_frame
from indextables.spark.catalyst.query_planning import TableRead, planned_reads
from indextables.spark.catalyst.relation import relation_frame
from indextables.spark.environment.session_settings import condition_settings, settings_of
from indextables.spark.frames.catalog import refresh_columns
from indextables.spark.frames.dataframe_reader import frame_with_address
from indextables.spark.frames.dataframe_writer import run_job
from indextables.spark.frames.insert import resolve_insert
from indextables.spark.options import VIEW
from indextables.spark.planner.read_options import ReadOptions, condition_text
from indextables.spark.planner.snapshots import log_of
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.spark_types import arrow_schema, spark_schema
from indextables.spark.statements.row_queries import CLAUSE, MARKER, PATH, ROW, Named, RowQuery, evolved, row_column
from indextables.split.deletion_bitmap import RowNumbers, encode_bitmap
from indextables.statements.row_changes import (
    Action,
    Clause,
    Delete,
    Merge,
    affected_rows,
    unqualified_condition,
)
from indextables.statements.row_level_statements import RowLevelStatement
from indextables.statements.tokens import tokens_of
from indextables.write.job_planning import plan_on
from indextables.write.write_job import Mode

RunQuery: TypeAlias = Callable[[str], DataFrame]
_MANY_ROWS = 100_000
_ROWS, _COUNT = "rows", "count"
_METRICS = {"numUpdatedRows": Action.UPDATE, "numDeletedRows": Action.DELETE, "numInsertedRows": Action.INSERT}


@dataclass(frozen=True, slots=True)
class RowTarget:
    """The table that a statement changes: one of the catalog, a path, or a temporary view of a whole table.

    `name` is that of messages. `catalog_name` is None for a table that the catalog does not know. `settings` are those that
    a view reads it with. `read` has the options of a read and the snapshot, where the table has been read already.
    """

    name: str
    location: str
    catalog_name: tuple[str, ...] | None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # there may be secrets among them
    read: tuple[Mapping[str, str], Snapshot] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RowChangeAttempt:
    """A statement, and the version of its table on which it is run; `query` is our own `spark.sql`."""

    spark: SparkSession
    target: RowTarget
    statement: RowLevelStatement
    query: RunQuery
    options: Mapping[str, str]
    snapshot: Snapshot
    prefix: str = field(default_factory=lambda: f"{VIEW}{uuid4().hex}_")

    def run(self) -> dict[str, int]:
        """The numbers of rows that changed, as the statement returns them."""
        change = self.statement.change
        if isinstance(change, Delete) and self.scans_evaluate(change):
            _, done = delete_rows(self.log, self.snapshot, self.config(), change, **condition_settings(self.spark))
            return affected_rows(change, {Action.DELETE: done.rows})
        with contextlib.ExitStack() as stack:
            merge = change if isinstance(change, Merge) else None
            source, source_reads = (None, []) if merge is None else stack.enter_context(self.source(merge))
            query, config = self.row_query(stack.enter_context(self.target_view()), source)
            frame = self.query(self.statement.with_clause + query.text)
            writes = any(clause.action is not Action.DELETE for clause in change.clauses)
            rows, reads = stack.enter_context(self.kept(frame)) if writes else planned_reads(frame)
            found = FoundChanges.of(rows)
            if merge is not None and found.twice:
                raise self.cardinality(merge, found.twice)
            if found.total:
                self.commit(rows, found, self.rows_read([*reads, *source_reads]), query.columns, config)
        return affected_rows(change, found.by_action(change.clauses))

    def scans_evaluate(self, delete: Delete) -> bool:
        """Whether our own scans evaluate the condition of a DELETE as Spark does."""
        schema = self.snapshot.metadata.arrow_schema()
        try:
            predicate = parse_condition(
                unqualified_condition(delete) or "true", schema, **condition_settings(self.spark)
            )
        except PredicateError:
            return False
        return not any(casts(predicate))

    @contextlib.contextmanager
    def source(self, merge: Merge) -> Iterator[tuple[Named, list[TableRead]]]:
        """The source of a MERGE, computed once, and what it reads of our tables."""
        frame = self.query(f"{self.statement.with_clause}SELECT * FROM {self.statement.source}")  # noqa: S608 - the user's own SQL
        with self.kept(frame.withColumn(MARKER, F.lit(True))) as (rows, reads), self.view("source", rows) as view:
            is_large = rows.count() > _MANY_ROWS  # then the keys of a small one prune the splits of the target
            yield Named(view, merge.source_alias or view, frame.schema, is_large=is_large), reads

    def row_query(self, view: str, source: Named | None) -> tuple[RowQuery, Config]:
        """The query, and the settings of its write: a MERGE may add columns of the source to the table."""
        change, config, columns = self.statement.change, self.config(), self.columns
        case_sensitive = ReadOptions.of(self.options).case_sensitive
        evolves = isinstance(change, Merge) and (change.merge_schema or config.write.merge_schema)
        if source is not None and evolves:
            columns = evolved(change.clauses, columns, source.columns, case_sensitive=case_sensitive)
            config = self.config(mergeSchema="true")
        target = Named(view, change.alias or view, self.columns)
        return RowQuery(change, target, columns, case_sensitive, source, keeps_missing=evolves), config

    def commit(
        self, rows: DataFrame, found: "FoundChanges", reads: RowsRead, columns: StructType, config: Config
    ) -> None:
        """Deletes the rows that were found, and writes the new ones; `columns` are those of the table afterwards."""
        change, clauses = self.statement.change, self.statement.change.clauses
        counts = found.by_action(clauses)
        changes = FoundRowsOverwrite(
            operation=Operation(change.name),
            version=self.snapshot.version,
            rows={path: encode_bitmap(numbers) for path, numbers in found.rows.items()},
            reads=reads,
            metrics={
                name: counts[action]
                for name, action in _METRICS.items()
                if counts[action] or action is Action.DELETE or isinstance(change, Merge)
            },
            parameters={"predicate": change.on if isinstance(change, Merge) else str(change.where or "true")},
        )
        writing = [number for number in sorted(found.counts) if clauses[number].action is not Action.DELETE]
        if not writing:
            changes.commit_without_rows(self.log, self.snapshot, config)
            return
        new = self.new_rows(rows, writing, columns)
        plan = partial(plan_on, self.log, self.snapshot, mode=Mode.OVERWRITE, overwrite=lambda *_, **__: changes)
        job = plan(arrow_schema(new.schema), config)
        if not job.already_committed:
            run_job(new, job, log=self.log)
        if self.target.catalog_name is not None and len(columns) > len(self.columns):
            refresh_columns(self.spark, self.target.catalog_name)

    @property
    def columns(self) -> StructType:
        return spark_schema(self.snapshot.metadata.arrow_schema())

    @property
    def log(self) -> TransactionLog:
        log = log_of(ReadOptions.of(self.options))
        return log.configured(self.config()).for_table(self.snapshot.metadata.id)

    def config(self, **settings: str) -> Config:
        """The settings of the session, those of the view, which win, and these."""
        session = settings_of(self.spark, self.target.location, self.target.settings)
        own = {f"{PREFIX}{key}": value for key, value in settings.items()}
        given = {**canonical({**session, **self.target.settings}), **own}
        return Config.resolve(given, properties=self.snapshot.metadata.properties)

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

    def cardinality(self, merge: Merge, twice: Mapping[str, RowNumbers]) -> MergeCardinalityError:
        """The error that several rows of the source match one row of the table, which it shows."""
        (path, numbers), rows = next(iter(twice.items())), sum(map(len, twice.values()))
        words = {token.text.lower() for token in tokens_of(merge.on)}
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
class FoundChanges:
    """What a query has found: the numbers of the rows of each split that go, and how many rows each clause concerns."""

    rows: Mapping[str, RowNumbers]
    counts: Mapping[int, int]

    @classmethod
    def of(cls, changes: DataFrame) -> "FoundChanges":
        groups = changes.groupBy(PATH, CLAUSE).agg(F.collect_list(ROW).alias(_ROWS), F.count(F.lit(1)).alias(_COUNT))
        found = groups.toArrow()
        rows: dict[str, list[RowNumbers]] = {}
        counts: dict[int, int] = {}
        columns = (found[name].to_pylist() for name in (PATH, CLAUSE, _COUNT))
        for path, clause, count, numbers in zip(*columns, found[_ROWS], strict=True):  # a split, or one clause in it
            counts[clause] = counts.get(clause, 0) + count
            if path is not None:
                rows.setdefault(path, []).append(np.asarray(numbers.values, np.int64))
        return cls({path: np.sort(np.concatenate(parts)) for path, parts in rows.items()}, counts)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def twice(self) -> dict[str, RowNumbers]:
        """The rows that were found more than once."""
        repeated = {path: np.unique(rows[1:][rows[1:] == rows[:-1]]) for path, rows in self.rows.items()}
        return {path: rows for path, rows in repeated.items() if len(rows)}

    def by_action(self, clauses: Sequence[Clause]) -> dict[Action, int]:
        """How many rows are updated, deleted and inserted."""
        return {
            action: sum(count for number, count in self.counts.items() if clauses[number].action is action)
            for action in Action
        }
