"""Tables and views of the session catalog (`spark_catalog`), and relations of its tables in plans."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from indextables.spark.catalyst.java import Java, frame_over, jvm_of, kind, plan_of, replacing
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.relation import is_ours, options_of, relations_in, with_options
from indextables.spark.catalyst.session_state import session_state
from indextables.spark.source.quoting import quote_name

SESSION_CATALOG = "spark_catalog"
_LONGEST_NAME = 3  # catalog, database, table


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """A table or a view as the catalog describes it. Each property is a call to the JVM."""

    spark: SparkSession = field(repr=False)
    _java: Any = field(repr=False)

    @property
    def provider(self) -> str | None:
        return text_of(self._java.provider())

    @property
    def location(self) -> str:
        """Where a table is; a view has no location, and Spark raises an error."""
        return location_text(self.spark, self._java.location())

    @property
    def comment(self) -> str | None:
        return text_of(self._java.comment())

    @property
    def is_external(self) -> bool:
        return str(self._java.tableType().name()) == "EXTERNAL"

    @property
    def columns(self) -> StructType:
        return StructType.fromJson(json.loads(self._java.schema().json()))

    def replace_columns(self, columns: StructType) -> None:
        schema = jvm_of(self.spark).org.apache.spark.sql.types.DataType.fromJson(columns.json())
        session_state(self.spark).catalog().alterTableSchema(self._java.identifier(), schema)


@dataclass(frozen=True, slots=True)
class RelationSource:
    """Where a relation gets its rows: the options, and the name of the table if it is one of the catalog."""

    options: Mapping[str, str]
    name: tuple[str, ...] | None


def lookup_metadata(spark: SparkSession, parts: Sequence[str]) -> TableMetadata | None:
    """The table or persistent view of a name in the session catalog; None for temporary views and other catalogs."""
    if Capability.CATALOG_TABLES not in capabilities(spark):
        return None
    state = session_state(spark)
    catalog = state.catalog()
    match list(parts):
        case [name] if catalog.getTempView(name).isDefined():
            return None
        case [first, _, _] if first.lower() == SESSION_CATALOG:
            pass
        case [_] | [_, _] if str(state.catalogManager().currentCatalog().name()) == SESSION_CATALOG:
            pass
        case _:
            return None
    inner = parts[1:] if len(parts) == _LONGEST_NAME else parts
    identifier = state.sqlParser().parseTableIdentifier(quote_name(inner))
    return TableMetadata(spark, catalog.getTableMetadata(identifier)) if catalog.tableExists(identifier) else None


def relation_in_view(spark: SparkSession, parts: Sequence[str]) -> RelationSource | None:
    """The relation that a temporary view shows unchanged: one of ours, or a table of the catalog, whatever its format."""
    catalog = session_state(spark).catalog()
    match list(parts):
        case [name]:
            found = catalog.getTempView(name)
        case [database, name] if database.lower() == catalog.globalTempDatabase().lower():
            found = catalog.getGlobalTempView(name)
        case _:
            return None
    plan = found.get() if found.isDefined() else None
    while plan is not None and kind(plan) in {"View", "SubqueryAlias"}:
        plan = plan.child()
    if plan is not None and kind(plan) == "V2TableReference":  # what a view keeps of a table of the catalog
        return RelationSource(options_of(plan), _name_of(plan.identifier()))
    return RelationSource(options_of(plan), None) if plan is not None and is_ours(plan) else None


def options_of_frame(frame: DataFrame) -> dict[str, str]:
    """The options of the one relation of ours that a frame is over."""
    (relation,) = relations_in(plan_of(frame))
    return options_of(relation)


def replace_options(frame: DataFrame, options_for: Callable[[RelationSource], Mapping[str, str] | None]) -> DataFrame:
    """The frame with other options for its relations of ours, in subqueries too; None leaves a relation as it is."""
    spark, plan = frame.sparkSession, plan_of(frame)
    if Capability.TABLE_RELATIONS not in capabilities(spark):
        return frame
    found = [(relation, options_for(_source_of(relation))) for relation in relations_in(plan)]
    pairs = [(old, with_options(spark, old, options)) for old, options in found if options is not None]
    return frame_over(plan.transformWithSubqueries(replacing(pairs, spark)), spark) if pairs else frame


def location_text(spark: Any, uri: Java) -> str:
    """A location as our stores read it: escaped as a URI on local disk, plain elsewhere."""
    if uri.getScheme() == "file":
        return str(uri.toString())
    return str(jvm_of(spark).org.apache.spark.sql.catalyst.catalog.CatalogUtils.URIToString(uri))


def text_of(option: Java) -> str | None:
    """The text in a Scala Option."""
    return str(option.get()) if option.isDefined() else None


def _source_of(relation: Java) -> RelationSource:
    identifier = relation.identifier()
    return RelationSource(options_of(relation), _name_of(identifier.get()) if identifier.isDefined() else None)


def _name_of(identifier: Java) -> tuple[str, ...]:
    return (SESSION_CATALOG, *map(str, identifier.namespace()), str(identifier.name()))
