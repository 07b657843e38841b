"""Statements that name tables of ours in the catalog, with the path of each table in the text.

Spark has a notation for options of one table, `FROM t WITH ('path' = '...')`, and reads the table with them.
"""

import re
from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from indextables.config import PREFIX, canonical
from indextables.spark.catalog import CatalogTable, refresh_columns
from indextables.spark.catalyst.parsed_statement import Parsed, Script
from indextables.spark.catalyst.session_state import parse_plan
from indextables.spark.source.options import settings_of
from indextables.spark.source.quoting import quote_string

_OPTIONS = re.compile(r"\s*WITH\s*\(", re.IGNORECASE)


def locate_tables(spark: SparkSession, text: str, parsed: Parsed) -> str:
    """The statement with a path for every table of ours, except where Spark takes none: `INSERT INTO t TABLE u`."""
    places = sorted(_places(spark, parsed), key=lambda place: -place[0])
    settings = _script_settings if isinstance(parsed.statement, Script) else _no_settings
    options = {entry: {**settings(spark, entry), "path": entry.location} for _, entry in places}
    located = text
    for end, entry in places:
        located = _with_options(located, end, options[entry])
    if located == text or parse_plan(spark, located) is not None:
        return located
    located = text
    for end, entry in places:
        one_more = _with_options(located, end, options[entry])
        located = located if parse_plan(spark, one_more) is None else one_more
    return located


def _places(spark: SparkSession, parsed: Parsed) -> Iterator[tuple[int, CatalogTable]]:
    """Where the name of each table of ours ends."""
    for reference in parsed.references:
        keys = {key.lower() for key in reference.options}
        if "path" not in keys and not reference.is_streaming and not reference.is_time_travel:
            entry = refresh_columns(spark, reference.name, reference.options)
            if entry is not None:
                yield reference.end, entry


def _script_settings(spark: SparkSession, entry: CatalogTable) -> dict[str, str]:
    """The session's settings for the statements of a script, which Spark runs. It refuses its own dynamic mode there."""
    return {f"{PREFIX}partitionOverwriteMode": "static", **canonical(settings_of(spark, entry.location))}


def _no_settings(_spark: SparkSession, _entry: CatalogTable) -> dict[str, str]:
    """Of other statements: the frames over their tables get those of the session."""
    return {}


def _with_options(text: str, end: int, given: Mapping[str, str]) -> str:
    """The text with options for the table whose name ends there."""
    written = ", ".join(f"{quote_string(key)} = {quote_string(value)}" for key, value in given.items())
    options = _OPTIONS.match(text, end)
    if options:
        return f"{text[: options.end()]}{written}, {text[options.end() :]}"
    return f"{text[:end]} WITH ({written}){text[end:]}"
