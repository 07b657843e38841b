"""The dispatch tables: which function runs which statement.

Statements of Spark are classes of `catalyst/parsed_statement`, our own commands are classes of `statements/command_values`.
"""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from indextables.spark.catalog import CatalogTable, refresh_columns
from indextables.spark.catalyst.catalog_tables import options_of_frame
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.catalyst.parsed_statement import (
    AddColumns,
    AlterColumns,
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
    UnsetProperties,
    Unsupported,
    WriteStatement,
)
from indextables.spark.catalyst.session_state import run_plan
from indextables.spark.source.options import VIEW, path_in, settings_of
from indextables.spark.statements import alter_table, table_commands
from indextables.spark.statements.command_tables import path_of
from indextables.spark.statements.create_table import create_table
from indextables.spark.statements.insert_query import plan_query
from indextables.spark.statements.write_statements import insert_directory, insert_into, writes_to_ours
from indextables.statements import (
    Check,
    Command,
)
from indextables.table import IndexTable

TABLE_STATEMENTS: dict[type, Callable[..., DataFrame | None]] = {  # (spark, statement, table, entry)
    AddColumns: alter_table.add_columns,
    AlterColumns: alter_table.alter_columns,
    DescribeExtended: alter_table.describe_extended,
    DropColumns: alter_table.drop_columns,
    RenameColumn: alter_table.rename_column,
    SetProperties: alter_table.set_properties,
    ShowCreateTable: alter_table.show_create_table,
    ShowPartitions: alter_table.show_partitions,
    ShowProperties: alter_table.show_properties,
    UnsetProperties: alter_table.unset_properties,
    Unsupported: alter_table.refuse,
}
WRITE_STATEMENTS: dict[type, Callable[..., None]] = {  # (spark, statement)
    CreateTable: create_table,
    InsertDirectory: insert_directory,
    InsertInto: insert_into,
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
    if isinstance(statement, MultiInsert):
        for insert in statement.inserts:
            run_write(spark, insert)
    elif writes_to_ours(spark, statement):
        WRITE_STATEMENTS[type(statement)](spark, statement)
    else:
        run_plan(spark, plan_query(spark, statement) or statement.plan)
