"""The tables that our own commands name, by path or by name in the session's catalog."""

from typing import assert_never

from pyspark.sql import SparkSession

from indextables.config import Config, canonical
from indextables.errors import ConfigError, TableNotFoundError
from indextables.log import TransactionLog
from indextables.spark.catalog import lookup_table
from indextables.spark.catalyst.session_state import parse_plan
from indextables.spark.source.options import settings_of
from indextables.spark.source.quoting import quote_name
from indextables.statements import Table, TableName, TablePath


def path_of(spark: SparkSession, table: Table) -> str:
    match table:
        case TablePath(path):
            return path
        case TableName(parts):
            entry, name = lookup_table(spark, parts), quote_name(parts)
            if entry is None:
                raise TableNotFoundError(
                    f"the session's catalog has no table {name} of indextables; name it as the catalog does, or give its "
                    "path in quotes",
                    table=name,
                )
            return entry.location
        case _:
            assert_never(table)


def is_ours(spark: SparkSession, text: str, table: Table) -> bool:
    """Whether a command that other formats have too is about a table of ours.

    A path may be of another format if an extension of Spark has made it parse the command.
    """
    match table:
        case TableName(parts):
            return lookup_table(spark, parts) is not None
        case TablePath(path):
            return parse_plan(spark, text) is None or _is_table(spark, path)
        case _:
            assert_never(table)


def _is_table(spark: SparkSession, path: str) -> bool:
    try:
        return TransactionLog.open(path, Config.resolve(canonical(settings_of(spark, path)))).exists()
    except ConfigError:
        return False  # a path that only another format can read
