"""Bin packing for compaction: pure functions of sizes, row counts and partition values.

Splits go together if they are of one layout and one partition, in the order in which they were written. One that has
nearly the size that is wanted stays as it is.

>>> packed([(40, 1), (40, 1), (30, 1), (5, 1)], Limits(target_size=100))
[[0, 1], [2, 3]]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout import Bucket, Layout
from indextables.log.actions import Metadata
from indextables.log.splits import live_rows
from indextables.write.partition_buffer import MAX_SPLIT_BYTES

NEARLY = 0.45  # of the wanted size: two larger ones would not fit together
_TIERS = (0.1, 0.01, 0.001)  # of what is small: where the tiers of small splits begin
_NO_LIMIT = 2**63 - 1
_AT_ONCE = 8  # times the wanted size is rewritten together where the layout changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a merged split: bytes, rows, number of sources.

    `tiered`: only splits of about the same size are merged, `min_sources` of them or more. Where merges come again and
    again, each row is then rewritten once per tier, and not with every merge. `every_split`: all are written again, large
    ones too, and alone if there is no other.
    """

    target_size: int
    max_records: int = 4_000_000
    max_sources: int | None = None
    min_sources: int = 2
    tiered: bool = False
    every_split: bool = False

    @property
    def small(self) -> int:
        """Splits from this size on are left alone."""
        return _NO_LIMIT if self.every_split else int(self.target_size * NEARLY)

    @property
    def fewest(self) -> int:
        """How many splits are written again together at least."""
        return 1 if self.every_split else self.min_sources


def bins(splits: pa.Table, limits: Limits, *, touching: frozenset[str] | None = None) -> list[pa.Table]:
    """The splits of each merge, out of a splits table; with `touching`, only of partitions that have one of these paths."""
    small = splits.filter(pc.less(packed_sizes(splits, limits), limits.small)).sort_by(_IN_ORDER)
    packed_bytes = packed_sizes(small, limits)
    partitions = _by_partition(small, tiers=_tiers(packed_bytes, limits) if limits.tiered else None)
    sizes = packed_bytes.to_pylist()
    small = small.select(list(_OF_A_GROUP))
    rows = pc.fill_null(live_rows(small), 0).to_pylist()
    paths = small["path"].to_pylist() if touching is not None else ()
    found = []
    for numbers in partitions:
        if touching is not None and touching.isdisjoint(paths[n] for n in numbers):
            continue
        if len(numbers) >= limits.fewest:
            chosen = packed([(sizes[n], rows[n]) for n in numbers], limits)
            found += [small.take([numbers[n] for n in one]) for one in chosen]
    return found


def packed_sizes(splits: pa.Table, limits: Limits) -> pa.ChunkedArray:
    """The size of each split, for packing: as a share of the target, that of its rows where these are the tighter limit."""
    raw = pc.fill_null(splits["uncompressed_size_bytes"], 0).cast(pa.float64())
    share = pc.multiply(raw, limits.target_size / MAX_SPLIT_BYTES).cast(pa.int64(), safe=False)
    return pc.max_element_wise(splits["size"], share)


def bins_of_other_layouts(splits: pa.Table, metadata: Metadata, limits: Limits) -> list[pa.Table]:
    """The splits of older layouts in bins, in which neighbours in the current layout are together."""
    old = splits.filter(pc.field("spec_id") != metadata.current_spec_id)
    if not len(old):
        return []
    old = _in_order_of(metadata.layouts[metadata.current_spec_id], old).select(list(_OF_A_GROUP))
    sizes = old["size"].to_pylist()
    ends = Limits(target_size=_AT_ONCE * limits.target_size, max_records=_AT_ONCE * limits.max_records, min_sources=1)
    return [old.take(numbers) for numbers in packed([(size, 0) for size in sizes], ends)]


