"""CREATE [OR REPLACE] TABLE ... USING indextables, with columns, with a location, or AS SELECT; by a name or at a path."""

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.config import PREFIX, Config, canonical, property_key
from indextables.errors import ConfigError, LayoutError, SchemaError, TableNotFoundError
from indextables.layout import Layout
from indextables.log import TransactionLog
from indextables.search import FieldRule
from indextables.spark.catalyst.parsed_statement import CreateTable
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.session_state import run_in_spark
from indextables.spark.catalyst.table_definition import TableDefinition, table_definition
from indextables.spark.environment.session_settings import is_default, settings_of
from indextables.spark.frames.catalog import (
    CatalogTable,
    comment_on_columns,
    drop_from_catalog,
    lookup_table,
    qualify,
    refuse_other_format,
    refuse_other_location,
    register_table,
    table_exists,
)
from indextables.spark.frames.dataframe_writer import TableWriter
from indextables.spark.frames.insert import query_rows
from indextables.spark.frames.recorded_write import partition_term
from indextables.spark.options import FORMAT, VIEW, is_our_format, path_in, settings_in
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.spark.source.spark_types import arrow_schema, refuse_collation, spark_schema
from indextables.statements import path_of_new_table
from indextables.table import IndexTable
from indextables.write.new_table import refuse_other_properties
from indextables.write.text_columns import without_choice

_RULE, _LAYOUT = f"{PREFIX}indexing.typemap.", f"{PREFIX}partitionBy"


def creates_ours(spark: SparkSession, statement: CreateTable) -> bool:
    """Whether a CREATE TABLE is for our format, by its USING or, without one, by the session's default; or by its path."""
    if _path_in(statement) is not None:
        return True
    if statement.provider is not None or statement.has_serde or _is_hive_by_default(spark):
        return is_our_format(statement.provider)
    return is_default(spark)


def create_table(spark: SparkSession, statement: CreateTable) -> None:
    if Capability.CATALOG_TABLES not in capabilities(spark):
        raise _refused("this version of Spark", "use df.write.format('indextables').save(path)")
    definition, path = table_definition(statement), _path_in(statement)
    _refuse_clauses(definition)
    if path is not None:
        _create_at_path(spark, statement, definition, path)
        return
    if statement.if_not_exists and table_exists(spark, statement.name):
        return
    _refuse_expressions(definition)
    entry = _replaced_entry(spark, statement, definition) if statement.replaces else None
    if statement.query is not None:
        writer = _writer(spark, statement, definition)
        writer.saveAsTable(quote_name(qualify(spark, statement.name)))
    elif entry is not None:
        _commit_columns(spark, entry.location, definition, replaces=True)
    else:
        _create_with_columns(spark, statement, definition)
    if entry is not None:
        _replace_comments(spark, statement, definition)
    if definition.comment is not None or (entry is not None and entry.comment is not None):
        _comment_on_table(spark, statement, definition.comment)


def _path_in(statement: CreateTable) -> str | None:
    """The path of ``CREATE TABLE indextables.`path` ``."""
    return path_of_new_table(statement.name[-1], VIEW)


def _create_at_path(spark: SparkSession, statement: CreateTable, definition: TableDefinition, path: str) -> None:
    """A table that the catalog does not know."""
    name = f"indextables.`{path}`"
    if statement.has_serde or not (statement.provider is None or is_our_format(statement.provider)):
        raise _refused(f"{name} and another format", f"leave USING out, or write USING {FORMAT}")
    if definition.location is not None or "path" in definition.options:
        raise _refused(f"{name} and a LOCATION", "give one of them")
    if definition.comment is not None or any(column.metadata for column in definition.columns):
        raise _refused(f"{name} and COMMENT", "the catalog keeps comments: give the table a name, and its LOCATION")
    location = path_in({"path": path})
    session = canonical(settings_of(spark, location, definition.options))
    exists = TransactionLog.open(location, Config.resolve(session)).exists()
    if statement.if_not_exists and exists:
        return
    if statement.needs_table and not exists:
        raise _nothing_to_replace(name)
    _refuse_expressions(definition)
    if statement.query is not None:
        _writer(spark, statement, definition).save(location)
    elif definition.columns.fields:
        _commit_columns(spark, location, definition, replaces=statement.replaces)
    else:
        raise _refused("neither columns nor a query", "give columns; a table that is there needs no CREATE TABLE")


