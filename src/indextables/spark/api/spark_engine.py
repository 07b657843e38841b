"""What a scan and a compaction without Spark need of it: `indextables.engine.Engine`."""

from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from indextables.config import canonical
from indextables.errors import InvalidPredicateError
from indextables.maintain.compact import Runner
from indextables.predicate import to_sql
from indextables.read.scan import Scan
from indextables.read.scan_spec import ScanSpec
from indextables.read.sort_order import SortTerm, columns_of
from indextables.spark.api.session_kind import connect, is_remote
from indextables.spark.environment.session_settings import settings_of as session_settings
from indextables.spark.frames.dataframe_reader import load
from indextables.spark.options import SEARCHES, TABLE
from indextables.spark.planner.read_options import as_option, condition_text
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.spark_types import spark_schema
from indextables.spark.write.distributed_compaction import on_executors

__all__ = ["compaction_runner", "dataframe", "session_settings"]


def compaction_runner(session: Any, table: str) -> Runner:
    """Runs each group of splits in a task, by classic Spark or over Spark Connect."""
    runner: Runner = connect().on_remote_executors(session) if is_remote(session) else on_executors(session, table)
    return runner


def dataframe(scan: Scan, spark: SparkSession) -> DataFrame:
    """The rows of a scan, read by Spark's executors."""
    options = {
        **canonical(scan.options),
        "path": scan.table,
        "versionAsOf": str(scan.snapshot.version),
        TABLE: scan.snapshot.metadata.id,
        "where": _text_of(scan.scan_spec),
        "timeZone": "UTC",
    }
    if scan.scan_spec.search_results:
        options[SEARCHES] = as_option(scan.scan_spec.search_results)
    names = tuple(dict.fromkeys((*scan.scan_spec.columns, *columns_of(scan.order))))
    columns = spark_schema(replace(scan.scan_spec, columns=names).output_schema)
    frame = connect().scan_remote(spark, options, columns) if is_remote(spark) else load(spark, options, columns)
    if scan.order:
        return _in_order(frame, scan)
    return frame if scan.row_limit is None else frame.limit(scan.row_limit)


def _in_order(frame: DataFrame, scan: Scan) -> DataFrame:
    """The rows of a scan with an order; Spark sorts them."""
    ordered = frame.orderBy([_sort_column(frame[quote_name([term.column])], term) for term in scan.order])
    ordered = ordered.offset(scan.offset) if scan.offset else ordered
    ordered = ordered if scan.row_limit is None else ordered.limit(scan.row_limit)
    return ordered.select([quote_name([name]) for name in scan.schema.names])


def _sort_column(column: Column, term: SortTerm) -> Column:
    if term.descending:
        return column.desc_nulls_first() if term.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if term.nulls_first else column.asc_nulls_last()


def _text_of(scan_spec: ScanSpec) -> str:
    text = condition_text(scan_spec)
    if text is None:
        text, reason = to_sql(scan_spec.predicate), "its text would be read as another one"
        raise InvalidPredicateError(
            f"the condition {text} cannot be passed to Spark: {reason}; filter the frame instead",
            predicate=text,
            reason=reason,
        )
    return text