def packed(given: Iterable[tuple[int, int]], limits: Limits) -> list[list[int]]:
    """The numbers of (bytes, rows) that go together, neighbours only; a single one is left out, unless every split goes.

    A loop, because each bin begins where the last one was full; each of these splits is about to be read and written.
    """
    full: list[list[int]] = []
    current: list[int] = []
    total, count = 0, 0
    for number, (size, rows) in enumerate(given):
        too_many = limits.max_sources is not None and len(current) >= limits.max_sources
        if current and (total + size > limits.target_size or count + rows > limits.max_records or too_many):
            full.append(current)
            current, total, count = [], 0, 0
        current.append(number)
        total, count = total + size, count + rows
    full.append(current)
    return [one for one in full if len(one) >= min(2, limits.fewest)]


_OF_A_GROUP = (
    "path",
    "size",
    "num_records",
    "deletion_vector",
    "spec_id",
    "footer_start_offset",
    "footer_end_offset",
    "doc_mapping_id",
    "num_merge_ops",
    "logical_partitions",
    "physical_partition",
)
_IN_ORDER = [("modification_time", "ascending"), ("path", "ascending")]


def _tiers(sizes: pa.ChunkedArray, limits: Limits) -> pa.ChunkedArray:
    """The tier of each split by its size: 0 for the smallest."""
    reached = [pc.greater_equal(sizes, int(limits.small * share)).cast(pa.int8()) for share in _TIERS]
    return reduce(pc.add, reached)


def _by_partition(splits: pa.Table, *, tiers: pa.ChunkedArray | None = None) -> Sequence[Sequence[int]]:
    """The row numbers of the splits of each partition, in order; of each tier of a partition, if there are tiers."""
    if not len(splits):
        return []
    keys = {**partition_keys(splits), **({} if tiers is None else {"tier": tiers})}
    rows = pa.table({**keys, "row": np.arange(len(splits))})
    grouped = rows.group_by(list(keys), use_threads=False).aggregate([("row", "list")])
    numbers: list[list[int]] = grouped["row_list"].to_pylist()
    return numbers


def partition_keys(splits: pa.Table) -> Mapping[str, pa.Array]:
    """Columns that are equal for splits of the same layout and partition, and for coalesced ones of the same kind."""
    keys = {"spec": splits["spec_id"], "logical": _kinds(splits)}
    if "partition" in splits.schema.names:
        partition = splits["partition"].combine_chunks()
        for number, field in enumerate(partition.type):
            term = partition.field(number)
            keys |= {
                f"known {field.name}": term.is_valid(),
                f"value {field.name}": pc.struct_field(term, ["value"]),
                f"malformed {field.name}": pc.struct_field(term, ["malformed"]),
            }
    return keys


def _kinds(splits: pa.Table) -> pa.Array:
    """The partition values that coalesced splits share, as text; null for plain splits."""
    logical, physical = splits["logical_partitions"].combine_chunks(), splits["physical_partition"].combine_chunks()
    if logical.null_count == physical.null_count == len(splits):
        return pa.nulls(len(splits), pa.string())
    columns = pc.struct_field(logical, ["columns"]).to_pylist()
    texts = [
        None if of_tuples is None and place is None else f"{of_tuples} {place}"
        for of_tuples, place in zip(columns, physical.to_pylist(), strict=True)
    ]
    return pa.array(texts, pa.string())


def _in_order_of(layout: Layout, splits: pa.Table) -> pa.Table:
    """The splits sorted by the minimum of each column of a layout, where the transform preserves order."""
    columns = [field.source for field in layout.fields if not isinstance(field.transform, Bucket)]
    known = [
        c for c in columns if "min" in splits.schema.names and splits.schema.field("min").type.get_field_index(c) >= 0
    ]
    keys = {f"min {column}": pc.struct_field(splits["min"], [column]) for column in known}
    table = pa.table({**keys, **{name: splits[name] for name, _ in _IN_ORDER}})
    order = pc.sort_indices(table, sort_keys=[*((key, "ascending") for key in keys), *_IN_ORDER])
    return splits.take(order)
