"""Prewarming: indexes are unpacked into the local cache before the first search."""

from dataclasses import dataclass

from indextables.read.scan import Scan
from indextables.read.scan_plan import SplitTask
from indextables.storage import Traffic


@dataclass(frozen=True, slots=True)
class PrewarmResult:
    """`splits` have a cached index now; `unpacked` of them had none before; `traffic` counts the requests."""

    splits: int
    unpacked: int
    traffic: Traffic


def prewarm(scan: Scan) -> PrewarmResult:
    """Brings the indexes of all splits that the scan would open to the local cache."""
    opener = scan.opener
    misses, before = opener.cache.misses, opener.store.traffic

    def load(task: SplitTask) -> None:
        scan.open(task).prewarm()

    splits = sum(1 for _ in scan.over(scan.plan.tasks, load))
    return PrewarmResult(splits, opener.cache.misses - misses, opener.store.traffic - before)
