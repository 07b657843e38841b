"""A bounded directory of files that are costly to make, shared by all processes of a machine and user.

>>> import tempfile
>>> cache = DirectoryCache(Path(tempfile.mkdtemp()), max_bytes=1_000_000)
>>> def unpack(directory: Path) -> None:
...     _ = (directory / "meta.json").write_text("{}")
>>> def load(directory: Path) -> str:
...     return (directory / "meta.json").read_text()
>>> [cache.opened(("s3://logs/table", "part-0.split", 4711), unpack, load) for _ in range(3)]
['{}', '{}', '{}']
>>> cache.hits, cache.misses
(2, 1)

There are no locks. An entry is a directory that is filled and opened under a temporary name, and then renamed, so that
others see it whole or not at all. An entry is removed by renaming it first. Whoever has opened or mapped its files
keeps them (POSIX); a process that was about to open them finds nothing, and makes the entry
anew. So does one that finds an entry whose files are not those that were written: each process verifies the checksums
of an entry before it opens it for the first time.
"""

import logging
import os
import random
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from time import time
from typing import BinaryIO, TypeVar
from uuid import uuid4

import msgspec
from cachetools import LRUCache

from indextables.errors import AccessDeniedError, IndexTablesError
from indextables.storage.error_translation import translate_errors
from indextables.storage.local import TEMPORARY

T = TypeVar("T")
_Version = tuple[int, int]
_ABANDONED_AFTER = 24 * 3600  # seconds; no unpacking takes that long
_LOOK_AFTER = 0.02
_VERIFIED_ENTRIES = 65_536  # that a process remembers
_ENTRY = re.compile("[0-9a-f]{40}")  # whatever else is there is not ours
logger = logging.getLogger(__name__)


def default_directory() -> Path:
    """A place of this user's own under the system's directory for temporary files."""
    return Path(tempfile.gettempdir(), f"indextables-cache-{os.getuid()}")


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    size: int
    last_used: float


