"""Listings of splits and partitions."""

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Metadata
from indextables.log.logical_partitions import PartitionSlices, explode_logical_partitions
from indextables.log.snapshot import Snapshot
from indextables.log.split_bounds import partition_text
from indextables.log.splits import live_rows, num_deleted, partition_terms

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
    """One row per live split: path, size, rows, spec, partition values as text, and the other facts in the log."""
    splits = snapshot.splits
    columns = {
        "path": splits["path"],
        "size": splits["size"],
        "num_records": live_rows(splits),
        "deleted_rows": num_deleted(splits),
        "spec_id": splits["spec_id"],
        "partition": _partition(splits, snapshot.metadata)[0],
        "modification_time": splits["modification_time"].cast(pa.timestamp("ms", "UTC")),
        **{name: splits[name] for name in _FACTS if name in splits.schema.names},
    }
    return pa.table(columns)


def list_partitions(snapshot: Snapshot) -> pa.Table:
    """One row per partition, logical ones too: its values as text, its splits, rows and bytes, and where they are.

    Of `num_splits`, `shared_splits` hold other partitions as well: `size` has the share of their bytes that the partition
    has of their rows, which is an estimate. A row that is not `complete` stands for partitions that the log does not
    tell apart: those of a shared split that does not list them all.
    """
    parts = explode_logical_partitions(snapshot.splits, snapshot.metadata)
    partition, complete = _partition(parts.table, snapshot.metadata)
    names = [f"key_{number}" for number in range(partition.type.num_fields)]
    keys = [*partition.flatten(), parts.table["spec_id"], complete]
    metrics = _metrics(parts, snapshot.splits)
    table = pa.table([*keys, *metrics.columns], names=[*names, "spec_id", "complete", *metrics.column_names])
    grouped = table.group_by([*names, "spec_id", "complete"], use_threads=False).aggregate(_SUMMARY)
    values = [grouped[name].combine_chunks() for name in names]
    return pa.table(
        {
            "spec_id": grouped["spec_id"],
            "partition": pa.StructArray.from_arrays(values, fields=list(partition.type))
            if values
            else pa.nulls(len(grouped)),
            "num_splits": grouped["split_count_distinct"],
            "num_records": grouped["rows_sum"],
            "size": pc.round(grouped["size_sum"]).cast(pa.int64()),
            "shared_splits": grouped["shared_sum"],
            "directories": grouped["directory_distinct"],
            "complete": grouped["complete"],
        }
    )


_SUMMARY = [
    ("split", "count_distinct"),
    ("shared", "sum"),
    ("rows", "sum", pc.ScalarAggregateOptions(skip_nulls=False)),  # unknown, if one of them is
    ("size", "sum"),
    ("directory", "distinct"),
]


def _metrics(parts: PartitionSlices, splits: pa.Table) -> pa.Table:
    """The columns that are summed for each partition."""
    return pa.table(
        {
            "split": parts.split,
            "shared": splits["logical_partitions"].is_valid().cast(pa.int64()).take(parts.split),
            "rows": live_rows(parts.table),
            "size": _share_of_size(parts, splits),
            "directory": pc.replace_substring_regex(parts.table["path"], "/?[^/]*$", ""),
        }
    )


def _share_of_size(parts: PartitionSlices, splits: pa.Table) -> pa.ChunkedArray:
    """The bytes of each part: those of its split, by its share of the rows; all of them where its rows are not known."""
    rows, of_split = (table["num_records"].cast(pa.float64()) for table in (parts.table, splits.take(parts.split)))
    share = pc.fill_null(pc.divide(rows, pc.max_element_wise(of_split, 1.0)), fill_value=1.0)
    return pc.multiply(parts.table["size"].cast(pa.float64()), share)


def _partition(splits: pa.Table, metadata: Metadata) -> tuple[pa.StructArray, pa.BooleanArray]:
    """The partition values of each split as text, by the names that the specs give them, and whether all are known."""
    specs, complete = splits["spec_id"].combine_chunks(), pa.repeat(pa.scalar(value=True), len(splits))
    texts = {name: pa.nulls(len(splits), pa.string()) for layout in metadata.layouts.values() for name in layout.names}
    terms = partition_terms(metadata)
    for spec_id, layout in metadata.layouts.items():
        of_spec = pc.equal(specs, spec_id)
        for field in layout.fields:
            if field.term in terms:
                text, known = partition_text(splits, field)
                texts[field.name] = pc.if_else(of_spec, text, texts[field.name])
                complete = pc.and_(complete, pc.or_(pc.invert(of_spec), known))
    if not texts:
        return pa.array([{}] * len(splits), pa.struct([])), complete
    return pa.StructArray.from_arrays(list(texts.values()), names=list(texts)), complete
