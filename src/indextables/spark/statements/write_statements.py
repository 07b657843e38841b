"""INSERT statements whose target is a table of ours, run by our writer."""

from typing import assert_never

from pyspark.sql import SparkSession

from indextables.spark.api.dataframe_writer import TableWriter
from indextables.spark.catalog import lookup_table, relation_of_view
from indextables.spark.catalyst.parsed_statement import (
    CreateTable,
    InsertDirectory,
    InsertInto,
    MultiInsert,
    WriteStatement,
)
from indextables.spark.source.options import FORMAT, is_our_format
from indextables.spark.statements.create_table import creates_ours
from indextables.spark.statements.insert import resolve_insert
from indextables.spark.statements.insert_query import query_rows


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


def insert_into(spark: SparkSession, statement: InsertInto) -> None:
    insert = resolve_insert(spark, statement)
    TableWriter(insert.frame).format(FORMAT).mode(insert.mode).options(**insert.options).save()


def insert_directory(spark: SparkSession, statement: InsertDirectory) -> None:
    """INSERT OVERWRITE DIRECTORY overwrites the table at a path."""
    rows = query_rows(spark, statement.query)
    TableWriter(rows).format(FORMAT).mode("overwrite").options(**statement.options).save()