class DirectoryCache:
    """Entries up to about `max_bytes` in total, the least recently used removed first; `hits` and `misses` of this process.

    An entry is named by all that identifies its content, so that a file that was replaced is never taken for the new one.
    The last one made stays, however large.
    """

    def __init__(self, directory: Path, *, max_bytes: int) -> None:
        self.hits = 0
        self.misses = 0
        self.directory = directory
        self.max_bytes = max_bytes
        self._verified: LRUCache[str, _Version | None] = LRUCache(_VERIFIED_ENTRIES)
        self._lock = Lock()

    def opened(self, identity: tuple[object, ...], fill: Callable[[Path], object], open_: Callable[[Path], T]) -> T:
        """The result of `open_` on the entry's directory, which `fill` creates if it does not exist or is damaged.

        Both may raise OSError or an error of ours. `open_` must open all the files that it will ever need: another
        process may remove the entry at any time.
        """
        entry = self._entry(identity)
        with translate_errors(str(self.directory)):
            self._prepare()
            if self._is_intact(entry):
                with suppress(OSError, IndexTablesError):  # removed concurrently, or not what it should be
                    found = open_(entry)
                    self._count(hit=True)
                    return found
                _remove(entry)
            self._count(hit=False)
            made = self._create(entry, fill, open_)
            if self._is_time_to_look(entry):
                self._make_room(keep=entry)
            return made

    def has(self, identity: tuple[object, ...]) -> bool:
        """Whether there is an entry; another process may remove it at any time."""
        return self._entry(identity).exists()

    def remove(self, identity: tuple[object, ...]) -> None:
        """Takes an entry away, if it is there."""
        _remove(self._entry(identity))

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(entry.size for entry in self._entries())

    def clear(self) -> None:
        for entry in self._entries():
            _remove(entry.path)

    def _entry(self, identity: tuple[object, ...]) -> Path:
        return self.directory / sha256(repr(identity).encode()).hexdigest()[:40]

    def _prepare(self) -> None:
        """Makes the directory, and refuses one in which other users may have put files, or to which a link leads."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = self.directory.lstat()
        if not stat.S_ISDIR(facts.st_mode):
            raise self._refused("is a symbolic link; name the directory that it leads to")
        if facts.st_uid != os.getuid():
            raise self._refused("belongs to another user; choose another cache directory")
        if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise self._refused("may be written to by other users; delete it, or choose another cache directory")

    def _refused(self, why: str) -> AccessDeniedError:
        return AccessDeniedError(f"{self.directory} {why}", path=str(self.directory))

    def _count(self, *, hit: bool) -> None:
        with self._lock:
            self.hits += hit
            self.misses += not hit

    def _create(self, entry: Path, fill: Callable[[Path], object], open_: Callable[[Path], T]) -> T:
        temporary = self.directory / f"{TEMPORARY}{uuid4().hex}"
        try:
            temporary.mkdir(mode=0o700)
            fill(temporary)
            write_checksums(temporary)
            version = _version_of(temporary)
            made = open_(temporary)
            with suppress(OSError):  # another process was first; its entry is as good
                temporary.rename(entry)
                self._remember(entry, version)
            return made
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _is_intact(self, entry: Path) -> bool:
        """Whether there is an entry with the files that were written; removes one with others. Sets its time of last use."""
        try:
            version = _version_of(entry)
            damage = None if self._is_verified(entry, version) else damage_of(entry)
            if damage is None:
                os.utime(entry, follow_symlinks=False)
                self._remember(entry, version)
                return True
        except OSError as error:
            if not os.path.lexists(entry):
                return False
            damage = str(error)
        logger.warning("the cache entry %s is made anew: %s", entry, damage)
        _remove(entry)
        return False

    def _is_verified(self, entry: Path, version: _Version | None) -> bool:
        with self._lock:
            return version is not None and bool(self._verified.get(entry.name) == version)

    def _remember(self, entry: Path, version: _Version | None) -> None:
        with self._lock:
            self._verified[entry.name] = version

    def _is_time_to_look(self, entry: Path) -> bool:
        """Whether all entries are to be counted: by chance, and the likelier the larger the one just made.

        A look at all of them costs more than making a small one. Processes that may be short-lived need no memory this
        way, and together they look once in every `_LOOK_AFTER` of the limit that they add.
        """
        with suppress(FileNotFoundError):
            return random.random() * self.max_bytes * _LOOK_AFTER <= _bytes_in(entry)  # noqa: S311 - no secret is made of it
        return False

    def _make_room(self, *, keep: Path) -> None:
        entries = sorted(self._entries(), key=lambda entry: entry.last_used)
        excess = sum(entry.size for entry in entries) - self.max_bytes
        for entry in entries:
            if excess <= 0:
                break
            if entry.path != keep:
                _remove(entry.path)
                excess -= entry.size
        self._remove_abandoned()

    def _entries(self) -> Iterator[_Entry]:
        for path in self._paths():
            if _ENTRY.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                with suppress(OSError):  # removed concurrently, or not ours
                    yield _Entry(path, _bytes_in(path), path.stat().st_mtime)

    def _remove_abandoned(self) -> None:
        for path in self._paths():
            with suppress(FileNotFoundError):
                if path.name.startswith(TEMPORARY) and time() - path.lstat().st_mtime > _ABANDONED_AFTER:
                    _dispose(path)

    def _paths(self) -> list[Path]:
        with suppress(FileNotFoundError):
            return list(self.directory.iterdir())
        return []


def _version_of(entry: Path) -> _Version | None:
    """What distinguishes an entry from another one that takes its name: the inode and the time of its checksums."""
    with suppress(OSError):
        facts = (entry / CHECKSUMS).lstat()
        return facts.st_ino, facts.st_ctime_ns
    return None


def _remove(entry: Path) -> None:
    """Renames the entry first, so that no process finds half of it."""
    condemned = entry.with_name(f"{TEMPORARY}{uuid4().hex}")
    with suppress(FileNotFoundError):
        entry.rename(condemned)
        _dispose(condemned)


def _dispose(path: Path) -> None:
    """Deletes a directory, or a link or file in its place, as far as that is possible."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _bytes_in(directory: Path) -> int:
    with os.scandir(directory) as files:
        return sum(file.stat(follow_symlinks=False).st_size for file in files if file.name != CHECKSUMS)


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
