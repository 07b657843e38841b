"""Statements of Spark that alter or describe one table: done on the table itself, or refused.

Without this, Spark would change the columns and properties in its catalog, and report success.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.errors import SchemaError, UnsupportedStatementError
from indextables.schema import column_named, normalize
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.catalyst.parsed_statement import (
    AddColumns,
    AlterColumns,
    CacheTable,
    ColumnChange,
    DescribeExtended,
    DropColumns,
    NewColumn,
    Operation,
    RenameColumn,
    SetProperties,
    ShowCreateTable,
    ShowPartitions,
    ShowProperties,
    TruncateTable,
    UncacheTable,
    UnsetProperties,
    Unsupported,
)
from indextables.spark.catalyst.session_state import run_plan
from indextables.spark.catalyst.table_cache import cache_table, uncache_table
from indextables.spark.frames.catalog import (
    CatalogTable,
    column_comments,
    comment_on_columns,
    is_external,
    qualify,
    resolve_relations,
)
from indextables.spark.options import FORMAT, VIEW
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.spark_types import arrow_schema
from indextables.spark.statements.table_listing import create_table_text, partition_rows, property_rows
from indextables.table import IndexTable

_PARTITIONS = (
    "partitions come and go with their rows: INSERT INTO {name}, DROP INDEXTABLES PARTITIONS FROM {name} WHERE ..."
)
_COLUMNS = (
    "columns can be added, widened, renamed and dropped; for anything else write a new table: "
    "CREATE TABLE ... USING indextables AS SELECT ... FROM {name}"
)
_REPAIR = "the transaction log knows every partition, and there is nothing to repair"
_STATISTICS = "every write keeps statistics, and there is nothing to compute"
_CONSTRAINTS = "check the rows in the query that writes them"
_LISTED = "use SHOW PARTITIONS {name}, or DESCRIBE INDEXTABLES PARTITIONS '{location}' for rows and bytes"
_ALTERNATIVES = {
    Operation.ADD_CONSTRAINT: _CONSTRAINTS,
    Operation.ADD_PARTITIONS: _PARTITIONS,
    Operation.CLUSTER_BY: "use ALTER INDEXTABLES {name} PARTITION BY (...), or the property optimizeWrite.clusterBy",
    Operation.COLLATION: "strings are compared byte by byte; write COLLATE in the query that compares them",
    Operation.ANALYZE_COLUMN: _STATISTICS,
    Operation.ANALYZE_TABLE: _STATISTICS,
    Operation.CREATE_INDEX: "every split has an index; use ALTER TABLE {name} SET INDEXING (column = 'text')",
    Operation.DESCRIBE_PARTITION: _LISTED,
    Operation.DROP_CONSTRAINT: _CONSTRAINTS,
    Operation.DROP_INDEX: "every split has an index",
    Operation.DROP_PARTITIONS: _PARTITIONS,
    Operation.LOAD_DATA: "read the files and write their rows: INSERT INTO {name} SELECT ... FROM parquet.`...`",
    Operation.RECOVER_PARTITIONS: _REPAIR,
    Operation.RENAME_PARTITIONS: _PARTITIONS,
    Operation.REPAIR_TABLE: _REPAIR,
    Operation.REPLACE_COLUMNS: _COLUMNS,
    Operation.SET_LOCATION: "DROP TABLE {name}, then CREATE TABLE {name} USING indextables LOCATION '...'",
    Operation.SET_SERDE: "use ALTER TABLE {name} SET TBLPROPERTIES (...)",
    Operation.SHOW_TABLE_PARTITION: _LISTED,
    Operation.TRUNCATE_PARTITION: _PARTITIONS,
    Operation.OTHER: "use IndexTable or df.write",
}
_PLAIN = re.compile(r"\w+(\.\w+)*")


def refuse(_: SparkSession, statement: Unsupported, __: IndexTable | None, entry: CatalogTable) -> None:
    raise _unsupported(statement.words, entry, _ALTERNATIVES[statement.operation])


def add_columns(spark: SparkSession, statement: AddColumns, table: IndexTable, entry: CatalogTable) -> None:
    for column in statement.columns:
        _refuse_new_column(column, entry)
    added = StructType([StructField(column.name, column.type) for column in statement.columns])
    table.add_columns(normalize(arrow_schema(added)))
    comments = {column.name: column.comment for column in statement.columns if column.comment is not None}
    comment_on_columns(spark, statement.table, comments)


def alter_columns(spark: SparkSession, statement: AlterColumns, table: IndexTable, entry: CatalogTable) -> None:
    changes: dict[str, ColumnChange] = {}
    for change in statement.changes:
        changes[column_named(table.schema, _column(change.name))] = change
    for name, change in changes.items():
        _refuse_change(change, entry, nullable=table.schema.field(name).nullable)
    types = [StructField(name, change.type) for name, change in changes.items() if change.type is not None]
    if types:
        wider = normalize(arrow_schema(StructType(types)))
        table.widen_columns(dict(zip(wider.names, wider.types, strict=True)))
    comments = {
        name: change.comment for name, change in changes.items() if change.comment is not None or change.drops_comment
    }
    comment_on_columns(spark, statement.table, comments)


def rename_column(spark: SparkSession, statement: RenameColumn, table: IndexTable, _: CatalogTable) -> None:
    """A column keeps its comment, which the catalog has."""
    name = column_named(table.schema, _column(statement.name))
    comment = column_comments(spark, statement.table).get(name)
    table.rename_column(name, statement.new_name)
    comment_on_columns(spark, statement.table, {} if comment is None else {statement.new_name: comment})


def drop_columns(_: SparkSession, statement: DropColumns, table: IndexTable, __: CatalogTable) -> None:
    table.drop_columns([_column(name) for name in statement.names], missing_ok=statement.if_exists)


def set_properties(_: SparkSession, statement: SetProperties, table: IndexTable, entry: CatalogTable) -> None:
    if "comment" in statement.properties:
        raise _unsupported(
            "ALTER TABLE ... SET TBLPROPERTIES with comment", entry, "use COMMENT ON TABLE {name} IS '...'"
        )
    table.set_properties(statement.properties)


def unset_properties(_: SparkSession, statement: UnsetProperties, table: IndexTable, __: CatalogTable) -> None:
    table.unset_properties(*statement.keys, missing_ok=statement.if_exists)


def truncate(_: SparkSession, __: TruncateTable, table: IndexTable, ___: CatalogTable) -> None:
    table.delete("true")


def cache(spark: SparkSession, statement: CacheTable, table: IndexTable, _: CatalogTable) -> None:
    frame = resolve_relations(spark.table(quote_name(statement.table)))
    cache_table(frame, table.path, level=statement.level, lazy=statement.lazy)


def uncache(spark: SparkSession, _: UncacheTable, table: IndexTable, __: CatalogTable) -> None:
    uncache_table(spark, table.path)


def show_properties(
    spark: SparkSession, statement: ShowProperties, table: IndexTable, entry: CatalogTable
) -> DataFrame:
    return local_frame(spark, property_rows(table, entry.name, statement.key))


def show_partitions(
    spark: SparkSession, statement: ShowPartitions, table: IndexTable, entry: CatalogTable
) -> DataFrame:
    return local_frame(spark, partition_rows(table, entry.name, statement.values))


def describe_extended(
    spark: SparkSession, statement: DescribeExtended, table: IndexTable, entry: CatalogTable
) -> DataFrame:
    """What Spark shows of a table, and what it does not know of a Python data source."""
    described = run_plan(spark, statement.plan)
    properties = ",".join(f"{key}={value}" for key, value in sorted(table.properties.items()))
    facts = {
        "Comment": entry.comment,
        "Location": entry.location,
        "Provider": FORMAT,
        "Table Properties": f"[{properties}]",
    }
    rows = [tuple(row) for row in described.collect() if row[0] not in facts]
    more = [(name, fact, "") for name, fact in facts.items() if fact is not None]
    return described.sparkSession.createDataFrame([*rows, *more], described.schema)


def show_create_table(
    spark: SparkSession, statement: ShowCreateTable, table: IndexTable, entry: CatalogTable
) -> DataFrame:
    """The statement of ours, because Spark leaves out most clauses for a Python data source."""
    comments, is_named = column_comments(spark, statement.table), not statement.table[-1].startswith(VIEW)
    text = create_table_text(
        table,
        quote_name(qualify(spark, statement.table)) if is_named else entry.name,
        comments=comments,
        comment=entry.comment,
        location=entry.location if is_named and is_external(spark, statement.table) else None,
    )
    return local_frame(spark, pa.table({"createtab_stmt": [text]}))


def _refuse_new_column(column: NewColumn, entry: CatalogTable) -> None:
    statement = "ALTER TABLE ... ADD COLUMN with"
    if column.parents:
        _refuse_nested((*column.parents, column.name))
    if column.has_position:
        raise _unsupported(f"{statement} FIRST or AFTER", entry, "new columns come last")
    if not column.nullable:
        raise _unsupported(f"{statement} NOT NULL", entry, "a new column is null in the rows that are there")
    if column.has_default:
        raise _unsupported(f"{statement} DEFAULT", entry, "a new column is null in the rows that are there")


def _refuse_change(change: ColumnChange, entry: CatalogTable, *, nullable: bool) -> None:
    statement = "ALTER TABLE ... ALTER COLUMN with"
    if change.has_position:
        raise _unsupported(
            f"{statement} FIRST or AFTER", entry, "columns keep their places; SELECT them in another order"
        )
    if change.nullable is not None and change.nullable != nullable:
        raise _unsupported(f"{statement} NOT NULL", entry, "whether a column may be null is decided by CREATE TABLE")
    if change.has_default:
        raise _unsupported(f"{statement} DEFAULT", entry, "columns have no defaults; give a value in each INSERT")


def _column(parts: Sequence[str]) -> str:
    """The name of a column; a SchemaError for a field inside one."""
    if len(parts) > 1:
        _refuse_nested(parts)
    return parts[0]


def _refuse_nested(parts: Sequence[str]) -> None:
    name = ".".join(parts)
    raise SchemaError(f"{name} is a field inside a column, and tables of indextables have none", column=name)


def _unsupported(statement: str, entry: CatalogTable, instead: str) -> UnsupportedStatementError:
    plain = entry.name.replace("`", "")  # our own commands take a single name in backquotes for a path
    hint = instead.format(name=plain if _PLAIN.fullmatch(plain) else entry.name, location=entry.location)
    return UnsupportedStatementError(
        f"{statement} is not supported for {entry.name}, a table of indextables: {hint}",
        table=entry.name,
        statement=statement,
    )
