r"""Values of a table as JSON, without loss.

Whole numbers that JavaScript cannot hold are text, and so are decimals, NaN and infinities. Dates and timestamps are ISO
texts, binary values are hexadecimal digits.

>>> cells(pa.array([2**53, 2**53 + 1, None])), cells(pa.array([0.5, float("nan")])), cells(pa.array([b"\x00\xff"]))
([9007199254740992, '9007199254740993', None], [0.5, 'NaN'], ['00ff'])
"""

import math
from typing import Any

import pyarrow as pa

from indextables.kernels import flat
from indextables.values import encode

MAX_SHOWN = 2_000
"""Characters of a value in a list of rows."""
_EXACT = 2**53


def cells(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values as JSON has them."""
    array = flat(values)
    kind = array.type
    if pa.types.is_int64(kind):
        return [value if value is None or -_EXACT <= value <= _EXACT else str(value) for value in array.to_pylist()]
    if pa.types.is_floating(kind):
        return [_number(text) for text in encode(array).to_pylist()]
    if pa.types.is_binary(kind):
        return [None if value is None else value.hex() for value in array.to_pylist()]
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return list(encode(array).to_pylist())
    return list(array.to_pylist())


def _number(text: str | None) -> float | str | None:
    """The shortest number that a text stands for: that of a 32-bit 0.1 is 0.1."""
    number = None if text is None else float(text)
    return number if number is None or math.isfinite(number) else text


def utf16_offset(text: str, position: int) -> int:
    """A position in a text as JavaScript counts it: characters beyond 16 bits count twice.

    >>> utf16_offset("a😀b", 2)
    3
    """
    return len(text[:position].encode("utf-16-le", "surrogatepass")) // 2


def from_utf16(text: str, offset: int) -> int:
    """The position in Python that JavaScript's offset means.

    >>> from_utf16("a😀b", 3)
    2
    """
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * offset].decode("utf-16-le", "ignore"))
