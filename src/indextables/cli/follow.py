"""Following a table: a new version as soon as there is one."""

import time
from collections.abc import Iterator

from indextables.config import duration_argument
from indextables.table import IndexTable


def versions_as_they_come(table: IndexTable, *, interval: str, follow: bool) -> Iterator[int]:
    """The version of the table, and then each newer one that it is found at, until the user stops it.

    The handle moves along.
    """
    pause = duration_argument(interval, name="--interval")
    yield table.version
    try:
        while follow and pause is not None:
            time.sleep(pause.total_seconds())
            before = table.version
            if table.refresh().version > before:
                yield table.version
    except KeyboardInterrupt:
        return
