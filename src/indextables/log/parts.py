"""Splits taken apart into the logical partitions that share them.

A coalesced split that lists all of its partition tuples is as many parts as there are tuples, each with partition values
of its own; any other split is one part. What a split's statistics say holds for each of its parts, so parts are judged
and counted like splits.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Metadata
from indextables.log.splits import layouts, partition_terms


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """`table` has the columns of a splits table; `split` is the row of the split that each part belongs to."""

    table: pa.Table
    split: pa.Array


def parts_of(splits: pa.Table, metadata: Metadata) -> Parts:
    rows = _row_numbers(len(splits))
    if "partition" not in splits.schema.names:
        return Parts(splits, rows)
    listed = _lists_all_tuples(splits["logical_partitions"].combine_chunks())
    if not pc.any(listed).as_py():
        return Parts(splits, rows)
    plain = Parts(splits.filter(pc.invert(listed)), rows.filter(pc.invert(listed)))
    shared, rows = splits.filter(listed), rows.filter(listed)
    pieces = [plain] + [
        _taken_apart(shared.filter(mask), rows.filter(mask), columns, metadata) for columns, mask in _by_columns(shared)
    ]
    return Parts(
        pa.concat_tables([piece.table for piece in pieces]),
        pa.concat_arrays([piece.split for piece in pieces]),
    )


def _row_numbers(length: int) -> pa.Array:
    return pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), length)), 1)


def _lists_all_tuples(logical: pa.StructArray) -> pa.BooleanArray:
    """Whether a split names every tuple it holds, each with as many values as there are logical columns."""
    complete = pc.fill_null(pc.and_(logical.is_valid(), pc.struct_field(logical, ["complete"])), fill_value=False)
    if not pc.any(complete).as_py():
        return complete
    tuples, columns = pc.struct_field(logical, ["tuples"]), pc.struct_field(logical, ["columns"])
    parent = pc.list_parent_indices(tuples)
    width = pc.list_value_length(columns)
    odd = pc.fill_null(pc.not_equal(pc.list_value_length(pc.list_flatten(tuples)), width.take(parent)), fill_value=True)
    rows = _row_numbers(len(logical))
    filled = pc.and_(pc.greater(pc.list_value_length(tuples), 0), pc.greater(width, 0))
    sound = pc.and_(filled, pc.invert(pc.is_in(rows, parent.filter(odd))))
    return pc.and_(complete, pc.fill_null(sound, fill_value=False))


def _by_columns(shared: pa.Table) -> list[tuple[list[str], pa.Array]]:
    """The splits with the same logical columns, and which these are: there are few such lists."""
    columns = pc.struct_field(shared["logical_partitions"].combine_chunks(), ["columns"])
    joined = pc.binary_join(columns, "\0")
    return [(text.split("\0"), pc.equal(joined, text)) for text in joined.unique().to_pylist()]


def _taken_apart(shared: pa.Table, rows: pa.Array, columns: list[str], metadata: Metadata) -> Parts:
    logical = shared["logical_partitions"].combine_chunks()
    tuples = pc.struct_field(logical, ["tuples"])
    parent, texts = pc.list_parent_indices(tuples), pc.list_flatten(tuples)
    table = shared.take(parent)
    counts = pc.list_flatten(_counts(logical, tuples, shared["num_records"].combine_chunks()))
    for name, texts_of in ((c, pc.list_element(texts, i)) for i, c in enumerate(columns)):
        table = _with_partition_value(table, name, texts_of, metadata)
    return Parts(_with_counts(table, counts), rows.take(parent))


def _counts(logical: pa.Array, tuples: pa.Array, rows: pa.Array) -> pa.Array:
    """The rows of each tuple, unknown where the split does not say, or says what does not add up to its rows."""
    given = pc.struct_field(logical, ["counts"])
    as_many = pc.equal(pc.list_value_length(given), pc.list_value_length(tuples))
    fits = pc.fill_null(pc.and_(as_many, pc.equal(_sums(given), rows)), fill_value=False)
    unknown = pa.ListArray.from_arrays(tuples.offsets, pa.nulls(len(tuples.flatten()), pa.int64()))
    return pc.if_else(fits, given, unknown) if pc.any(fits).as_py() else unknown


def _sums(lists: pa.Array) -> pa.Array:
    """The sum of each list; null where there is none or it is not known."""
    flat = pa.table({"list": pc.list_parent_indices(lists), "value": pc.list_flatten(lists)})
    sums = flat.group_by("list").aggregate([("value", "sum")])
    where = pc.index_in(_row_numbers(len(lists)), sums["list"].combine_chunks().cast(pa.int64()))
    return sums["value_sum"].combine_chunks().take(where)


def _with_partition_value(table: pa.Table, name: str, texts: pa.Array, metadata: Metadata) -> pa.Table:
    """The table with the value that the tuples give to the partition field of this name, under each split's own spec."""
    terms, schema = partition_terms(metadata), metadata.arrow_schema()
    partition = table["partition"].combine_chunks()
    specs = table["spec_id"].combine_chunks()
    children = {field.name: partition.field(i) for i, field in enumerate(partition.type)}
    for spec_id, layout in layouts(metadata).items():
        for field in layout.fields:
            if field.name == name and field.term in terms:
                value = field.transform.from_text(texts, schema.field(field.source).type)
                malformed = pc.if_else(pc.and_(texts.is_valid(), value.is_null()), texts, pa.scalar(None, pa.string()))
                known = pa.StructArray.from_arrays([value, malformed], fields=list(children[field.term].type))
                children[field.term] = pc.if_else(pc.equal(specs, spec_id), known, children[field.term])
    changed = pa.StructArray.from_arrays(list(children.values()), fields=list(partition.type))
    return table.set_column(table.schema.get_field_index("partition"), "partition", changed)


def _with_counts(table: pa.Table, counts: pa.Array) -> pa.Table:
    """The table with the rows of each part, and the null counts that are certain for a part: none, or all."""
    whole = table["num_records"].combine_chunks()
    nulls = table["null_count"].combine_chunks()
    zero = pa.scalar(0, pa.int64())
    of_part = [
        pc.case_when(pc.make_struct(pc.equal(child, 0), pc.equal(child, whole)), zero, counts)
        for child in (nulls.field(i) for i in range(nulls.type.num_fields))
    ]
    null_count = pa.StructArray.from_arrays(of_part, fields=list(nulls.type))
    table = table.set_column(table.schema.get_field_index("num_records"), "num_records", counts)
    return table.set_column(table.schema.get_field_index("null_count"), "null_count", null_count)
