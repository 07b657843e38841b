"""Splits: damaged bytes, and footers that were changed and sealed again, so that what is behind the checksum is reached."""

import json
import re
import zlib
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa

from indextables.errors import IndexTablesError
from indextables.search import parse
from indextables.split import SplitCache, SplitReader, thrift
from indextables.split.format import footer_start, seal, tail_start
from indextables.storage import open_store
from indextables.storage.cache import DirectoryCache
from tests.fuzz.mutations import mutate_bytes, mutate_json, to_json
from tests.fuzz.sample_table import sample_table
from tests.fuzz.target import Target, attempt

_START = b'{"version":'
_LOCATION = "memory://fuzz/split"
_NAME = re.compile(rb'"name":"([0-9a-z-]+[.]split)"')


def _generate(rng: Random) -> bytes:
    data = sample_table().files[rng.choice(sample_table().splits)]
    begin, footer = _places(data)
    match rng.randrange(10):
        case 0:
            return mutate_bytes(rng, data)
        case 1:
            return mutate_bytes(rng, data[:begin]) + data[begin:]  # row groups and indexes
        case 2 | 3:
            changed = data[:begin] + _kept_length(rng, data[begin:-8]) + data[-8:]  # page indexes and footer
            return _sealed(changed) if _arrow_survives(data, changed, footer) else changed
        case 5:
            return _with_exact_index(rng, data)
        case 4:
            return _sealed(data[:begin] + _kept_length(rng, data[begin:footer]) + data[footer:])  # page indexes
        case _:
            return _with_index(rng, data)


def _arrow_survives(data: bytes, changed: bytes, footer: int) -> bool:
    """Arrow ends the process where a footer contradicts itself in some ways: against these there is only the checksum."""
    try:
        return _levels(thrift.parse_struct(data, footer)) == _levels(thrift.parse_struct(changed, footer))
    except thrift.MALFORMED:
        return False


def _levels(metadata: thrift.Struct) -> Any:
    """The columns, and for each chunk its type and the lengths of the histograms of its levels."""
    chunks = [chunk[3] for group in metadata[4] for chunk in group[1]]
    sizes = [chunk.get(16, {}) for chunk in chunks]
    histograms = [[len(size.get(field, ())) for field in (2, 3)] for size in sizes]
    return metadata[2], [chunk[1] for chunk in chunks], histograms


def _places(data: bytes) -> tuple[int, int]:
    """Where the tail and the footer begin."""
    footer = footer_start(data[-8:], size=len(data), name="sample")
    return tail_start(data[footer:], start=footer, name="sample"), footer


def _kept_length(rng: Random, data: bytes) -> bytes:
    """A few bytes changed; nothing moves."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed))
        changed[at] = rng.choice((changed[at] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 0x7F, 0x80, 0xFF))
    return bytes(changed)


def _with_index(rng: Random, data: bytes) -> bytes:
    """Another description of the index of the same length, so that the Thrift around it stays as it is."""
    start = data.rindex(_START)
    end = data.index(b"}", data.rindex(b'"footerCrc32"')) + 1
    description = json.loads(data[start:end])
    changed: dict[str, Any] = mutate_json(rng, description)
    if isinstance(changed, dict):
        changed.pop("footerCrc32", None)
        changed["footerCrc32"] = "00000000"
        if rng.random() < 0.2:  # two parts of which one is another's
            changed["fields"] = description["fields"]
    text = to_json(changed)
    room = end - start - len(text)
    if room >= 0:
        text = text[:-1] + b" " * room + text[-1:]
        return _sealed(data[:start] + text + data[end:])
    return _longer(data, start, end, text)


def _with_exact_index(rng: Random, data: bytes) -> bytes:
    """Another exact index under its right checksum."""
    start = data.rindex(_START)
    description = json.loads(data[start : data.index(b"}", data.rindex(b'"footerCrc32"')) + 1])
    exact = {column["file"] for column in description["exact"].values()}
    files = [file for file in description["files"] if file["name"] in exact]
    if not files:
        return mutate_bytes(rng, data)
    file = rng.choice(files)
    at = description["offset"] + file["offset"]
    changed = _kept_length(rng, data[at : at + file["length"]])
    old, new = (f'"length":{file["length"]},"crc32":{value}'.encode() for value in (file["crc32"], zlib.crc32(changed)))
    body = data[:at] + changed + data[at + file["length"] :]
    if len(old) == len(new):
        return _sealed(body.replace(old, new, 1))
    text = data[start : data.index(b"}", data.rindex(b'"footerCrc32"')) + 1].replace(old, new, 1)
    return _longer(body, start, start + len(text) + len(old) - len(new), text)


def _longer(data: bytes, start: int, end: int, text: bytes) -> bytes:
    """The description in a longer text: the length of the value before it, and that of the footer, grow with it."""
    old, new = _varint(end - start), _varint(len(text))
    if data[start - len(old) : start] != old:
        return data
    body = data[: start - len(old)] + new + text + data[end:-8]
    length = int.from_bytes(data[-8:-4], "little") + len(body) + 8 - len(data)
    return _sealed(body + length.to_bytes(4, "little") + data[-4:])


def _varint(number: int) -> bytes:
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _sealed(data: bytes) -> bytes:
    """The file with the right checksum of its tail, as far as that can be told."""
    try:
        begin, _ = _places(data)
        place, digits = seal(data[begin:])
    except (IndexTablesError, ValueError):
        return data
    return data[: begin + place] + digits + data[begin + place + len(digits) :]


def _run(data: bytes, *, every: bool = False) -> None:
    names = _NAME.findall(data)
    store, key = open_store(_LOCATION), names[-1].decode() if names else "a.split"  # a split is known by its name
    store.put(key, data)
    split = SplitReader(store, key, size=len(data), cache=_cache())
    if attempt(lambda: split.footer) is None:
        return
    for use in _USES if every else Random(zlib.crc32(data)).sample(_USES, 4):
        attempt(lambda use=use: use(split))
    store.delete([key])


@cache
def _directory() -> Path:
    return Path(mkdtemp(prefix="indextables-fuzz-"))


def _cache() -> SplitCache:
    """A cache without anything of earlier inputs in memory; entries on disk are under the checksums of their contents."""
    return SplitCache(DirectoryCache(_directory(), max_bytes=2**26))


def _searched(split: SplitReader, text: str) -> Any:
    query = parse(text, schema=split.schema, rules=split.rules)
    return split.search(query), split.count(query), split.top(query, 3)


def _some(split: SplitReader) -> Any:
    return np.array(sorted({0, split.num_rows // 2, split.num_rows - 1} & {*range(split.num_rows)}), np.int64)


_USES = (
    lambda split: [batch.num_rows for batch in split.read()],
    lambda split: split.take(_some(split)),
    lambda split: split.take(_some(split), ["n", "message"]),
    lambda split: _searched(split, "message:disk"),
    lambda split: _searched(split, 'message:"disk 1" OR level:INFO'),
    lambda split: _searched(split, "level:ERROR AND NOT n:[3 TO 9]"),
    lambda split: _searched(split, "day:mon ts:>=1970-01-01"),
    lambda split: split.candidates("n", pa.array([3, 5])),
    lambda split: split.candidates("level", pa.array(["INFO"])),
    lambda split: split.blocks(list(split.schema.names)),
    lambda split: split.blocks(["n", "ts", "price", "ratio"]),
    lambda split: [split.null_count(name) for name in split.schema.names],
)
SPLIT = Target("split", _generate, _run, partial(_run, every=True))
