"""Unpacking indexes before anybody searches."""

from dataclasses import dataclass

from indextables.read.scan import Scan
from indextables.read.scan_plan import SplitTask
from indextables.storage import Traffic


@dataclass(frozen=True, slots=True)
class Prewarmed:
    """`splits` have their index in the cache now, `unpacked` of them had not; `traffic` is what that took."""

    splits: int
    unpacked: int
    traffic: Traffic


def prewarm(scan: Scan) -> Prewarmed:
    """Brings the indexes of all splits that the scan would open to the local cache."""
    opener = scan.opener
    misses, before = opener.cache.misses, opener.store.traffic

    def unpack(task: SplitTask) -> object:
        return scan.open(task).index

    splits = sum(1 for _ in scan.over(scan.plan.tasks, unpack))
    return Prewarmed(splits, opener.cache.misses - misses, opener.store.traffic - before)
