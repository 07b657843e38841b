"""A stream of the rows that a table gains, as Spark's reader runs it: offsets, batches, restarts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from indextables.config import Config
from indextables.log import TransactionLog
from indextables.read.appended_splits import AppendedSplits, ChangePolicy, Increment
from indextables.read.opener import SplitRef
from indextables.read.read_task import ScanContext
from indextables.read.scan_plan import may_match, plan_scan
from indextables.read.scan_spec import ScanSpec, build_scan_spec
from indextables.read.stream_offset import ReadLimits, StreamOffset
from indextables.write.write_plan import current_rules

Rows = list[dict[str, Any]]
NO_LIMITS = ReadLimits()


@dataclass
class Stream:
    """It begins with the rows that the table has, unless it is told another offset.

    With a condition, it makes batches of splits that may have rows that satisfy it.
    """

    path: str
    policy: dict[str, bool] = field(default_factory=dict)
    where: str | None = None
    splits: AppendedSplits = field(init=False)
    offset: StreamOffset = field(init=False)

    def __post_init__(self) -> None:
        self._load()
        self.offset = self.splits.from_snapshot()

    def _load(self) -> None:
        self._log = TransactionLog.open(self.path)
        self._snapshot = self._log.snapshot()
        matching = None if self.where is None else partial(may_match, self._spec(self.where))
        self.splits = AppendedSplits(self._log, self._snapshot, ChangePolicy(**self.policy), matching=matching)

    def restart(self) -> None:
        """Goes on from the offset that a checkpoint kept, with the table as it is now."""
        self._load()
        self.offset = kept(self.offset)

    def advance(self, limits: ReadLimits = NO_LIMITS, *, until: StreamOffset | None = None) -> Increment:
        """The next batch."""
        end = self.splits.advance(self.offset, limits, until=until)
        increment = self.splits.between(self.offset, end)
        self.offset = end
        return increment

    def read(self, limits: ReadLimits = NO_LIMITS, *, until: StreamOffset | None = None) -> Rows:
        """The rows of the next batch."""
        return [row for _, row in self.rows(self.advance(limits, until=until))]

    def rows(self, increment: Increment, *, where: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a batch that satisfy a condition, each with its version; splits that cannot have one are pruned."""
        spec = self._spec(where or self.where)
        context = ScanContext(self.path, Config(), spec, spec.output_schema, increment.snapshot.version)
        tasks = plan_scan(increment.snapshot, spec).tasks
        for task in sorted(tasks, key=lambda task: (increment.versions[task.split.path], task.split.path)):
            rows = pa.Table.from_batches(context.rows([task]), spec.output_schema).to_pylist()
            yield from ((increment.versions[task.split.path], row) for row in rows)

    def matching_splits(self, increment: Increment) -> list[SplitRef]:
        """The splits of a batch that may have rows that satisfy the stream's condition."""
        return [task.split for task in plan_scan(increment.snapshot, self._spec(self.where)).tasks]

    def _spec(self, where: str | None) -> ScanSpec:
        return build_scan_spec(self._snapshot, current_rules(self._snapshot.metadata), where=where)


def kept(offset: StreamOffset) -> StreamOffset:
    """An offset out of a checkpoint."""
    return StreamOffset.of(json.loads(json.dumps(offset.to_json())))
