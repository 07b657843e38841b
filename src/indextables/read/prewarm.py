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
    before = scan.opener.store.traffic

    def load(task: SplitTask) -> bool:
        return scan.open(task).prewarm()

    missing = list(scan.over(scan.plan.tasks, load))
    return PrewarmResult(len(missing), sum(missing), scan.opener.store.traffic - before)
