"""Statements of Spark that change or describe a table of the catalog: done on the table itself, or refused.

Left alone, Spark would change the columns and properties that its catalog remembers, and report success.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from indextables.config import property_key
from indextables.errors import SchemaError, UnsupportedStatementError
from indextables.schema import column_named, normalize
from indextables.spark.catalog import CatalogTable, comment_on_columns, refresh_columns
from indextables.spark.catalyst.java import Java, frame_over, kind, name_parts, pairs, plan_of, sequence
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.catalyst.relation import options_of, relations_in
from indextables.spark.source.options import FORMAT, VIEW, settings_of
from indextables.spark.source.spark_types import arrow_schema, data_type
from indextables.spark.statements.insert import quote_string
from indextables.table import IndexTable

_ROWS = (
    "rows are deleted by partition, DROP INDEXTABLES PARTITIONS FROM {name} WHERE ..., and replaced by INSERT OVERWRITE or "
    "INSERT INTO {name} REPLACE WHERE ..."
)
_PARTITIONS = (
    "partitions come and go with their rows: INSERT INTO {name}, DROP INDEXTABLES PARTITIONS FROM {name} WHERE ..."
)
_COLUMNS = (
    "columns can be added and widened; for anything else write a new table: "
    "CREATE TABLE ... USING indextables AS SELECT ... FROM {name}"
)
_REPAIR = "the transaction log knows every partition, and there is nothing to repair"
_STATISTICS = "every write keeps statistics, and there is nothing to compute"
_CONSTRAINTS = "check the rows in the query that writes them"
_LISTED = "use DESCRIBE INDEXTABLES PARTITIONS '{location}'"
_INSTEAD = {
    "AddConstraint": _CONSTRAINTS,
    "AddPartitions": _PARTITIONS,
    "AlterTableClusterBy": "use ALTER INDEXTABLES {name} PARTITION BY (...), or the property optimizeWrite.clusterBy",
    "AlterTableCollation": "strings are compared byte by byte; write COLLATE in the query that compares them",
    "AnalyzeColumn": _STATISTICS,
    "AnalyzeTable": _STATISTICS,
    "CacheTable": 'use spark.table("{name}").cache()',
    "CreateIndex": "every split has an index; indexing.typemap.<column> of a new table says how a column is indexed",
    "DeleteFromTable": _ROWS,
    "DescribeTablePartition": _LISTED,
    "DropColumns": _COLUMNS,
    "DropConstraint": _CONSTRAINTS,
    "DropIndex": "every split has an index",
    "DropPartitions": _PARTITIONS,
    "LoadData": "read the files and write their rows: INSERT INTO {name} SELECT ... FROM parquet.`...`",
    "MergeIntoTable": _ROWS,
    "RecoverPartitions": _REPAIR,
    "RenameColumn": _COLUMNS,
    "RenamePartitions": _PARTITIONS,
    "RepairTable": _REPAIR,
    "ReplaceColumns": _COLUMNS,
    "SetTableLocation": "DROP TABLE {name}, then CREATE TABLE {name} USING indextables LOCATION '...'",
    "SetTableSerDeProperties": "use ALTER TABLE {name} SET TBLPROPERTIES (...)",
    "ShowPartitions": _LISTED,
    "ShowTablePartition": _LISTED,
    "TruncatePartition": _PARTITIONS,
    "TruncateTable": "use INSERT OVERWRITE {name} SELECT * FROM {name} WHERE false",
    "UpdateTable": _ROWS,
}
_OF_RELATIONS = {
    "CacheTable": "CACHE TABLE",
    "DeleteFromTable": "DELETE",
    "MergeIntoTable": "MERGE",
    "UpdateTable": "UPDATE",
}
_OF_THE_CATALOG = {"CommentOnTable"}
_PLAIN = re.compile(r"\w+(\.\w+)*")


def run_table_statement(spark: Any, plan: Java) -> DataFrame | None:
    """The answer to a parsed statement that changes or describes a table of ours; None for every other statement."""
    plan = plan.child() if kind(plan) == "UnresolvedWith" else plan
    target = _target(plan)
    entry = None if target is None else _named(spark, name_parts(target))
    if target is None or entry is None:
        return None
    statement = kind(plan)
    if statement == "DescribeRelation" and not plan.isExtended():
        return None
    if statement in _DONE_HERE:
        table = IndexTable.open(entry.location, options=settings_of(spark))
        return _DONE_HERE[statement](spark, plan, table, entry) or local_frame(spark, pa.table({}), StructType())
    if statement in _INSTEAD or (kind(target) == "UnresolvedTable" and statement not in _OF_THE_CATALOG):
        name = _OF_RELATIONS.get(statement) or str(target.commandName())
        raise _unsupported(name, entry, _INSTEAD.get(statement, "use IndexTable or df.write"))
    return None


def _target(plan: Java) -> Java | None:
    """The table that a statement is about."""
    children = sequence(plan.children())
    if not children:
        return None
    first = children[0]
    while kind(first) == "SubqueryAlias":
        first = first.child()
    by_name = kind(first) in {"UnresolvedTable", "UnresolvedTableOrView"}
    return first if by_name or (kind(plan) in _OF_RELATIONS and kind(first) == "UnresolvedRelation") else None


def _named(spark: Any, parts: list[str]) -> CatalogTable | None:
    """The table of ours that a name means: one of the catalog, or a path that stands as a view in the statement."""
    if len(parts) == 1 and parts[0].startswith(VIEW):
        (relation,) = relations_in(plan_of(spark.table(parts[0])))
        path = next(value for key, value in options_of(relation).items() if key.lower() == "path")
        return CatalogTable(f"indextables.`{path}`", path)
    return refresh_columns(spark, parts)


def _add_columns(spark: Any, plan: Java, table: IndexTable, entry: CatalogTable) -> None:
    columns = sequence(plan.columnsToAdd())
    for column in columns:
        _refuse_attributes_of_new(column, entry)
    added = StructType([StructField(str(column.colName()), data_type(column.dataType())) for column in columns])
    table.add_columns(normalize(arrow_schema(added)))
    comments = {str(column.colName()): _text(column.comment()) for column in columns}
    comment_on_columns(
        spark, name_parts(plan.table()), {name: text for name, text in comments.items() if text is not None}
    )


def _refuse_attributes_of_new(column: Java, entry: CatalogTable) -> None:
    statement = "ALTER TABLE ... ADD COLUMN with"
    if column.path().isDefined():
        _refuse_nested([*sequence(column.path().get().name()), column.colName()])
    if column.position().isDefined():
        raise _unsupported(f"{statement} FIRST or AFTER", entry, "new columns come last")
    if not column.nullable():
        raise _unsupported(f"{statement} NOT NULL", entry, "a new column is null in the rows that are there")
    if column.default().isDefined():
        raise _unsupported(f"{statement} DEFAULT", entry, "a new column is null in the rows that are there")


def _alter_columns(spark: Any, plan: Java, table: IndexTable, entry: CatalogTable) -> None:
    specs: dict[str, Java] = {}
    for spec in sequence(plan.specs()):
        first, *rest = sequence(spec.column().name())
        if rest:
            _refuse_nested([first, *rest])
        specs[column_named(table.schema, str(first))] = spec
    for name, spec in specs.items():
        _refuse_attributes(spec, entry, nullable=table.schema.field(name).nullable)
    types = {name: spec.newDataType().get() for name, spec in specs.items() if spec.newDataType().isDefined()}
    if types:
        wider = normalize(
            arrow_schema(StructType([StructField(name, data_type(java)) for name, java in types.items()]))
        )
        table.widen_columns(dict(zip(wider.names, wider.types, strict=True)))
    comments = {name: _text(spec.newComment()) for name, spec in specs.items()}
    said = {name: text for name, text in comments.items() if text is not None or specs[name].dropComment()}
    comment_on_columns(spark, name_parts(plan.table()), said)


def _refuse_attributes(spec: Java, entry: CatalogTable, *, nullable: bool) -> None:
    statement = "ALTER TABLE ... ALTER COLUMN with"
    if spec.newPosition().isDefined():
        raise _unsupported(
            f"{statement} FIRST or AFTER", entry, "columns keep their places; SELECT them in another order"
        )
    if spec.newNullability().isDefined() and bool(spec.newNullability().get()) != nullable:
        raise _unsupported(f"{statement} NOT NULL", entry, "whether a column may be null is decided by CREATE TABLE")
    if spec.newDefaultExpression().isDefined() or spec.dropDefault():
        raise _unsupported(f"{statement} DEFAULT", entry, "columns have no defaults; give a value in each INSERT")


def _refuse_nested(parts: list[str]) -> None:
    name = ".".join(parts)
    raise SchemaError(f"{name} is a field inside a column, and tables of indextables have none", column=name)


def _text(option: Java) -> str | None:
    return str(option.get()) if option.isDefined() else None


def _set_properties(_: Any, plan: Java, table: IndexTable, entry: CatalogTable) -> None:
    properties = {str(key): str(value) for key, value in pairs(plan.properties())}
    if "comment" in properties:
        raise _unsupported(
            "ALTER TABLE ... SET TBLPROPERTIES with comment", entry, "use COMMENT ON TABLE {name} IS '...'"
        )
    table.set_properties(properties)


def _unset_properties(_: Any, plan: Java, table: IndexTable, __: CatalogTable) -> None:
    table.unset_properties(*map(str, sequence(plan.propertyKeys())), missing_ok=bool(plan.ifExists()))


def _show_properties(spark: Any, plan: Java, table: IndexTable, entry: CatalogTable) -> DataFrame:
    found, key = table.properties, _text(plan.propertyKey())
    if key is not None:
        absent = f"Table {entry.name} does not have property: {key}"
        found = {key: found.get(key, found.get(property_key(key), absent))}
    rows = sorted(found.items())
    return local_frame(
        spark,
        pa.table(
            {"key": pa.array([k for k, _ in rows], pa.string()), "value": pa.array([v for _, v in rows], pa.string())}
        ),
    )


def _describe(spark: Any, plan: Java, table: IndexTable, entry: CatalogTable) -> DataFrame:
    """DESCRIBE EXTENDED: what Spark says of a table, and what a Python data source cannot tell it."""
    described = frame_over(plan, spark)
    properties = ",".join(f"{key}={value}" for key, value in sorted(table.properties.items()))
    facts = {
        "Comment": entry.comment,
        "Location": entry.location,
        "Provider": FORMAT,
        "Table Properties": f"[{properties}]",
    }
    rows = [tuple(row) for row in described.collect() if row[0] not in facts]
    told = [(name, fact, "") for name, fact in facts.items() if fact is not None]
    return described.sparkSession.createDataFrame([*rows, *told], described.schema)


def _show_create(spark: Any, plan: Java, table: IndexTable, entry: CatalogTable) -> DataFrame:
    """SHOW CREATE TABLE: Spark's columns, and the clauses that it leaves out for a Python data source."""
    shown = frame_over(plan, spark)
    layout = f"PARTITIONED BY ({table.layout})\n" if table.layout.fields else ""
    statement = f"{shown.collect()[0][0]}USING {FORMAT}\n{layout}LOCATION {quote_string(entry.location)}\n"
    return shown.sparkSession.createDataFrame([(statement,)], shown.schema)


def _unsupported(statement: str, entry: CatalogTable, instead: str) -> UnsupportedStatementError:
    plain = entry.name.replace("`", "")  # in backquotes, a name alone is a path to our own commands
    hint = instead.format(name=plain if _PLAIN.fullmatch(plain) else entry.name, location=entry.location)
    return UnsupportedStatementError(
        f"{statement} is not supported for {entry.name}, a table of indextables: {hint}",
        table=entry.name,
        statement=statement,
    )


_Doing: TypeAlias = Callable[[Any, Java, IndexTable, CatalogTable], DataFrame | None]
_DONE_HERE: dict[str, _Doing] = {
    "AddColumns": _add_columns,
    "AlterColumns": _alter_columns,
    "DescribeRelation": _describe,
    "SetTableProperties": _set_properties,
    "ShowCreateTable": _show_create,
    "ShowTableProperties": _show_properties,
    "UnsetTableProperties": _unset_properties,
}
