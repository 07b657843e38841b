"""Paths of tables: a new table lies in no other one, and an error says what is at a path that has no table.

A purge, and the clean-up after a failed write, look at all files below a table's root. They leave other tables alone, but a
table inside another one is also deleted, moved and copied with it. So a new one is refused there.
"""

import logging
import os
import posixpath
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from indextables.errors import (
    AccessDeniedError,
    CorruptLogError,
    IndexTablesError,
    NestedTableError,
    NotFoundError,
    TableNotFoundError,
)
from indextables.log.log_files import list_log
from indextables.log.ownership import nested_tables
from indextables.nearest import nearest
from indextables.storage import Location, Store

logger = logging.getLogger(__name__)
_MOST_BELOW = 10_000  # files that are looked at below a new table
_MOST_FILES, _MOST_NAMED = 1_000, 3
_IMPORT = "`indextables import TABLE {}` or IndexTable.write(...) makes a table of its rows"
FOREIGN_LOGS = {
    "_delta_log": "it is a Delta table; read it with Spark or delta-rs, and write its rows to a table",
    ".hoodie": "it is a Hudi table; read it with Spark, and write its rows to a table",
}
_ICEBERG = "it is an Iceberg table; read it with Spark or PyIceberg, and write its rows to a table"


@contextmanager
def missing_table_errors(store: Store) -> Iterator[None]:
    """Within it, a TableNotFoundError says what is at the path in place of a table."""
    try:
        yield
    except TableNotFoundError as error:
        found = _description(store) if type(error) is TableNotFoundError else None
        if found is None:
            raise
        raise TableNotFoundError(f"there is no table at {store.location}: {found}", table=error.table) from None
    except NotFoundError:
        refuse_file(store.location)
        raise


def refuse_file(location: Location) -> None:
    """A file is refused where a table is expected; what else is there is not looked at."""
    if location.scheme == "file" and os.path.isfile(location.path):  # noqa: PTH113 - Path.is_file raises where one may not look
        raise TableNotFoundError(
            f"{location} is a file, and a table is a directory; {_IMPORT.format(location)}", table=str(location)
        ) from None


def _description(store: Store) -> str | None:
    """What is at the root of a store without a table; None where that is not known."""
    try:
        keys = [entry.key for entry in islice(store.list(), _MOST_FILES)]
        return _contents(store, keys) if keys else _surroundings(store)
    except (IndexTablesError, OSError):  # the error that there is already is the one that counts
        return None


def _contents(store: Store, keys: Sequence[str]) -> str | None:
    above = enclosing_table(store)
    if above is not None:
        return f"it is a directory of the table at {above}; open that one"
    below = sorted(nested_tables(keys))
    if below:
        named = ", ".join(posixpath.join(str(store.location), key) for key in below[:_MOST_NAMED])
        return f"it is a directory with {'a table' if len(below) == 1 else 'tables'} in it; open {named}"
    foreign = foreign_table(keys)
    if foreign is not None:
        return foreign
    if any(key.endswith(".parquet") for key in keys):
        return f"it is a directory of Parquet files; {_IMPORT.format(store.location)}"
    return None


def foreign_table(keys: Sequence[str]) -> str | None:
    """Which table of another format has such files, and how to read it; None where they are no table.

    >>> foreign_table(["_delta_log/0.json", "a.parquet"])
    'it is a Delta table; read it with Spark or delta-rs, and write its rows to a table'
    """
    names = {key.partition("/")[0] for key in keys}
    is_iceberg = any(key.startswith("metadata/") and key.endswith(".metadata.json") for key in keys)
    return next((text for name, text in FOREIGN_LOGS.items() if name in names), _ICEBERG if is_iceberg else None)


def _surroundings(store: Store) -> str:
    """Nothing is there: perhaps the path is misspelt, or leads into a table."""
    above = enclosing_table(store)
    if above is not None:
        return f"nothing is there, and {above} is a table; open that one"
    parent, name = posixpath.split(store.location.path)
    beside = islice(store.at(replace(store.location, path=parent)).list(), _MOST_FILES)
    tables = {key.partition("/")[0] for key in nested_tables(entry.key for entry in beside)}
    meant = nearest(name, tables)
    if meant is None:
        return "nothing is there; check the path, or write a table there first"
    return f"nothing is there; did you mean {posixpath.join(posixpath.dirname(str(store.location)), meant)}?"


def refuse_nested(store: Store) -> None:
    """Raises a NestedTableError where a new table would lie inside another one, or around one.

    Each directory above the root is checked for a log, one request each. Of the files below it, only the
    first ones are looked at.
    """
    above = enclosing_table(store)
    if above is not None:
        raise _error(store, "inside", above)
    for key in sorted(nested_tables(entry.key for entry in islice(store.list(), _MOST_BELOW))):
        location = replace(store.location, path=posixpath.join(store.location.path, key))
        if _is_table(store.at(location)):
            raise _error(store, "around", location)


def enclosing_table(store: Store) -> Location | None:
    """The nearest table that a root lies in; None where it lies in none."""
    return next((location for location in _above(store.location) if _is_table(store.at(location))), None)


def _is_table(store: Store) -> bool:
    try:
        return list_log(store).latest >= 0
    except CorruptLogError:
        return True
    except AccessDeniedError as error:
        logger.info("it is not known whether there is a table at %s: %s", store.location, error)
        return False


def _above(location: Location) -> Iterator[Location]:
    """The directories that a root is in, the nearest first; on local disk, also those that links lead to."""
    paths = [location.path]
    if location.scheme == "file":
        paths.append(os.path.realpath(location.path))
    for path in dict.fromkeys(paths):
        while path.strip("/"):
            path = path.rpartition("/")[0]  # noqa: PLW2901 - one step up
            yield replace(location, path=path or ("/" if location.scheme == "file" else ""))


def _error(store: Store, where: str, other: Location) -> NestedTableError:
    return NestedTableError(
        f"a table at {store.location} would lie {where} the table at {other}; tables do not share directories: choose a "
        "path that is neither below nor above it",
        table=str(store.location),
        other=str(other),
    )
