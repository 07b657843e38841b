"""Small partitions that have splits of their own and are to share them: which go together."""

from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Coalescing
from indextables.log.actions import Metadata
from indextables.log.splits import partition_terms, partition_texts
from indextables.maintain.bin_packing import Limits, packed, packed_sizes


def bins_to_share(splits: pa.Table, metadata: Metadata, coalescing: Coalescing, limits: Limits) -> list[pa.Table]:
    """The small splits of small partitions of the current layout, those together that may share a split.

    They are sorted by their values, so that neighbours end up in one split. One whose values are not in the log is
    left out.
    """
    names = {
        field.name
        for field in metadata.layouts[metadata.current_spec_id].fields
        if field.term in partition_terms(metadata)
    }
    plain = pc.and_(splits["logical_partitions"].is_null(), pc.equal(splits["spec_id"], metadata.current_spec_id))
    own = splits.filter(pc.and_(plain, pc.less(packed_sizes(splits, limits), limits.small)))
    if not len(own):
        return []
    own = _in_order(own)
    groups: dict[tuple[str | None, ...], list[int]] = defaultdict(list)
    for number, texts in enumerate(partition_texts(own, metadata)):
        group = coalescing.group_of(texts, rows=0) if texts.keys() == names else None
        if group is not None:
            groups[*coalescing.common(texts).values(), group].append(number)
    sizes, rows = packed_sizes(own, limits).to_pylist(), pc.fill_null(own["num_records"], 0).to_pylist()
    return [
        own.take([numbers[n] for n in together])
        for numbers in groups.values()
        for together in packed([(sizes[n], rows[n]) for n in numbers], limits)
    ]


def _in_order(splits: pa.Table) -> pa.Table:
    """The splits by their partition values."""
    partition = splits["partition"].combine_chunks()
    values = [pc.struct_field(term, ["value"]) for term in partition.flatten()]
    names = [f"value {number}" for number in range(len(values))]
    order = pc.sort_indices(pa.table(values, names=names), sort_keys=[(name, "ascending") for name in names])
    return splits.take(order)
