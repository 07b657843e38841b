"""The checksums of a cache entry, in a file of its directory: whether its files are still what was written.

>>> import tempfile
>>> entry = Path(tempfile.mkdtemp())
>>> _ = (entry / "meta.json").write_text("{}")
>>> write_checksums(entry)
>>> print(damage_of(entry))
None
>>> _ = (entry / "meta.json").write_text("[]")
>>> damage_of(entry)
'its file meta.json is not what was written'
"""

import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

CHECKSUMS = "checksums.json"
_LOCK = re.compile(r"\..+\.lock")  # empty files that tantivy makes whenever it opens an index
_CHUNK = 1 << 20


class _Checksum(msgspec.Struct, frozen=True):
    size: int
    crc32: int


def write_checksums(directory: Path) -> None:
    """Writes the sizes and checksums of all files of a directory into it."""
    found = {name: _checksum(directory / name) for name in os.listdir(directory)}  # noqa: PTH208 - the names are enough
    (directory / CHECKSUMS).write_bytes(msgspec.json.encode(found))


def damage_of(directory: Path) -> str | None:
    """What is wrong with an entry; None where it has the files that were written, and this user's alone.

    Raises OSError where it cannot be read, and FileNotFoundError where it is not there.
    """
    facts = directory.lstat()
    if not stat.S_ISDIR(facts.st_mode):
        return "it is not a directory"
    if facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users may have written to it"
    try:
        with _opened(directory / CHECKSUMS) as file:
            expected = msgspec.json.decode(file.read(), type=dict[str, _Checksum])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return "it has no checksums that can be read"
    found = {name for name in os.listdir(directory) if name != CHECKSUMS and not _LOCK.fullmatch(name)}  # noqa: PTH208 - the names are enough
    if odd := found.symmetric_difference(expected):
        name = min(odd)
        return f"its file {name} is {'unknown' if name in found else 'missing'}"
    wrong = (name for name in sorted(expected) if not _is_unchanged(directory / name, expected[name]))
    name = next(wrong, "")
    return f"its file {name} is not what was written" if name else None


def _is_unchanged(path: Path, expected: _Checksum) -> bool:
    try:
        return _checksum(path) == expected
    except OSError:
        return False


def _checksum(path: Path) -> _Checksum:
    size, crc = 0, 0
    with _opened(path) as file:
        while chunk := file.read(_CHUNK):
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
    return _Checksum(size, crc)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A file that is one: a link is not followed, and a pipe not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a file")
        yield file
