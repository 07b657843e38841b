"""The arguments and options that verbs share, and what their texts mean."""

from collections.abc import Iterable
from typing import Annotated, Any

import pyarrow as pa
import typer

from indextables.config import is_secret
from indextables.errors import ConfigError
from indextables.schema import parse_type
from indextables.table import IndexTable

Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="Path of the table: a directory, s3://..., abfss://... or gs://...")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[
    list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="A setting. Can be repeated.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what would be done, and change nothing.")]
AtVersion = Annotated[int | None, typer.Option("--version", "-v", metavar="N", help="Read this version of the table.")]
AtTime = Annotated[
    str | None,
    typer.Option("--timestamp", "-t", metavar="TIME", help="Read the table as of this time: 2024-01-31T12:00:00Z."),
]
Where = Annotated[
    str | None,
    typer.Option("--where", "-w", metavar="SQL", help="A SQL condition: \"day = '2024-01-31' AND n > 3\"."),
]
ON_PARTITIONS = typer.Option(
    "--where", "-w", metavar="SQL", help="A SQL condition on partition columns: \"day < '2024-01-01'\"."
)
Query = Annotated[
    str | None,
    typer.Option("--query", "-q", metavar="SEARCH", help="A full-text search: 'message:timeout AND NOT level:INFO'."),
]
TimeZone = Annotated[
    str, typer.Option("--time-zone", metavar="ZONE", help="The time zone of timestamps that do not specify one.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", "-c", metavar="COLUMNS", help="A comma-separated list of columns. Default: all. Can be repeated."
    ),
]


def limit_option(help_text: str, *, least: int = 1) -> Any:
    """The option --limit of a verb, which says in its help what it limits."""
    return typer.Option("--limit", "-n", metavar="N", min=least, help=help_text)


WORDS = "indextables.words"
"""The key of the words of a command, in the `meta` of its context."""


def open_table(
    path: str, option: Iterable[str] | None, *, version: int | None = None, timestamp: str | None = None
) -> IndexTable:
    return IndexTable.open(path, version=version, timestamp=timestamp, options=parse_settings(option))


def parse_settings(given: Iterable[str] | None) -> dict[str, str]:
    """Settings by their keys.

    >>> parse_settings(["checkpoint.interval=50", "clusterBy="])
    {'checkpoint.interval': '50', 'clusterBy': ''}
    """
    return parse_pairs("--option", given or (), "KEY=VALUE")


def parse_pairs(option: str, given: Iterable[str], form: str) -> dict[str, str]:
    """Values by their keys, as an option gives them.

    >>> parse_pairs("--table", ["l=logs"], "NAME=PATH")
    {'l': 'logs'}
    """
    pairs = [text.partition("=") for text in given]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        raise ConfigError(f"{option} {wrong[0]!r} has no value; write {form}", key=wrong[0], value=None)
    return _once(option, [(key, value) for key, _, value in pairs])


def parse_assignments(given: Iterable[str]) -> dict[str, str]:
    """Columns and the expressions that they get.

    >>> parse_assignments(["n = n + 1", "`full name`=concat(first, ' ', last)"])
    {'n': 'n + 1', 'full name': "concat(first, ' ', last)"}
    """
    pairs = [text.partition("=") for text in given]
    wrong = [column for column, equals, _ in pairs if not equals]
    if wrong:
        message = f"{wrong[0]!r} is no assignment; write COLUMN = EXPRESSION"
        raise ConfigError(message, key="--set", value=wrong[0])
    return _once("--set", [(_unquoted(column.strip()), text.strip()) for column, _, text in pairs])


def _unquoted(column: str) -> str:
    return column[1:-1].replace("``", "`") if column.startswith("`") and column.endswith("`") else column


def parse_types(given: Iterable[str] | None) -> dict[str, pa.DataType]:
    """The types of columns, as they are called in SQL.

    >>> parse_types(["id=bigint", "price=decimal(10, 2)"])
    {'id': DataType(int64), 'price': Decimal128Type(decimal128(10, 2))}
    """
    pairs = [text.rpartition("=") for text in given or ()]
    wrong = [kind for column, _, kind in pairs if not column]
    if wrong:
        raise ConfigError(
            f"--type {wrong[0]!r} names no type of a column; write COLUMN=TYPE", key="--type", value=wrong[0]
        )
    named = _once("--type", [(column.strip(), kind) for column, _, kind in pairs])
    return {column: parse_type(kind) for column, kind in named.items()}


def _once(option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The pairs as a dict; a key that has two values is refused."""
    values: dict[str, str] = {}
    spelt: dict[str, str] = {}
    for key, value in pairs:
        own = spelt.setdefault(key.lower(), key)
        if values.setdefault(own, value) != value:
            both = "" if is_secret(own) else f", {values[own]!r} and {value!r}"
            raise ConfigError(
                f"{option} {own} has two values{both}; give one", key=own, value=None if is_secret(own) else value
            )
    return values


def parse_names(columns: Iterable[str] | None) -> list[str] | None:
    """Columns that are separated by commas, of all the times that an option was given.

    >>> parse_names(["day, n", "id"]), parse_names(None)
    (['day', 'n', 'id'], None)
    """
    if columns is None:
        return None
    return list(dict.fromkeys(name for text in columns for name in map(str.strip, text.split(",")) if name))
