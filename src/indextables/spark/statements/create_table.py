"""CREATE TABLE ... USING indextables, with columns, with a location, or AS SELECT."""

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.config import PREFIX, Config, canonical
from indextables.errors import ConfigError, LayoutError, SchemaError
from indextables.layout import Layout
from indextables.log import TransactionLog
from indextables.spark.catalyst.parsed_statement import CreateTable
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.session_state import run_in_spark
from indextables.spark.catalyst.table_definition import TableDefinition, table_definition
from indextables.spark.environment.session_settings import is_default, settings_of
from indextables.spark.frames.catalog import drop_from_catalog, qualify, register_table, table_exists
from indextables.spark.frames.dataframe_writer import TableWriter
from indextables.spark.frames.insert import query_rows
from indextables.spark.frames.recorded_write import partition_term
from indextables.spark.options import FORMAT, is_our_format, settings_in
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.spark.source.spark_types import arrow_schema, refuse_collation, spark_schema
from indextables.table import IndexTable
from indextables.write.text_columns import without_choice


def creates_ours(spark: SparkSession, statement: CreateTable) -> bool:
    """Whether a CREATE TABLE is for our format, by its USING or, without one, by the session's default."""
    if statement.provider is not None or statement.has_serde or _is_hive_by_default(spark):
        return is_our_format(statement.provider)
    return is_default(spark)


def create_table(spark: SparkSession, statement: CreateTable) -> None:
    if Capability.CATALOG_TABLES not in capabilities(spark):
        raise _refused("this version of Spark", "use df.write.format('indextables').save(path)")
    if statement.replaces:
        raise _refused("OR REPLACE", "drop the table first, or INSERT OVERWRITE it")
    definition = table_definition(statement)
    _refuse_clauses(definition)
    if statement.if_not_exists and table_exists(spark, statement.name):
        return
    _refuse_expressions(definition)
    if statement.query is None:
        _create_with_columns(spark, statement.name, definition)
    else:
        writer = TableWriter(query_rows(spark, statement.query)).format(FORMAT).options(**_options(definition))
        writer.partitionBy(*_terms(definition)).clusterBy(*definition.clustering)
        writer.with_properties(definition.properties)
        writer.saveAsTable(quote_name(statement.name))
    if definition.comment is not None:
        name = quote_name(qualify(spark, statement.name))
        run_in_spark(spark, f"COMMENT ON TABLE {name} IS {quote_string(definition.comment)}")


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


def _create_with_columns(spark: SparkSession, name: tuple[str, ...], definition: TableDefinition) -> None:
    """A new table with these columns, or the one at the location, which must have them if they are given."""
    options, columns = _options(definition), definition.columns
    location = options.pop("path", None)
    session = {} if location is None else canonical(settings_of(spark, location))
    if not columns.fields and location is None:
        raise _refused("neither columns nor a location", "give columns, or the LOCATION of a table")
    if location is not None and (not columns.fields or TransactionLog.open(location, Config.resolve(session)).exists()):
        table = IndexTable.open(location, options=session)
        _refuse_differences(table, columns, Layout.of(*_terms(definition)), options)
        register_table(spark, name, location, spark_schema(table.schema))
        return
    nullable = StructType([StructField(c.name, c.dataType, True, c.metadata) for c in columns])
    entry = register_table(spark, name, location, nullable)
    try:
        settings = canonical(settings_in(options))
        IndexTable.create(
            entry.location,
            arrow_schema(columns, as_declared=True),
            partition_by=_terms(definition),
            options={**canonical(settings_of(spark, entry.location, settings)), **settings},
            properties={**definition.properties, **_clustering(definition), **without_choice(settings)},
        )
    except BaseException:
        drop_from_catalog(spark, entry)
        raise


def _refuse_differences(table: IndexTable, columns: StructType, layout: Layout, settings: Mapping[str, str]) -> None:
    """A statement about an existing table must describe it as it is."""
    if settings:
        raise _refused(f"{min(settings)} for a table that is there already", "settings go with the creation of a table")
    if columns.fields and arrow_schema(columns) != arrow_schema(spark_schema(table.schema)):
        raise SchemaError(
            f"the table at {table.path} has the columns {', '.join(table.schema.names)}, and the statement has others; "
            "leave the columns out",
            column=None,
        )
    if layout.fields and layout.bind(table.schema) != table.layout:
        raise LayoutError(
            f"the table at {table.path} is partitioned by {str(table.layout) or 'nothing'}, not by {layout}; "
            "leave PARTITIONED BY out",
            field=str(layout),
        )


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
