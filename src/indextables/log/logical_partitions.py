"""Splits taken apart into the logical partitions that share them.

A coalesced split that lists all of its partition tuples is as many parts as there are tuples, each with partition values
of its own; any other split is one part. The statistics of a split hold for each of its parts, so parts are judged
and counted like splits:

```
path    partition           logical_partitions     num_records
x       day=mon, app=X                             900             x: one part, day=mon, app=X, 900 rows
shared  day=mon             app: A (2), B (1)      3          ─▶   shared: day=mon, app=A, 2 rows
                                                                   shared: day=mon, app=B, 1 row
```
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Metadata
from indextables.log.splits import partition_terms, partition_values

_UNREPEATED = ("logical_partitions", "physical_partition", "split_tags", "term_filter")
"""Columns that parts do not have, because each part would repeat them."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionSlices:
    """`table` has the columns of a splits table; `split` is the row of the split that each part belongs to."""

    table: pa.Table
    split: pa.Array


def explode_logical_partitions(splits: pa.Table, metadata: Metadata) -> PartitionSlices:
    """The parts of all splits, at least one of each."""
    numbers = _row_numbers(len(splits))
    if splits["logical_partitions"].null_count == len(splits):
        return PartitionSlices(splits, numbers)
    listing = _lists_its_tuples(splits)
    if not pc.any(listing).as_py():
        return PartitionSlices(splits, numbers)
    whole = pc.invert(listing)
    plain = PartitionSlices(_repeatable(splits).filter(whole), numbers.filter(whole))
    shared = [
        _explode(splits.filter(alike), numbers.filter(alike), columns, metadata)
        for columns, alike in _by_logical_columns(splits, listing)
    ]
    return PartitionSlices(
        pa.concat_tables([parts.table for parts in (plain, *shared)]),
        pa.concat_arrays([parts.split for parts in (plain, *shared)]),
    )


def _explode(shared: pa.Table, numbers: pa.Array, columns: list[str], metadata: Metadata) -> PartitionSlices:
    """The parts of splits that all list tuples of the same columns."""
    logical = shared["logical_partitions"].combine_chunks()
    tuples = pc.struct_field(logical, ["tuples"])
    split_of_part, tuple_of_part = pc.list_parent_indices(tuples), pc.list_flatten(tuples)
    table = _repeatable(shared).take(split_of_part)
    for position, column in enumerate(columns):
        table = _with_partition_value(table, column, pc.list_element(tuple_of_part, position), metadata)
    rows_of_part = pc.list_flatten(_rows_of_tuples(logical, shared["num_records"].combine_chunks()))
    whole = table["deletion_vector"].is_null().combine_chunks()  # of which part deleted rows were is not known
    rows_of_part = pc.if_else(whole, rows_of_part, pa.scalar(None, pa.int64()))
    return PartitionSlices(_with_rows(table, rows_of_part), numbers.take(split_of_part))


def _repeatable(splits: pa.Table) -> pa.Table:
    return splits.drop_columns([name for name in _UNREPEATED if name in splits.schema.names])


def _lists_its_tuples(splits: pa.Table) -> pa.BooleanArray:
    """Whether a split lists all its tuples, each with a value for every logical column."""
    logical = splits["logical_partitions"].combine_chunks()
    complete = pc.fill_null(pc.and_(logical.is_valid(), pc.struct_field(logical, ["complete"])), fill_value=False)
    if "partition" not in splits.schema.names:
        return pc.and_(complete, False)  # an unpartitioned table has no tuples
    if not pc.any(complete).as_py():
        return complete
    columns, tuples = pc.struct_field(logical, ["columns"]), pc.struct_field(logical, ["tuples"])
    split_of_tuple, width = pc.list_parent_indices(tuples), pc.list_value_length(columns)
    fits = pc.equal(pc.list_value_length(pc.list_flatten(tuples)), width.take(split_of_tuple))
    misfits = split_of_tuple.filter(pc.invert(pc.fill_null(fits, fill_value=False)))
    filled = pc.and_(pc.greater(pc.list_value_length(tuples), 0), pc.greater(width, 0))
    sound = pc.and_(filled, pc.invert(pc.is_in(_row_numbers(len(logical)), misfits)))
    return pc.and_(complete, pc.fill_null(sound, fill_value=False))


