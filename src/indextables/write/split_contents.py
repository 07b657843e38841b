"""What goes into each split of a task: rows of one partition, or of small partitions that share it.

A partition fills splits of its own while its rows arrive. The rest of each is either its last split, or shares one with
other partitions of its group. Those are sorted by partition value, so that the pages of a shared split have narrow
bounds, and the rows of one partition are in one split as long as they fit.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Coalescing, PartitionField, Texts, Void, directory
from indextables.log.actions import LogicalPartitions
from indextables.write.partition_buffer import MAX_SPLIT_BYTES, BufferedPartition, PartitionBuffer
from indextables.write.write_plan import WritePlan


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of one split, and the partition values that the log records for it.

    `physical` are the values that name the directory; `partition_values` those that all rows have.
    """

    rows: list[pa.RecordBatch]
    partition_values: Texts
    physical: Texts
    logical: LogicalPartitions | None = None

    @property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self.rows)

    @property
    def directory(self) -> str:
        return directory(self.physical.keys(), self.physical.values())

    def sorting(self, plan: WritePlan) -> tuple[str, ...]:
        """The columns to sort the rows by, if any; in a shared split, the partition columns come first."""
        if self.logical is None or not plan.config.write.cluster_by:
            return plan.config.write.cluster_by
        shared = [field.source for field in _logical_fields(plan, self.logical.columns)]
        return (*shared, *plan.config.write.cluster_by)


def full_split(plan: WritePlan, buffer: PartitionBuffer, partition: BufferedPartition) -> Contents:
    """As many rows of one partition as fill a split. It is not small, and shares a split only because of a rule."""
    group = plan.coalescing.group_of(partition.texts, rows=partition.total_rows) if plan.coalescing else None
    if plan.coalescing and group is not None:
        return _shared(plan, plan.coalescing, buffer, [partition], group)
    return Contents(buffer.take(partition, plan.config.write.target_records), partition.texts, partition.texts)


def last_splits(plan: WritePlan, buffer: PartitionBuffer) -> Iterator[Contents]:
    """The splits of all rows that are still buffered: hardly more than a full split of each partition."""
    groups: dict[tuple[str | None, ...], list[BufferedPartition]] = defaultdict(list)
    for partition in buffer.drain():
        while partition.is_full(plan.config.write.target_records):
            yield full_split(plan, buffer, partition)
        group = plan.coalescing.group_of(partition.texts, rows=partition.total_rows) if plan.coalescing else None
        if not partition.rows:
            continue
        if plan.coalescing is None or group is None:
            yield full_split(plan, buffer, partition)
        else:
            groups[*plan.coalescing.common(partition.texts).values(), group].append(partition)
    for (*_, group), members in groups.items():
        if plan.coalescing and group is not None:
            for shared in _packed(_in_order(members, plan, plan.coalescing), plan.config.write.target_records):
                yield _shared(plan, plan.coalescing, buffer, shared, group)


def _in_order(members: Sequence[BufferedPartition], plan: WritePlan, coalescing: Coalescing) -> list[BufferedPartition]:
    """Partitions in the order of their logical values, compared as values: 9 comes before 10."""
    texts = dict(
        zip(coalescing.columns, zip(*(coalescing.logical(m.texts) for m in members), strict=True), strict=True)
    )
    values = {
        field.name: field.transform.from_text(
            pa.array(texts[field.name], pa.string()), plan.schema.field(field.source).type
        )
        for field in _logical_fields(plan, coalescing.columns)
    }
    if not values:
        return list(members)
    order = pc.sort_indices(pa.table(values), sort_keys=[(name, "ascending") for name in values])
    return [members[number] for number in order.to_pylist()]


def _logical_fields(plan: WritePlan, names: Sequence[str]) -> list[PartitionField]:
    """The fields of these names, but for void ones: their columns may have been dropped."""
    return [field for field in plan.layout.fields if field.name in names and field.transform != Void()]


def _packed(members: Sequence[BufferedPartition], target: int) -> Iterator[list[BufferedPartition]]:
    """Lists of neighbours that fit into one split; each partition alone does."""
    packed: list[BufferedPartition] = []
    rows, nbytes = 0, 0.0
    for member in members:
        if packed and (rows + member.rows > target or nbytes + member.nbytes > MAX_SPLIT_BYTES):
            yield packed
            packed, rows, nbytes = [], 0, 0.0
        packed.append(member)
        rows += member.rows
        nbytes += member.nbytes
    yield packed


def _shared(
    plan: WritePlan, coalescing: Coalescing, buffer: PartitionBuffer, members: Sequence[BufferedPartition], group: str
) -> Contents:
    taken = [buffer.take(member, plan.config.write.target_records) for member in members]
    texts = members[0].texts
    counts = [sum(batch.num_rows for batch in rows) for rows in taken]
    return Contents(
        rows=[batch for rows in taken for batch in rows],
        partition_values=coalescing.common(texts),
        physical=coalescing.physical(texts, group),
        logical=_listed(
            {coalescing.logical(m.texts): rows for m, rows in zip(members, counts, strict=True)}, coalescing
        ),
    )


def _listed(counts: Mapping[tuple[str | None, ...], int], coalescing: Coalescing) -> LogicalPartitions:
    """The partitions of a split as the log lists them; beyond the limit, the list is not complete."""
    limit = coalescing.max_tuples
    return LogicalPartitions(
        complete=len(counts) <= limit,
        columns=coalescing.columns,
        tuples=list(counts)[:limit],
        counts=list(counts.values())[:limit],
    )
