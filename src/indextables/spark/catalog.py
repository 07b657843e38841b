"""Tables of ours in the session's catalog: where they are, and frames over them.

Spark's catalog keeps a table's location, but Spark gives a Python data source the options of the statement and nothing else:
a relation of a catalog table comes without a path. What names such a table is given its path here.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.errors import ConfigError, TableNotFoundError
from indextables.spark.api.dataframe_reader import decided, in_session
from indextables.spark.catalyst.java import Java, frame_over, jvm_of, kind, plan_of, replacing
from indextables.spark.catalyst.relation import copied, is_ours, options_of, relations_in
from indextables.spark.source.options import FORMAT, is_our_format
from indextables.spark.source.read_options import Asked
from indextables.spark.source.spark_types import spark_schema

logger = logging.getLogger(__name__)
_SESSION_CATALOG = "spark_catalog"
_SETTLED = {"path", "versionasof", "timezone"}


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of ours as the catalog knows it; `name` is quoted where need be."""

    name: str
    location: str
    comment: str | None = None


def parse_name(spark: SparkSession, name: str) -> list[str]:
    """The parts of a name as Spark reads it: `db.t`, `` `my table` ``."""
    parts = _state(spark).sqlParser().parseMultipartIdentifier(name)
    return [str(parts.apply(i)) for i in range(parts.size())]


def lookup_table(spark: SparkSession, parts: Sequence[str]) -> CatalogTable | None:
    """The table that a name means, if it is one of ours; None for views, other formats and other catalogs."""
    found = _metadata(spark, parts)
    if found is None or not is_format(found.provider()):
        return None
    comment = found.comment()
    return CatalogTable(
        quote_name(parts), location_text(spark, found.location()), comment.get() if comment.isDefined() else None
    )


def is_format(provider: Java) -> bool:
    """Whether what Spark calls a provider, which there may be or not, is our format."""
    return bool(provider.isDefined() and is_our_format(str(provider.get())))


