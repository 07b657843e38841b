"""DELETE FROM, UPDATE and MERGE INTO on tables of ours. Spark evaluates conditions and expressions.

1. The table, with two columns that say where a row is, and the source of a MERGE become views (`row_queries`).
2. One query over them finds the rows that change, and computes the new ones. It is computed once.
3. The rows that go are deletion vectors, the new ones are written like those of any write, and one commit has both.

A statement that another writer gets ahead of is run again on the table as it is then.
"""

import logging
from collections.abc import Callable
from typing import assert_never

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from indextables.errors import ConflictError, PredicateError
from indextables.events import log_event
from indextables.predicate import casts, parse_condition
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.job_description import described_jobs
from indextables.spark.source.options import condition_settings
from indextables.spark.statements.row_change import RowChange, RunQuery
from indextables.spark.statements.row_target import RowTarget
from indextables.statements.row_level_statements import (
    DeleteFrom,
    MergeInto,
    RowLevelStatement,
    UpdateTable,
    refuse_non_deterministic,
    without_qualifier,
)
from indextables.table import IndexTable

logger = logging.getLogger(__name__)
_ATTEMPTS = 5  # of a statement that others get ahead of


def run_row_level(spark: SparkSession, target: RowTarget, statement: RowLevelStatement, query: RunQuery) -> DataFrame:
    """Runs a statement; `query` is our own `spark.sql`. The result has one row with the numbers of rows that changed."""
    with described_jobs(spark, f"change rows of {target.location}"):
        match statement:
            case DeleteFrom():
                refuse_non_deterministic(statement.where)
                counts = _delete(spark, target, statement, query)
            case UpdateTable():
                refuse_non_deterministic(statement.where)
                counts = _retried(target, lambda: RowChange.of(spark, target, query).update(statement))
            case MergeInto():
                refuse_non_deterministic(statement.on, *(clause.condition for clause in statement.clauses))
                counts = _retried(target, lambda: RowChange.of(spark, target, query).merge(statement))
            case _:
                assert_never(statement)
    return local_frame(spark, pa.table({name: pa.array([count], pa.int64()) for name, count in counts.items()}))


def _retried(target: RowTarget, run: Callable[[], dict[str, int]]) -> dict[str, int]:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return run()
        except ConflictError as error:
            if attempt == _ATTEMPTS:
                raise
            log_event(logger, "Statement is run again", table=target.location, attempt=attempt, reason=str(error))
    raise AssertionError("the last attempt returns or raises")


def _delete(spark: SparkSession, target: RowTarget, statement: DeleteFrom, query: RunQuery) -> dict[str, int]:
    condition = _own_condition(spark, target, statement)
    if condition is None:
        return _retried(target, lambda: RowChange.of(spark, target, query).delete(statement))
    table = IndexTable.open(target.location, options=target.all_settings(spark))
    return {"num_affected_rows": table.delete(condition, **condition_settings(spark)).rows}


def _own_condition(spark: SparkSession, target: RowTarget, statement: DeleteFrom) -> str | None:
    """The condition of a DELETE, if our own scans evaluate it as Spark does; None where Spark has to."""
    if statement.where is None:
        return "true"
    text = without_qualifier(statement.where, statement.alias or target.alias)
    schema = IndexTable.open(target.location, options=target.all_settings(spark)).schema
    try:
        predicate = parse_condition(text, schema, **condition_settings(spark))
    except PredicateError:
        return None
    return None if any(casts(predicate)) else text
