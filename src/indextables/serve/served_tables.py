"""The tables that are served: each is opened once, by an id, and followed to its newest version."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from threading import Lock
from time import monotonic

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConfigError, SchemaError, TableNotFoundError
from indextables.redaction import redacted
from indextables.search.field_rules import TEXT
from indextables.search.text_fields import Shape, shape
from indextables.serve.computed_cache import ComputedCache
from indextables.serve.split_columns import codes_of
from indextables.serve.time_column import TimeColumn, choose_time_column
from indextables.serve.view import View
from indextables.serve.view_state import ViewState
from indextables.serve.view_summaries import is_countable
from indextables.table import IndexTable

_FRESH = 2.0  # seconds for which the newest version that was found counts as the newest
_VERSIONS = 8  # versions of a table that are kept open
_LEVEL_NAMES = ("level", "severity", "loglevel", "log_level", "lvl", "severity_text", "priority")
_FEW_VALUES = 50  # a column with so few values is a facet, however few rows there are
_LONGEST_LABEL = 60  # characters of a text that is searched by its words and still has a facet
_MOST_VALUES = 10_000
_MOST_NUMBERS = 200  # distinct numbers of a facet
_ID = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, eq=False)
class TableVersion:
    """One version of a table: a handle that never moves, and what the page needs to know of it."""

    table: IndexTable
    named_time: str | None

    @property
    def version(self) -> int:
        return self.table.version

    @cached_property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @cached_property
    def time(self) -> TimeColumn | None:
        """The named column where it is one of times in this version: it may have had another name, or get one."""
        try:
            return choose_time_column(self.schema, self.table.layout, self.named_time)
        except (SchemaError, ConfigError):
            return choose_time_column(self.schema, self.table.layout, None)

    @cached_property
    def text_columns(self) -> list[str]:
        return [name for name, rule in self.table.fields.items() if rule.type == TEXT]

    @cached_property
    def indexed(self) -> dict[str, str]:
        """How each column is indexed: `words`, `exact` or `none`."""
        kinds = {Shape.WORDS: "words", Shape.NOTHING: "none"}
        return {name: kinds.get(shape(rule), "exact") for name, rule in self.table.fields.items()}

    @cached_property
    def facet_columns(self) -> list[str]:
        """The columns whose values repeat: texts, truth values, and numbers and words of which there are few."""
        view, words = self.view(ViewState()), set(self.text_columns)
        timed = None if self.time is None else self.time.name
        fields = [f for f in self.schema if is_countable(f.type) and not pa.types.is_date(f.type) and f.name != timed]
        return [f.name for f in fields if _repeats(view, f, is_words=f.name in words)]

    @cached_property
    def level_column(self) -> str | None:
        by_name = {
            name.lower(): name for name in self.facet_columns if pa.types.is_string(self.schema.field(name).type)
        }
        return next((by_name[name] for name in _LEVEL_NAMES if name in by_name), None)

    def view(self, state: ViewState, *, check: Callable[[], None] = lambda: None) -> View:
        """The rows that a state shows."""
        condition = state.condition(self.schema, self.time)
        return View.of(self.table.scan(where=condition, query=state.query), self.time, check=check)


def _repeats(view: View, facet_field: pa.Field, *, is_words: bool) -> bool:
    """Whether the values of a column repeat, by those of the largest split."""
    largest = max(view.tasks, key=lambda task: task.split.num_records or 0, default=None)
    if largest is None:
        return bool(pa.types.is_string(facet_field.type) or pa.types.is_boolean(facet_field.type)) and not is_words
    reader = view.open(largest)
    is_text = pa.types.is_string(facet_field.type)
    if is_text and reader.num_rows > _MOST_VALUES and not reader.footer.has_dictionary(facet_field.name):
        return False
    _, values = codes_of(reader, facet_field, None)
    if is_words:
        return _are_labels(values, reader.num_rows)
    distinct, most = len(values), _MOST_VALUES if is_text else _MOST_NUMBERS
    return distinct <= min(most, max(_FEW_VALUES, reader.num_rows // 4))


def _are_labels(values: pa.Array, rows: int) -> bool:
    """Whether texts are few and short, such as the names of cities, and not sentences."""
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    return len(values) <= min(_FEW_VALUES, rows // 2) and longest <= _LONGEST_LABEL


@dataclass(eq=False)
class ServedTable:
    """A table under its id."""

    id: str
    handle: IndexTable
    named_time: str | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)
    _versions: ComputedCache = field(default_factory=lambda: ComputedCache(_VERSIONS * 4), repr=False)
    _looked: float = field(default=float("-inf"), repr=False)

    @property
    def path(self) -> str:
        return redacted(self.handle.path)

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2] or self.path

    def latest(self, *, refresh: bool = False) -> TableVersion:
        """The newest version, as it was found at most a few seconds ago."""
        with self._lock:
            if refresh or monotonic() - self._looked > _FRESH:
                self.handle.refresh()
                self._looked = monotonic()
            version = self.handle.version
        return self.at(version)

    def at(self, version: int | None) -> TableVersion:
        """A version, or the newest one."""
        if version is None:
            return self.latest()
        return self._versions.get(version, lambda: self._open(version))

    def _open(self, version: int) -> TableVersion:
        return TableVersion(self.handle.at(version=version), self.named_time)

    def versions(self) -> list[dict[str, object]]:
        """The commits that the log describes, the oldest first."""
        rows = self._versions.get(("history", self.handle.version), self.handle.history)
        wanted = rows.select(["version", "timestamp", "operation"]).to_pylist()
        return [{**row, "timestamp": _iso(row["timestamp"])} for row in reversed(wanted)]


def _iso(time: object) -> str:
    isoformat = getattr(time, "isoformat", None)
    return str(time) if isoformat is None else str(isoformat()).replace("+00:00", "Z")


class ServedTables:
    """Tables by their ids, which are the names of their directories, with a number where two are the same."""

    def __init__(self, tables: Sequence[IndexTable], *, time: str | None = None) -> None:
        self.by_id: Mapping[str, ServedTable] = {
            name: ServedTable(name, table, time)
            for name, table in zip(unique_ids([table.path for table in tables]), tables, strict=True)
        }
        for served in self.by_id.values():
            newest = served.latest().table  # a --time that is no column is refused before anything is served
            choose_time_column(newest.schema, newest.layout, time)

    def named(self, name: str | None) -> ServedTable:
        """The table of an id; the only one, or the first one, where no id is given."""
        if not name:
            return next(iter(self.by_id.values()))
        if name not in self.by_id:
            known = ", ".join(self.by_id)
            raise TableNotFoundError(f"there is no table {name[:60]!r} here; there are {known}", table=name)
        return self.by_id[name]


def unique_ids(paths: Sequence[str]) -> list[str]:
    """An id for each path.

    >>> unique_ids(["/data/logs", "s3://bucket/logs/", "/data/web log"])
    ['logs', 'logs-2', 'web-log']
    """
    ids: list[str] = []
    for path in paths:
        base = _ID.sub("-", redacted(path).rstrip("/").rpartition("/")[2]).strip("-") or "table"
        numbered = (f"{base}-{number}" for number in count(2))
        ids.append(base if base not in ids else next(name for name in numbered if name not in ids))
    return ids
