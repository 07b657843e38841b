"""Listings of splits and partitions, the names of partitions as SHOW PARTITIONS prints them, and a table in one row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.layout.partition_paths import NULL
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
ANY = "*"
_SPECIAL = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")  # what Spark escapes in the names of partitions


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


def partition_names(snapshot: Snapshot) -> pa.Table:
    """One row per partition, logical ones too, with its values as text, by name.

    A value that the log does not list, of partitions that share a split, is `*`. Partitions of older layouts have the
    fields of those.
    """
    listed = list_partitions(snapshot)
    specs = {spec: layout for spec, layout in snapshot.metadata.layouts.items() if layout.fields}
    parts = [_names(listed.filter(pc.equal(listed["spec_id"], spec)), layout.names) for spec, layout in specs.items()]
    names = pa.concat_tables(parts) if parts else pa.table({"partition": pa.array([], pa.string())})
    return names.group_by("partition", use_threads=False).aggregate([]).sort_by("partition")


def with_values(names: pa.Table, values: Mapping[str, str | None]) -> pa.Table:
    """The partitions that have these values, by field in any letter case; None is null. `*` has every value."""
    for name, value in values.items():
        text = re.escape(_escape(value) if value else NULL)
        wanted = rf"(^|/)(?i:{re.escape(_escape(name))})=({text}|\*)(/|$)"
        names = names.filter(pc.match_substring_regex(names["partition"], wanted))
    return names


def _names(listed: pa.Table, names: tuple[str, ...]) -> pa.Table:
    if not len(listed):
        return pa.table({"partition": pa.array([], pa.string())})
    partition, complete = listed["partition"].combine_chunks(), listed["complete"].combine_chunks()
    components = [_component(name, pc.struct_field(partition, [name]), complete) for name in names]
    return pa.table({"partition": pc.binary_join_element_wise(*components, "/")})


def _component(name: str, texts: pa.Array, complete: pa.BooleanArray) -> pa.Array:
    """`name=text` of each partition, each distinct text escaped once."""
    encoded = texts.dictionary_encode()
    values = pa.array([_escape(text) if text else NULL for text in encoded.dictionary.to_pylist()], pa.string())
    shown = pc.coalesce(values.take(encoded.indices), pc.if_else(complete, NULL, ANY))
    return pc.binary_join_element_wise(_escape(name), shown, "=")


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda special: f"%{ord(special[0]):02X}", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDetail:
    """What a table is at a version; `partition_by` are the terms of its layout, `size` the bytes of its splits."""

    id: str
    location: str
    version: int
    partition_by: tuple[str, ...]
    num_splits: int
    num_records: int
    size: int
    properties: Mapping[str, str]


def table_detail(snapshot: Snapshot, location: str) -> TableDetail:
    """From the log alone."""
    splits, metadata = snapshot.splits, snapshot.metadata
    return TableDetail(
        id=metadata.id,
        location=location,
        version=snapshot.version,
        partition_by=tuple(map(str, metadata.layouts[metadata.current_spec_id].fields)),
        num_splits=len(splits),
        num_records=pc.sum(live_rows(splits), min_count=0).as_py(),
        size=pc.sum(splits["size"], min_count=0).as_py(),
        properties=dict(metadata.properties),
    )
