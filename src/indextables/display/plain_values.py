r"""Rows as Python values, and single values as text: for JSON, terminals and notebooks.

>>> [scalar_text(value) for value in (201.37, True, b"\x00\xff", datetime.fromisoformat("2024-05-01 09:30:00.250Z"))]
['201.37', 'true', '00ff', '2024-05-01 09:30:00.25Z']
"""

import re
from datetime import datetime
from typing import Any

import pyarrow as pa

from indextables.values import encode

SCORE = "_score"
_ZEROS = re.compile(r"(\.\d*[1-9])0+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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


def scalar_text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return _ZEROS.sub(r"\1", value.isoformat(" ")).replace("+00:00", "Z")
        case bytes():
            return value.hex()
        case _:
            return str(value)


def rounded(value: Any) -> Any:
    """A score or a measurement with as many digits as mean something; other values as they are.

    >>> rounded(0.81432116), rounded(7)
    (0.8143, 7)
    """
    return float(f"{value:.4g}") if isinstance(value, float) else value


def printable(text: str) -> str:
    r"""A text whose control characters are spelt out, but for tabs and line breaks.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type stands to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