def _replaced_entry(spark: SparkSession, statement: CreateTable, definition: TableDefinition) -> CatalogTable | None:
    """The table that OR REPLACE replaces, if there is one."""
    name = qualify(spark, statement.name)
    entry, location = lookup_table(spark, name), _options(definition).get("path")
    if entry is None:
        refuse_other_format(spark, name)
        if statement.needs_table:
            raise _nothing_to_replace(quote_name(name))
    elif location is not None:
        refuse_other_location(entry, location)
    if statement.query is None and not definition.columns.fields:
        raise _refused("OR REPLACE and no columns", "give columns, or AS SELECT")
    return entry


def _nothing_to_replace(name: str) -> TableNotFoundError:
    return TableNotFoundError(f"there is no table {name} to replace; use CREATE OR REPLACE TABLE", table=name)


def _writer(spark: SparkSession, statement: CreateTable, definition: TableDefinition) -> TableWriter:
    """The writer of AS SELECT."""
    if statement.query is None:
        raise AssertionError("only AS SELECT has rows")
    writer = TableWriter(query_rows(spark, statement.query)).format(FORMAT).options(**_options(definition))
    writer.partitionBy(*_terms(definition)).clusterBy(*definition.clustering).with_properties(definition.properties)
    return writer.replacing_table() if statement.replaces else writer


def _is_hive_by_default(spark: SparkSession) -> bool:
    return spark.conf.get("spark.sql.legacy.createHiveTableByDefault", "false") == "true"


def _refuse_clauses(definition: TableDefinition) -> None:
    if definition.collation is not None and definition.collation.upper() != "UTF8_BINARY":
        refuse_collation(definition.collation, column=None)
    if definition.has_constraints:
        raise _refused("a constraint", "check the rows in the query that writes them")
    if definition.is_external and definition.location is None:
        raise _refused("EXTERNAL and no LOCATION", "leave EXTERNAL out, or give a LOCATION")


def _refuse_expressions(definition: TableDefinition) -> None:
    for column, clause in definition.computed_columns.items():
        instead = "give its value in each INSERT" if clause == "DEFAULT" else "compute it in the query that writes"
        raise _refused(f"{clause} for the column {column}", instead)
    for option in definition.computed_options:
        raise _refused(f"the option {option}", "write a constant")


def _create_with_columns(spark: SparkSession, statement: CreateTable, definition: TableDefinition) -> None:
    """A new table with these columns, or the one at the location, which must have them if they are given."""
    name, columns, location = statement.name, definition.columns, _options(definition).get("path")
    session = {} if location is None else canonical(settings_of(spark, location))
    if not columns.fields and location is None:
        raise _refused("neither columns nor a location", "give columns, or the LOCATION of a table")
    exists = location is not None and TransactionLog.open(location, Config.resolve(session)).exists()
    if location is not None and not statement.replaces and (not columns.fields or exists):
        table = IndexTable.open(location, options=session)
        _refuse_differences(table, definition)
        register_table(spark, name, location, columns if columns.fields else spark_schema(table.schema))
        return
    nullable = StructType([StructField(c.name, c.dataType, True, c.metadata) for c in columns])
    entry = register_table(spark, name, location, nullable)
    try:
        _commit_columns(spark, entry.location, definition, replaces=statement.replaces)
    except BaseException:
        drop_from_catalog(spark, entry)
        raise


