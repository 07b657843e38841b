r"""JSON lines in which the values of some columns become texts: `{"a": {"b": 1}}` becomes `{"a": "{\"b\": 1}"}`."""

import json
from collections.abc import Iterable, Iterator
from io import BufferedReader, RawIOBase
from itertools import islice
from typing import Any

import msgspec

_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])
_AT_ONCE = 1024  # lines


def json_as_text(lines: Iterable[str], columns: frozenset[str]) -> BufferedReader:
    """The lines; in these columns, values that are neither strings nor null become strings, in their JSON notation.

    >>> lines = ['{"a": [1, 2.50], "b": 1}', '{"A": "x"}', '{"a": nul', '{"a":1,"a":2}']
    >>> json_as_text(lines, frozenset("a")).read().splitlines()
    [b'{"a":"[1, 2.50]","b":1}', b'{"A": "x"}', b'{"a": nul', b'{"a":1,"a":2}']
    """
    return BufferedReader(_Stream(_as_text(line, columns) for line in lines))


def _as_text(line: str, columns: frozenset[str]) -> bytes:
    """A line that is no object, or that has a name twice, stays as it is; the reader refuses it."""
    data = line.encode(errors="surrogateescape")
    try:
        record = _RECORD.decode(data)
        values = {name: bytes(value) for name, value in record.items() if name.lower() in columns}
        texts = {name: value.decode() for name, value in values.items() if value != b"null" and value[:1] != b'"'}
        texts = {} if texts and _has_name_twice(data, record) else texts
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        texts = {}
    return msgspec.json.encode({**record, **texts}) + b"\n" if texts else data.removesuffix(b"\n") + b"\n"


def _has_name_twice(line: bytes, record: dict[str, msgspec.Raw]) -> bool:
    if len(msgspec.json.encode(record)) == len(line.strip()):  # nothing was left out
        return False
    return len(json.loads(line, object_pairs_hook=list)) > len(record)


class _Stream(RawIOBase):
    """Pieces as one stream of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(b"".join(islice(self._pieces, _AT_ONCE)))
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
