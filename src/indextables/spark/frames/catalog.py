"""Tables of ours in the session catalog: lookup, registration, and the paths of relations that name them.

Spark gives a Python data source the options of a statement and nothing of the catalog: the relation of a catalog table has
no path. It gets one here.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.errors import ConfigError, TableNotFoundError
from indextables.log import Snapshot
from indextables.spark.catalyst.catalog_tables import (
    SESSION_CATALOG,
    RelationSource,
    TableMetadata,
    lookup_metadata,
    relation_in_view,
    replace_options,
)
from indextables.spark.catalyst.session_state import run_in_spark
from indextables.spark.frames.dataframe_reader import resolve_version
from indextables.spark.options import FORMAT, is_our_format
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.spark_types import spark_schema
from indextables.storage import Location

logger = logging.getLogger(__name__)
_RESOLVED = {"path", "versionasof", "timezone"}


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of ours in the catalog; `name` is quoted. `read` is how it was read: the options, and the snapshot."""

    name: str
    location: str
    comment: str | None = None
    read: tuple[dict[str, str], Snapshot] | None = field(default=None, compare=False, repr=False)


def lookup_table(spark: SparkSession, parts: Sequence[str]) -> CatalogTable | None:
    """The table of a name, if its format is ours; None for views, other formats and other catalogs."""
    return _entry(lookup_metadata(spark, parts), parts)


