"""The table that DELETE, UPDATE or MERGE changes: one of the catalog, a path, or a temporary view of a whole table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from indextables.errors import UnsupportedStatementError
from indextables.spark.catalog import lookup_table, refresh_columns, relation_of_view
from indextables.spark.source.options import TIME_TRAVEL, VIEW, path_in, settings_of
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.read_options import ReadOptions


@dataclass(frozen=True, slots=True)
class RowTarget:
    """`name` is that of messages, `alias` qualifies columns where the statement gives no alias.

    `catalog_name` is None for a table that the catalog does not know. `settings` are those that a view reads it with.
    """

    name: str
    alias: str
    location: str
    catalog_name: tuple[str, ...] | None
    settings: Mapping[str, str] = field(repr=False)  # there may be secrets among them

    def all_settings(self, spark: SparkSession) -> dict[str, str]:
        """The settings of the session for the table, and those of the view, which win."""
        return {**settings_of(spark, self.location, self.settings), **self.settings}

    def qualifiers(self, alias: str | None) -> frozenset[tuple[str, ...]]:
        """What may stand before the name of a column."""
        parts = tuple(part.lower() for part in self.catalog_name or (self.alias,))
        by_name = () if alias is not None else tuple(parts[first:] for first in range(len(parts)))
        return frozenset({((alias or self.alias).lower(),), *by_name})


def find_target(spark: SparkSession, parts: tuple[str, ...], statement: str) -> RowTarget | None:
    """None for tables of other formats, and for views that show something else than one table of ours."""
    if (entry := refresh_columns(spark, parts)) is not None:
        return RowTarget(entry.name, parts[-1], entry.location, parts, {})
    source = relation_of_view(spark, parts)
    if source is None:
        return None
    if source.name is not None and (entry := lookup_table(spark, source.name)) is not None:
        return RowTarget(entry.name, parts[-1], entry.location, source.name, {})
    path = path_in(source.options)
    name = f"indextables.`{path}`"
    if not parts[-1].startswith(VIEW):
        _refuse_part(source.options, f"view {quote_name(parts)}", name, statement)
    return RowTarget(name, parts[-1], path, None, ReadOptions.of(source.options).settings)


def _refuse_part(options: Mapping[str, str], view: str, table: str, statement: str) -> None:
    """Refuses a view that does not show the table as it is: changes that it does not show would surprise."""
    given = {key.lower() for key in options}
    if given.isdisjoint({TIME_TRAVEL, "where", "query"}):
        return
    what = "another version of the table" if TIME_TRAVEL in given else "some rows of the table"
    raise UnsupportedStatementError(
        f"{statement} cannot change {view}, which shows {what}; name the table instead: {table}",
        table=view,
        statement=statement,
    )