def _by_logical_columns(splits: pa.Table, listing: pa.BooleanArray) -> list[tuple[list[str], pa.BooleanArray]]:
    """The lists of logical columns that there are, which are few, and the splits that have each of them."""
    columns = pc.struct_field(splits["logical_partitions"].combine_chunks(), ["columns"])
    joined = pc.if_else(listing, pc.binary_join(_with_lengths(columns), ""), None)
    return [
        (columns[pc.index(joined, text).as_py()].as_py(), pc.fill_null(pc.equal(joined, text), fill_value=False))
        for text in joined.unique().drop_null()
    ]


def _with_lengths(lists: pa.ListArray) -> pa.ListArray:
    """Names with their lengths before them, so that lists of them can be joined: there may be any character in a name."""
    names = lists.values
    measured = pc.binary_join_element_wise(pc.binary_length(names).cast(pa.string()), names, ":")
    return pa.ListArray.from_arrays(lists.offsets, measured)


def _rows_of_tuples(logical: pa.StructArray, rows: pa.Array) -> pa.ListArray:
    """The rows of each tuple, unknown where the split does not list counts, or counts that do not add up to its rows."""
    tuples, given = pc.struct_field(logical, ["tuples"]), pc.struct_field(logical, ["counts"])
    as_many = pc.equal(pc.list_value_length(given), pc.list_value_length(tuples))
    sound = pc.fill_null(pc.and_(as_many, pc.equal(_sums(given), rows)), fill_value=False)
    unknown = pa.ListArray.from_arrays(tuples.offsets, pa.nulls(len(tuples.flatten()), pa.int64()))
    return pc.if_else(sound, given, unknown) if pc.any(sound).as_py() else unknown


def _sums(lists: pa.ListArray) -> pa.Array:
    """The sum of each list; null where there is none or it is not known."""
    values = pa.table({"list": pc.list_parent_indices(lists), "value": pc.list_flatten(lists)})
    sums = values.group_by("list").aggregate([("value", "sum")])
    where = pc.index_in(_row_numbers(len(lists)), sums["list"].combine_chunks().cast(pa.int64()))
    return sums["value_sum"].combine_chunks().take(where)


def _with_partition_value(parts: pa.Table, name: str, texts: pa.Array, metadata: Metadata) -> pa.Table:
    """The parts with these values of the partition field of this name, decoded with each split's own spec."""
    terms, schema = partition_terms(metadata), metadata.arrow_schema()
    partition, specs = parts["partition"].combine_chunks(), parts["spec_id"].combine_chunks()
    by_term = dict(zip((field.name for field in partition.type), partition.flatten(), strict=True))
    for spec_id, layout in metadata.layouts.items():
        for field in layout.fields:
            if field.name == name and field.term in terms:
                decoded = partition_values(texts, field, schema)
                by_term[field.term] = pc.if_else(pc.equal(specs, spec_id), decoded, by_term[field.term])
    partitions = pa.StructArray.from_arrays(list(by_term.values()), fields=list(partition.type))
    return _replace_column(parts, "partition", partitions)


def _with_rows(parts: pa.Table, rows: pa.Array) -> pa.Table:
    """The parts with their own numbers of rows, and of nulls where these are certain: none of them, or all."""
    rows_of_split, nulls_of_split = parts["num_records"].combine_chunks(), parts["null_count"].combine_chunks()
    nulls = [_nulls_of_part(column, rows_of_split, rows) for column in nulls_of_split.flatten()]
    null_count = pa.StructArray.from_arrays(nulls, fields=list(nulls_of_split.type))
    return _replace_column(_replace_column(parts, "num_records", rows), "null_count", null_count)


def _nulls_of_part(nulls_of_split: pa.Array, rows_of_split: pa.Array, rows: pa.Array) -> pa.Array:
    none, all_of_them = pc.equal(nulls_of_split, 0), pc.equal(nulls_of_split, rows_of_split)
    return pc.case_when(pc.make_struct(none, all_of_them), pa.scalar(0, pa.int64()), rows)


def _replace_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def _row_numbers(length: int) -> pa.Array:
    return pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), length)), 1)
