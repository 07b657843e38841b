"""Which task of a distributed write gets which rows: pure decisions, from counts.

A split holds rows of one partition, and each task writes its own splits. So few tasks make few splits, a partition that is
spread over many tasks is scattered over many splits, and a partition that is given to one task is written by that task
alone, however large it is. `place` finds the middle:

>>> place([50, 3, 3, 3], target=10)
Placement(tasks=6, of=((0, 1, 2, 3, 4), (5,), (5,), (5,)))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush


@dataclass(frozen=True, slots=True)
class Placement:
    """The number of tasks, and for each partition the tasks over which its rows are spread evenly."""

    tasks: int
    of: tuple[tuple[int, ...], ...]


def task_count(rows: int, *, target: int) -> int:
    """As many tasks as there are full splits.

    >>> task_count(5_000_000, target=1_000_000), task_count(5_000_001, target=1_000_000), task_count(0, target=10)
    (5, 6, 1)
    """
    return max(1, -(-rows // target))


def target_with_slack(target: int) -> int:
    """The rows of a full split after a repartition: rows that are spread by a hash are spread evenly only on average."""
    return target + target // 10


def suits(rows: Sequence[int], *, target: int) -> bool:
    """Whether rows can be written as they lie: `rows` has those of each task that would write any.

    >>> suits([9, 10, 10], target=10), suits([29, 0, 0], target=10), suits([1] * 30, target=10)
    (True, False, False)
    """
    filled = [count for count in rows if count]
    return len(filled) <= task_count(sum(filled), target=target) and max(filled, default=0) <= target_with_slack(target)


def place(counts: Sequence[int], *, target: int, others: int = 0, at_once: int = 1) -> Placement:
    """A task, or several, for each partition, given the number of its rows; `others` are rows of partitions not listed.

    Where tasks can run `at_once`, partitions are not packed into fewer of them: it would cost time and save no split.

    A partition of more than `target` rows is cut into equal parts of at most that size, each for another task. The largest
    parts are placed first, each where there is least, so that tasks end up with about the same.
    """
    tasks = max(task_count(sum(counts) + others, target=target), min(at_once, len(counts)))
    loads = [(0.0, task) for task in range(tasks)]
    heapify(loads)
    of: list[tuple[int, ...]] = [()] * len(counts)
    for partition in sorted(range(len(counts)), key=lambda partition: (-_part(counts[partition], target), partition)):
        parts = task_count(counts[partition], target=target)
        chosen = [heappop(loads) for _ in range(parts)]
        for load, task in chosen:
            heappush(loads, (load + counts[partition] / parts, task))
        of[partition] = tuple(sorted(task for _, task in chosen))
    return Placement(tasks, tuple(of))


def together(counts: Sequence[int], groups: Sequence[int], *, small_below: int, target: int) -> list[list[int]]:
    """The partitions, those that are small and of one group next to each other in parcels of at most `target` rows.

    So the task that gets a parcel can put all of it into one split:

    >>> together([50, 3, 3, 60, 3], [1, 1, 1, 2, 2], small_below=10, target=6)
    [[0], [1, 2], [3], [4]]
    """
    parcels: list[list[int]] = []
    open_parcels: dict[int, tuple[list[int], int]] = {}
    for partition, (rows, group) in enumerate(zip(counts, groups, strict=True)):
        parcel, filled = open_parcels.get(group, ([], 0))
        if rows >= small_below or not parcel or filled + rows > target:
            parcel, filled = [], 0
            parcels.append(parcel)
        parcel.append(partition)
        if rows < small_below:
            open_parcels[group] = (parcel, filled + rows)
    return parcels


def place_parcels(
    parcels: Sequence[Sequence[int]], counts: Sequence[int], *, target: int, others: int, at_once: int
) -> Placement:
    """The same as `place`, where all partitions of a parcel go to the same tasks."""
    placed = place([sum(counts[i] for i in p) for p in parcels], target=target, others=others, at_once=at_once)
    of: list[tuple[int, ...]] = [()] * len(counts)
    for parcel, tasks in zip(parcels, placed.of, strict=True):
        for partition in parcel:
            of[partition] = tasks
    return Placement(placed.tasks, tuple(of))


def _part(rows: int, target: int) -> float:
    return rows / task_count(rows, target=target)
