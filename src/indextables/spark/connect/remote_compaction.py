"""Compaction by the executors of a Spark Connect server: planned and committed by the client, read and written by tasks."""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from indextables.maintain.compact import Runner, Work
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup

_GROUPS_PER_JOB = 64
_RESULT = "result"


def on_remote_executors(session: Any) -> Runner:
    """A task for each group, in jobs of some groups; for `merge(..., run=on_remote_executors(spark))`."""

    def run(work: Work, groups: Sequence[MergeGroup]) -> Iterator[WrittenGroup]:
        for first in range(0, len(groups), _GROUPS_PER_JOB):
            some = list(groups[first : first + _GROUPS_PER_JOB])
            rows = session.range(0, len(some), 1, len(some)).mapInArrow(_task(work, some), f"{_RESULT} binary")
            for result in rows.toArrow()[_RESULT].to_pylist():
                yield pickle.loads(result)  # noqa: S301 - what our own task has returned

    return run


def _task(work: Work, groups: Sequence[MergeGroup]) -> Any:
    def rewrite(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch({_RESULT: pa.array([pickle.dumps(work(groups[number]))], pa.binary())})

    return rewrite
