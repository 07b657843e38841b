r"""Commits as bytes: JSON lines, one action each.

>>> data = encode([Txn(app_id="loader", version=7)])
>>> data
b'{"txn":{"appId":"loader","version":7}}\n'
>>> decode(data)
[Txn(app_id='loader', version=7, last_updated=None)]
"""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

import msgspec
import pyarrow as pa
from msgspec.structs import astuple, fields

from indextables.log.actions import (
    Action,
    Add,
    CommitInfo,
    DeletionVector,
    Metadata,
    Protocol,
    Remove,
    ReplaceWhere,
    Txn,
)


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One line: exactly one of these, or none for an action of a newer release."""

    add: Add | None = None
    remove: Remove | None = None
    deletion_vector: DeletionVector | None = None
    txn: Txn | None = None
    commit_info: CommitInfo | None = None
    replace_where: ReplaceWhere | None = None
    protocol: Protocol | None = None
    meta_data: Metadata | None = None


_KEYS: dict[type[Any], str] = {get_args(field.type)[0]: field.encode_name for field in fields(_Line)}
_NOTHING = astuple(_Line())
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decoder = msgspec.json.Decoder(_Line)
_encoder = msgspec.json.Encoder()


class BrokenLineError(ValueError):
    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line} cannot be read: {reason}")
        self.line = line


def encode(actions: Iterable[Action]) -> bytes:
    return _encoder.encode_lines([{_KEYS[type(action)]: action} for action in actions])


def decode(data: bytes | pa.Buffer) -> list[Action]:
    """The actions of a commit; a BrokenLineError names the line, counted from one, that is not an action."""
    lines = memoryview(data)
    if not lines:
        raise BrokenLineError(1, "the file is empty")
    try:
        decoded = _decoder.decode_lines(lines)
    except _UNREADABLE:
        decoded = [line for _, line in _numbered_lines(lines)]
    if any(map(_has_several, decoded)):
        number = next(number for number, line in _numbered_lines(lines) if _has_several(line))
        raise BrokenLineError(number, "it has more than one action")
    return [action for line in decoded if (action := _action(line)) is not None]


def line_of(data: bytes | pa.Buffer, position: int) -> int:
    """The line, counted from one, of the action at a position of those that `decode` gives."""
    numbers = [number for number, line in _numbered_lines(memoryview(data)) if astuple(line) != _NOTHING]
    return numbers[position]


def _numbered_lines(lines: memoryview) -> Iterator[tuple[int, _Line]]:
    for number, line in enumerate(bytes(lines).split(b"\n"), 1):
        if line.strip():
            yield number, _decode_line(number, line)


def _decode_line(number: int, line: bytes) -> _Line:
    try:
        return _decoder.decode(line)
    except RecursionError:
        raise BrokenLineError(number, "it is nested too deep") from None
    except _UNREADABLE as error:
        raise BrokenLineError(number, str(error)) from error


def _action(line: _Line) -> Action | None:
    return (
        line.add
        or line.remove
        or line.deletion_vector
        or line.txn
        or line.commit_info
        or line.replace_where
        or line.protocol
        or line.meta_data
    )


def _has_several(line: _Line) -> bool:
    return astuple(line).count(None) < len(_NOTHING) - 1
