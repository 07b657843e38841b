"""A scan: a question to a table at one version, answered when asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa

from indextables.engine import engine
from indextables.errors import ConfigError, SchemaError
from indextables.log.snapshot import Snapshot
from indextables.read.metadata_counts import ROWS, count_from_log, groups_from_log, key_names, summed
from indextables.read.metadata_extremes import extremes_from_log, extremes_of, merged_extreme, python_value
from indextables.read.missing_split import told_if_gone
from indextables.read.opener import SplitOpener
from indextables.read.rows import aggregate_rows, count_matching, matching_rows
from indextables.read.scan_plan import Explanation, ScanPlan, SplitTask, explain, plan_scan
from indextables.read.scan_spec import Question
from indextables.schema import column_named
from indextables.search import Aggregation, bind, merge
from indextables.split import SplitReader

T = TypeVar("T")


class Scan:
    """Rows of a table that satisfy a predicate; nothing is read before one of its methods is called.

    `options` are those the table was opened with; Spark's executors open it again.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        question: Question,
        opener: SplitOpener,
        *,
        limit: int | None = None,
        parallelism: int = 8,
        options: Mapping[str, str] | None = None,
    ) -> None:
        if limit is not None:
            refuse_limit(limit)
        self.snapshot = snapshot
        self.question = question
        self.opener = opener
        self.options = dict(options or {})
        self._limit = limit
        self._parallelism = parallelism

    @classmethod
    def of(cls, plan: ScanPlan, opener: SplitOpener, *, limit: int | None, parallelism: int) -> "Scan":
        """A scan that is planned already."""
        scan = cls(plan.snapshot, plan.question, opener, limit=limit, parallelism=parallelism)
        scan.plan = plan
        return scan

    @cached_property
    def plan(self) -> ScanPlan:
        return plan_scan(self.snapshot, self.question)

    @property
    def schema(self) -> pa.Schema:
        return self.question.answer_schema

    @property
    def table(self) -> str:
        """Where the table is."""
        return str(self.opener.store.location)

    @property
    def limit(self) -> int | None:
        return self._limit

    def to_spark(self, spark: Any) -> Any:
        """The rows as a DataFrame of a Spark session; splits are read by its executors."""
        return engine("spark").dataframe(self, spark)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, split by split; splits are read ahead in parallel."""
        left = self._limit
        if left == 0:
            return
        for batches in self.over(self.plan.tasks, self.rows_of):
            for batch in batches:
                if left is not None:
                    batch = batch.slice(0, left)  # noqa: PLW2901 - the rest is not wanted
                    left -= batch.num_rows
                if batch.num_rows:
                    yield batch
                if left == 0:
                    return

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def count(self) -> int:
        """The number of rows; splits that the log can answer for are not opened."""
        known = count_from_log(self.plan)
        counts = self.over(known.unknown, lambda task: count_matching(self.open(task), self.question))
        total = known.rows + sum(counts)
        return total if self._limit is None else min(total, self._limit)

    def group_by(self, *columns: str) -> "GroupedScan":
        """The rows by the values of some columns: `scan.group_by("date").count()`."""
        keys = tuple(dict.fromkeys(self._column(column) for column in columns))
        if not keys:
            raise SchemaError("group_by needs at least one column", column=None)
        if "count" in keys:
            raise SchemaError("a column named 'count' cannot be a group: the figure has this name", column="count")
        return GroupedScan(self._unlimited(), keys)

    def _unlimited(self) -> "Scan":
        """This scan, unless it has a limit: which rows would count is not defined then."""
        if self._limit is not None:
            raise ConfigError("a scan with a limit can only be read or counted", key="limit", value=str(self._limit))
        return self

    def _column(self, name: str) -> str:
        return column_named(self.question.schema, name)

    def aggregate(self, aggregation: Aggregation) -> pa.Table:
        """Terms, histograms, ranges or statistics of the rows; see `indextables.search` for what there is.

        With a search and nothing else, the index of each split answers, and no row is read.
        """
        self._unlimited()
        bound = bind(aggregation, self.question.schema, self.question.rules)

        def partial(task: SplitTask) -> pa.Table:
            return aggregate_rows(self.open(task), self.question, bound, wholly=task.wholly)

        return merge(bound, list(self.over(self.plan.tasks, partial)))

    def min(self, column: str) -> Any:
        """The least value of a column, None where there is none; from the log, as far as it knows."""
        return python_value(merged_extreme(self._extremes(column), "min"))

    def max(self, column: str) -> Any:
        """The greatest value of a column; NaN is greater than any number, as in Spark."""
        return python_value(merged_extreme(self._extremes(column), "max"))

    def _extremes(self, column: str) -> pa.Table:
        self._unlimited()
        name = self._column(column)
        known, unknown = extremes_from_log(self.plan, name, self.snapshot.metadata)
        scan = self.asking_for((name,))
        read = [extremes_of(batches, scan.schema) for batches in scan.over(unknown, scan.rows_of)]
        return pa.concat_tables([known, *read])

    def asking_for(self, columns: tuple[str, ...]) -> "Scan":
        """The same rows, other columns of them."""
        question = replace(self.question, columns=columns)
        return Scan(self.snapshot, question, self.opener, parallelism=self._parallelism, options=self.options)

    def explain(self) -> Explanation:
        """Which splits are opened and why; nothing is. And what has been asked of the store so far."""
        return explain(self.plan, self.opener.store.traffic)

    def open(self, task: SplitTask) -> SplitReader:
        return self.opener.open(task.split)

    def rows_of(self, task: SplitTask) -> list[pa.RecordBatch]:
        return list(matching_rows(self.open(task), self.question, wholly=task.wholly, limit=self._limit))

    def over(self, tasks: Sequence[SplitTask], work: Callable[[SplitTask], T]) -> Iterator[T]:
        """The results in the order of the tasks, so many of them at work at once."""

        def told(task: SplitTask) -> T:
            with told_if_gone(task.split, self.opener.store, self.snapshot.version):
                return work(task)

        if len(tasks) <= 1:
            yield from map(told, tasks)
            return
        with ThreadPoolExecutor(min(self._parallelism, len(tasks))) as pool:
            queue, first = iter(tasks), self._parallelism if self._limit is None else 1
            running = [pool.submit(told, task) for task in islice(queue, first)]
            try:
                while running:
                    yield running.pop(0).result()
                    more = min(2, self._parallelism - len(running))  # a limit may be reached soon: begin with few
                    running += [pool.submit(told, task) for task in islice(queue, more)]
            finally:
                for future in running:
                    future.cancel()


def refuse_limit(limit: int) -> None:
    """A ConfigError for what is not a number of rows."""
    if not isinstance(limit, int) or limit < 0:
        raise ConfigError(
            f"the limit is {limit!r}; it is a whole number and cannot be below zero", key="limit", value=str(limit)
        )


class GroupedScan:
    """The rows of a scan by the values of some columns."""

    def __init__(self, scan: Scan, keys: tuple[str, ...]) -> None:
        self._scan = scan
        self._keys = keys

    def count(self) -> pa.Table:
        """The key columns and `count`, ordered by the keys; groups that the log knows are not read."""
        scan = self._scan
        known, answer = groups_from_log(scan.plan, self._keys, scan.snapshot.metadata)
        keys = scan.asking_for(self._keys)
        counted = [_counted(batches, keys.schema) for batches in keys.over(answer.unknown, keys.rows_of)]
        return summed(pa.concat_tables([known, *counted]), self._keys, scan.question.schema)


def _counted(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    rows = pa.Table.from_batches(batches, schema)
    ones = pa.repeat(pa.scalar(1, pa.int64()), len(rows))
    return pa.table([*rows.columns, ones], names=[*key_names(schema.names), ROWS])
