"""What goes into each split of a task: rows of one partition, or of small ones that share it.

A partition fills splits of its own while its rows come. What is left of each at the end is either its last split, or
shares one with others of the same group: those are laid one after the other in the order of their values, so that the
row groups of a shared split have narrow bounds, and the rows of one partition are in one split as long as they fit.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Coalescing, Texts, directory
from indextables.log.actions import LogicalPartitions
from indextables.write.buffer import PartitionBuffer, Waiting
from indextables.write.write_plan import WritePlan


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of one split, and what the log says of where they belong.

    `physical` are the values that name the directory; `partition_values` those that all rows have.
    """

    rows: list[pa.RecordBatch]
    partition_values: Texts
    physical: Texts
    logical: LogicalPartitions | None = None

    @property
    def directory(self) -> str:
        return directory(self.physical.keys(), self.physical.values())

    def sorting(self, plan: WritePlan) -> tuple[str, ...]:
        """The columns to sort the rows by, if any: where partitions share the split, they stay together."""
        if self.logical is None or not plan.config.write.cluster_by:
            return plan.config.write.cluster_by
        shared = [field.source for field in plan.layout.fields if field.name in self.logical.columns]
        return (*shared, *plan.config.write.cluster_by)


def full_split(plan: WritePlan, buffer: PartitionBuffer, waiting: Waiting) -> Contents:
    """As many rows of one partition as fill a split: it is not small, and shares one only where a rule says so."""
    group = plan.coalescing.group_of(waiting.texts, rows=waiting.seen) if plan.coalescing else None
    if plan.coalescing and group is not None:
        return _shared(plan, plan.coalescing, buffer, [waiting], group)
    return Contents(buffer.take(waiting, plan.config.write.target_records), waiting.texts, waiting.texts)


def last_splits(plan: WritePlan, buffer: PartitionBuffer) -> Iterator[Contents]:
    """The splits of all rows that still wait: less than a split of each partition."""
    groups: dict[tuple[str | None, ...], list[Waiting]] = defaultdict(list)
    for waiting in buffer.drain():
        group = plan.coalescing.group_of(waiting.texts, rows=waiting.seen) if plan.coalescing else None
        if not waiting.rows:
            continue
        if plan.coalescing is None or group is None:
            yield full_split(plan, buffer, waiting)
        else:
            groups[*plan.coalescing.common(waiting.texts).values(), group].append(waiting)
    for (*_, group), members in groups.items():
        if plan.coalescing and group is not None:
            for together in _packed(_in_order(members, plan, plan.coalescing), plan.config.write.target_records):
                yield _shared(plan, plan.coalescing, buffer, together, group)


def _in_order(members: Sequence[Waiting], plan: WritePlan, coalescing: Coalescing) -> list[Waiting]:
    """Partitions by their logical values, as values: 9 comes before 10."""
    texts = zip(*(coalescing.logical(member.texts) for member in members), strict=True)
    fields = [field for field in plan.layout.fields if field.name in coalescing.columns]
    values = {
        field.name: field.transform.from_text(pa.array(column, pa.string()), plan.schema.field(field.source).type)
        for field, column in zip(fields, texts, strict=True)
    }
    order = pc.sort_indices(pa.table(values), sort_keys=[(name, "ascending") for name in values])
    return [members[number] for number in order.to_pylist()]


def _packed(members: Sequence[Waiting], target: int) -> Iterator[list[Waiting]]:
    """Neighbours that fit into one split; each of them does."""
    together: list[Waiting] = []
    rows = 0
    for member in members:
        if together and rows + member.rows > target:
            yield together
            together, rows = [], 0
        together.append(member)
        rows += member.rows
    yield together


def _shared(
    plan: WritePlan, coalescing: Coalescing, buffer: PartitionBuffer, members: Sequence[Waiting], group: str
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
    """What the log says of the partitions in a split; beyond the limit, that there are others."""
    most = coalescing.max_tuples
    return LogicalPartitions(
        complete=len(counts) <= most,
        columns=coalescing.columns,
        tuples=list(counts)[:most],
        counts=list(counts.values())[:most],
    )
