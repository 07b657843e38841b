"""Rows as Python values, for JSON and for tables in a terminal."""

from typing import Any

import pyarrow as pa

from indextables.values import encode


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values; dates and timestamps outside Python's range are text.

    >>> plain_rows(pa.table({"n": [1], "on": pa.array([2**31 - 1], pa.int32()).view(pa.date32())}))
    [{'n': 1, 'on': '+5881580-07-11'}]
    """
    columns = [_plain_values(column.combine_chunks()) for column in rows.columns]
    return [dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_values(values: pa.Array) -> list[Any]:
    if pa.types.is_struct(values.type) and values.type.num_fields and not values.null_count:
        fields = [_plain_values(field) for field in values.flatten()]
        return [dict(zip(values.type.names, row, strict=True)) for row in zip(*fields, strict=True)]
    if pa.types.is_float32(values.type):  # 0.1, not 0.10000000149011612
        values = values.cast(pa.string()).cast(pa.float64())
    try:
        return list(values.to_pylist())
    except (OverflowError, ValueError):
        return list(encode(values).to_pylist())
