"""Which partitions of a write share splits, by its settings and by the row counts in the log."""

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.layout import Coalescing, Layout, coalesced_columns
from indextables.log import Snapshot
from indextables.log.logical_partitions import explode_logical_partitions
from indextables.log.split_bounds import partition_value
from indextables.log.splits import live_rows, partition_terms


def coalescing_for(layout: Layout, config: Config, *, existing: Snapshot | None) -> Coalescing | None:
    """How a write with this layout coalesces partitions; None where it does not.

    `existing` rows stay in the table. A partition that fills a split is not small, whatever `minRows` says.
    """
    if not config.write.coalesce:
        return None
    columns = coalesced_columns(layout, config.write.coalesce_columns)
    if not columns:
        return None
    small_below = min(config.write.coalesce_min_rows, config.write.target_records)
    return Coalescing(
        columns,
        small_below,
        max_tuples=config.write.coalesce_max_tuples,
        rules={value.lower(): group for value, group in config.write.coalesce_rules.items()},
        large=frozenset() if existing is None else large_partitions(existing, layout, at_least=small_below),
    )


def columns_shared_in(splits: pa.Table, layout: Layout) -> tuple[str, ...]:
    """The fields of a layout whose partitions share some of these splits."""
    logical = splits["logical_partitions"].combine_chunks().drop_null()
    names = pc.list_flatten(pc.struct_field(logical, ["columns"])).unique().to_pylist()
    return tuple(name for name in layout.names if name in names)


def large_partitions(snapshot: Snapshot, layout: Layout, *, at_least: int) -> frozenset[tuple[str | None, ...]]:
    """The partitions of a layout with `at_least` that many rows in the table, in whatever splits; values as text."""
    terms = partition_terms(snapshot.metadata)
    if not len(snapshot.splits) or any(field.term not in terms for field in layout.fields):
        return frozenset()
    parts = explode_logical_partitions(snapshot.splits, snapshot.metadata).table
    values = {field.name: partition_value(parts, field.term) for field in layout.fields}
    known = pa.repeat(pa.scalar(value=True), len(parts))
    for _, is_known in values.values():
        known = pc.and_(known, is_known)
    keys = [f"key_{number}" for number in range(len(values))]
    rows = pa.table([*(value for value, _ in values.values()), live_rows(parts)], names=[*keys, "rows"])
    totals = rows.filter(known).group_by(keys, use_threads=False).aggregate([("rows", "sum")])
    large = totals.filter(pc.greater_equal(totals["rows_sum"], at_least))
    texts = [field.transform.to_text(large[key]).to_pylist() for field, key in zip(layout.fields, keys, strict=True)]
    return frozenset(zip(*texts, strict=True))
