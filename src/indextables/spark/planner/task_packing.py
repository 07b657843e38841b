"""Splits for tasks: as Spark packs the files of a Parquet table, but never cut; and few of them for few rows."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from indextables.config import Config
from indextables.read.scan_plan import SplitTask

_SEARCHED = 8


def enough(tasks: Sequence[SplitTask], rows: int) -> list[SplitTask]:
    """Splits of which all rows match, until they have `rows` of them; all splits where they have fewer.

    >>> from indextables.config import ReadConfig
    >>> from indextables.read.opener import SplitRef
    >>> tasks = [SplitTask(SplitRef(f"{n}.split", 1, n, None), all_rows_match=n != 7) for n in (7, 5, 6, 8)]
    >>> [task.split.path for task in enough(tasks, 10)]
    ['5.split', '6.split']
    >>> len(enough(tasks, 100))
    4
    """
    certain = [task for task in tasks if task.all_rows_match and task.split.live_rows is not None]
    before = accumulate((task.split.live_rows or 0 for task in certain), initial=0)
    chosen = [task for task, had in zip(certain, before, strict=False) if had < rows]
    return chosen if sum(task.split.live_rows or 0 for task in chosen) >= rows else list(tasks)


def packed(tasks: Iterable[SplitTask], config: Config, *, searched: bool = False) -> Iterator[list[SplitTask]]:
    """The splits in groups of about equal size, the largest first; opening one counts as `openCost` bytes.

    Of a split that is searched, the index reads a part: so many more go into a group, if there are as many groups as cores.

    >>> from indextables.config import ReadConfig
    >>> from indextables.read.opener import SplitRef
    >>> sizes = [10, 90, 20, 30]
    >>> tasks = [SplitTask(SplitRef(f"{size}.split", size, None, None), all_rows_match=False) for size in sizes]
    >>> config = Config(read=ReadConfig(max_partition_bytes=64, open_cost=1, min_partitions=1))
    >>> [[task.split.size for task in group] for group in packed(tasks, config)]
    [[90], [30, 20, 10]]
    """
    largest_first = sorted(tasks, key=lambda task: (-task.split.size, task.split.path))
    return packed_in_order(largest_first, config, searched=searched)


def packed_in_order(tasks: Sequence[SplitTask], config: Config, *, searched: bool = False) -> Iterator[list[SplitTask]]:
    """The same, in the order in which they are given."""
    cost = config.read.open_cost
    total = sum(task.split.size + cost for task in tasks)
    most = config.read.max_partition_bytes * (_SEARCHED if searched else 1)
    room = min(most, max(cost, total // config.read.min_partitions))
    group: list[SplitTask] = []
    filled = 0
    for task in tasks:
        if group and filled + task.split.size > room:
            yield group
            group, filled = [], 0
        group.append(task)
        filled += task.split.size + cost
    if group:
        yield group
