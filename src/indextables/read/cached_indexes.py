"""Answers that this process can give sooner than a task could be started: few rows, found by indexes that are at hand."""

from collections.abc import Sequence

from indextables.read.missing_split import told_if_gone
from indextables.read.rows import is_only_a_search, left_by_index
from indextables.read.scan import Scan
from indextables.read.scan_plan import SplitTask

_MOST_SPLITS = 256  # each is looked into, one after the other: 0.3 ms, and 2 ms the first time


def has_few_rows(scan: Scan, most: int) -> bool:
    """Whether the rows of a scan are found by indexes on this machine, and are so many at most."""
    tasks, found = scan.plan.tasks, 0
    if most <= 0 or len(tasks) > _MOST_SPLITS:
        return False
    for task in tasks:
        left = None if task.wholly else _left(scan, task)
        if left is None or (found := found + left) > most:
            return False
    return True


def is_counted(scan: Scan, unknown: Sequence[SplitTask]) -> bool:
    """Whether indexes on this machine know how many rows of these splits match, without a look at the rows."""
    if len(unknown) > _MOST_SPLITS or not is_only_a_search(scan.question):
        return False
    return all(_left(scan, task) is not None for task in unknown)


def _left(scan: Scan, task: SplitTask) -> int | None:
    with told_if_gone(task.split, scan.opener.store, scan.snapshot.version):
        return left_by_index(scan.open(task), scan.question)
