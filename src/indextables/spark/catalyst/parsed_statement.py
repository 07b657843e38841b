"""SQL statements as Spark parses them, read into plain values: who handles a statement matches on its type.

A statement that is new here gets a class, a place in `Statement`, and a reader in one of the two tables at the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, _parse_datatype_json_string

from indextables.spark.catalyst.catalog_tables import location_text, text_of
from indextables.spark.catalyst.handles import LogicalPlan
from indextables.spark.catalyst.java import Java, kind, name_parts, pairs, seq, sequence
from indextables.spark.catalyst.session_state import parse_plan
from indextables.spark.catalyst.table_references import TableReference, table_references
from indextables.spark.versions import CURRENT

Name: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column of ADD COLUMNS; `parents` are the columns around a nested field."""

    name: str
    type: DataType
    comment: str | None
    parents: Name
    nullable: bool
    has_position: bool
    has_default: bool


@dataclass(frozen=True, slots=True)
class AddColumns:
    table: Name
    columns: tuple[NewColumn, ...]


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One column of ALTER COLUMN; what is None stays as it is."""

    name: Name
    type: DataType | None
    nullable: bool | None
    comment: str | None
    drops_comment: bool
    has_position: bool
    has_default: bool


@dataclass(frozen=True, slots=True)
class AlterColumns:
    table: Name
    changes: tuple[ColumnChange, ...]


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """`name` has more than one part for a nested field."""

    table: Name
    name: Name
    new_name: str


@dataclass(frozen=True, slots=True)
class DropColumns:
    table: Name
    names: tuple[Name, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class SetProperties:
    table: Name
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    table: Name
    keys: tuple[str, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class ShowProperties:
    table: Name
    key: str | None


@dataclass(frozen=True, slots=True)
class DescribeExtended:
    table: Name
    plan: LogicalPlan = field(repr=False)


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    table: Name


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """`values` are those of PARTITION (...), by field; none without it."""

    table: Name
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TruncateTable:
    table: Name


@dataclass(frozen=True, slots=True)
class CacheTable:
    """`level` is the option storageLevel."""

    table: Name
    lazy: bool
    level: str | None


@dataclass(frozen=True, slots=True)
class UncacheTable:
    table: Name


class Operation(Enum):
    """Statements about a table that have no class here, because no table of ours supports them."""

    ADD_CONSTRAINT = "AddConstraint"
    ADD_PARTITIONS = "AddPartitions"
    CLUSTER_BY = "AlterTableClusterBy"
    COLLATION = "AlterTableCollation"
    ANALYZE_COLUMN = "AnalyzeColumn"
    ANALYZE_TABLE = "AnalyzeTable"
    CREATE_INDEX = "CreateIndex"
    DESCRIBE_PARTITION = "DescribeTablePartition"
    DROP_CONSTRAINT = "DropConstraint"
    DROP_INDEX = "DropIndex"
    DROP_PARTITIONS = "DropPartitions"
    LOAD_DATA = "LoadData"
    RECOVER_PARTITIONS = "RecoverPartitions"
    RENAME_PARTITIONS = "RenamePartitions"
    REPAIR_TABLE = "RepairTable"
    REPLACE_COLUMNS = "ReplaceColumns"
    SET_LOCATION = "SetTableLocation"
    SET_SERDE = "SetTableSerDeProperties"
    SHOW_TABLE_PARTITION = "ShowTablePartition"
    TRUNCATE_PARTITION = "TruncatePartition"
    OTHER = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A statement that changes a table, or asks something of it, in a way that no table of ours supports."""

    table: Name
    operation: Operation
    words: str  # as Spark names the statement: ALTER TABLE ... DROP COLUMNS


@dataclass(frozen=True, slots=True)
class RunBySpark:
    """A statement about one table that Spark runs for every format: DESCRIBE, COMMENT ON TABLE."""

    table: Name


