"""A lazy scan of a table at one version."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from time import perf_counter
from typing import Any, Self, TypeVar

import pyarrow as pa

from indextables.display.notebooks import shown_as_grid
from indextables.engine import engine
from indextables.errors import ConfigError, SchemaError
from indextables.log.snapshot import Snapshot
from indextables.predicate import Literal, to_sql
from indextables.read.found_rows import FoundRows, MatchingRows, decode_found, find_matching
from indextables.read.log_aggregates import (
    ROWS,
    count_from_metadata,
    extremes_from_metadata,
    extremes_of,
    group_counts_from_metadata,
    key_names,
    merged_extreme,
    python_value,
    summed,
)
from indextables.read.opener import SplitOpener, missing_split_errors
from indextables.read.pruning_summary import log_pruning
from indextables.read.scan_output import ScanOutput
from indextables.read.scan_plan import (
    Explanation,
    ScanPlan,
    SplitTask,
    columns_and_values,
    explain,
    plan_scan,
    shortened,
)
from indextables.read.scan_spec import ScanSpec
from indextables.read.search_coverage import warn_of_exact_words
from indextables.read.sort_order import Order
from indextables.read.split_scan import aggregate_rows, count_matching, matching_rows
from indextables.schema import column_named
from indextables.search import Aggregation, bind, merge
from indextables.split import SplitReader

T = TypeVar("T")
_QUICK = 0.0015  # seconds
_MAX_SLOW = 1  # a lookup reads the rows of one split, and finds nothing in the others


class Scan(ScanOutput):
    """The rows of a table that satisfy a predicate; nothing is read before one of its methods is called.

    A scan is iterable, a row is a dict, and libraries that speak Arrow's stream protocol read it as it is.

    `options` are those that the table was opened with; Spark's executors open it again with them. `opened_splits` are the
    paths of the splits that have been opened so far: where a limit is reached early, not all that the plan has.
    """

    order: Order = ()
    offset: int = 0

    def __init__(
        self,
        snapshot: Snapshot,
        scan_spec: ScanSpec,
        opener: SplitOpener,
        *,
        limit: int | None = None,
        parallelism: int = 8,
        options: Mapping[str, str] | None = None,
    ) -> None:
        if limit is not None:
            refuse_limit(limit)
        self.snapshot = snapshot
        self.scan_spec = scan_spec
        self.opener = opener
        self.options = dict(options or {})
        self._limit = limit
        self._parallelism = parallelism
        self._is_logged = True
        self.opened_splits = set[str]()

    @classmethod
    def of(cls, plan: ScanPlan, opener: SplitOpener, *, limit: int | None, parallelism: int) -> "Scan":
        """A scan from its plan, as a part of a query; the query is logged by whoever plans it."""
        scan = cls(plan.snapshot, plan.scan_spec, opener, limit=limit, parallelism=parallelism)
        scan.plan, scan._is_logged = plan, False
        return scan

    @cached_property
    def plan(self) -> ScanPlan:
        return plan_scan(self.snapshot, self.scan_spec)

    @property
    def schema(self) -> pa.Schema:
        return self.scan_spec.output_schema

    @property
    def table(self) -> str:
        """Where the table is."""
        return str(self.opener.store.location)

    @property
    def row_limit(self) -> int | None:
        """The most rows that it gives; None for all."""
        return self._limit

    def limit(self, rows: int) -> Self:
        """This scan with at most so many rows; a limit that it has already is never raised.

        >>> from indextables import IndexTable
        >>> table = IndexTable.write("memory://docs/limited", {"n": [1, 2, 3]})
        >>> table.scan(order_by="n desc").limit(2).to_arrow()["n"].to_pylist()
        [3, 2]
        """
        refuse_limit(rows)
        scan = copy(self)
        scan._limit = rows if self._limit is None else min(rows, self._limit)  # noqa: SLF001 - of its own class
        scan.opened_splits = set()
        return scan

    def to_spark(self, spark: Any) -> Any:
        """The rows as a DataFrame of a Spark session; splits are read by its executors."""
        return engine("spark").dataframe(self, spark)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, split by split; splits are read ahead in parallel."""
        left, is_empty = self._limit, True
        if left == 0:
            return
        for batches in self.rows_of(self.logged(self.plan.tasks)):
            for batch in batches:
                if left is not None:
                    batch = batch.slice(0, left)  # noqa: PLW2901 - the limit is reached
                    left -= batch.num_rows
                if batch.num_rows:
                    is_empty = False
                    yield batch
                if left == 0:
                    return
        if is_empty:
            self.warn_of_missed_words()

    def to_arrow(self) -> pa.Table:
        return shown_as_hits(super().to_arrow(), self.scan_spec)

    def __repr__(self) -> str:
        """What is scanned, in one line; `explain()` tells what is pruned.

        >>> from indextables import IndexTable
        >>> table = IndexTable.create("memory://docs/scanned", {"ts": pa.int64(), "level": pa.string()})
        >>> table.scan(where="level = 'ERROR'", order_by="ts desc", limit=5)
        OrderedScan('memory://docs/scanned', version=0, where="level = 'ERROR'", order_by='ts DESC NULLS LAST', limit=5)
        """
        spec = self.scan_spec
        given = {
            "version": self.snapshot.version,
            "columns": None if spec.columns == tuple(spec.schema.names) else list(spec.columns),
            "where": None if spec.predicate == Literal(value=True) else shortened(to_sql(spec.predicate)),
            "order_by": ", ".join(map(str, self.order)) or None,
            "limit": self._limit,
            "offset": self.offset or None,
        }
        shown = (f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"{type(self).__name__}({self.table!r}, {', '.join(shown)})"

    def _repr_html_(self) -> str:
        """The first rows, and what is pruned, for notebooks: only a few small splits are read."""
        from indextables.read.scan_preview import ROWS, first_rows, preview_output, preview_tasks  # noqa: PLC0415

        tasks = preview_tasks(self.plan.tasks, ordered=bool(self.order))
        most = ROWS if self._limit is None else min(ROWS, self._limit)
        rows = first_rows(self._preview(tasks, most) if tasks else (), self.schema, most)
        return preview_output(rows, len(tasks), self.explain(), self.scan_spec.match_spans)

    def _preview(self, tasks: Sequence[SplitTask], most: int) -> Iterable[pa.RecordBatch]:
        """At most so many rows of some splits."""
        scan = Scan(self.snapshot, self.scan_spec, self.opener, limit=most, parallelism=1)
        return chain.from_iterable(scan.rows_of(tasks))

    def count(self) -> int:
        """The number of rows; a split is opened only if the log cannot give its count."""
        from_log = count_from_metadata(self.plan)
        counts = self.over(self.logged(from_log.unknown), lambda task: count_matching(self.open(task), self.scan_spec))
        matching = from_log.rows + sum(counts)
        if not matching:
            self.warn_of_missed_words()
        total = max(0, matching - self.offset)
        return total if self._limit is None else min(total, self._limit)

    def group_by(self, *columns: str) -> "GroupedScan":
        """The rows by the values of some columns: `scan.group_by("date").count()`."""
        keys = tuple(dict.fromkeys(column_named(self.scan_spec.schema, column) for column in columns))
        if not keys:
            raise SchemaError("group_by needs at least one column", column=None)
        if "count" in keys:
            raise SchemaError("a column named 'count' cannot be a grouping column: the result has one", column="count")
        return GroupedScan(self._unlimited(), keys)

    def _unlimited(self) -> "Scan":
        """This scan, unless it has a limit or an offset: an aggregate over a part of the rows is read first."""
        if self._limit is not None or self.offset:
            part, value = ("limit", self._limit) if self._limit is not None else ("offset", self.offset)
            raise ConfigError(
                f"a scan with {'a limit' if part == 'limit' else 'an offset'} can only be read or counted",
                key=part,
                value=str(value),
            )
        return self

    def aggregate(self, aggregation: Aggregation) -> pa.Table:
        """Terms, histograms, ranges or statistics of the rows; `indextables.search` has the aggregations.

        Where the only condition is a search, they are computed by the indexes, and no row is read.
        """
        self._unlimited()
        bound = bind(aggregation, self.scan_spec.schema, self.scan_spec.rules)

        def partial(task: SplitTask) -> pa.Table:
            return aggregate_rows(self.open(task), self.scan_spec, bound, all_rows_match=task.all_rows_match)

        return shown_as_grid(merge(bound, list(self.over(self.logged(self.plan.tasks), partial))))

    def min(self, column: str) -> Any:
        """The least value of a column, None where there is none; from the statistics in the log where they suffice."""
        return python_value(merged_extreme(self._extremes(column), "min"))

    def max(self, column: str) -> Any:
        """The greatest value of a column; NaN is greater than any number, as in Spark."""
        return python_value(merged_extreme(self._extremes(column), "max"))

    def _extremes(self, column: str) -> pa.Table:
        self._unlimited()
        name = column_named(self.scan_spec.schema, column)
        from_log, unknown = extremes_from_metadata(self.plan, name, self.snapshot.metadata)
        scan = self.with_columns((name,))
        read = [extremes_of(batches, scan.schema) for batches in scan.rows_of(self.logged(unknown))]
        return pa.concat_tables([from_log, *read])

    def with_columns(self, columns: tuple[str, ...]) -> "Scan":
        """A scan of the same rows with other output columns."""
        return self.with_spec(replace(self.scan_spec, columns=columns, search_results={}))

    def with_spec(self, scan_spec: ScanSpec) -> "Scan":
        """A scan of the same version of the table with another specification."""
        scan = type(self)(self.snapshot, scan_spec, self.opener, parallelism=self._parallelism, options=self.options)
        scan.opened_splits = self.opened_splits
        return scan

    def explain(self) -> Explanation:
        """The plan: which splits would be opened and why, and the requests to the store so far. It opens none."""
        return explain(self.plan, self.opener.store.traffic)

    def logged(self, tasks: Sequence[SplitTask]) -> Sequence[SplitTask]:
        """The splits that the scan is about to read; how many are left after pruning is logged."""
        if self._is_logged:
            log_pruning(self.plan, table=self.table, splits_to_scan=len(tasks))
        return tasks

    def warn_of_missed_words(self) -> None:
        """After a scan without rows: logs the words that its searches miss, because a column is indexed by exact values."""
        if self._is_logged:
            warn_of_exact_words(self.plan.exact_words, self.table)

    def open(self, task: SplitTask) -> SplitReader:
        self.opened_splits.add(task.split.path)
        return self.opener.open(task.split)

    def rows_of(self, tasks: Sequence[SplitTask]) -> Iterator[Iterable[pa.RecordBatch]]:
        """The rows of each split, in the order of the tasks."""
        if self._limit is not None:
            return self.over(tasks, self._first_rows)
        return decode_found(self.over(tasks, self._find), threads=self.threads)

    def _find(self, task: SplitTask) -> MatchingRows:
        found = find_matching(self.open(task), self.scan_spec, all_rows_match=task.all_rows_match)
        return found if isinstance(found, FoundRows) else list(found)

    def _first_rows(self, task: SplitTask) -> list[pa.RecordBatch]:
        return list(
            matching_rows(self.open(task), self.scan_spec, all_rows_match=task.all_rows_match, limit=self._limit)
        )

    @property
    def threads(self) -> int:
        """How many threads compute at a time."""
        return min(self._parallelism, os.cpu_count() or 1)

    def over(self, tasks: Sequence[SplitTask], work: Callable[[SplitTask], T]) -> Iterator[T]:
        """The results in the order of the tasks, `parallelism` of which run at once."""

        def translated(task: SplitTask) -> T:
            with missing_split_errors(task.split, self.opener.store, self.snapshot.version):
                return work(task)

        queue = iter(tasks)
        if not self.opener.store.is_remote:
            yield from _while_quick(translated, queue)
        yield from self._in_parallel(translated, queue, len(tasks))
        self.opener.log_use(len(tasks))

    def _in_parallel(self, work: Callable[[SplitTask], T], tasks: Iterator[SplitTask], count: int) -> Iterator[T]:
        """The results in the order of the tasks. Requests wait, and many do at once; local tasks compute."""
        most = self._parallelism if self.opener.store.is_remote else self.threads
        first = list(islice(tasks, most if self._limit is None else 1))
        if not first:
            return
        with ThreadPoolExecutor(min(most, count)) as pool:
            running = deque(pool.submit(work, task) for task in first)
            try:
                while running:
                    yield running.popleft().result()
                    more = min(2, most + 1 - len(running))  # a limit may be reached soon: start with few
                    running += [pool.submit(work, task) for task in islice(tasks, more)]
            finally:
                for future in running:
                    future.cancel()


def _while_quick(work: Callable[[SplitTask], T], tasks: Iterator[SplitTask]) -> Iterator[T]:
    """The results of tasks until a few have taken longer than it takes to start threads."""
    slow = 0
    for task in tasks:
        started = perf_counter()
        result = work(task)
        slow += perf_counter() - started > _QUICK
        yield result
        if slow > _MAX_SLOW:
            return


def shown_as_hits(rows: pa.Table, spec: ScanSpec) -> pa.Table:
    """The same rows; a notebook marks the words that a search has found, and tells where it looked if there are no rows."""
    if not spec.queries:
        return shown_as_grid(rows)
    return shown_as_grid(rows, spec.match_spans, searched=columns_and_values(spec.search_columns))


def refuse_limit(limit: int, *, key: str = "limit") -> None:
    """Raises a ConfigError for a limit, or an offset, that is not a number of rows."""
    if not isinstance(limit, int) or limit < 0:
        raise ConfigError(
            f"the {key} is {limit!r}; it is a whole number and cannot be below zero", key=key, value=str(limit)
        )


def refuse_offset_without_order(offset: int) -> None:
    """Raises a ConfigError for an offset into rows that come in no order."""
    if offset:
        raise ConfigError(
            f"the offset is {offset!r}, and the rows of a scan are in no order without order_by; add one, as in "
            "order_by='ts desc'",
            key="offset",
            value=str(offset),
        )


class GroupedScan:
    """The rows of a scan, grouped by some columns."""

    def __init__(self, scan: Scan, keys: tuple[str, ...]) -> None:
        self._scan = scan
        self._keys = keys

    def count(self) -> pa.Table:
        """The key columns and `count`, ordered by the keys; groups that the log can count are not read."""
        scan = self._scan
        from_log, metadata_count = group_counts_from_metadata(scan.plan, self._keys, scan.snapshot.metadata)
        keys = scan.with_columns(self._keys)
        counts = [_row_counts(batches, keys.schema) for batches in keys.rows_of(scan.logged(metadata_count.unknown))]
        groups = pa.concat_tables([from_log, *counts])
        if not len(groups):
            scan.warn_of_missed_words()
        return shown_as_grid(summed(groups, self._keys, scan.scan_spec.schema))


def _row_counts(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    rows = pa.Table.from_batches(batches, schema)
    ones = pa.repeat(pa.scalar(1, pa.int64()), len(rows))
    return pa.table([*rows.columns, ones], names=[*key_names(schema.names), ROWS])
