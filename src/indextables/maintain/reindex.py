"""Reindexing: splits that were written under other field rules get the index of the current ones; no row changes.

Each split is rewritten by itself, with the rows in their order, and replaces the old one. Like compaction, it commits in
bundles with dataChange=false, and a conflicting writer invalidates only the splits that it touched.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.errors import StorageError
from indextables.layout import Texts
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import DocMapping, LogicalPartitions, Metadata
from indextables.log.column_ids import renamed_columns
from indextables.log.splits import partition_texts
from indextables.maintain.compact import (
    MergeProgress,
    MergeResult,
    Rewrite,
    Runner,
    rewrite_in_bundles,
    run_in_process,
)
from indextables.maintain.compaction_groups import MergeGroup, WrittenGroup, all_rows, splits_matching
from indextables.maintain.copy_rows import plan_copy, refs_to
from indextables.maintain.partition_predicate import read_condition
from indextables.plural import agreeing, pluralize
from indextables.predicate import Predicate
from indextables.read.opener import SplitOpener
from indextables.schema import column_named
from indextables.search import FieldRule
from indextables.search.text_fields import is_indexed_alike
from indextables.write.pipeline import write_contents
from indextables.write.split_contents import Contents
from indextables.write.write_plan import current_rules, mapped_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexResult:
    """The result of a reindexing, or of a dry run: of `splits` with another index, `reindexed` have the current one now.

    They have `rows` rows. Splits that lost against another writer are `conflicts`, with the reason; those that could not be
    read are the `damaged`. Both are as they were.
    """

    version: int
    dry_run: bool = False
    splits: int = 0
    reindexed: int = 0
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    conflicts: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    def __str__(self) -> str:
        number = self.splits if self.dry_run else self.reindexed
        done = f"{agreeing(number, 'was', 'were')} reindexed, {self.bytes_before:,} bytes became {self.bytes_after:,}"
        head = f"{pluralize(number, 'split')} with {pluralize(self.rows, 'row')} "
        head += "would be reindexed" if self.dry_run else done
        trouble = [f"  conflict: {reason}" for reason in self.conflicts] + [
            f"  left as it was, because it cannot be read: {path}" for path in self.damaged
        ]
        return "\n".join([f"{head} (version {self.version})", *trouble])

    _repr_html_ = text_output


@dataclass(frozen=True, slots=True)
class ReindexRequest:
    """The columns whose index is to be current, none for all, and the partitions, None for all."""

    columns: tuple[str, ...]
    where: Predicate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexGroup(MergeGroup):
    """One split, and what the log says of it beyond its rows and statistics."""

    partition_values: Texts
    physical: Texts | None = None
    logical: LogicalPartitions | None = None
    tags: tuple[str, ...] = ()


def reindex_request(
    snapshot: Snapshot,
    columns: str | Sequence[str] | None,
    *,
    table: str,
    where: str | Predicate | None = None,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> ReindexRequest:
    """The request, checked: the columns are there, and the condition names partition columns only."""
    schema = snapshot.metadata.arrow_schema()
    given = [columns] if isinstance(columns, str) else columns or ()
    named = tuple(column_named(schema, column, case_sensitive=case_sensitive) for column in given)
    if where is None:
        return ReindexRequest(named)
    condition = read_condition(
        where, snapshot.metadata, table=table, time_zone=time_zone, case_sensitive=case_sensitive
    )
    return ReindexRequest(named, condition.predicate)


def plan_only(log: TransactionLog, snapshot: Snapshot, request: ReindexRequest, config: Config) -> ReindexResult:
    """What a reindexing would do; nothing is written."""
    splits = outdated_splits(snapshot, request, SplitOpener.of(log.store, config))
    return ReindexResult(
        version=snapshot.version,
        dry_run=True,
        splits=len(splits),
        rows=pc.sum(splits["num_records"]).as_py() or 0,
        bytes_before=pc.sum(splits["size"]).as_py() or 0,
    )


def reindex(
    log: TransactionLog,
    snapshot: Snapshot,
    request: ReindexRequest,
    config: Config,
    *,
    run: Runner = run_in_process,
    progress: Callable[[MergeProgress], object] | None = None,
) -> tuple[Snapshot, ReindexResult]:
    """Reindexes all splits of the request whose index is not current; gives the table afterwards, and what was done."""
    opener = SplitOpener.of(log.store, config)

    def plan(snapshot: Snapshot, *, job: str, among: pa.Array, done: int, written: frozenset[str]) -> list[MergeGroup]:
        left = among.filter(pc.invert(pc.is_in(among, pa.array(written, pa.string())))) if done else among
        return list(_groups(snapshot, outdated_splits(snapshot, request, opener, among=left), config, job=job))

    rewrite = Rewrite(
        operation=Operation.REINDEX,
        plan=plan,
        work=partial(write_reindexed, log.table),
        verb="reindex",
        event="Splits reindexed",
        parameters={"columns": ", ".join(request.columns)} if request.columns else {},
    )
    after, result = rewrite_in_bundles(log, snapshot, rewrite, config, run=run, progress=progress)
    return after, _result(result)


def _result(merged: MergeResult) -> ReindexResult:
    return ReindexResult(
        version=merged.version,
        splits=merged.groups,
        reindexed=merged.splits_before,
        rows=merged.rows,
        bytes_before=merged.bytes_before,
        bytes_after=merged.bytes_after,
        conflicts=merged.conflicts,
        damaged=merged.damaged,
    )


def outdated_splits(
    snapshot: Snapshot, request: ReindexRequest, opener: SplitOpener, *, among: pa.Array | None = None
) -> pa.Table:
    """The splits that index one of the columns in another way than the table says.

    The log tells by their doc mapping; a split without one is opened.
    """
    splits, metadata = splits_matching(snapshot, request.where), snapshot.metadata
    if among is not None:
        splits = splits.filter(pc.is_in(splits["path"], among))
    complete = [mapping.doc_mapping_id for mapping in metadata.doc_mappings if mapping.complete]
    unknown = splits.filter(pc.invert(pc.is_in(splits["doc_mapping_id"], pa.array(complete, pa.int32()))))
    current = current_rules(metadata)
    refs = refs_to(unknown, metadata)
    found = [ref.path for ref in refs if _differs(opener.open(ref).rules, current, request.columns)]
    other = pc.is_in(splits["doc_mapping_id"], pa.array(outdated_mappings(metadata, request.columns), pa.int32()))
    return splits.filter(pc.or_(other, pc.is_in(splits["path"], pa.array(found, pa.string()))))


def outdated_mappings(metadata: Metadata, columns: Sequence[str] = ()) -> list[int]:
    """The doc mappings that index one of the columns, or any, in another way than the current one."""
    current, complete = current_rules(metadata), (m for m in metadata.doc_mappings if m.complete)
    return [m.doc_mapping_id for m in complete if _differs(_rules_by_current_name(m, metadata), current, columns)]


def _rules_by_current_name(mapping: DocMapping, metadata: Metadata) -> dict[str, FieldRule]:
    renamed = renamed_columns(metadata).get(mapping.doc_mapping_id, {})
    return {renamed.get(name, name): rule for name, rule in mapped_rules(mapping).items()}


def _differs(rules: Mapping[str, FieldRule], current: Mapping[str, FieldRule], columns: Sequence[str]) -> bool:
    """Whether one of the columns, if the split has it, is indexed in another way."""
    shared = [name for name in columns or current if name in rules and name in current]
    return any(not is_indexed_alike(rules[name], current[name]) for name in shared)


def _groups(snapshot: Snapshot, splits: pa.Table, config: Config, *, job: str) -> Iterator[ReindexGroup]:
    write = replace(config.write, auto_size=False, cluster_by=())
    config = replace(config, write=write)
    plans = {
        spec: replace(plan_copy(snapshot, config, spec_id=spec), job=job, coalescing=None)
        for spec in splits["spec_id"].unique().to_pylist()
    }
    facts = splits.select(["spec_id", "num_merge_ops", "physical_partition", "logical_partitions", "split_tags"])
    metadata = snapshot.metadata
    described = zip(refs_to(splits, metadata), partition_texts(splits, metadata), facts.to_pylist(), strict=True)
    for ref, partition, fact in described:
        logical, physical = fact["logical_partitions"], fact["physical_partition"]
        yield ReindexGroup(
            splits=(ref,),
            plan=plans[fact["spec_id"]],
            merges=fact["num_merge_ops"] or 0,
            partition_values=partition,
            physical=None if physical is None else dict(physical),
            logical=None if logical is None else LogicalPartitions(**logical),
            tags=tuple(fact["split_tags"] or ()),
        )


def write_reindexed(table: str, group: MergeGroup) -> WrittenGroup:
    """Writes the rows of a split again, in their order. A split that cannot be read is left as it is."""
    if not isinstance(group, ReindexGroup):
        raise TypeError("a reindexing rewrites splits one by one")
    config, (split,) = group.plan.config, group.splits
    store = TransactionLog.open(table, config).store
    try:
        rows = list(all_rows(SplitOpener.of(store, config), [split], group.plan.schema))
        add = write_contents(group.plan, _contents(group, rows), store, directory=split.path.rpartition("/")[0])
    except StorageError as error:
        if error.path != store.name_of(split.path):
            raise
        return WrittenGroup(replace(group, splits=()), (), (split.path,))
    return WrittenGroup(
        group,
        [
            msgspec.structs.replace(
                add,
                data_change=False,
                num_merge_ops=group.merges,
                split_tags=group.tags,
                physical_partition=group.physical,
            )
        ],
    )


def _contents(group: ReindexGroup, rows: list[pa.RecordBatch]) -> Contents:
    """The rows that are left, and the partitions of the split; their counts are unknown if rows were deleted."""
    physical = group.partition_values if group.physical is None else group.physical
    logical = group.logical
    if logical is not None and group.splits[0].num_deleted:
        logical = msgspec.structs.replace(logical, counts=None)
    return Contents(rows, group.partition_values, physical, logical)