TableStatement: TypeAlias = (
    AddColumns
    | AlterColumns
    | RenameColumn
    | DropColumns
    | SetProperties
    | UnsetProperties
    | ShowProperties
    | DescribeExtended
    | ShowCreateTable
    | ShowPartitions
    | TruncateTable
    | CacheTable
    | UncacheTable
    | Unsupported
    | RunBySpark
)


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """DELETE FROM, UPDATE, MERGE INTO. The rest is read from the text."""

    table: Name
    words: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`provider` is what USING says. `query` is that of AS SELECT. The rest is read by `table_definition`.

    OR REPLACE `replaces` a table that is there, and REPLACE TABLE `needs_table`.
    """

    name: Name
    provider: str | None
    has_serde: bool
    replaces: bool
    needs_table: bool
    if_not_exists: bool
    query: LogicalPlan | None = field(repr=False)
    plan: LogicalPlan = field(repr=False)


@dataclass(frozen=True, slots=True)
class InsertInto:
    """`target` is None if the target is not a name. The rest is read by `insert_analysis`."""

    target: Name | None
    plan: LogicalPlan = field(repr=False)


@dataclass(frozen=True, slots=True)
class InsertDirectory:
    provider: str | None
    options: Mapping[str, str]  # the location as `path`
    query: LogicalPlan = field(repr=False)
    plan: LogicalPlan = field(repr=False)


@dataclass(frozen=True, slots=True)
class MultiInsert:
    """`FROM rows INSERT INTO t SELECT ... INSERT INTO u SELECT ...`."""

    inserts: tuple["WriteStatement", ...]
    plan: LogicalPlan = field(repr=False)


WriteStatement: TypeAlias = CreateTable | InsertInto | InsertDirectory | MultiInsert


@dataclass(frozen=True, slots=True)
class ExecuteImmediate:
    """`text` is None if the statement is not a literal."""

    text: str | None
    has_parameters: bool


@dataclass(frozen=True, slots=True)
class Script:
    """BEGIN ... END."""


@dataclass(frozen=True, slots=True)
class CreateView:
    """A statement that keeps a query under a name: CREATE VIEW, ALTER VIEW ... AS, CACHE TABLE ... AS SELECT."""


@dataclass(frozen=True, slots=True)
class Other:
    """A query, or a statement that is not about one table."""


Statement: TypeAlias = TableStatement | WriteStatement | ChangeRows | ExecuteImmediate | Script | CreateView | Other


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement, and the tables that it names."""

    statement: Statement
    references: tuple[TableReference, ...]


def parse_statement(spark: SparkSession, text: str) -> Parsed | None:
    """None if Spark cannot parse the text."""
    plan = parse_plan(spark, text)
    return None if plan is None else Parsed(_statement(spark, plan), tuple(table_references(plan)))


def query_of(statement: WriteStatement) -> LogicalPlan:
    """The query whose rows a statement writes; only for statements that have one (`has_query`)."""
    java: Java = statement.plan
    return LogicalPlan(sequence(java.children())[-1])


def has_query(statement: Statement) -> bool:
    match statement:
        case InsertInto() | InsertDirectory():
            return True
        case CreateTable(query=query):
            return query is not None
        case _:
            return False


def with_query(spark: SparkSession, statement: WriteStatement, query: LogicalPlan) -> LogicalPlan:
    """The plan of a statement over another query."""
    java: Java = statement.plan
    *target, _ = sequence(java.children())
    return LogicalPlan(java.withNewChildren(seq([*target, query], spark)))


def _statement(spark: SparkSession, plan: Java) -> Statement:
    name = kind(plan)
    if name == "UnresolvedWith":
        return _with_clause(spark, plan)
    if name in _WRITE_READERS:
        return _WRITE_READERS[name](spark, plan)
    if name == "Union":
        return _multi_insert(spark, plan)
    if name in _WITHOUT_DETAILS:
        return _WITHOUT_DETAILS[name]
    if name == "UnresolvedExecuteImmediate":
        text = plan.sqlStmtStr()
        literal = str(text.value().toString()) if kind(text) == "Literal" else None
        return ExecuteImmediate(literal, not (plan.args().isEmpty() and plan.targetVariables().isEmpty()))
    return _table_statement(plan)


