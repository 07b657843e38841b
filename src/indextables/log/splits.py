"""Splits as an Arrow table: one row each, with typed partition values and statistics.

The columns carry the names of the `add` action in snake_case. `num_records` counts all rows of a file, and `live_rows` those
that are not deleted. `deletion_vector` is the last one of the split, null where it has none. Four columns are structs:

- `partition`: one field per partition term of any spec (`region`, `day(ts)`), so that a value means the same whatever spec
  it was written under. Each is a struct of `value` and `malformed`. The struct is null where the split has no value for the
  term (another spec, a coalesced column); `value` is null for the null partition; `malformed` keeps a text that is not of
  the type, which is then neither known nor null.
- `min`, `max`, `null_count`: one field per column of the table; null where nothing is known.

A struct that would have no field (the partition of an unpartitioned table) is left out: Parquet has no empty structs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import NoneType
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables import values
from indextables.layout import PartitionField, Void
from indextables.log.actions import Add, DeletionVector, Metadata, Remove
from indextables.log.column_ids import renamed_columns

_LOGICAL = pa.struct(
    {
        "complete": pa.bool_(),
        "columns": pa.list_(pa.string()),
        "tuples": pa.list_(pa.list_(pa.string())),
        "counts": pa.list_(pa.int64()),
    }
)
DELETION_VECTOR = pa.struct(
    {
        "cardinality": pa.int64(),
        "bitmap": pa.binary(),
        "file": pa.string(),
        "offset": pa.int64(),
        "length": pa.int64(),
        "crc32": pa.int64(),
    }
)
PLAIN_COLUMNS = {
    "path": pa.string(),
    "spec_id": pa.int32(),
    "size": pa.int64(),
    "modification_time": pa.int64(),
    "data_change": pa.bool_(),
    "num_records": pa.int64(),
    "footer_start_offset": pa.int64(),
    "footer_end_offset": pa.int64(),
    "has_footer_offsets": pa.bool_(),
    "index_start_offset": pa.int64(),
    "index_end_offset": pa.int64(),
    "time_range_start": pa.int64(),
    "time_range_end": pa.int64(),
    "split_tags": pa.list_(pa.string()),
    "delete_opstamp": pa.int64(),
    "num_merge_ops": pa.int32(),
    "doc_mapping_id": pa.int32(),
    "uncompressed_size_bytes": pa.int64(),
    "term_filter": pa.large_binary(),
    "logical_partitions": _LOGICAL,
    "physical_partition": pa.map_(pa.string(), pa.string()),
    "deletion_vector": DELETION_VECTOR,
}
INSTANT = pa.timestamp("us", "UTC")
TIMES = ("time_range_start", "time_range_end")
"""Columns that are microseconds here, and texts in the log."""
_STATISTICS = {"min": "min_values", "max": "max_values", "null_count": "null_counts"}
_ABSENT = object()


def splits_schema(metadata: Metadata) -> pa.Schema:
    """The columns of the splits table of a table with this metadata."""
    columns = {field.name: field.type for field in metadata.arrow_schema() if field.type != pa.binary()}
    structs = {
        "partition": _partition_types(metadata),
        "min": columns,
        "max": columns,
        "null_count": dict.fromkeys(columns, pa.int64()),
    }
    return pa.schema({**PLAIN_COLUMNS, **{name: pa.struct(fields) for name, fields in structs.items() if fields}})


def splits_table(adds: Sequence[Add], metadata: Metadata) -> pa.Table:
    """The splits that some adds describe."""
    schema = splits_schema(metadata)
    columns = {name: _plain_column(name, kind, adds) for name, kind in PLAIN_COLUMNS.items()}
    for field in schema:
        if field.name in _STATISTICS:
            columns[field.name] = _statistics_column(_statistics_of(adds, field.name, metadata), field.type)
        elif field.name == "partition":
            columns[field.name] = _partition_column(adds, metadata, field.type)
    return with_missing_column_nulls(pa.table(columns, schema=schema), metadata)


def conform(splits: pa.Table, metadata: Metadata, *, named_by: int | None) -> pa.Table:
    """The same splits under newer metadata: widened columns are cast, new ones are null where that is certain.

    `named_by` is the doc mapping that was the current one when the table was built: columns have the names that they had
    then, and get those that they have now.
    """
    schema, renamed = splits_schema(metadata), renamed_columns(metadata).get(named_by)
    if renamed:
        splits = _under_current_names(splits, renamed, metadata)
    elif splits.schema.equals(schema):
        return splits
    splits = splits.combine_chunks()
    columns = [_conform(_single_chunk(splits, f), f.type, len(splits)) for f in schema]
    return with_missing_column_nulls(pa.table(columns, schema=schema), metadata)


def in_few_chunks(splits: pa.Table) -> pa.Table:
    """The same rows in chunks of which each is longer than the next, so that there are few, and most rows are not copied.

    A reader that follows a table adds a chunk with every refresh, and each costs time whenever a column is used.
    """
    batches = splits.to_batches()
    lengths = [len(batch) for batch in batches]
    while len(lengths) > 1 and lengths[-2] <= lengths[-1]:
        lengths[-2:] = [lengths[-2] + lengths[-1]]
    kept = len(lengths) - 1
    if kept + 1 >= len(batches):
        return splits
    last = pa.Table.from_batches(batches[kept:], splits.schema).combine_chunks()
    return pa.concat_tables([pa.Table.from_batches(batches[:kept], splits.schema), last])


def without_term_filters(splits: pa.Table) -> pa.Table:
    """The splits without their term filters, by far the largest column, of which each selection of rows would be a copy."""
    return splits.drop_columns("term_filter") if "term_filter" in splits.schema.names else splits


def without_paths(splits: pa.Table, paths: Iterable[str]) -> pa.Table:
    gone = pa.array(paths, pa.string())
    mask = pc.invert(pc.is_in(splits["path"], value_set=gone))
    return splits if pc.all(mask).as_py() else splits.filter(mask)


def with_deletion_vectors(splits: pa.Table, vectors: Mapping[str, DeletionVector]) -> pa.Table:
    """The splits with these deletion vectors in the place of those that they had; one without a row is none."""
    if not vectors:
        return splits
    given = pa.array([_vector_struct(vector) for vector in vectors.values()], DELETION_VECTOR)
    number = pc.index_in(splits["path"], value_set=pa.array(vectors, pa.string()))
    column = pc.if_else(number.is_valid(), given.take(number.combine_chunks()), splits["deletion_vector"])
    return splits.set_column(splits.schema.get_field_index("deletion_vector"), "deletion_vector", column)


def deletion_vectors_of(splits: pa.Table) -> list[DeletionVector | None]:
    """The deletion vector of each split, None where all its rows are there."""
    vectors = splits["deletion_vector"]
    if vectors.null_count == len(splits):
        return [None] * len(splits)
    given = zip(splits["path"].to_pylist(), vectors.to_pylist(), strict=True)
    return [None if vector is None else DeletionVector(path=path, **vector) for path, vector in given]


def vector_files(splits: pa.Table) -> list[str]:
    """The files that have deletion vectors of these splits."""
    files: list[str] = pc.struct_field(splits["deletion_vector"], ["file"]).unique().drop_null().to_pylist()
    return files


def statistic(splits: pa.Table, name: str, column: str) -> pa.ChunkedArray | None:
    """The `min`, `max` or `null_count` of a column in each split; None where the log has none for the column."""
    if name not in splits.schema.names or splits.schema.field(name).type.get_field_index(column) < 0:
        return None
    return pc.struct_field(splits[name], [column])


def num_deleted(splits: pa.Table) -> pa.ChunkedArray:
    """How many rows of each split are deleted."""
    return pc.fill_null(pc.struct_field(splits["deletion_vector"], ["cardinality"]), 0)


def live_rows(splits: pa.Table) -> pa.ChunkedArray:
    """How many rows of each split are there; null where that is not known."""
    return pc.subtract(splits["num_records"], num_deleted(splits))


def _vector_struct(vector: DeletionVector) -> dict[str, Any] | None:
    return {field.name: getattr(vector, field.name) for field in DELETION_VECTOR} if vector.cardinality else None


def removes_for(
    splits: pa.Table, metadata: Metadata, *, deletion_timestamp: int, data_change: bool = True
) -> list[Remove]:
    """The actions that take these splits out of the table."""
    return [
        Remove(
            path=path,
            deletion_timestamp=deletion_timestamp,
            data_change=data_change,
            partition_values=partition,
            spec_id=spec_id,
            size=size,
        )
        for path, spec_id, size, partition in zip(
            splits["path"].to_pylist(),
            splits["spec_id"].to_pylist(),
            splits["size"].to_pylist(),
            partition_texts(splits, metadata),
            strict=True,
        )
    ]


def partition_texts(splits: pa.Table, metadata: Metadata) -> Iterator[dict[str, str | None]]:
    """The partition values of each split as the log writes them: by field name, absent where unknown."""
    names = _names_by_spec(metadata)
    texts = {term: _texts(splits["partition"], term, field) for term, field in partition_terms(metadata).items()}
    for row, spec_id in enumerate(splits["spec_id"].to_pylist()):
        known = ((name, texts[term][row]) for term, name in names.get(spec_id, {}).items() if term in texts)
        yield {name: text for name, text in known if text is not _ABSENT}


def partition_terms(metadata: Metadata) -> dict[str, PartitionField]:
    """The partition terms of all specs on columns that the table still has, with a type that suits the transform."""
    types = {field.name: field.type for field in metadata.arrow_schema()}
    fields = (field for layout in metadata.layouts.values() for field in layout.fields)
    usable = (f for f in fields if f.source in types and f.transform.accepts(types[f.source]))
    return {f.term: f for f in usable if not isinstance(f.transform, Void)}


def _names_by_spec(metadata: Metadata) -> dict[int, dict[str, str]]:
    return {spec: {field.term: field.name for field in layout.fields} for spec, layout in metadata.layouts.items()}


def _partition_types(metadata: Metadata) -> dict[str, pa.DataType]:
    schema = metadata.arrow_schema()
    return {
        term: pa.struct(
            {"value": field.transform.result_type(schema.field(field.source).type), "malformed": pa.string()}
        )
        for term, field in partition_terms(metadata).items()
    }


def _plain_column(name: str, kind: pa.DataType, adds: Sequence[Add]) -> pa.Array:
    if name == "deletion_vector":  # an action of its own; the file that an add describes has all its rows
        return pa.nulls(len(adds), kind)
    given = [getattr(add, name) for add in adds]
    if name in TIMES:
        return _times(given)
    if name == "logical_partitions":
        given = [msgspec.to_builtins(value) for value in given]
    if name == "physical_partition":
        given = [None if value is None else list(value.items()) for value in given]
    try:
        return pa.array(given, kind)
    except OverflowError:  # a number beyond 64 bits is unknown
        return pa.array([value if value is None or -(2**63) <= value < 2**63 else None for value in given], kind)


def _times(given: Sequence[str | int | None]) -> pa.Array:
    """Microseconds, of texts and of numbers; a text that is not a time is unknown."""
    texts = pa.array([time if isinstance(time, str) else None for time in given], pa.string())
    numbers = pa.array([None if isinstance(time, str) else time for time in given], pa.int64())
    return pc.coalesce(numbers, values.decode(texts, INSTANT).view(pa.int64()))


def _partition_column(adds: Sequence[Add], metadata: Metadata, kind: pa.StructType) -> pa.Array:
    names, schema = _names_by_spec(metadata), metadata.arrow_schema()
    arrays = []
    for term, field in partition_terms(metadata).items():
        name_of = {spec: by_term.get(term) for spec, by_term in names.items()}
        given = [add.partition_values.get(name_of.get(add.spec_id) or "", _ABSENT) for add in adds]
        texts = pa.array([None if text is _ABSENT else text for text in given], pa.string())
        absent = pa.array([text is _ABSENT for text in given], pa.bool_())
        arrays.append(partition_values(texts, field, schema, absent=absent))
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def partition_values(
    texts: pa.Array, field: PartitionField, schema: pa.Schema, *, absent: pa.BooleanArray | None = None
) -> pa.StructArray:
    """The values of a partition term that some texts stand for, and those texts that are not of its type."""
    value = field.transform.from_text(texts, schema.field(field.source).type)
    malformed = pc.if_else(pc.and_(texts.is_valid(), value.is_null()), texts, None)
    return pa.StructArray.from_arrays([value, malformed], names=["value", "malformed"], mask=absent)


def _statistics_column(stats: Sequence[Mapping[str, Any]], kind: pa.StructType) -> pa.Array:
    """One field per column. All columns of a type are decoded together: a table may have thousands of columns."""
    columns_of: dict[pa.DataType, list[str]] = {}
    for field in kind:
        columns_of.setdefault(field.type, []).append(field.name)
    arrays = {
        name: values_of_type.slice(place * len(stats), len(stats))
        for arrow, names in columns_of.items()
        for values_of_type in [_decode([values_of.get(name) for name in names for values_of in stats], arrow)]
        for place, name in enumerate(names)
    }
    return pa.StructArray.from_arrays([arrays[field.name] for field in kind], fields=list(kind))


def _statistics_of(adds: Sequence[Add], name: str, metadata: Metadata) -> list[Mapping[str, Any]]:
    """The statistics of each split by the current names of its columns."""
    given: list[Mapping[str, Any]] = [getattr(add, _STATISTICS[name]) for add in adds]
    renamed = renamed_columns(metadata)
    if not renamed:
        return given
    names_of = (renamed.get(add.doc_mapping_id, {}) for add in adds)
    return [{names.get(c, c): v for c, v in of.items()} for of, names in zip(given, names_of, strict=True)]


def _under_current_names(splits: pa.Table, renamed: Mapping[str, str], metadata: Metadata) -> pa.Table:
    """A splits table with the current names of columns in its statistics and partition terms."""
    for struct in (*_STATISTICS, "partition"):
        number = splits.schema.get_field_index(struct)
        if number < 0:
            continue
        array = splits.column(number).combine_chunks()
        have = {field.name: array.field(at) for at, field in enumerate(array.type)}
        if struct == "partition":
            names = _renamed_terms(renamed, metadata)
            children = {names[term]: child for term, child in have.items() if term in names}
        else:
            children = {renamed.get(name, name): child for name, child in have.items()}
        fields = [pa.field(name, child.type) for name, child in children.items()]
        kept = pa.StructArray.from_arrays(list(children.values()), fields=fields, mask=array.is_null())
        splits = splits.set_column(number, struct, kept) if fields else splits.remove_column(number)
    return splits


def _renamed_terms(renamed: Mapping[str, str], metadata: Metadata) -> dict[str, str]:
    """The terms of the table's partition fields, by the terms that they had; those of dropped columns are not there."""
    old_names = {new: old for old, new in renamed.items()}
    terms = {}
    for term, field in partition_terms(metadata).items():
        if field.source in old_names or field.source not in renamed:  # else another column had its name
            terms[replace(field, source=old_names.get(field.source, field.source)).term] = term
    return terms


