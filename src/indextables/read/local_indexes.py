"""Indexes cached on this machine: scans of few rows that the driver runs itself, without Spark tasks; prewarming."""

from collections.abc import Sequence
from dataclasses import dataclass

from indextables.read.opener import missing_split_errors
from indextables.read.scan import Scan
from indextables.read.scan_plan import SplitTask
from indextables.read.split_scan import count_by_index, is_search_only
from indextables.storage import Traffic

_MAX_SPLITS = 256  # one index after the other is queried: 0.3 ms each, 2 ms the first time


def finds_few_rows(scan: Scan, most: int) -> bool:
    """Whether indexes that are cached on this machine find all rows of a scan, at most `most` of them."""
    tasks, found = scan.plan.tasks, 0
    if most <= 0 or len(tasks) > _MAX_SPLITS:
        return False
    for task in tasks:
        count = None if task.all_rows_match else _count(scan, task)
        if count is None or (found := found + count) > most:
            return False
    return True


def count_by_cached_indexes(scan: Scan, unknown: Sequence[SplitTask]) -> int | None:
    """The matching rows of these splits, if indexes that are cached on this machine count them without reading rows."""
    if len(unknown) > _MAX_SPLITS or not is_search_only(scan.scan_spec):
        return None
    total = 0
    for task in unknown:
        count = _count(scan, task)
        if count is None:
            return None
        total += count
    scan.opener.log_use(len(unknown))
    return total


def _count(scan: Scan, task: SplitTask) -> int | None:
    with missing_split_errors(task.split, scan.opener.store, scan.snapshot.version):
        return count_by_index(scan.open(task), scan.scan_spec)


@dataclass(frozen=True, slots=True)
class PrewarmResult:
    """`splits` have a cached index now; `unpacked` of them had none before; `traffic` counts the requests."""

    splits: int
    unpacked: int
    traffic: Traffic


def prewarm(scan: Scan) -> PrewarmResult:
    """Brings the indexes of all splits that the scan would open to the local cache."""
    before = scan.opener.store.traffic
    missing = list(scan.over(scan.plan.tasks, lambda task: scan.open(task).prewarm()))
    return PrewarmResult(len(missing), sum(missing), scan.opener.store.traffic - before)
