"""Health checks of a table.

A table outside the ranges of `findings` is correct, but costs more than necessary.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.display import panels
from indextables.inspect.findings import (
    EVOLVE,
    PARTITION_SIZES,
    SPLIT_SIZES,
    Area,
    Finding,
    Severity,
    findings_panel,
    format_bytes,
    median,
)
from indextables.inspect.layout_findings import layout_findings
from indextables.inspect.listing import list_partitions
from indextables.inspect.recommended_steps import Step, StepFormat
from indextables.kernels import sum_of
from indextables.log import Snapshot, TransactionLog
from indextables.log.clock import epoch_millis
from indextables.log.log_files import LogFiles, list_log
from indextables.log.logical_partitions import explode_logical_partitions
from indextables.log.ownership import files_of_table
from indextables.log.splits import live_rows, num_deleted
from indextables.log.table_identity import stray_versions
from indextables.maintain.compact import plan_only
from indextables.maintain.compaction_request import MergeRequest, limits_of
from indextables.maintain.reindex import outdated_mappings
from indextables.plural import agreeing, pluralize
from indextables.storage import Store
from indextables.storage.store import PAGE

logger = logging.getLogger(__name__)
_MANY_SPLITS = 10
_SKEW = 20
_LONG_LOG = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Metrics of a table, and findings; it prints as a report, with the Python calls that fix them.

    `tombstones` are removed splits whose files are still there; of these, `purgeable` are past their retention.
    """

    table: str
    version: int
    splits: int
    rows: int
    bytes: int
    partitions: int
    small_splits: int
    median_split: int
    median_partition: int
    largest_partition: int
    log_files: int
    log_bytes: int
    tombstones: int
    tombstone_bytes: int
    purgeable: int
    purgeable_bytes: int
    deleted_rows: int
    splits_with_deleted_rows: int
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        return not self.findings

    @property
    def figures(self) -> dict[str, str]:
        """The main metrics as text, by name."""
        removed = {
            "removed splits": format_bytes(self.tombstone_bytes),
            "can be purged": format_bytes(self.purgeable_bytes),
        }
        return {
            "version": f"{self.version:,}",
            "rows": f"{self.rows:,}",
            "splits": f"{self.splits:,}",
            "size": format_bytes(self.bytes),
            "partitions": f"{self.partitions:,}",
            "log": format_bytes(self.log_bytes),
            **(removed if self.tombstones else {}),
        }

    def __repr__(self) -> str:
        """In one line; it prints as a report."""
        counts = f"rows={self.rows}, splits={self.splits}, bytes={self.bytes}, findings={len(self.findings)}"
        return f"Health({self.table!r}, version={self.version}, {counts})"

    def __str__(self) -> str:
        return self.render()

    def render(self, format_step: StepFormat = str) -> str:
        small = f"{self.small_splits:,} smaller than {format_bytes(SPLIT_SIZES[0])}"
        sizes = f"median {format_bytes(self.median_split)}, {small}"
        parts = f"median {format_bytes(self.median_partition)}, largest {format_bytes(self.largest_partition)}"
        removed = f"{pluralize(self.tombstones, 'split')} with {format_bytes(self.tombstone_bytes)}"
        lines = [
            f"{self.table} at version {self.version}",
            f"  splits      {self.splits:,} with {pluralize(self.rows, 'row')} and {format_bytes(self.bytes)}; {sizes}",
            f"  partitions  {self.partitions:,}; {parts}",
            f"  log         {pluralize(self.log_files, 'file')} with {format_bytes(self.log_bytes)}",
            f"  removed     {removed}{self._purgeable()}",
        ]
        return "\n".join([*lines, "", *([finding.render(format_step) for finding in self.findings] or ["no findings"])])

    def _repr_html_(self) -> str:
        title = panels.heading("Health", f"{self.table} at version {self.version}")
        return panels.notebook(title, panels.metrics(self.figures), findings_panel(self.findings))

    def _purgeable(self) -> str:
        return f", of which {format_bytes(self.purgeable_bytes)} can be purged" if self.tombstones else ""


