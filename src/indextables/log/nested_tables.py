"""Tables do not lie inside each other: each owns the directory that it is in.

A purge, and the clean-up after a failed write, look at all files below a table's root. They leave other tables alone, but a
table inside another one is also deleted, moved and copied with it. So a new one is refused there.
"""

import logging
import os
import posixpath
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from indextables.errors import AccessDeniedError, CorruptLogError, NestedTableError
from indextables.log.log_files import list_log
from indextables.log.ownership import nested_tables
from indextables.storage import Location, Store

MAX_FILES = 10_000
logger = logging.getLogger(__name__)


def refuse_nested(store: Store) -> None:
    """Raises a NestedTableError where a new table would lie inside another one, or around one.

    Each directory above the root is checked for a log, one request each. Of the files below it, the first `MAX_FILES`
    are looked at.
    """
    above = enclosing_table(store)
    if above is not None:
        raise _error(store, "inside", above)
    for key in sorted(nested_tables(entry.key for entry in islice(store.list(), MAX_FILES))):
        location = _below(store.location, key)
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


def _below(location: Location, key: str) -> Location:
    return replace(location, path=posixpath.join(location.path, key))


def _error(store: Store, where: str, other: Location) -> NestedTableError:
    return NestedTableError(
        f"a table at {store.location} would lie {where} the table at {other}; tables do not share directories: choose a "
        "path that is neither below nor above it",
        table=str(store.location),
        other=str(other),
    )
