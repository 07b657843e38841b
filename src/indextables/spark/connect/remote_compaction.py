"""Compaction by the executors of a Spark Connect server: planned and committed by the client, read and written by tasks."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.maintain.compact import Runner, Work
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup
from indextables.spark.write.distributed_compaction import MergeTask
from indextables.spark.write.task_attempts import is_speculative
from indextables.worker_versions import OnWorkers

_GROUPS_PER_JOB = 64
_RESULT = "result"


def on_remote_executors(session: Any) -> Runner:
    """A task for each group, in jobs of some groups; for `merge(..., run=on_remote_executors(spark))`."""

    def run(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
        for first in range(0, len(groups), _GROUPS_PER_JOB):
            some = list(groups[first : first + _GROUPS_PER_JOB])
            task = OnWorkers(_GroupTask(MergeTask(work, is_speculative(session)), tuple(some)))
            rows = session.range(0, len(some), 1, len(some)).mapInArrow(task, f"{_RESULT} binary")
            for result in rows.toArrow()[_RESULT].to_pylist():
                yield pickle.loads(result)  # noqa: S301 - what our own task has returned

    return run


@dataclass(frozen=True, slots=True)
class _GroupTask:
    """From the numbers of groups to what their rewrite has given, pickled."""

    rewrite: MergeTask
    groups: tuple[MergeGroup, ...]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                result = pickle.dumps(self.rewrite(self.groups[number]))
                yield pa.record_batch({_RESULT: pa.array([result], pa.binary())})