def table_exists(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether the session's catalog has a table or view of this name, ours or not."""
    return _metadata(spark, parts) is not None


def refresh_columns(
    spark: SparkSession, parts: Sequence[str], options: Mapping[str, str] | None = None
) -> CatalogTable | None:
    """The same as `lookup_table`; the catalog then has the columns that the table has, whoever added them.

    The table is read with the settings of the session and of `options`, those of whoever names it.
    """
    entry, found = lookup_table(spark, parts), _metadata(spark, parts)
    if entry is None or found is None:
        return None
    try:
        columns = read_columns(spark, entry.location, options or {})
    except TableNotFoundError:
        return entry  # the first write creates it, and a read says that there is nothing
    before = _columns_in(found)
    if _shape(before) != _shape(columns):
        _learn(spark, found, _commented(columns, _comments(before)))
        logger.info("the catalog has learned the columns of %s: %s", entry.name, ", ".join(columns.names))
    return entry


def comment_on_columns(spark: SparkSession, parts: Sequence[str], comments: Mapping[str, str | None]) -> None:
    """Makes the catalog, which keeps comments, say this of columns; None removes a comment."""
    if not comments:
        return
    refresh_columns(spark, parts)
    found = _metadata(spark, parts)
    if found is None:
        raise ConfigError(
            "the catalog keeps the comments of columns, and it does not know this table; give it a name with CREATE TABLE",
            key="COMMENT",
            value=", ".join(comments),
        )
    columns = _columns_in(found)
    _learn(spark, found, _commented(columns, {**_comments(columns), **comments}))


def read_columns(spark: SparkSession, location: str, options: Mapping[str, str]) -> StructType:
    """The columns that a table has now."""
    asked = Asked.of(in_session(spark, {**options, "path": location}))
    return spark_schema(asked.log().snapshot().metadata.arrow_schema())


def register_table(
    spark: SparkSession, parts: Sequence[str], location: str | None, columns: StructType
) -> CatalogTable:
    """Makes the catalog know a table: the one that is at a location, or a new one where the catalog wants it.

    Without columns Spark would ask for them in a process that knows nothing of the session, its credentials least of all.
    """
    whole = qualify(spark, parts)
    spark.catalog.createTable(quote_name(whole), path=location, source=FORMAT, schema=columns)
    entry = lookup_table(spark, whole)
    if entry is None:
        raise AssertionError("the catalog has it now")
    return entry


def qualify(spark: SparkSession, parts: Sequence[str]) -> list[str]:
    """A name that can only be a table's: temporary views, which may have the same name, are in no database."""
    return list(parts) if len(parts) > 1 else [spark.catalog.currentDatabase(), *parts]


def drop_from_catalog(spark: Any, entry: CatalogTable) -> None:
    """Takes a table out of the catalog; its files go with it if the catalog has chosen their place."""
    spark._jsparkSession.sql(f"DROP TABLE IF EXISTS {entry.name}")  # noqa: SLF001


def resolve_relations(frame: DataFrame) -> DataFrame:
    """The same frame; its relations, in subqueries too, have a path and a version, as those of `spark.read.load` have.

    A table that is named several times is seen at one version.
    """
    spark, plan = frame.sparkSession, plan_of(frame)
    loose = [relation for relation in relations_in(plan) if not _keys(options_of(relation)) >= _SETTLED]
    if not loose:
        return frame
    decide = cache(lambda given: decided(spark, dict(given))[0])
    pairs = [(one, copied(spark, one, decide(_located(spark, one)))) for one in loose]
    return frame_over(plan.transformWithSubqueries(replacing(pairs, spark)), spark)


def relation_of_view(spark: SparkSession, parts: Sequence[str]) -> Java | None:
    """The relation of ours that a temporary view of this name shows as it is; None for other names and views."""
    catalog = _state(spark).catalog()
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
        return plan if lookup_table(spark, _parts_of_identifier(plan.identifier())) is not None else None
    return plan if plan is not None and is_ours(plan) else None


def _parts_of_identifier(identifier: Java) -> list[str]:
    return [_SESSION_CATALOG, *identifier.namespace(), identifier.name()]


def quote_name(parts: Sequence[str]) -> str:
    """A name in SQL.

    >>> quote_name(["db", "my`table"])
    '`db`.`my``table`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _located(spark: SparkSession, relation: Java) -> frozenset[tuple[str, str]]:
    """The options of a relation, with the path of the table that it names."""
    options = options_of(relation)
    if "path" not in _keys(options) and relation.identifier().isDefined():
        options["path"] = _location_of(spark, relation.identifier().get())
    return frozenset(options.items())


def _keys(options: Mapping[str, str]) -> set[str]:
    return {key.lower() for key in options}


def _location_of(spark: SparkSession, identifier: Java) -> str:
    parts = _parts_of_identifier(identifier)
    entry = lookup_table(spark, parts)
    if entry is None:
        name = ".".join(parts[1:])
        raise ConfigError(
            f"table {name} is not in the session's catalog {_SESSION_CATALOG}; read it by its path",
            key="path",
            value=name,
        )
    return entry.location


def _metadata(spark: SparkSession, parts: Sequence[str]) -> Java | None:
    state = _state(spark)
    catalog, longest = state.catalog(), 3
    match list(parts):
        case [name] if catalog.getTempView(name).isDefined():
            return None
        case [first, _, _] if first.lower() == _SESSION_CATALOG:
            pass
        case [_] | [_, _] if str(state.catalogManager().currentCatalog().name()) == _SESSION_CATALOG:
            pass
        case _:
            return None
    identifier = state.sqlParser().parseTableIdentifier(quote_name(parts[-2:] if len(parts) == longest else parts))
    return catalog.getTableMetadata(identifier) if catalog.tableExists(identifier) else None


def _columns_in(found: Java) -> StructType:
    return StructType.fromJson(json.loads(found.schema().json()))


def _learn(spark: SparkSession, found: Java, columns: StructType) -> None:
    _state(spark).catalog().alterTableSchema(found.identifier(), _java_schema(spark, columns))


def _comments(columns: StructType) -> dict[str, str | None]:
    return {field.name: field.metadata.get("comment") for field in columns}


def _commented(columns: StructType, comments: Mapping[str, str | None]) -> StructType:
    fields = [(field, comments.get(field.name)) for field in columns]
    return StructType(
        [StructField(f.name, f.dataType, f.nullable, {} if c is None else {"comment": c}) for f, c in fields]
    )


def _shape(schema: StructType) -> list[tuple[str, object]]:
    return [(field.name, field.dataType) for field in schema]


def _java_schema(spark: Any, schema: StructType) -> Java:
    return jvm_of(spark).org.apache.spark.sql.types.DataType.fromJson(schema.json())


def location_text(spark: Any, uri: Java) -> str:
    """A location as our stores read it: escaped as a URI on local disk, plain elsewhere."""
    if uri.getScheme() == "file":
        return str(uri.toString())
    return str(jvm_of(spark).org.apache.spark.sql.catalyst.catalog.CatalogUtils.URIToString(uri))


def _state(spark: Any) -> Java:
    return spark._jsparkSession.sessionState()  # noqa: SLF001