def _commit_columns(spark: SparkSession, location: str, definition: TableDefinition, *, replaces: bool) -> None:
    """Commits an empty table with the columns, the layout and the properties of the statement."""
    settings = canonical(settings_in(definition.options))
    terms, partition_by = _terms(definition), settings.pop(_LAYOUT, None)
    if terms and partition_by is not None:
        raise _refused("PARTITIONED BY and the option partitionBy", "give one of them")
    IndexTable.create(
        location,
        arrow_schema(definition.columns, as_declared=True),
        partition_by=terms or partition_by,
        options={**canonical(settings_of(spark, location, settings)), **settings},
        properties={**definition.properties, **_clustering(definition), **without_choice(settings)},
        or_replace=replaces,
    )


def _replace_comments(spark: SparkSession, statement: CreateTable, definition: TableDefinition) -> None:
    """The columns of a table that was replaced have the comments of the statement, and no others."""
    name = qualify(spark, statement.name)
    entry = lookup_table(spark, name)
    if entry is not None:
        known = {column.name: column.metadata.get("comment") for column in definition.columns}
        comments = {name: known.get(name) for name in IndexTable.open(entry.location, spark=spark).schema.names}
        comment_on_columns(spark, name, comments)


def _comment_on_table(spark: SparkSession, statement: CreateTable, comment: str | None) -> None:
    name = quote_name(qualify(spark, statement.name))
    run_in_spark(spark, f"COMMENT ON TABLE {name} IS {'NULL' if comment is None else quote_string(comment)}")


def _refuse_differences(table: IndexTable, definition: TableDefinition) -> None:
    """A statement about an existing table must describe it as it is."""
    columns, settings = definition.columns, settings_in(definition.options)
    if settings:
        raise _refused(f"{min(settings)} for a table that is there already", "settings go with the creation of a table")
    if columns.fields and arrow_schema(columns) != arrow_schema(spark_schema(table.schema)):
        raise SchemaError(
            f"the table at {table.path} has the columns {', '.join(table.schema.names)}, and the statement has others; "
            "leave the columns out",
            column=None,
        )
    for column in columns:
        if not column.nullable and table.schema.field(column.name).nullable:
            raise SchemaError(
                f"column {column.name!r} of the table at {table.path} may be null; leave NOT NULL out",
                column=column.name,
            )
    layout = Layout.of(*_terms(definition))
    if layout.fields and layout.bind(table.schema) != table.layout:
        raise LayoutError(
            f"the table at {table.path} is partitioned by {str(table.layout) or 'nothing'}, not by {layout}; "
            "leave PARTITIONED BY out",
            field=str(layout),
        )
    _refuse_other_properties(table, {**definition.properties, **_clustering(definition)})


def _refuse_other_properties(table: IndexTable, properties: Mapping[str, str]) -> None:
    """Properties of the statement must be those of the table; the rules of its columns may have come from anywhere."""
    rules = {f"{_RULE}{column.lower()}": rule for column, rule in table.fields.items()}
    others = {key: text for key, text in properties.items() if rules.get(property_key(key)) != FieldRule.parse(text)}
    refuse_other_properties(others, table.properties, table=table.path)


def _options(definition: TableDefinition) -> dict[str, str]:
    """The options, with the location as `path`."""
    return {**definition.options, **({} if definition.location is None else {"path": definition.location})}


def _terms(definition: TableDefinition) -> list[str]:
    """PARTITIONED BY in terms of our layouts: `days(ts)` is `day(ts)`."""
    return [partition_term(term) for term in definition.partitioning]


def _clustering(definition: TableDefinition) -> dict[str, str]:
    """CLUSTER BY as a property of the table."""
    return {f"{PREFIX}optimizeWrite.clusterBy": ", ".join(definition.clustering)} if definition.clustering else {}


def _refused(what: str, instead: str) -> ConfigError:
    return ConfigError(f"CREATE TABLE with {what} is not possible for indextables; {instead}", key="CREATE", value=what)