def health(log: TransactionLog, snapshot: Snapshot, config: Config) -> Health:
    """Checks the log, a listing of it, whose its files are, and which removed splits still exist; no split is opened."""
    log.verify_table(snapshot)
    splits, files, past = snapshot.splits, list_log(log.store), removed_splits(log.store, snapshot)
    sizes, partitions = splits["size"], list_partitions(snapshot)["size"]
    expired = past.filter(pc.field("deletion_timestamp") < _cutoff(config))
    metrics = Health(
        table=log.table,
        version=snapshot.version,
        splits=len(splits),
        rows=sum_of(live_rows(splits)),
        bytes=sum_of(sizes),
        partitions=len(partitions),
        small_splits=sum_of(pc.less(sizes, SPLIT_SIZES[0])),
        median_split=median(sizes),
        median_partition=median(partitions),
        largest_partition=pc.max(partitions).as_py() or 0,
        log_files=len(files.commits) + len(files.checkpoints),
        log_bytes=sum(entry.size for known in (files.commits, files.checkpoints) for entry in known.values()),
        tombstones=len(past),
        tombstone_bytes=sum_of(past["size"]),
        purgeable=len(expired),
        purgeable_bytes=sum_of(expired["size"]),
        deleted_rows=sum_of(num_deleted(splits)),
        splits_with_deleted_rows=len(splits) - splits["deletion_vector"].null_count,
        findings=(),
    )
    strays = stray_versions(log.store, files, snapshot.metadata.id)
    unread = [number for number in strays if number <= max(files.checkpoints, default=-1)]
    if unread:  # readers of the table have named the others
        logger.warning("versions %s of %s are of another table, and are passed over", unread, log.table)
    inputs = _HealthInput(metrics, snapshot, config, files, strays)
    found = tuple(finding for check in _CHECKS for finding in check(inputs))
    return replace(metrics, findings=found)


def removed_splits(store: Store, snapshot: Snapshot) -> pa.Table:
    """The tombstones of a snapshot whose files still exist: a vacuum (PURGE) deletes files without a commit.

    Each file is checked, or the table is listed, whichever takes fewer requests. Without tombstones there is no request.
    """
    tombstones = snapshot.tombstones
    paths = tombstones["path"]
    if len(paths) <= 1 + (len(paths) + len(snapshot.splits)) // PAGE:
        gone = pa.array(store.missing(paths.to_pylist()), pa.string())
        return tombstones.filter(pc.invert(pc.is_in(paths, gone)))
    there = pa.array([entry.key for entry in files_of_table(store)], pa.string())
    return tombstones.filter(pc.is_in(paths, there))


@dataclass(frozen=True, slots=True)
class _HealthInput:
    metrics: Health
    snapshot: Snapshot
    config: Config
    files: LogFiles
    strays: list[int]


def _small_splits(inputs: _HealthInput) -> Iterator[Finding]:
    """Plans a merge, so that only splits that it would merge are reported."""
    plan = plan_only(inputs.snapshot, MergeRequest(limits=limits_of(inputs.config)), inputs.config)
    if plan.splits_before > plan.splits_after:
        share = plan.splits_before / inputs.metrics.splits
        severity = Severity.WARNING if plan.splits_before >= _MANY_SPLITS and share > 1 / 2 else Severity.ADVICE
        small, all_splits = plan.splits_before, inputs.metrics.splits
        message = f"{small:,} of {all_splits:,} splits are small; merging leaves {plan.splits_after:,}"
        yield Finding(Area.SPLITS, severity, message, Step("merge_splits"))


def _large_splits(inputs: _HealthInput) -> Iterator[Finding]:
    large = sum_of(pc.greater(inputs.snapshot.splits["size"], SPLIT_SIZES[1]))
    if large:
        message = (
            f"{pluralize(large, 'split')} {agreeing(large, 'is', 'are')} larger than {format_bytes(SPLIT_SIZES[1])}: "
            "a scan cannot divide one among tasks"
        )
        hint = "write with a smaller targetRecordsPerSplit from now on"
        yield Finding(Area.SPLITS, Severity.ADVICE, message, None, hint)


def _large_partitions(inputs: _HealthInput) -> Iterator[Finding]:
    if inputs.metrics.largest_partition > PARTITION_SIZES[1]:
        size, good = inputs.metrics.largest_partition, PARTITION_SIZES[1]
        message = f"the largest partition has {format_bytes(size)}; up to {format_bytes(good)} is good"
        yield Finding(Area.PARTITIONS, Severity.ADVICE, message, EVOLVE, _FINER)


def _skew(inputs: _HealthInput) -> Iterator[Finding]:
    metrics = inputs.metrics
    if metrics.partitions > 1 and metrics.largest_partition > max(_SKEW * metrics.median_partition, SPLIT_SIZES[1]):
        times = metrics.largest_partition // max(1, metrics.median_partition)
        message = f"the largest partition has {times:,} times the size of the median one"
        yield Finding(Area.PARTITIONS, Severity.ADVICE, message, EVOLVE, _FINER)