def table_exists(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether the session catalog has a table or a view of this name, of any format."""
    return lookup_metadata(spark, parts) is not None


def refresh_columns(
    spark: SparkSession, parts: Sequence[str], options: Mapping[str, str] | None = None
) -> CatalogTable | None:
    """Looks a table up, and updates its columns in the catalog if the table has others by now.

    The table is read with the settings of the session and with `options`, those of the reference to it.
    """
    found = lookup_metadata(spark, parts)
    entry = _entry(found, parts)
    if entry is None or found is None:
        return None
    try:
        read = _read_now(spark, entry.location, options or {})
    except TableNotFoundError:
        return entry  # the first write creates it, and a read reports that there is no table
    before, columns = found.columns, spark_schema(read[1].metadata.arrow_schema())
    if _types(before) != _types(columns):
        found.replace_columns(_commented(columns, _comments(before)))
        logger.info("updated the columns of %s in the catalog: %s", entry.name, ", ".join(columns.names))
    return replace(entry, read=read)


def column_comments(spark: SparkSession, parts: Sequence[str]) -> dict[str, str | None]:
    """The comments of the columns of a table; none for a table that the catalog does not know."""
    found = lookup_metadata(spark, parts)
    return {} if found is None else _comments(found.columns)


def comment_on_columns(spark: SparkSession, parts: Sequence[str], comments: Mapping[str, str | None]) -> None:
    """Sets comments of columns, which the catalog keeps; None removes a comment."""
    if not comments:
        return
    refresh_columns(spark, parts)
    found = lookup_metadata(spark, parts)
    if found is None:
        raise ConfigError(
            "the catalog keeps the comments of columns, and it does not know this table; give it a name with CREATE TABLE",
            key="COMMENT",
            value=", ".join(comments),
        )
    columns = found.columns
    found.replace_columns(_commented(columns, {**_comments(columns), **comments}))


def is_external(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether a table is where its CREATE TABLE has put it, and not where the catalog wants it."""
    found = lookup_metadata(spark, parts)
    return found is not None and found.is_external


def read_columns(spark: SparkSession, location: str, options: Mapping[str, str]) -> StructType:
    """The columns that a table has now."""
    return spark_schema(_read_now(spark, location, options)[1].metadata.arrow_schema())


def _read_now(spark: SparkSession, location: str, options: Mapping[str, str]) -> tuple[dict[str, str], Snapshot]:
    """The newest version of a table, whatever version the options name; the driver has kept what it read of the log."""
    given = {
        key: value for key, value in options.items() if key.lower() not in {"path", "versionasof", "timestampasof"}
    }
    return resolve_version(spark, {**given, "path": location})


def register_table(
    spark: SparkSession, parts: Sequence[str], location: str | None, columns: StructType
) -> CatalogTable:
    """Adds a table to the catalog: the one at a location, or a new one at the location that the catalog chooses.

    Without columns Spark would infer them in a process that has none of the session's settings and credentials.
    """
    whole = qualify(spark, parts)
    spark.catalog.createTable(quote_name(whole), path=location, source=FORMAT, schema=columns)
    entry = lookup_table(spark, whole)
    if entry is None:
        raise AssertionError("the table was just added to the catalog")
    return entry


def qualify(spark: SparkSession, parts: Sequence[str]) -> list[str]:
    """The name with its database, which no temporary view has."""
    return list(parts) if len(parts) > 1 else [spark.catalog.currentDatabase(), *parts]


def refuse_other_location(entry: CatalogTable, path: str) -> None:
    """Refuses a path that is not where the catalog has the table."""
    if Location.parse(path) != Location.parse(entry.location):
        raise ConfigError(
            f"table {entry.name} is at {entry.location}, not at {path}; leave the path out, or choose another name",
            key="path",
            value=path,
        )


def refuse_other_format(spark: SparkSession, parts: Sequence[str]) -> None:
    """Refuses the name of a table or view that is not of our format."""
    if table_exists(spark, parts):
        name = ".".join(parts)
        raise ConfigError(
            f"the catalog has a table or view {name} that is not of the format {FORMAT}; choose another name",
            key="name",
            value=name,
        )


def drop_from_catalog(spark: SparkSession, entry: CatalogTable) -> None:
    """Drops a table; its files are deleted if the catalog chose their location."""
    run_in_spark(spark, f"DROP TABLE IF EXISTS {entry.name}")


def resolve_relations(frame: DataFrame) -> DataFrame:
    """The frame with a path and a version for each of its relations of ours, as `spark.read.load` gives them.

    A table that is named several times is read at one version.
    """
    spark = frame.sparkSession
    decide = cache(lambda given: resolve_version(spark, dict(given))[0])

    def options_for(source: RelationSource) -> Mapping[str, str] | None:
        if _keys(source.options) >= _RESOLVED:
            return None
        options: dict[str, str] = decide(_with_path(spark, source))
        return options

    return replace_options(frame, options_for)


def relation_of_view(spark: SparkSession, parts: Sequence[str]) -> RelationSource | None:
    """The table of ours that a temporary view of this name shows unchanged; None for other names and views."""
    source = relation_in_view(spark, parts)
    if source is None or source.name is None:
        return source
    return source if lookup_table(spark, source.name) is not None else None


def _entry(found: TableMetadata | None, parts: Sequence[str]) -> CatalogTable | None:
    if found is None or not is_our_format(found.provider):
        return None
    return CatalogTable(quote_name(parts), found.location, found.comment)


def _with_path(spark: SparkSession, source: RelationSource) -> frozenset[tuple[str, str]]:
    options = dict(source.options)
    if "path" not in _keys(options) and source.name is not None:
        options["path"] = _location_of(spark, source.name)
    return frozenset(options.items())


def _keys(options: Mapping[str, str]) -> set[str]:
    return {key.lower() for key in options}


def _location_of(spark: SparkSession, parts: Sequence[str]) -> str:
    entry = lookup_table(spark, parts)
    if entry is None:
        name = ".".join(parts[1:])
        raise ConfigError(
            f"table {name} is not in the session catalog {SESSION_CATALOG}; read it by its path",
            key="path",
            value=name,
        )
    return entry.location


def _comments(columns: StructType) -> dict[str, str | None]:
    return {field.name: field.metadata.get("comment") for field in columns}


def _commented(columns: StructType, comments: Mapping[str, str | None]) -> StructType:
    fields = [(field, comments.get(field.name)) for field in columns]
    return StructType(
        [StructField(f.name, f.dataType, f.nullable, {} if c is None else {"comment": c}) for f, c in fields]
    )


def _types(schema: StructType) -> list[tuple[str, object]]:
    return [(field.name, field.dataType) for field in schema]