def _decode(given: list[Any], kind: pa.DataType) -> pa.Array:
    """JSON values of any spelling as typed values; what cannot be read is null, that is unknown."""
    if pa.types.is_integer(kind) and {*map(type, given)} <= {int, NoneType}:
        with suppress(OverflowError, pa.ArrowInvalid):
            return pa.array(given, kind)
    return values.decode(pa.array([_json_text(value) for value in given], pa.string()), kind)


def _json_text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            return None


def _single_chunk(table: pa.Table, field: pa.Field) -> pa.Array | None:
    if field.name not in table.schema.names:
        return None
    column = table[field.name]
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _conform(array: pa.Array | None, kind: pa.DataType, length: int) -> pa.Array:
    if array is None:
        return pa.nulls(length, kind)
    if array.type.equals(kind):
        return array
    if pa.types.is_struct(kind) and pa.types.is_struct(array.type):
        have = {field.name: array.field(i) for i, field in enumerate(array.type)}
        children = [_conform(have.get(field.name), field.type, length) for field in kind]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    try:
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(length, kind)


def _texts(partition: pa.ChunkedArray, term: str, field: PartitionField) -> list[Any]:
    column = pc.struct_field(partition, [term])
    value, malformed = pc.struct_field(column, ["value"]), pc.struct_field(column, ["malformed"])
    texts = pc.coalesce(malformed, field.transform.to_text(value.combine_chunks()))
    known = column.is_valid().to_pylist()
    return [text if is_known else _ABSENT for text, is_known in zip(texts.to_pylist(), known, strict=True)]