def _old_layouts(inputs: _HealthInput) -> Iterator[Finding]:
    old = sum_of(pc.not_equal(inputs.snapshot.splits["spec_id"], inputs.snapshot.metadata.current_spec_id))
    if old:
        message = f"{old:,} of {inputs.metrics.splits:,} splits {agreeing(old, 'has', 'have')} an older layout"
        yield Finding(Area.LAYOUT, Severity.ADVICE, message, Step("merge_splits", options={"rewrite_layout": True}))


def _old_indexes(inputs: _HealthInput) -> Iterator[Finding]:
    mappings = pa.array(outdated_mappings(inputs.snapshot.metadata), pa.int32())
    old = sum_of(pc.is_in(inputs.snapshot.splits["doc_mapping_id"], mappings))
    if old:
        message = (
            f"{old:,} of {inputs.metrics.splits:,} splits {agreeing(old, 'has', 'have')} an index of before set_indexing: "
            "searches take longer"
        )
        yield Finding(Area.SPLITS, Severity.ADVICE, message, Step("reindex"))


def _deleted_rows(inputs: _HealthInput) -> Iterator[Finding]:
    metrics = inputs.metrics
    if changed := metrics.splits_with_deleted_rows:
        share = metrics.deleted_rows / max(1, metrics.rows + metrics.deleted_rows)
        message = (
            f"{changed:,} of {metrics.splits:,} splits {agreeing(changed, 'has', 'have')} deleted rows: "
            f"{metrics.deleted_rows:,}, {share:.1%} of all rows in splits, which readers skip"
        )
        yield Finding(Area.SPLITS, Severity.ADVICE, message, Step("merge_splits", options={"deleted_rows": True}))


def _unknown_rows(inputs: _HealthInput) -> Iterator[Finding]:
    parts = explode_logical_partitions(inputs.snapshot.splits, inputs.snapshot.metadata).table
    unknown = parts["num_records"].null_count
    if unknown:
        message = f"the log has no row counts for {pluralize(unknown, 'split')}, so that counting opens splits"
        yield Finding(Area.SPLITS, Severity.ADVICE, message, None, "rewrite these rows, all of them or by replaceWhere")


def _long_log(inputs: _HealthInput) -> Iterator[Finding]:
    newest = max(inputs.files.checkpoints, default=-1)
    behind = inputs.metrics.version - newest
    if behind > max(2 * inputs.config.maintenance.checkpoint_interval, _MANY_SPLITS):
        message = f"there are {behind:,} versions after the newest checkpoint: opening the table reads all of them"
        yield Finding(Area.LOG, Severity.WARNING, message, Step("checkpoint"))
    if inputs.metrics.log_files > _LONG_LOG:
        retention = inputs.config.maintenance.log_retention.days
        message = f"the log has {inputs.metrics.log_files:,} files; those older than {retention} days go"
        yield Finding(Area.LOG, Severity.ADVICE, message, Step("purge"), "or a shorter log.retention")


def _strays(inputs: _HealthInput) -> Iterator[Finding]:
    if inputs.strays:
        numbers, count = ", ".join(map(str, inputs.strays)), len(inputs.strays)
        named = f"{agreeing(count, 'version', 'versions')} {numbers} of the log {agreeing(count, 'is', 'are')}"
        message = f"{named} of another table, as if restored to the wrong place; readers pass over such files"
        hint = "check() says what is missing; restore the files of this table, or move the others out of the log"
        yield Finding(Area.LOG, Severity.WARNING, message, None, hint)


def _past(inputs: _HealthInput) -> Iterator[Finding]:
    if inputs.metrics.purgeable:
        splits, size = inputs.metrics.purgeable, format_bytes(inputs.metrics.purgeable_bytes)
        message = f"{pluralize(splits, 'removed split')} with {size} {agreeing(splits, 'is', 'are')} past retention"
        yield Finding(Area.FILES, Severity.ADVICE, message, Step("purge"))


def _cutoff(config: Config) -> int:
    """A split that was removed before this time, in milliseconds, can be purged."""
    return epoch_millis(datetime.now(UTC) - max(config.maintenance.purge_min_retention, timedelta(0)))


_FINER = "a finer layout, for example with bucket(16, id); advise recommends one for your queries"
_CHECKS: tuple[Callable[[_HealthInput], Iterator[Finding]], ...] = (
    _small_splits,
    _large_splits,
    lambda inputs: layout_findings(inputs.snapshot, inputs.config),
    _large_partitions,
    _skew,
    _old_layouts,
    _old_indexes,
    _deleted_rows,
    _unknown_rows,
    _long_log,
    _strays,
    _past,
)
