"""Row selections: exact on rows; on splits, a verdict from the log."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import join
from indextables.layout import Bucket, Identity, Layout, PartitionField, Void
from indextables.log.actions import Metadata
from indextables.log.split_bounds import partition_value
from indextables.predicate import (
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Op,
    Predicate,
    Verdict,
    columns,
    conjunction,
    disjunction,
    evaluate,
)
from indextables.read.prune import judge_table, verdicts_of_splits
from indextables.values import canonical


@dataclass(frozen=True, slots=True)
class MatchingRows:
    """The rows for which a predicate, bound to the table's schema, is true."""

    predicate: Predicate

    @property
    def columns(self) -> list[str]:
        """The columns that decide."""
        return sorted(columns(self.predicate))

    def verdicts(self, splits: pa.Table, metadata: Metadata) -> pa.UInt8Array:
        """The verdict of each split: NEVER, SOMETIMES or ALWAYS selected."""
        return judge_table(self.predicate, splits, metadata).verdicts

    def holds(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """The mask of the selected rows; unknown is false."""
        return pc.fill_null(evaluate(self.predicate, rows), fill_value=False)


@dataclass(frozen=True, slots=True, eq=False)
class InPartitions:
    """The rows that belong to some partitions of a layout, wherever they are.

    Splits that were written under the same terms are in or out as a whole, by the `keys` of their partitions. Of others it
    is known at best that none of their rows can be meant: `cover` is true of every row of these partitions, and may be of
    more.
    """

    layout: Layout
    keys: pa.Array
    cover: Predicate

    @classmethod
    def of(cls, layout: Layout, schema: pa.Schema, tuples: pa.Table) -> "InPartitions":
        """The partitions of these tuples, one column of values for each partitioning field."""
        values = [column.combine_chunks() for column in tuples.columns]
        reach = (
            _reach(field, part.unique(), schema)
            for field, part in zip(partitioning_fields(layout), values, strict=True)
        )
        return cls(layout, _keys(values, layout, len(tuples)).unique(), conjunction(*reach))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(field.source for field in partitioning_fields(self.layout)))

    def verdicts(self, splits: pa.Table, metadata: Metadata) -> pa.UInt8Array:
        split_verdicts = judge_table(self.cover, splits, metadata)
        parts, may = split_verdicts.parts, pc.not_equal(split_verdicts.part_verdicts, int(Verdict.NEVER))
        values, known = values_in_log(parts.table, self.layout)
        is_in = pc.is_in(_keys(values, self.layout, len(parts.table)), self.keys)
        sure = pc.if_else(is_in, _verdict(Verdict.ALWAYS), _verdict(Verdict.NEVER))
        unsure = pc.if_else(may, _verdict(Verdict.SOMETIMES), _verdict(Verdict.NEVER))
        return verdicts_of_splits(pc.if_else(known, sure, unsure), parts, splits)

    def holds(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        values = [field.transform.apply(rows.column(field.source)) for field in partitioning_fields(self.layout)]
        return pc.is_in(_keys(values, self.layout, rows.num_rows), self.keys)


Selection: TypeAlias = MatchingRows | InPartitions


def partitioning_fields(layout: Layout) -> list[PartitionField]:
    """The fields of a layout that partition rows: all but void ones."""
    return [field for field in layout.fields if not isinstance(field.transform, Void)]


def values_in_log(splits: pa.Table, layout: Layout) -> tuple[list[pa.Array], pa.BooleanArray]:
    """The partition values of splits for the terms of a layout, and whether all of them are known."""
    known = pa.repeat(pa.scalar(value=True), len(splits))
    values = []
    for field in partitioning_fields(layout):
        value, is_known = partition_value(splits, field.term)
        values.append(canonical(value))
        known = pc.and_(known, is_known)
    return values, known


def _keys(values: Sequence[pa.Array], layout: Layout, length: int) -> pa.Array:
    """One text for each tuple of partition values, equal for equal tuples only: each value with its length before it."""
    pieces = list(_pieces(values, layout))
    return join(*pieces) if pieces else pa.repeat(pa.scalar(""), length)


def _pieces(values: Sequence[pa.Array], layout: Layout) -> Iterator[pa.Array]:
    for field, results in zip(partitioning_fields(layout), values, strict=True):
        text = field.transform.to_text(results)
        length = pc.binary_length(text).cast(pa.string())
        yield pc.fill_null(join(length, ":", text), "null,")


def _reach(field: PartitionField, values: pa.Array, schema: pa.Schema) -> Predicate:
    """A predicate on the source column that holds for every row with one of these partition values."""
    column, source = Column(field.source), schema.field(field.source).type
    if isinstance(field.transform, Bucket) or pa.types.is_floating(source):
        return Literal(value=True)
    present = values.drop_null()
    null = [IsNull(column)] if values.null_count else []
    if isinstance(field.transform, Identity):
        return disjunction(*([In(column, tuple(present))] if len(present) else []), *null)
    preimage = field.transform.preimage(present, source)
    ends = [(Op.GE, preimage.lower, "min"), (Op.LE, preimage.upper, "max")]
    bounds = [Comparison(column, op, pc.min_max(b)[end]) for op, b, end in ends if len(b) and not b.null_count]
    return disjunction(*([conjunction(*bounds)] if len(present) else []), *null)


def _verdict(verdict: Verdict) -> pa.Scalar:
    return pa.scalar(int(verdict), pa.uint8())
