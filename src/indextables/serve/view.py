"""The rows that a state of the page shows, of one version of a table: found split by split, and kept."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.splits import statistic
from indextables.predicate import Verdict, to_sql
from indextables.read.log_aggregates import count_from_metadata
from indextables.read.opener import SplitOpener, SplitRef, missing_split_errors
from indextables.read.scan import Scan
from indextables.read.scan_plan import SplitTask
from indextables.read.split_scan import count_matching, is_search_only, matching_numbers
from indextables.search.field_rules import TEXT
from indextables.search.queries import fields
from indextables.search.row_matching import Numbers
from indextables.serve.computed_cache import ComputedCache
from indextables.serve.time_column import TimeColumn
from indextables.split import SplitReader
from indextables.storage.traffic import Meter

_MATCH_BYTES = 256 * 1024 * 1024
_kept = ComputedCache(_MATCH_BYTES, getsizeof=lambda found: 64 + found.nbytes)


@dataclass(frozen=True, slots=True)
class Footer:
    """What a query cost: the splits of the table, those that were pruned and opened, and the bytes that were read.

    What is in memory already is neither opened nor read.
    """

    splits: int
    pruned: int
    opened: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class CheckedOpener(SplitOpener):
    """Opens splits, unless the query is to end: `check` raises then."""

    check: Callable[[], None]

    def open(self, split: SplitRef) -> SplitReader:
        self.check()
        return SplitOpener.open(self, split)


@dataclass(frozen=True, eq=False)
class View:
    """Some rows of a table, by their numbers in each split."""

    scan: Scan
    time: TimeColumn | None

    @classmethod
    def of(cls, scan: Scan, time: TimeColumn | None, *, check: Callable[[], None]) -> "View":
        """The rows of a scan; `check` is called before a split is opened, and may end the query."""
        store = copy(scan.opener.store)
        store.meter = Meter()  # of this query alone
        scan.opener = CheckedOpener(store, scan.opener.cache, check)
        return cls(scan, time)

    @property
    def schema(self) -> pa.Schema:
        return self.scan.scan_spec.schema

    @property
    def version(self) -> int:
        return self.scan.snapshot.version

    @cached_property
    def tasks(self) -> list[SplitTask]:
        """The splits that may hold a row, in the order of the table."""
        return self.scan.plan.tasks

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The place of each of these splits, by its path."""
        return {task.split.path: place for place, task in enumerate(self.tasks)}

    @cached_property
    def condition(self) -> str:
        """The predicate as text: equal for equal rows of a version."""
        return to_sql(self.scan.scan_spec.predicate)

    def rows_in(self, task: SplitTask) -> Numbers | None:
        """The numbers of the matching rows of a split, ascending; None if all of its rows match."""
        if task.all_rows_match and not task.split.num_deleted:
            return None
        with missing_split_errors(task.split, self.scan.opener.store, self.version):
            return _kept.get(self._key(task), lambda: self._find(task))

    def is_known(self, task: SplitTask) -> bool:
        """Whether the matching rows of a split are known without opening it."""
        return (task.all_rows_match and not task.split.num_deleted) or self._key(task) in _kept

    def count_in(self, task: SplitTask) -> int:
        rows, known = self.rows_in(task), task.split.live_rows
        if rows is not None:
            return len(rows)
        return self.open(task).num_rows if known is None else known

    def open(self, task: SplitTask) -> SplitReader:
        return self.scan.open(task)

    def known_count(self) -> int | None:
        """The number of rows, if the log or earlier queries give it."""
        from_log = count_from_metadata(self.scan.plan)
        if not all(self.is_known(task) for task in from_log.unknown):
            return None
        return from_log.rows + sum(self.count_in(task) for task in from_log.unknown)

    def count(self) -> int:
        """The number of rows: from the log, by the index of words, or by finding them, as histograms and facets do."""
        from_log = count_from_metadata(self.scan.plan)
        return from_log.rows + sum(self.scan.over(from_log.unknown, self._counted))

    def _counted(self, task: SplitTask) -> int:
        if self._has_only_words and not self.is_known(task):
            return count_matching(self.open(task), self.scan.scan_spec)
        return self.count_in(task)

    @cached_property
    def _has_only_words(self) -> bool:
        """Whether the view is a search for words: the index counts its hits faster than it lists them."""
        spec = self.scan.scan_spec
        searched = set() if spec.search is None else fields(spec.search)
        return is_search_only(spec) and bool(searched) and all(spec.rules[name].type == TEXT for name in searched)

    def footer(self, rows: int) -> Footer:
        verdicts = self.scan.plan.split_verdicts
        return Footer(
            splits=len(verdicts.splits),
            pruned=verdicts.count(Verdict.NEVER),
            opened=len(self.scan.opened_splits),
            bytes=self.scan.opener.store.traffic.bytes_read,
            rows=rows,
        )

    def time_bound(self, end: str) -> pa.Array:
        """The least (`min`) or greatest (`max`) time of each split that may hold a row, as numbers; null if not known."""
        if self.time is None:
            raise AssertionError("a view without time has no bounds of it")
        known = statistic(self._splits, end, self.time.name)
        return pa.nulls(len(self._splits), pa.int64()) if known is None else self.time.numbers(known.combine_chunks())

    def may_have_null_times(self) -> pa.BooleanArray:
        """Whether each split that may hold a row may hold one without a time."""
        nulls = None if self.time is None else statistic(self._splits, "null_count", self.time.name)
        if nulls is None:
            return pa.repeat(pa.scalar(value=True), len(self._splits))
        return pc.fill_null(pc.not_equal(nulls, 0), fill_value=True).combine_chunks()

    @cached_property
    def _splits(self) -> pa.Table:
        """The splits that may hold a row, in the order of the tasks."""
        verdicts = self.scan.plan.split_verdicts
        return verdicts.splits.filter(verdicts.possible)

    def _find(self, task: SplitTask) -> Numbers:
        return matching_numbers(self.open(task), self.scan.scan_spec, all_rows_match=task.all_rows_match)

    def _key(self, task: SplitTask) -> tuple[object, ...]:
        return self.scan.table, self.version, self.condition, task.split.path


def all_numbers(rows: Numbers | None, reader: SplitReader) -> Numbers:
    return np.arange(reader.num_rows) if rows is None else rows
