"""DELETE FROM, UPDATE and MERGE INTO on tables of ours. Spark evaluates conditions and expressions.

1. The table, with two columns that say where a row is, and the source of a MERGE become views (`row_queries`).
2. One query over them finds the rows that change, and computes the new ones. Its result is kept, so that it is computed once.
3. The rows that go are deletion vectors, the new ones are written like those of any write, and one commit has both.

A statement that another writer gets ahead of is run again on the table as it is then.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, assert_never
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from indextables.config import PREFIX, Config, canonical
from indextables.errors import IndexTablesError, MergeCardinalityError, PredicateError
from indextables.events import log_event
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.maintain.row_changes import RowChanges, RowsRead, is_conflict
from indextables.predicate import casts, parse_condition
from indextables.read.scan_spec import ADDRESS
from indextables.spark.api.dataframe_reader import frame_with_address, resolve_version
from indextables.spark.api.dataframe_writer import run_job
from indextables.spark.catalog import refresh_columns
from indextables.spark.catalyst.handles import SPARK_ERRORS
from indextables.spark.catalyst.insert_analysis import insert_of_frame
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.catalyst.query_planning import planned_scans
from indextables.spark.catalyst.relation import relation_frame
from indextables.spark.job_description import described_jobs
from indextables.spark.planner.scan_builder import PlannedScan
from indextables.spark.source.options import VIEW, settings_of
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.read_options import condition_text
from indextables.spark.source.spark_types import arrow_schema, spark_schema
from indextables.spark.statements.insert import resolve_insert
from indextables.spark.statements.row_queries import (
    CLAUSE,
    MARKER,
    PATH,
    ROW,
    Named,
    RowQuery,
    evolved,
    row_column,
)
from indextables.spark.statements.row_target import RowTarget
from indextables.split.deletion_bitmap import RowNumbers, encode_bitmap
from indextables.statements.row_level_statements import (
    DeleteFrom,
    DeleteRow,
    InsertAll,
    InsertRow,
    MergeInto,
    RowLevelStatement,
    UpdateAll,
    UpdateSet,
    UpdateTable,
    refuse_non_deterministic,
    without_qualifier,
)
from indextables.statements.tokens import tokens_of
from indextables.table import IndexTable
from indextables.write.job_planning import plan_on
from indextables.write.write_job import Mode

logger = logging.getLogger(__name__)
RunQuery: TypeAlias = Callable[[str], DataFrame]
_ATTEMPTS = 5  # of a statement that others get ahead of
_ROWS, _COUNT = "rows", "count"


def run_row_level(spark: SparkSession, target: RowTarget, statement: RowLevelStatement, query: RunQuery) -> DataFrame:
    """Runs a statement; `query` is our own `spark.sql`. The result has one row with the numbers of rows that changed."""
    with described_jobs(spark, f"change rows of {target.location}"):
        match statement:
            case DeleteFrom():
                refuse_non_deterministic(statement.where)
                counts = _delete(spark, target, statement, query)
            case UpdateTable():
                refuse_non_deterministic(statement.where)
                counts = _retried(target, lambda: _Change.of(spark, target, query).update(statement))
            case MergeInto():
                refuse_non_deterministic(statement.on, *(clause.condition for clause in statement.clauses))
                counts = _retried(target, lambda: _Change.of(spark, target, query).merge(statement))
            case _:
                assert_never(statement)
    return local_frame(spark, pa.table({name: pa.array([count], pa.int64()) for name, count in counts.items()}))


def _retried(target: RowTarget, run: Callable[[], dict[str, int]]) -> dict[str, int]:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return run()
        except (IndexTablesError, *SPARK_ERRORS) as error:
            if attempt == _ATTEMPTS or not is_conflict(error):
                raise
            log_event(logger, "Statement is run again", table=target.location, attempt=attempt, reason=str(error))
    raise AssertionError("the last attempt returns or raises")


def _delete(spark: SparkSession, target: RowTarget, statement: DeleteFrom, query: RunQuery) -> dict[str, int]:
    condition = _own_condition(spark, target, statement)
    if condition is None:
        return _retried(target, lambda: _Change.of(spark, target, query).delete(statement))
    table = IndexTable.open(target.location, options=settings_of(spark, target.location))
    return {"num_affected_rows": table.delete(condition, **_condition_settings(spark)).rows}


def _own_condition(spark: SparkSession, target: RowTarget, statement: DeleteFrom) -> str | None:
    """The condition of a DELETE, if our own scans evaluate it as Spark does; None where Spark has to."""
    if statement.where is None:
        return "true"
    text = without_qualifier(statement.where, statement.alias or target.alias)
    schema = IndexTable.open(target.location, options=settings_of(spark, target.location)).schema
    try:
        predicate = parse_condition(text, schema, **_condition_settings(spark))
    except PredicateError:
        return None
    return None if any(casts(predicate)) else text


def _condition_settings(spark: SparkSession) -> Mapping[str, Any]:
    zone, case = spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.caseSensitive")
    return {"time_zone": zone or "UTC", "case_sensitive": case == "true"}


@dataclass(frozen=True, slots=True)
class _Found:
    """What a query has found: the numbers of the rows of each split that go, and how many rows each clause concerns."""

    rows: Mapping[str, RowNumbers]
    counts: Mapping[int, int]

    @classmethod
    def of(cls, changes: DataFrame) -> "_Found":
        groups = changes.groupBy(PATH, CLAUSE).agg(F.collect_list(ROW).alias(_ROWS), F.count(F.lit(1)).alias(_COUNT))
        found = groups.toArrow().combine_chunks()
        rows: dict[str, list[RowNumbers]] = {}
        counts: dict[int, int] = {}
        for number in range(len(found)):  # a group is a split, or one clause of it
            path, clause, count = (found[name][number].as_py() for name in (PATH, CLAUSE, _COUNT))
            counts[clause] = counts.get(clause, 0) + count
            if path is not None:
                rows.setdefault(path, []).append(np.asarray(found[_ROWS][number].values, np.int64))
        return cls({path: np.sort(np.concatenate(parts)) for path, parts in rows.items()}, counts)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def twice(self) -> dict[str, RowNumbers]:
        """The rows that were found more than once."""
        repeated = {path: np.unique(rows[1:][rows[1:] == rows[:-1]]) for path, rows in self.rows.items()}
        return {path: rows for path, rows in repeated.items() if len(rows)}

    def of_actions(self, merge: MergeInto, *actions: type) -> int:
        return sum(count for clause, count in self.counts.items() if isinstance(merge.clauses[clause].action, actions))


@dataclass(frozen=True, slots=True)
class _Change:
    """One attempt to run a statement, on the version that the table has now."""

    spark: SparkSession
    target: RowTarget
    query: RunQuery
    options: Mapping[str, str]
    snapshot: Snapshot
    settings: Mapping[str, str]
    prefix: str

    @classmethod
    def of(cls, spark: SparkSession, target: RowTarget, query: RunQuery) -> "_Change":
        options, snapshot = resolve_version(spark, {"path": target.location})
        settings = canonical(settings_of(spark, target.location))
        return cls(spark, target, query, options, snapshot, settings, f"{VIEW}{uuid4().hex}_")

    def delete(self, statement: DeleteFrom) -> dict[str, int]:
        with self.view("target", frame_with_address(self.spark, self.options, self.snapshot)) as view:
            target = self.named(view, statement.alias)
            path, row = (target.column(name) for name in ADDRESS)
            frame, reads = self.planned(
                self.query(
                    f"{statement.with_clause}SELECT {path} AS {PATH}, {row} AS {ROW}, 0 AS {CLAUSE} "
                    f"FROM {target.relation} WHERE ({statement.where})"
                )
            )
            found = _Found.of(frame)
        if found.total:
            changes = self.changes(Operation.DELETE, found, reads, {}, {"predicate": statement.where or "true"})
            changes.commit_without_rows(self.log(), self.snapshot, self.config())
        return {"num_affected_rows": found.total}

    def update(self, statement: UpdateTable) -> dict[str, int]:
        with self.view("target", frame_with_address(self.spark, self.options, self.snapshot)) as view:
            query = RowQuery("UPDATE", self.named(view, statement.alias), self.columns, self.is_case_sensitive)
            with self.kept(self.query(query.update(statement))) as (rows, reads):
                found = _Found.of(rows)
                if found.total:
                    metrics = {"numUpdatedRows": found.total, "numDeletedRows": 0}
                    parameters = {"predicate": statement.where or "true"}
                    changes = self.changes(Operation.UPDATE, found, reads, metrics, parameters)
                    self.write(self.new_rows(rows, [0], self.columns), changes, self.config())
        return {"num_affected_rows": found.total}

    def merge(self, statement: MergeInto) -> dict[str, int]:
        with ExitStack() as stack:
            frame = self.query(f"{statement.with_clause}SELECT * FROM {statement.source}")
            columns = frame.schema
            source, _ = stack.enter_context(self.kept(frame.withColumn(MARKER, F.lit(True))))
            source.count()  # so that its size is known, and that of a small one prunes the splits of the target
            view = stack.enter_context(self.view("source", source))
            named = Named(view, statement.source_alias or view, columns)
            view = stack.enter_context(
                self.view("target", frame_with_address(self.spark, self.options, self.snapshot))
            )
            query, config = self.merge_query(statement, self.named(view, statement.alias), named)
            rows, reads = stack.enter_context(self.kept(self.query(query.merge(statement, named))))
            found = _Found.of(rows)
            if found.twice:
                raise self.cardinality(statement, found.twice)
            counts = {
                "num_affected_rows": found.total,
                "num_updated_rows": found.of_actions(statement, UpdateSet, UpdateAll),
                "num_deleted_rows": found.of_actions(statement, DeleteRow),
                "num_inserted_rows": found.of_actions(statement, InsertRow, InsertAll),
            }
            if found.total:
                self.commit_merge(statement, rows, found, reads, query.columns, config)
        return counts

    def merge_query(self, statement: MergeInto, target: Named, source: Named) -> tuple[RowQuery, Config]:
        """The query of a MERGE, and the settings of its write: it may add columns of the source to the table."""
        config, case_sensitive = self.config(), self.is_case_sensitive
        columns = self.columns
        if statement.schema_evolution or config.write.merge_schema:
            columns = evolved(statement, columns, source.columns, case_sensitive=case_sensitive)
            config = self.config(mergeSchema="true")
        query = RowQuery("MERGE INTO", target, columns, case_sensitive, source, keeps_missing=config.write.merge_schema)
        return query, config

    def commit_merge(
        self,
        statement: MergeInto,
        rows: DataFrame,
        found: _Found,
        reads: RowsRead,
        columns: StructType,
        config: Config,
    ) -> None:
        metrics = {
            "numUpdatedRows": found.of_actions(statement, UpdateSet, UpdateAll),
            "numDeletedRows": found.of_actions(statement, DeleteRow),
            "numInsertedRows": found.of_actions(statement, InsertRow, InsertAll),
        }
        changes = self.changes(Operation.MERGE_INTO, found, reads, metrics, {"predicate": statement.on})
        writing = [n for n in sorted(found.counts) if not isinstance(statement.clauses[n].action, DeleteRow)]
        if not writing:
            changes.commit_without_rows(self.log(), self.snapshot, config)
            return
        self.write(self.new_rows(rows, writing, columns), changes, config)
        if self.target.catalog_name is not None and len(columns) > len(self.columns):
            refresh_columns(self.spark, self.target.catalog_name)

    @property
    def columns(self) -> StructType:
        return spark_schema(self.snapshot.metadata.arrow_schema())

    @property
    def is_case_sensitive(self) -> bool:
        return bool(_condition_settings(self.spark)["case_sensitive"])

    def log(self) -> TransactionLog:
        return TransactionLog.open(self.target.location, self.config()).for_table(self.snapshot.metadata.id)

    def config(self, **settings: str) -> Config:
        given = {**self.settings, **{f"{PREFIX}{key}": value for key, value in settings.items()}}
        return Config.resolve(given, properties=self.snapshot.metadata.properties)

    def named(self, view: str, alias: str | None) -> Named:
        return Named(view, alias or self.target.alias, self.columns, self.target.qualifiers(alias))

    @contextmanager
    def view(self, name: str, frame: DataFrame) -> Iterator[str]:
        """A temporary view of a frame."""
        frame.createTempView(f"{self.prefix}{name}")
        try:
            yield f"{self.prefix}{name}"
        finally:
            self.spark.catalog.dropTempView(f"{self.prefix}{name}")

    def planned(self, frame: DataFrame) -> tuple[DataFrame, RowsRead]:
        """The rows by the plan of ours, and what they depend on."""
        planned, scans = planned_scans(frame)
        return planned, self.reads(scans)

    def reads(self, scans: Sequence[PlannedScan]) -> RowsRead:
        """The rows of the table that a query depends on, as far as its scans tell."""
        same = [scan for scan in scans if scan.relation.options.path == self.options["path"]]
        if len(same) != 1:
            return RowsRead(whole_table=bool(same))
        return RowsRead(condition_text(same[0].plan.scan_spec))

    @contextmanager
    def kept(self, frame: DataFrame) -> Iterator[tuple[DataFrame, RowsRead]]:
        """The rows of a frame, kept on disk, so that they are computed once; and what they depend on."""
        rows, reads = self.planned(frame)
        rows.persist(StorageLevel.DISK_ONLY)
        try:
            yield rows, reads
        finally:
            rows.unpersist()

    def changes(
        self,
        operation: Operation,
        found: _Found,
        reads: RowsRead,
        metrics: Mapping[str, int],
        parameters: Mapping[str, str],
    ) -> RowChanges:
        return RowChanges(
            operation=operation,
            version=self.snapshot.version,
            rows={path: encode_bitmap(rows) for path, rows in found.rows.items()},
            reads=reads,
            metrics=metrics,
            parameters=parameters,
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
            run_job(rows, job, self.settings)

    def cardinality(self, statement: MergeInto, twice: Mapping[str, RowNumbers]) -> MergeCardinalityError:
        """The error that several rows of the source match one row of the table, which it shows."""
        (path, numbers), rows = next(iter(twice.items())), sum(map(len, twice.values()))
        words = {token.text.lower() for token in tokens_of(statement.on)}
        frame = frame_with_address(self.spark, self.options, self.snapshot)
        row = frame.where((F.col(ADDRESS[0]) == path) & (F.col(ADDRESS[1]) == int(numbers[0]))).first()
        example = {n: row[n] for n in self.columns.names if row is not None and n.lower() in words}
        shown = ", ".join(f"{name} = {value!r}" for name, value in example.items())
        return MergeCardinalityError(
            f"MERGE INTO {self.target.name} cannot be run (MERGE_CARDINALITY_VIOLATION): several rows of the source match one "
            f"row of the table, and would change it ({rows} such rows, for example {shown}); make the source unique by the "
            "columns of ON; nothing was written",
            table=self.target.name,
            rows=rows,
            example=example,
        )
