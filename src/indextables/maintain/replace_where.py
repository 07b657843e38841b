"""Rows in the place of others: those that satisfy a condition, or those of the partitions that the new rows belong to."""

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
from indextables.maintain.row_selection import InPartitions, Satisfying, telling, values_in_log
from indextables.maintain.split_rewrite import TakeOut, take_out
from indextables.predicate import Predicate, Verdict, disjunction
from indextables.read.opener import SplitOpener
from indextables.write.conform import conformed, conformer
from indextables.write.modes import Batches, figures, overwrite, peeked
from indextables.write.pipeline import write_rows
from indextables.write.replaced_rows import Everything, Outgoing, Replacing
from indextables.write.write_plan import WritePlan

_EXAMPLES = 3


class Copies(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that stay, copied before the commit: the splits that they are in now, and the `sources` of a version."""

    version: int
    sources: Sequence[str]
    adds: Sequence[Add]

    def encode(self) -> str:
        return msgspec.json.encode(self).decode()

    @staticmethod
    def decode(text: str) -> "Copies":
        return msgspec.json.decode(text, type=Copies)

    def are_of(self, taken: TakeOut) -> bool:
        return self.version == taken.snapshot.version and taken.rewritten == set(self.sources)


@dataclass(frozen=True, slots=True)
class ReplacingWhere:
    """A write in the place of the rows that satisfy a condition, or one of several.

    `copies` of rows that stay may be there already. If the table has changed since, others are written instead.
    """

    conditions: tuple[Condition, ...]
    copies: Copies | None = None

    @property
    def operation(self) -> Operation:
        return Operation.REPLACE_WHERE

    @property
    def predicate(self) -> Predicate:
        return disjunction(*(condition.predicate for condition in self.conditions))

    def admitted(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        text = " OR ".join(condition.text for condition in self.conditions)
        return _inside(Condition(text, self.predicate), conformed(batches, schema))

    def outgoing(
        self, log: TransactionLog, snapshot: Snapshot | None, plan: WritePlan, adds: Sequence[Add]
    ) -> Outgoing:
        texts, moment = [condition.text for condition in self.conditions], now()
        parameters = {"predicate": texts[0] if len(texts) == 1 else texts}
        going = Outgoing(parameters=parameters)
        if snapshot is not None:
            taken = take_out_where(log, snapshot, self.predicate, plan.config)
            going = _outgoing(log, taken, plan, adds, parameters=parameters, copies=self.copies)
        metrics = going.metrics if len(texts) == 1 else {}  # those of several cannot be told apart
        actions = [ReplaceWhere(predicate=text, timestamp=moment, operation_metrics=metrics) for text in texts]
        return replace(going, replaced=actions)


@dataclass(frozen=True, slots=True)
class ReplacingPartitions:
    """A write in the place of the partitions that it has rows for: dynamic partition overwrite."""

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE

    def admitted(self, batches: Iterable[pa.RecordBatch], _: pa.Schema) -> Iterable[pa.RecordBatch]:
        return batches

    def outgoing(
        self, log: TransactionLog, snapshot: Snapshot | None, plan: WritePlan, adds: Sequence[Add]
    ) -> Outgoing:
        parameters = {"partitionOverwriteMode": "dynamic"}
        if snapshot is None:
            return Outgoing(parameters=parameters)
        opener = SplitOpener.of(log.store, plan.config)
        selection = InPartitions.of(plan.layout, plan.schema, partitions_of(adds, snapshot.metadata, plan, opener))
        return _outgoing(log, take_out(snapshot, selection, opener), plan, adds, parameters=parameters)


def scope_of(
    config: Config,
    metadata: Metadata,
    *,
    table: str,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
    copies: Copies | None = None,
) -> Replacing:
    """What an overwrite replaces, as the settings say: some rows, some partitions or everything."""
    if config.write.replace_where is not None:
        conditions = tuple(
            read_condition(text, metadata, table=table, time_zone=time_zone, case_sensitive=case_sensitive)
            for text in conditions_in(config.write.replace_where)
        )
        refuse_overlaps(conditions)
        return ReplacingWhere(conditions, copies)
    return ReplacingPartitions() if config.write.partition_overwrite_mode == "dynamic" else Everything()


def replace_where(
    log: TransactionLog, snapshot: Snapshot, pairs: Sequence[tuple[Batches, str | Predicate]], config: Config
) -> Snapshot:
    """Several parts of the table replaced in one commit, each by rows of its own."""
    metadata, schema = snapshot.metadata, snapshot.metadata.arrow_schema()
    layout = metadata.layouts[metadata.current_spec_id]
    conditions = tuple(read_condition(where, metadata, table=log.table) for _, where in pairs)
    refuse_overlaps(conditions)
    data = [peeked(given) for given, _ in pairs]
    for given, _ in data:
        if given is not None:
            conformer(given, schema, layout=layout)
    parts = (
        _inside(condition, conformed(batches, schema)) for condition, (_, batches) in zip(conditions, data, strict=True)
    )
    return overwrite(log, snapshot, (schema, chain.from_iterable(parts)), config, ReplacingWhere(conditions))


def take_out_where(log: TransactionLog, snapshot: Snapshot, predicate: Predicate, config: Config) -> TakeOut:
    """What leaves the table with the rows that satisfy a predicate; the log must be clear about their partitions."""
    selection, splits = Satisfying(predicate), snapshot.splits
    concerned = splits.filter(pc.not_equal(selection.verdicts(splits, snapshot.metadata), int(Verdict.NEVER)))
    refuse_unreadable(predicate, concerned, snapshot.metadata, table=log.table, version=snapshot.version)
    return take_out(snapshot, selection, SplitOpener.of(log.store, config))


def partitions_of(adds: Sequence[Add], metadata: Metadata, plan: WritePlan, opener: SplitOpener) -> pa.Table:
    """The partition values of the rows in new splits; a split that shares partitions and does not list them is read."""
    fields = telling(plan.layout)
    types = [field.transform.result_type(plan.schema.field(field.source).type) for field in fields]
    names = pa.schema([(field.name, kind) for field, kind in zip(fields, types, strict=True)])
    if not fields:
        return pa.table({"path": [add.path for add in adds]}).select([])  # all rows are of the one partition
    splits = splits_table(adds, metadata)
    parts = explode_logical_partitions(splits, metadata)
    values, known = values_in_log(parts.table, plan.layout)
    listed = pa.table(values, schema=names).filter(known)
    untold = splits.take(parts.split.filter(pc.invert(known)).unique())
    columns = pa.schema([plan.schema.field(name) for name in dict.fromkeys(field.source for field in fields)])
    read = [
        pa.table([field.transform.apply(rows.column(field.source)) for field in fields], schema=names)
        for rows in rows_of(opener, refs_to(untold), columns)
    ]
    return pa.concat_tables([listed, *read])


def _outgoing(
    log: TransactionLog,
    taken: TakeOut,
    plan: WritePlan,
    adds: Sequence[Add],
    *,
    parameters: Mapping[str, object],
    copies: Copies | None = None,
) -> Outgoing:
    removes, copied = taken.removes, _copied(log, taken, plan, copies)
    written = {**figures([*adds, *copied]), "numAddedRows": figures(adds)["numAddedRows"]}
    return Outgoing(
        removes=removes,
        copies=copied,
        rewritten=taken.rewritten,
        reads=taken.reads,
        parameters=parameters,
        metrics={**written, **taken.metrics},
    )


def _copied(log: TransactionLog, taken: TakeOut, plan: WritePlan, copies: Copies | None) -> Sequence[Add]:
    if copies is not None and copies.are_of(taken):
        return copies.adds
    if not len(taken.shared):
        return []
    return write_rows(taken.copying(plan), taken.rows(SplitOpener.of(log.store, plan.config)), log.store)


def _inside(condition: Condition, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, all of whose rows must satisfy the condition; one on no column, such as `1 = 2`, asks nothing of rows."""
    selection = Satisfying(condition.predicate)
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
