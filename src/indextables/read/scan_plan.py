"""What has to be opened to answer a question, decided from the log alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.snapshot import Snapshot
from indextables.predicate import Verdict, to_sql
from indextables.read.opener import SplitRef
from indextables.read.prune import Judged, judge_splits
from indextables.read.scan_spec import Question
from indextables.storage import Traffic


@dataclass(frozen=True, slots=True)
class SplitTask:
    """A split to be read. `wholly`: every row of it is known to satisfy the predicate."""

    split: SplitRef
    wholly: bool


@dataclass(frozen=True, eq=False)
class ScanPlan:
    snapshot: Snapshot
    question: Question
    judged: Judged

    @cached_property
    def tasks(self) -> list[SplitTask]:
        """All splits that may hold a row of the answer."""
        kept = pc.not_equal(self.judged.verdicts, int(Verdict.NEVER))
        return list(tasks_for(self.judged.splits.filter(kept), self.judged.verdicts.filter(kept)))


def plan_scan(snapshot: Snapshot, question: Question) -> ScanPlan:
    return ScanPlan(snapshot, question, judge_splits(question.predicate, snapshot))


def tasks_for(splits: pa.Table, verdicts: pa.Array) -> Iterator[SplitTask]:
    named = ("path", "size", "num_records", "footer_start_offset", "footer_end_offset")
    columns = [splits[name].to_pylist() for name in named]
    for path, size, rows, start, end, verdict in zip(*columns, verdicts.to_pylist(), strict=True):
        footer = None if start is None or end is None else (start, end)
        yield SplitTask(SplitRef(path, size, rows, footer), verdict == Verdict.ALWAYS)


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a scan is answered. Splits by verdict: `never` concerned, `sometimes`, `always`; the last two are `opened`.

    `known_rows` are the rows of the ALWAYS splits: a count takes them from the log and opens only the SOMETIMES splits.
    `searched` are the columns that a search looks at: at their words, or at exact values.
    `traffic` is what the table's handle has asked of its store so far: the price of planning, where nothing was read yet.
    """

    predicate: str
    columns: tuple[str, ...]
    total: int
    never: int
    sometimes: int
    always: int
    pruned_by_layout: int
    pruned_by_statistics: int
    opened: int
    bytes_total: int
    bytes: int
    known_rows: int
    traffic: Traffic | None = None
    searched: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        share = f" ({self.never / self.total:.1%})" if self.total else ""
        why = f"{self.pruned_by_layout:,} by layout, {self.pruned_by_statistics:,} by statistics"
        return "\n".join(
            [
                f"scan of {', '.join(self.columns)} where {self.predicate}",
                f"  splits            {self.total:,}",
                f"  pruned            {self.never:,}{share}: {why}",
                f"  wholly inside     {self.always:,} with {self.known_rows:,} rows (counted from the log)",
                f"  to be looked into {self.sometimes:,}",
                f"  bytes to open     {self.bytes:,} of {self.bytes_total:,}",
                *([f"  searched          {columns_and_values(self.searched)}"] if self.searched else []),
                *([] if self.traffic is None else [f"  asked so far      {self.traffic}"]),
            ]
        )


def explain(plan: ScanPlan, traffic: Traffic | None = None) -> Explanation:
    judged = plan.judged
    never, always = judged.count(Verdict.NEVER), judged.count(Verdict.ALWAYS)
    by_layout = judge_splits(plan.question.predicate, plan.snapshot, statistics=False).count(Verdict.NEVER)
    kept = judged.splits.filter(pc.not_equal(judged.verdicts, int(Verdict.NEVER)))
    return Explanation(
        predicate=to_sql(plan.question.predicate),
        columns=plan.question.columns,
        total=len(judged.splits),
        never=never,
        sometimes=judged.count(Verdict.SOMETIMES),
        always=always,
        pruned_by_layout=by_layout,
        pruned_by_statistics=never - by_layout,
        opened=len(kept),
        bytes_total=_sum(judged.splits["size"]),
        bytes=_sum(kept["size"]),
        known_rows=_sum(judged.having(Verdict.ALWAYS)["num_records"]),
        traffic=traffic,
        searched=plan.question.searched_columns,
    )


def columns_and_values(searched: Mapping[str, str]) -> str:
    """Columns, with what is compared there.

    >>> columns_and_values({"message": "words", "level": "exact values"})
    'message (words), level (exact values)'
    """
    return ", ".join(f"{column} ({values})" for column, values in searched.items())


def _sum(values: pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)
