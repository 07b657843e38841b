"""Query engines that run scans and compactions on other machines.

The top package registers them (`lazy`). What is below it finds them here by name, and imports none of them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

_LOADERS: "dict[str, Callable[[], Engine]]" = {}


class Engine(Protocol):
    """A session is what the engine calls so: a SparkSession."""

    def dataframe(self, scan: Any, session: Any) -> Any:
        """The rows of a scan as a DataFrame of the session."""

    def session_settings(self, session: Any, path: str, given: Mapping[str, str]) -> dict[str, str]:
        """The settings of the session for the table at a path, credentials too, that go with those that are given."""

    def compaction_runner(self, session: Any, table: str) -> Any:
        """A `Runner` (`maintain/compact.py`) that rewrites each group of splits of a table in a task of the session."""


def register(name: str, load: Callable[[], Engine]) -> None:
    """Makes an engine known; `load` imports it when it is used for the first time."""
    _LOADERS[name] = load


def engine(name: str) -> Engine:
    return _LOADERS[name]()
