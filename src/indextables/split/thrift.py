"""Thrift's compact protocol, as far as Parquet's metadata needs it.

>>> data = struct([(1, I32, 7), (3, BINARY, b"ts"), (20, LIST, (I64, [encoded(I64, 1), encoded(I64, -1)]))])
>>> parse_struct(data)
{1: 7, 3: b'ts', 20: [1, -1]}
"""

from collections.abc import Sequence
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
_LONG_LIST = _LONGEST_DELTA = 15
_DOUBLE_BYTES = 8
_CONTINUED = 0x80
MALFORMED = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""What is raised where a struct has another shape than expected: its fields may be of any type, or missing."""


class Struct(dict[int, Any]):
    """The fields of a struct by their ids, and where its bytes are."""

    __slots__ = ("end", "start")
    start: int
    end: int


def parse_struct(data: bytes, start: int = 0) -> Struct:
    """The struct that begins at `start`. IndexError or ValueError where there is none."""
    fields, position, field = Struct(), start, 0
    while header := data[position]:
        position += 1
        if header >> 4:
            field += header >> 4
        else:
            field, position = _signed(data, position)
        fields[field], position = _value(data, position, header & 15)
    fields.start, fields.end = start, position + 1
    return fields


def struct(fields: Sequence[tuple[int, int, Any]]) -> bytes:
    """The bytes of a struct, from the ids, types and values of its fields in ascending order."""
    return encoded_fields(fields) + b"\0"


def encoded_fields(fields: Sequence[tuple[int, int, Any]], *, after: int = 0) -> bytes:
    """The bytes of some fields of a struct, which follow the field `after`."""
    parts, last = [], after
    for field, kind, value in fields:
        delta = field - last
        parts.append(bytes([delta << 4 | kind]) if delta <= _LONGEST_DELTA else bytes([kind]) + encoded(I16, field))
        parts.append(encoded(kind, value))
        last = field
    return b"".join(parts)


def encoded(kind: int, value: Any) -> bytes:
    """The bytes of a value. A struct is bytes already; a list is the type and the bytes of its elements."""
    match kind:
        case 4 | 5 | 6:
            return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
        case 8:
            return _varint(len(value)) + bytes(value)
        case 9:
            return _list(*value)
        case 12:
            return bytes(value)
        case _:
            raise ValueError(f"values of type {kind} are not written")


def varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned integer, and the position after it."""
    number = shift = 0
    while (byte := data[position]) >= _CONTINUED:
        number |= (byte & 0x7F) << shift
        shift += 7
        position += 1
    return number | byte << shift, position + 1


def list_header(data: bytes, position: int) -> tuple[int, int, int]:
    """The length of a list, the type of its elements, and the position of the first."""
    length, kind = data[position] >> 4, data[position] & 15
    position += 1
    if length == _LONG_LIST:
        length, position = varint(data, position)
    return length, kind, position


def _signed(data: bytes, position: int) -> tuple[int, int]:
    number, position = varint(data, position)
    return number >> 1 ^ -(number & 1), position


def _value(data: bytes, position: int, kind: int) -> tuple[Any, int]:  # noqa: PLR0911 - one for each type
    match kind:
        case 1 | 2:
            return kind == TRUE, position
        case 3:
            return data[position], position + 1
        case 4 | 5 | 6:
            return _signed(data, position)
        case 7:
            return data[position : position + _DOUBLE_BYTES], position + _DOUBLE_BYTES
        case 8:
            length, position = varint(data, position)
            return data[position : position + length], position + length
        case 9 | 10:
            return _elements(data, position)
        case 12:
            value = parse_struct(data, position)
            return value, value.end
        case _:
            raise ValueError(f"there is no type {kind} in Thrift's compact protocol")


def _elements(data: bytes, position: int) -> tuple[list[Any], int]:
    length, kind, position = list_header(data, position)
    values = []
    for _ in range(length):
        if kind in (TRUE, FALSE):
            value, position = data[position] == TRUE, position + 1
        else:
            value, position = _value(data, position, kind)
        values.append(value)
    return values, position


def _list(kind: int, elements: Sequence[bytes]) -> bytes:
    length = len(elements)
    header = bytes([length << 4 | kind]) if length < _LONG_LIST else bytes([0xF0 | kind]) + _varint(length)
    return header + b"".join(elements)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= _CONTINUED:
        out.append(number & 0x7F | _CONTINUED)
        number >>= 7
    out.append(number)
    return bytes(out)
