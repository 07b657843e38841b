"""Which function runs which statement, and on which table.

Statements of Spark are classes of `catalyst/parsed_statement`, our own commands are classes of `statements/command_values`.
"""

from collections.abc import Callable
from typing import assert_never

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from indextables.config import Config, canonical
from indextables.errors import ConfigError, TableNotFoundError
from indextables.log import TransactionLog
from indextables.spark.catalyst.catalog_tables import options_of_frame
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.catalyst.parsed_statement import (
    AddColumns,
    AlterColumns,
    CacheTable,
    CreateTable,
    DescribeExtended,
    DropColumns,
    InsertDirectory,
    InsertInto,
    MultiInsert,
    RenameColumn,
    RunBySpark,
    SetProperties,
    ShowCreateTable,
    ShowPartitions,
    ShowProperties,
    TableStatement,
    TruncateTable,
    UncacheTable,
    UnsetProperties,
    Unsupported,
    WriteStatement,
)
from indextables.spark.catalyst.session_state import parse_plan, run_plan
from indextables.spark.environment.session_settings import settings_of
from indextables.spark.frames.catalog import CatalogTable, lookup_table, refresh_columns, relation_of_view
from indextables.spark.frames.dataframe_writer import TableWriter
from indextables.spark.frames.insert import plan_query, query_rows, resolve_insert
from indextables.spark.options import FORMAT, VIEW, is_our_format, path_in
from indextables.spark.source.quoting import quote_name
from indextables.spark.statements import alter_table, table_commands
from indextables.spark.statements.create_table import create_table, creates_ours
from indextables.statements import Check, Command, Table, TableName, TablePath
from indextables.table import IndexTable

TABLE_STATEMENTS: dict[type, Callable[..., DataFrame | None]] = {  # (spark, statement, table, entry)
    AddColumns: alter_table.add_columns,
    AlterColumns: alter_table.alter_columns,
    CacheTable: alter_table.cache,
    DescribeExtended: alter_table.describe_extended,
    DropColumns: alter_table.drop_columns,
    RenameColumn: alter_table.rename_column,
    SetProperties: alter_table.set_properties,
    ShowCreateTable: alter_table.show_create_table,
    ShowPartitions: alter_table.show_partitions,
    ShowProperties: alter_table.show_properties,
    TruncateTable: alter_table.truncate,
    UncacheTable: alter_table.uncache,
    UnsetProperties: alter_table.unset_properties,
    Unsupported: alter_table.refuse,
}


def run_command(spark: SparkSession, command: Command) -> DataFrame:
    path = path_of(spark, command.table)
    options = settings_of(spark, path)
    if isinstance(command, Check):  # of a table that it may be impossible to open
        return local_frame(spark, table_commands.check(command, path, options))
    table = IndexTable.open(path, options=options)
    return local_frame(spark, table_commands.COMMANDS[type(command)](spark, command, table))


def run_table_statement(spark: SparkSession, statement: TableStatement) -> DataFrame | None:
    """The result of a statement about one table; None if Spark has to run it, which then finds the table's columns."""
    entry = _entry(spark, statement.table)
    if entry is None or isinstance(statement, RunBySpark):
        return None
    handler = TABLE_STATEMENTS[type(statement)]
    if isinstance(statement, Unsupported):
        return handler(spark, statement, None, entry)
    table = IndexTable.open(entry.location, options=settings_of(spark, entry.location))
    return handler(spark, statement, table, entry) or local_frame(spark, pa.table({}), StructType())


def _entry(spark: SparkSession, name: tuple[str, ...]) -> CatalogTable | None:
    """The table of ours that a name means: one of the catalog, or a path that stands as a view in the statement."""
    if len(name) == 1 and name[0].startswith(VIEW):
        path = path_in(options_of_frame(spark.table(name[0])))
        return CatalogTable(f"indextables.`{path}`", path)
    return refresh_columns(spark, name)


def run_write(spark: SparkSession, statement: WriteStatement) -> None:
    """Runs a statement that writes to a table of ours; the other inserts of a multi-insert are run by Spark."""
    if not writes_to_ours(spark, statement):
        run_plan(spark, plan_query(spark, statement) or statement.plan)
        return
    match statement:
        case MultiInsert(inserts=inserts):
            for insert in inserts:
                run_write(spark, insert)
        case CreateTable():
            create_table(spark, statement)
        case InsertInto():
            rows = resolve_insert(spark, statement)
            TableWriter(rows.frame).format(FORMAT).mode(rows.mode).options(**rows.options).save()
        case InsertDirectory(query=query, options=options):  # INSERT OVERWRITE DIRECTORY overwrites the table at a path
            TableWriter(query_rows(spark, query)).format(FORMAT).mode("overwrite").options(**options).save()
        case _:
            assert_never(statement)


def writes_to_ours(spark: SparkSession, statement: WriteStatement) -> bool:
    """Whether a statement writes to a table of ours; of several inserts, one is enough."""
    match statement:
        case InsertInto(target=target):
            return target is not None and (
                lookup_table(spark, target) is not None or relation_of_view(spark, target) is not None
            )
        case InsertDirectory(provider=provider):
            return is_our_format(provider)
        case MultiInsert(inserts=inserts):
            return any(writes_to_ours(spark, insert) for insert in inserts)
        case CreateTable():
            return creates_ours(spark, statement)
        case _:
            assert_never(statement)


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