def _with_clause(spark: SparkSession, plan: Java) -> Statement:
    """`WITH x AS (...) INSERT INTO t SELECT ...` is read as `INSERT INTO t WITH x AS (...) SELECT ...`."""
    inner = plan.child()
    if kind(inner) in _WRITE_READERS:
        return _statement(spark, _with_inside(spark, plan, inner))
    if kind(inner) == "Union" and _are_inserts(sequence(inner.children())):
        inserts = [_with_inside(spark, plan, insert) for insert in sequence(inner.children())]
        return _multi_insert(spark, inner.withNewChildren(seq(inserts, spark)))
    return _table_statement(inner)


def _with_inside(spark: SparkSession, with_clause: Java, command: Java) -> Java:
    *target, query = sequence(command.children())
    return command.withNewChildren(seq([*target, with_clause.withNewChildren(seq([query], spark))], spark))


def _multi_insert(spark: SparkSession, plan: Java) -> Statement:
    children = sequence(plan.children())
    if not _are_inserts(children):
        return Other()
    return MultiInsert(tuple(_WRITE_READERS[kind(insert)](spark, insert) for insert in children), plan)


def _are_inserts(plans: list[Java]) -> bool:
    return all(kind(plan) in {"InsertIntoStatement", "InsertIntoDir"} for plan in plans)


def _create_table(_: SparkSession, plan: Java) -> CreateTable:
    spec, command = plan.tableSpec(), kind(plan)
    return CreateTable(
        name=tuple(str(part) for part in sequence(plan.name().nameParts())),
        provider=text_of(spec.provider()),
        has_serde=bool(spec.serde().isDefined()),
        replaces=command.startswith("Replace"),
        needs_table=command.startswith("Replace") and not plan.orCreate(),
        if_not_exists=command.startswith("Create") and bool(plan.ignoreIfExists()),
        query=plan.query() if command.endswith("AsSelect") else None,
        plan=plan,
    )


def _insert_into(_: SparkSession, plan: Java) -> InsertInto:
    target = plan.table()
    return InsertInto(tuple(name_parts(target)) if kind(target) == "UnresolvedRelation" else None, plan)


def _insert_directory(spark: SparkSession, plan: Java) -> InsertDirectory:
    storage = plan.storage()
    options, location = _texts(storage.properties()), storage.locationUri()
    if location.isDefined():
        options["path"] = location_text(spark, location.get())
    return InsertDirectory(text_of(plan.provider()), options, plan.child(), plan)


def _table_statement(plan: Java) -> TableStatement | ChangeRows | Other:
    target = _target(plan)
    if target is None:
        return Other()
    name, table = kind(plan), tuple(name_parts(target))
    if name in _TABLE_READERS:
        return _TABLE_READERS[name](plan, table)
    if name in _CHANGES:
        return ChangeRows(table, _CHANGES[name])
    if name in _OPERATIONS:
        return Unsupported(table, _OPERATIONS[name], str(target.commandName()))
    if kind(target) == "UnresolvedTable" and name not in _OF_THE_CATALOG:
        return Unsupported(table, Operation.OTHER, str(target.commandName()))
    return RunBySpark(table)


def _target(plan: Java) -> Java | None:
    """The table that a statement is about."""
    children = sequence(plan.children())
    if not children:
        return None
    first = children[0]
    while kind(first) == "SubqueryAlias":
        first = first.child()
    by_name = kind(first) in {"UnresolvedTable", "UnresolvedTableOrView"}
    by_relation = kind(plan) in {*_OF_RELATIONS, *_CHANGES} and kind(first) == "UnresolvedRelation"
    return first if by_name or by_relation else None


def _add_columns(plan: Java, table: Name) -> AddColumns:
    return AddColumns(table, tuple(_new_column(column) for column in sequence(plan.columnsToAdd())))


def _new_column(column: Java) -> NewColumn:
    path = column.path()
    return NewColumn(
        name=str(column.colName()),
        type=data_type(column.dataType()),
        comment=text_of(column.comment()),
        parents=tuple(map(str, sequence(path.get().name()))) if path.isDefined() else (),
        nullable=bool(column.nullable()),
        has_position=bool(column.position().isDefined()),
        has_default=bool(column.default().isDefined()),
    )


