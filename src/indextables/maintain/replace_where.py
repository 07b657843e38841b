"""Overwrites of a part of a table: the rows that satisfy a condition, or the partitions that the new rows belong to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.errors import RowsOutsideError
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import Add, Metadata, ReplaceWhere
from indextables.log.clock import now
from indextables.log.logical_partitions import explode_logical_partitions
from indextables.log.splits import splits_table
from indextables.maintain.copy_rows import refs_to, rows_of
from indextables.maintain.disjoint import refuse_overlaps
from indextables.maintain.partition_predicate import Condition, conditions_in, read_condition, refuse_unreadable
from indextables.maintain.row_selection import (
    InPartitions,
    MatchingRows,
    Selection,
    partitioning_fields,
    values_in_log,
)
from indextables.maintain.split_rewrite import SplitRewrite, plan_rewrite
from indextables.predicate import Predicate, Verdict, disjunction
from indextables.read.opener import SplitOpener, SplitRef
from indextables.write.commit_metrics import split_metrics
from indextables.write.conform_schema import conformed, conformer
from indextables.write.input_data import InputRows, peeked, total_rows
from indextables.write.job_planning import plan_on
from indextables.write.overwrite import FullOverwrite, Overwrite, RemovedSplits, RunCopies, copy_here
from indextables.write.pipeline import write_rows
from indextables.write.write_job import Mode, write_and_commit
from indextables.write.write_plan import WritePlan
from indextables.write.write_progress import OnProgress, ProgressCounter

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class CopyKeptRows:
    """A CopyTask: the rows of some splits that are not selected, in new splits."""

    table: str
    plan: WritePlan
    selection: Selection

    def __call__(self, task: int, splits: Iterable[SplitRef]) -> Iterator[Add]:
        store = TransactionLog.open(self.table, self.plan.config).store
        opener = SplitOpener.of(store, self.plan.config)
        rows = rows_of(opener, splits, self.plan.schema, unless=self.selection.holds)
        yield from write_rows(self.plan, rows, store, task=task)


class ReplaceWhereOverwrite(msgspec.Struct, frozen=True, tag=True):
    """Replaces the rows that satisfy a condition, or one of several."""

    conditions: tuple[Condition, ...]

    @property
    def operation(self) -> Operation:
        return Operation.REPLACE_WHERE

    @property
    def predicate(self) -> Predicate:
        return disjunction(*(condition.predicate for condition in self.conditions))

    def checked(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        text = " OR ".join(condition.text for condition in self.conditions)
        return _inside(Condition(text, self.predicate), conformed(batches, schema))

    def removed_splits(
        self, log: TransactionLog, snapshot: Snapshot | None, plan: WritePlan, adds: Sequence[Add], *, run: RunCopies
    ) -> RemovedSplits:
        texts, timestamp = [condition.text for condition in self.conditions], now()
        parameters = {"predicate": texts[0] if len(texts) == 1 else texts}
        removed = RemovedSplits(parameters=parameters)
        if snapshot is not None:
            rewrite = plan_rewrite_where(log, snapshot, self.predicate, plan.config)
            removed = _removed(log.table, rewrite, plan, adds, parameters=parameters, run=run)
        metrics = removed.metrics if len(texts) == 1 else {}  # of several conditions, there are no separate metrics
        actions = [ReplaceWhere(predicate=text, timestamp=timestamp, operation_metrics=metrics) for text in texts]
        return replace(removed, replaced=actions)


class DynamicOverwrite(msgspec.Struct, frozen=True, tag=True):
    """Replaces the partitions that the new rows belong to: dynamic partition overwrite."""

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE

    def checked(self, batches: Iterable[pa.RecordBatch], _: pa.Schema) -> Iterable[pa.RecordBatch]:
        return batches

    def removed_splits(
        self, log: TransactionLog, snapshot: Snapshot | None, plan: WritePlan, adds: Sequence[Add], *, run: RunCopies
    ) -> RemovedSplits:
        parameters = {"partitionOverwriteMode": "dynamic"}
        if snapshot is None:
            return RemovedSplits(parameters=parameters)
        opener = SplitOpener.of(log.store, plan.config)
        selection = InPartitions.of(plan.layout, plan.schema, partitions_of(adds, snapshot.metadata, plan, opener))
        rewrite = plan_rewrite(snapshot, selection, opener)
        return _removed(log.table, rewrite, plan, adds, parameters=parameters, run=run)


def resolve_overwrite(
    config: Config, metadata: Metadata, *, table: str, time_zone: str = "UTC", case_sensitive: bool = False
) -> Overwrite:
    """What an overwrite replaces according to the settings: some rows, some partitions or the whole table."""
    if config.write.replace_where is not None:
        conditions = tuple(
            read_condition(text, metadata, table=table, time_zone=time_zone, case_sensitive=case_sensitive)
            for text in conditions_in(config.write.replace_where)
        )
        refuse_overlaps(conditions)
        return ReplaceWhereOverwrite(conditions)
    return DynamicOverwrite() if config.write.partition_overwrite_mode == "dynamic" else FullOverwrite()


def replace_where(
    log: TransactionLog,
    snapshot: Snapshot,
    pairs: Sequence[tuple[InputRows, str | Predicate]],
    config: Config,
    *,
    progress: OnProgress | None = None,
) -> Snapshot:
    """Several parts of the table replaced in one commit, each by rows of its own."""
    metadata, schema = snapshot.metadata, snapshot.metadata.arrow_schema()
    layout = metadata.layouts[metadata.current_spec_id]
    conditions = tuple(read_condition(where, metadata, table=log.table) for _, where in pairs)
    refuse_overlaps(conditions)
    data = [peeked(rows) for rows, _ in pairs]
    for rows in data:
        if rows.schema is not None:
            conformer(rows.schema, schema, layout=layout)
    parts = (
        _inside(condition, conformed(rows.batches, schema)) for condition, rows in zip(conditions, data, strict=True)
    )
    overwrite = ReplaceWhereOverwrite(conditions)
    job = plan_on(log, snapshot, schema, config, mode=Mode.OVERWRITE, overwrite=lambda *_, **__: overwrite)
    counter = ProgressCounter(progress, total_rows(data))
    return write_and_commit(job, chain.from_iterable(parts), log=log, snapshot=snapshot, counter=counter)


def plan_rewrite_where(log: TransactionLog, snapshot: Snapshot, predicate: Predicate, config: Config) -> SplitRewrite:
    """Deletes the rows that satisfy a predicate; an error where the log has a partition value that cannot be read."""
    selection, splits = MatchingRows(predicate), snapshot.splits
    matching = splits.filter(pc.not_equal(selection.verdicts(splits, snapshot.metadata), int(Verdict.NEVER)))
    refuse_unreadable(predicate, matching, snapshot.metadata, table=log.table, version=snapshot.version)
    return plan_rewrite(snapshot, selection, SplitOpener.of(log.store, config))


def partitions_of(adds: Sequence[Add], metadata: Metadata, plan: WritePlan, opener: SplitOpener) -> pa.Table:
    """The partition values of the rows in new splits; a coalesced split that does not list its partitions is read."""
    fields = partitioning_fields(plan.layout)
    types = [field.transform.result_type(plan.schema.field(field.source).type) for field in fields]
    names = pa.schema([(field.name, kind) for field, kind in zip(fields, types, strict=True)])
    if not fields:
        return pa.table({"path": [add.path for add in adds]}).select([])  # all rows are of the one partition
    splits = splits_table(adds, metadata)
    parts = explode_logical_partitions(splits, metadata)
    values, known = values_in_log(parts.table, plan.layout)
    listed = pa.table(values, schema=names).filter(known)
    unlisted = splits.take(parts.split.filter(pc.invert(known)).unique())
    columns = pa.schema([plan.schema.field(name) for name in dict.fromkeys(field.source for field in fields)])
    read = [
        pa.table([field.transform.apply(rows.column(field.source)) for field in fields], schema=names)
        for rows in rows_of(opener, refs_to(unlisted, metadata), columns)
    ]
    return pa.concat_tables([listed, *read])


def _removed(
    table: str,
    rewrite: SplitRewrite,
    plan: WritePlan,
    adds: Sequence[Add],
    *,
    parameters: Mapping[str, object],
    run: RunCopies,
) -> RemovedSplits:
    removes, copied = rewrite.removes, _copied(table, rewrite, plan, run)
    added = {**split_metrics([*adds, *copied]), "numAddedRows": split_metrics(adds)["numAddedRows"]}
    return RemovedSplits(
        removes=removes,
        copies=copied,
        rewritten=rewrite.rewritten_paths,
        reads=rewrite.reads,
        parameters=parameters,
        metrics={**added, **rewrite.metrics},
    )


def _copied(table: str, rewrite: SplitRewrite, plan: WritePlan, run: RunCopies) -> Sequence[Add]:
    if not len(rewrite.rewritten):
        return []
    task = CopyKeptRows(table, rewrite.copy_plan(plan), rewrite.selection)
    is_small = rewrite.copied <= plan.config.write.driver_copy_rows
    return (copy_here if is_small else run)(task, rewrite.rewritten_refs)


def _inside(condition: Condition, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, all of whose rows must satisfy the condition; a condition without columns (`1 = 2`) is not checked."""
    selection = MatchingRows(condition.predicate)
    for batch in batches:
        outside = batch.filter(pc.invert(selection.holds(batch)))
        if outside.num_rows and selection.columns:
            more = sum(rest.num_rows - int(pc.sum(selection.holds(rest)).as_py() or 0) for rest in batches)
            raise _outside(condition, outside.num_rows + more, _examples(outside, selection.columns))
        yield batch


def _examples(rows: pa.RecordBatch, columns: Sequence[str]) -> list[dict[str, object]]:
    """A few rows that differ in some columns."""
    names = [name for name in rows.schema.names if name in columns]
    distinct = pa.Table.from_batches([rows.select(names)]).group_by(names, use_threads=False).aggregate([])
    examples: list[dict[str, object]] = distinct.slice(0, _EXAMPLES).to_pylist()
    return examples


def _outside(condition: Condition, rows: int, examples: list[dict[str, object]]) -> RowsOutsideError:
    reason = f"{rows} new {'row does' if rows == 1 else 'rows do'} not satisfy it"
    shown = "; ".join(", ".join(f"{name}={value!r}" for name, value in row.items()) for row in examples)
    return RowsOutsideError(
        f"the rows that satisfy {condition.text!r} cannot be replaced, because {reason}, for example {shown}; leave such "
        "rows out, or widen the condition; nothing was written",
        predicate=condition.text,
        reason=reason,
        rows=rows,
        examples=examples,
    )
