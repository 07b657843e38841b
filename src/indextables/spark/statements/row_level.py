"""DELETE FROM, UPDATE and MERGE INTO on tables of ours. Spark evaluates conditions and expressions.

1. The table, with two columns that say where a row is, and the source of a MERGE become views (`row_queries`).
2. One query over them finds the rows that change, and computes the new ones. It is computed once.
3. The rows that go are deletion vectors, the new ones are written like those of any write, and one commit has both.

A DELETE whose condition our own scans evaluate is run by them. A statement that another writer gets ahead of is run again
on the table as it is then.
"""

import logging
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from indextables.errors import ConflictError, UnsupportedStatementError
from indextables.events import log_event
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.frames.catalog import lookup_table, refresh_columns, relation_of_view
from indextables.spark.frames.dataframe_reader import resolve_version
from indextables.spark.job_description import described_jobs
from indextables.spark.options import TIME_TRAVEL, VIEW, path_in
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.source.quoting import quote_name
from indextables.spark.statements.row_change import RowChangeAttempt, RowTarget, RunQuery
from indextables.statements.row_level_statements import RowLevelStatement

logger = logging.getLogger(__name__)
_ATTEMPTS = 5  # of a statement that others get ahead of


def find_target(spark: SparkSession, parts: tuple[str, ...], statement: str) -> RowTarget | None:
    """None for tables of other formats, and for views that show something else than one table of ours."""
    if (entry := refresh_columns(spark, parts)) is not None:
        return RowTarget(entry.name, entry.location, parts, read=entry.read)
    source = relation_of_view(spark, parts)
    if source is None:
        return None
    if source.name is not None and (entry := lookup_table(spark, source.name)) is not None:
        return RowTarget(entry.name, entry.location, source.name)
    path = path_in(source.options)
    name = f"indextables.`{path}`"
    if not parts[-1].startswith(VIEW):
        _refuse_part(source.options, f"view {quote_name(parts)}", name, statement)
    return RowTarget(name, path, None, ReadOptions.of(source.options).settings)


def run_row_level(spark: SparkSession, target: RowTarget, statement: RowLevelStatement, query: RunQuery) -> DataFrame:
    """Runs a statement; `query` is our own `spark.sql`. The result has one row with the numbers of rows that changed."""
    read = target.read
    with described_jobs(spark, f"change rows of {target.location}"):
        for attempt in range(1, _ATTEMPTS + 1):
            options, snapshot = read or resolve_version(spark, {**target.settings, "path": target.location})
            try:
                counts = RowChangeAttempt(spark, target, statement, query, options, snapshot).run()
                return local_frame(spark, pa.table({name: [count] for name, count in counts.items()}))
            except ConflictError as error:
                if attempt == _ATTEMPTS:
                    raise
                read = None
                log_event(logger, "Statement is run again", table=target.location, attempt=attempt, reason=str(error))
    raise AssertionError("the last attempt returns or raises")


def _refuse_part(options: Mapping[str, str], view: str, table: str, statement: str) -> None:
    """Refuses a view that does not show the table as it is: changes that it does not show would surprise."""
    given = {key.lower() for key in options}
    if given.isdisjoint({TIME_TRAVEL, "where", "query"}):
        return
    what = "another version of the table" if TIME_TRAVEL in given else "some rows of the table"
    raise UnsupportedStatementError(
        f"{statement} cannot change {view}, which shows {what}; name the table instead: {table}",
        table=view,
        statement=statement,
    )