def _alter_columns(plan: Java, table: Name) -> AlterColumns:
    return AlterColumns(table, tuple(_column_change(spec) for spec in sequence(plan.specs())))


def _column_change(spec: Java) -> ColumnChange:
    new_type, nullability = spec.newDataType(), spec.newNullability()
    return ColumnChange(
        name=_field_name(spec.column()),
        type=data_type(new_type.get()) if new_type.isDefined() else None,
        nullable=bool(nullability.get()) if nullability.isDefined() else None,
        comment=text_of(spec.newComment()),
        drops_comment=CURRENT.has_drop_comment and bool(spec.dropComment()),
        has_position=bool(spec.newPosition().isDefined()),
        has_default=bool(spec.newDefaultExpression().isDefined() or spec.dropDefault()),
    )


def _field_name(column: Java) -> Name:
    return tuple(map(str, sequence(column.name())))


def _describe(plan: Java, table: Name) -> DescribeExtended | RunBySpark:
    return DescribeExtended(table, plan) if plan.isExtended() else RunBySpark(table)


def _show_partitions(plan: Java, table: Name) -> ShowPartitions:
    pattern = plan.pattern()
    spec = pairs(pattern.get().spec()) if pattern.isDefined() else []
    return ShowPartitions(table, {str(key): None if value is None else str(value) for key, value in spec})


def _cache(plan: Java, table: Name) -> CacheTable:
    options = {key.lower(): text for key, text in _texts(plan.options()).items()}
    return CacheTable(table, bool(plan.isLazy()), options.get("storagelevel"))


def data_type(java: Java) -> DataType:
    return _parse_datatype_json_string(java.json())


def _texts(table: Java) -> dict[str, str]:
    """A Scala map of texts."""
    return {str(key): str(value) for key, value in pairs(table)}


_OF_RELATIONS = {"CacheTable", "UncacheTable"}  # statements whose target is a relation
_CHANGES = {"DeleteFromTable": "DELETE", "MergeIntoTable": "MERGE", "UpdateTable": "UPDATE"}
_OF_THE_CATALOG = {"CommentOnTable"}
_WITHOUT_DETAILS: dict[str, Script | CreateView] = {
    "CompoundBody": Script(),
    "AlterViewAs": CreateView(),
    "CacheTableAsSelect": CreateView(),
    "CreateView": CreateView(),
    "CreateViewCommand": CreateView(),
}
_OPERATIONS = {operation.value: operation for operation in Operation if operation.value}

_TABLE_READERS: dict[str, Callable[[Any, Name], TableStatement]] = {
    "AddColumns": _add_columns,
    "AlterColumns": _alter_columns,
    "CacheTable": _cache,
    "DescribeRelation": _describe,
    "DropColumns": lambda plan, table: DropColumns(
        table, tuple(_field_name(column) for column in sequence(plan.columnsToDrop())), bool(plan.ifExists())
    ),
    "RenameColumn": lambda plan, table: RenameColumn(table, _field_name(plan.column()), str(plan.newName())),
    "SetTableProperties": lambda plan, table: SetProperties(table, _texts(plan.properties())),
    "ShowCreateTable": lambda _, table: ShowCreateTable(table),
    "ShowPartitions": _show_partitions,
    "ShowTableProperties": lambda plan, table: ShowProperties(table, text_of(plan.propertyKey())),
    "TruncateTable": lambda _, table: TruncateTable(table),
    "UncacheTable": lambda _, table: UncacheTable(table),
    "UnsetTableProperties": lambda plan, table: UnsetProperties(
        table, tuple(map(str, sequence(plan.propertyKeys()))), bool(plan.ifExists())
    ),
}
_WRITE_READERS: dict[str, Callable[[SparkSession, Any], WriteStatement]] = {
    "CreateTable": _create_table,
    "CreateTableAsSelect": _create_table,
    "ReplaceTable": _create_table,
    "ReplaceTableAsSelect": _create_table,
    "InsertIntoStatement": _insert_into,
    "OverwriteByExpression": _insert_into,  # REPLACE WHERE, before Spark 4.3
    "InsertIntoDir": _insert_directory,
}
