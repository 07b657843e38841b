"""The rows that an operation on rows changes: found by the indexes, as a scan finds them."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log import Snapshot
from indextables.log.snapshot import TOMBSTONES, Rows
from indextables.log.transaction import MayMatch
from indextables.read import scan_plan
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_spec import ScanSpec
from indextables.read.split_scan import matching_numbers
from indextables.split.deletion_bitmap import RowNumbers


def find_rows(
    snapshot: Snapshot, spec: ScanSpec, opener: SplitOpener, *, parallelism: int
) -> dict[str, RowNumbers | None]:
    """The numbers of the matching rows in each split that may have some; None for all, where the log says so."""
    plan = scan_plan.plan_scan(snapshot, spec)
    scan = Scan.of(plan, opener, limit=None, parallelism=parallelism)
    whole = [task.split.path for task in plan.tasks if task.all_rows_match]
    unsure = [task for task in plan.tasks if not task.all_rows_match]
    found = scan.over(unsure, lambda task: matching_numbers(scan.open(task), spec, all_rows_match=False))
    return {**dict.fromkeys(whole), **dict(zip([task.split.path for task in unsure], found, strict=True))}


def may_match(spec: ScanSpec, snapshot: Snapshot) -> MayMatch:
    """Whether a split that another writer added may have a row that the scan would find."""

    def may(splits: pa.Table) -> bool:
        rows = Rows(splits, TOMBSTONES.empty_table(), snapshot.metadata.current_doc_mapping_id)
        only = replace(snapshot, base=rows, pending={}, pending_vectors={})
        return bool(pc.any(scan_plan.may_match(spec, only)).as_py())

    return may
