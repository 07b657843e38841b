"""Splits and partitions as tables for people."""

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Metadata
from indextables.log.parts import parts_of
from indextables.log.snapshot import Snapshot
from indextables.log.splits import layouts, partition_texts

_FACTS = (
    "num_merge_ops",
    "doc_mapping_id",
    "uncompressed_size_bytes",
    "logical_partitions",
    "min",
    "max",
    "null_count",
)


def list_splits(snapshot: Snapshot) -> pa.Table:
    """One row per live split: path, size, rows, spec, partition values as text, and what else the log knows of it."""
    splits = snapshot.splits
    columns = {
        "path": splits["path"],
        "size": splits["size"],
        "num_records": splits["num_records"],
        "spec_id": splits["spec_id"],
        "partition": _partition(splits, snapshot.metadata),
        "modification_time": splits["modification_time"].cast(pa.timestamp("ms", "UTC")),
        **{name: splits[name] for name in _FACTS if name in splits.schema.names},
    }
    return pa.table(columns)


def list_partitions(snapshot: Snapshot) -> pa.Table:
    """One row per partition, logical ones too: its values as text, how many splits hold it, its rows and bytes.

    The bytes of a split that several partitions share are shared out by rows.
    """
    parts = parts_of(snapshot.splits, snapshot.metadata)
    rows, rows_of_split = parts.table["num_records"], snapshot.splits["num_records"].take(parts.split)
    share = pc.divide(rows.cast(pa.float64()), pc.max_element_wise(rows_of_split.cast(pa.float64()), 1.0))
    size = pc.multiply(parts.table["size"].cast(pa.float64()), pc.fill_null(share, fill_value=1.0))
    partition = _partition(parts.table, snapshot.metadata)
    names = [field.name for field in partition.type]
    columns = {f"p{i}": partition.field(i) for i in range(len(names))}
    table = pa.table({**columns, "spec_id": parts.table["spec_id"], "rows": rows, "size": size, "split": parts.split})
    grouped = table.group_by([*columns, "spec_id"], use_threads=False).aggregate(
        [("split", "count_distinct"), ("rows", "sum"), ("size", "sum")]
    )
    values = [grouped[key].combine_chunks() for key in columns]
    return pa.table(
        {
            "spec_id": grouped["spec_id"],
            "partition": pa.StructArray.from_arrays(values, names=names) if names else pa.nulls(len(grouped)),
            "num_splits": grouped["split_count_distinct"],
            "num_records": grouped["rows_sum"],
            "size": pc.round(grouped["size_sum"]).cast(pa.int64()),
        }
    )


def _partition(splits: pa.Table, metadata: Metadata) -> pa.StructArray:
    """The partition values of each split as text, by the names that the specs give them."""
    names = dict.fromkeys(name for layout in layouts(metadata).values() for name in layout.names)
    texts = list(partition_texts(splits, metadata)) if names else []
    arrays = [pa.array([row.get(name) for row in texts], pa.string()) for name in names]
    if not arrays:
        return pa.array([{}] * len(splits), pa.struct([]))
    return pa.StructArray.from_arrays(arrays, names=list(names))
