"""Which task of a distributed write gets which rows: decided from row counts, without any I/O.

A split holds rows of one partition, and each task writes its own splits. So few tasks make few splits, a partition that is
spread over many tasks is scattered over many splits, and a partition that is given to one task is written by that task
alone, however large it is. `place` balances the two:

>>> place([50, 3, 3, 3], target=10)
Placement(tasks=6, by_partition=((0, 1, 2, 3, 4), (5,), (5,), (5,)))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Placement:
    """The number of tasks, and for each partition the tasks over which its rows are spread evenly."""

    tasks: int
    by_partition: tuple[tuple[int, ...], ...]


def task_count(rows: int, *, target: int) -> int:
    """As many tasks as there are full splits.

    >>> task_count(5_000_000, target=1_000_000), task_count(5_000_001, target=1_000_000), task_count(0, target=10)
    (5, 6, 1)
    """
    return max(1, -(-rows // target))


def target_with_slack(target: int) -> int:
    """The rows of a full split after a repartition: rows that are spread by a hash are spread evenly only on average."""
    return target + target // 10


def is_balanced(rows: Sequence[int], *, target: int) -> bool:
    """Whether rows need no repartitioning: `rows` has the count of each task.

    >>> is_balanced([9, 10, 10], target=10), is_balanced([29, 0, 0], target=10), is_balanced([1] * 30, target=10)
    (True, False, False)
    """
    filled = [count for count in rows if count]
    return len(filled) <= task_count(sum(filled), target=target) and max(filled, default=0) <= target_with_slack(target)


def place(counts: Sequence[int], *, target: int, unlisted_rows: int = 0, parallelism: int = 1) -> Placement:
    """One task, or several, for each partition, given its row count; `unlisted_rows` are in partitions not listed.

    Partitions are not packed into fewer tasks than the `parallelism` allows: it would cost time and save no split.

    A partition of more than `target` rows is cut into equal parts of at most that size, each for another task. The largest
    parts are placed first, each in the task with the fewest rows, so that tasks end up with about the same.
    """
    tasks = max(task_count(sum(counts) + unlisted_rows, target=target), min(parallelism, len(counts)))
    loads = [(0.0, task) for task in range(tasks)]
    heapify(loads)
    by_partition: list[tuple[int, ...]] = [()] * len(counts)
    for partition in sorted(range(len(counts)), key=lambda partition: (-_part(counts[partition], target), partition)):
        parts = task_count(counts[partition], target=target)
        chosen = [heappop(loads) for _ in range(parts)]
        for load, task in chosen:
            heappush(loads, (load + counts[partition] / parts, task))
        by_partition[partition] = tuple(sorted(task for _, task in chosen))
    return Placement(tasks, tuple(by_partition))


def rows_to_share_out(counts: Sequence[int], placement: Placement) -> int:
    """The rows of partitions with several tasks."""
    return sum(rows for rows, tasks in zip(counts, placement.by_partition, strict=True) if len(tasks) > 1)


def share_out(partitions: pa.Array, rows: pa.Array, placement: Placement) -> pa.Array:
    """The task of each group of rows, given its partition and its number of rows; partitions one after the other.

    The rows of a partition are cut, in the order given, into equal shares for its tasks:

    >>> share_out(pa.array([0, 0, 0, 1]), pa.array([1, 1, 2, 5]), Placement(3, ((0, 1), (2,)))).to_pylist()
    [0, 0, 1, 2]
    """
    before = pc.subtract(pc.cumulative_sum(rows), rows)
    groups = pa.table({"partition": partitions, "rows": rows, "before": before})
    whole = groups.group_by("partition", use_threads=False).aggregate([("rows", "sum"), ("before", "min")])
    own = whole.take(pc.index_in(partitions, whole["partition"]))
    tasks = pa.array(placement.by_partition, pa.list_(pa.int32()))
    number = pc.list_value_length(tasks).cast(pa.int64()).take(partitions)
    share = pc.divide(pc.multiply(pc.subtract(before, own["before_min"]), number), own["rows_sum"])
    return tasks.flatten().take(pc.add(tasks.offsets.take(partitions), share).combine_chunks())


def bin_small_partitions(
    counts: Sequence[int], groups: Sequence[int], *, small_below: int, target: int
) -> list[list[int]]:
    """Bins of partitions: small neighbours of one group go into a bin of at most `target` rows, others into their own.

    So the task that gets a bin can put all of it into one split:

    >>> bin_small_partitions([50, 3, 3, 60, 3], [1, 1, 1, 2, 2], small_below=10, target=6)
    [[0], [1, 2], [3], [4]]
    """
    bins: list[list[int]] = []
    open_bins: dict[int, tuple[list[int], int]] = {}
    for partition, (rows, group) in enumerate(zip(counts, groups, strict=True)):
        current, filled = open_bins.get(group, ([], 0))
        if rows >= small_below or not current or filled + rows > target:
            current, filled = [], 0
            bins.append(current)
        current.append(partition)
        if rows < small_below:
            open_bins[group] = (current, filled + rows)
    return bins


def place_bins(
    bins: Sequence[Sequence[int]], counts: Sequence[int], *, target: int, unlisted_rows: int, parallelism: int
) -> Placement:
    """The same as `place`, where all partitions of a bin go to the same tasks."""
    sums = [sum(counts[partition] for partition in one) for one in bins]
    placed = place(sums, target=target, unlisted_rows=unlisted_rows, parallelism=parallelism)
    by_partition: list[tuple[int, ...]] = [()] * len(counts)
    for one, tasks in zip(bins, placed.by_partition, strict=True):
        for partition in one:
            by_partition[partition] = tasks
    return Placement(placed.tasks, tuple(by_partition))


def _part(rows: int, target: int) -> float:
    return rows / task_count(rows, target=target)