def with_missing_column_nulls(splits: pa.Table, metadata: Metadata) -> pa.Table:
    """The splits table with a null count for columns that a split does not have: as many nulls as it has rows."""
    if "null_count" not in splits.schema.names or not len(splits):
        return splits
    nulls = splits["null_count"].combine_chunks()
    missing = mappings_lacking([field.name for field in nulls.type], metadata)
    if not missing:
        return splits
    mapping, rows = splits["doc_mapping_id"].combine_chunks(), splits["num_records"].combine_chunks()
    counts = [
        _null_counts(nulls.field(number), missing.get(field.name), mapping, rows)
        for number, field in enumerate(nulls.type)
    ]
    column = splits.schema.get_field_index("null_count")
    return splits.set_column(
        column, splits.schema.field(column), pa.StructArray.from_arrays(counts, fields=list(nulls.type))
    )


def mappings_lacking(columns: list[str], metadata: Metadata) -> Mapping[str, pa.Array]:
    """For each of the columns that some mapping does not have, the numbers of these mappings."""
    renamed = renamed_columns(metadata)
    complete = {
        mapping.doc_mapping_id: {names.get(name, name) for name in mapping.fields}
        for mapping in metadata.doc_mappings
        if mapping.complete
        for names in [renamed.get(mapping.doc_mapping_id, {})]
    }
    lacking = {c: [number for number, have in complete.items() if c not in have] for c in columns}
    return {column: pa.array(numbers, pa.int32()) for column, numbers in lacking.items() if numbers}


def _null_counts(nulls: pa.Array, lacking: pa.Array | None, mapping: pa.Array, rows: pa.Array) -> pa.Array:
    return nulls if lacking is None else pc.if_else(pc.is_in(mapping, lacking), rows, nulls)
