"""Adds from the rows of a splits table: the inverse of `splits.splits_table`.

A restore adds splits again that a checkpoint may be the only one to describe. Of what such adds say, the splits table is the
same as before.

>>> from indextables.log.splits import splits_table
>>> from indextables.schema import to_json
>>> table = Metadata(id="t", schema=to_json(pa.schema({"n": pa.int64(), "day": pa.date32()})))
>>> add = Add(path="a.split", size=10, modification_time=1, num_records=2, min_values={"n": 1, "day": "2024-02-29"})
>>> adds_of(splits_table([add], table), table) == [add]
True
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Add, LogicalPartitions, Metadata
from indextables.log.column_ids import renamed_columns
from indextables.log.splits import INSTANT, PLAIN_COLUMNS, TIMES, partition_texts
from indextables.values import encode, json_values

_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "data_change": lambda given: given is not False,
    "has_footer_offsets": bool,
    "split_tags": lambda tags: tags or [],
    "num_merge_ops": lambda merges: merges or 0,
    "logical_partitions": lambda logical: None if logical is None else LogicalPartitions(**logical),
    "physical_partition": lambda physical: None if physical is None else dict(physical),
}
_COLUMNS = [name for name in PLAIN_COLUMNS if name != "deletion_vector"]


def adds_of(splits: pa.Table, metadata: Metadata) -> list[Add]:
    """The adds that give these rows of a splits table. Deletion vectors are actions of their own."""
    facts = zip(
        _plain(splits),
        partition_texts(splits, metadata),
        _statistics(splits, "min", metadata),
        _statistics(splits, "max", metadata),
        _statistics(splits, "null_count", metadata),
        strict=True,
    )
    return [
        Add(
            **{**fields, **{name: convert(fields[name]) for name, convert in _CONVERTED.items()}},
            partition_values=partition,
            min_values=lower,
            max_values=upper,
            null_counts=nulls,
        )
        for fields, partition, lower, upper, nulls in facts
    ]


def _plain(splits: pa.Table) -> list[dict[str, Any]]:
    columns = {name: splits[name].combine_chunks() for name in _COLUMNS}
    texts = {name: encode(columns[name].view(INSTANT)) for name in TIMES}
    facts: list[dict[str, Any]] = pa.table(columns | texts).to_pylist()
    return facts


def _statistics(splits: pa.Table, name: str, metadata: Metadata) -> list[Mapping[str, Any]]:
    """What is known of the columns of each split, as JSON values, by the names that the columns have in it."""
    if name not in splits.schema.names:
        return [{}] * len(splits)
    columns = [field.name for field in splits.schema.field(name).type]
    known = [json_values(pc.struct_field(splits[name], [column]).combine_chunks()) for column in columns]
    stored = {number: {now: was for was, now in of.items()} for number, of in renamed_columns(metadata).items()}
    names_of = (stored.get(number, {}) for number in splits["doc_mapping_id"].to_pylist())
    return [
        {names.get(column, column): value for column, value in zip(columns, row, strict=True) if value is not None}
        for names, row in zip(names_of, zip(*known, strict=True), strict=True)
    ]
