"""Local disk: writes that survive a crash.

A file is written under a temporary name, flushed to disk, and then given its name by `link` (which fails if the name is
taken) or `rename` (which replaces). A reader never sees half a file, and a crash leaves at most a temporary file, which
starts with `TEMPORARY` and belongs to no table version.
"""

import os
import shutil
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import pyarrow as pa
from obstore.store import LocalStore as LocalBackend

from indextables.errors import NotDurableError
from indextables.storage.error_translation import translate_errors
from indextables.storage.location import Location
from indextables.storage.store import Entry, Store

TEMPORARY = ".tmp-"


class LocalStore(Store):
    def __init__(self, location: Location) -> None:
        super().__init__(location, LocalBackend())

    def read_ranges(
        self,
        key: str,
        ranges: Sequence[tuple[int, int]],
        *,
        tag: str | None = None,  # noqa: ARG002 - `free_tag` has told whether it is another file
    ) -> list[pa.Buffer]:
        """As in `Store`, without its threads, which take longer than the disk for a few pages."""
        with self._opened(key) as descriptor:
            contents = [pa.py_buffer(os.pread(descriptor, end - start, start)) for start, end in ranges]
        self.meter.add(len(contents), read=sum(content.size for content in contents))
        return contents

    def free_tag(self, key: str) -> str | None:
        with suppress(OSError):  # what is wrong with the file is said when it is read
            facts = os.stat(f"/{self._path(key)}")  # noqa: PTH116 - once for each split of a query
            return f"{facts.st_ino:x}-{facts.st_mtime_ns:x}-{facts.st_ctime_ns:x}"
        return None

    def read_joined(
        self,
        key: str,
        ranges: Sequence[tuple[int, int]],
        *,
        tag: str | None = None,  # noqa: ARG002
    ) -> pa.Buffer:
        content = pa.allocate_buffer(sum(end - start for start, end in ranges))
        target, position = memoryview(content).cast("B"), 0
        with self._opened(key) as descriptor:
            for start, end in ranges:
                position += os.preadv(descriptor, [target[position : position + end - start]], start)
        self.meter.add(len(ranges), read=position)
        return content.slice(0, position)

    def open_file(self, key: str, ranges: Sequence[tuple[int, int]]) -> pa.NativeFile:
        with translate_errors(self.name_of(key)):
            file = pa.OSFile(f"/{self._path(key)}")
        self.meter.add(len(ranges), read=sum(end - start for start, end in ranges))
        return file

    @contextmanager
    def _opened(self, key: str) -> Iterator[int]:
        with translate_errors(self.name_of(key)):
            descriptor = os.open(f"/{self._path(key)}", os.O_RDONLY)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def put(self, key: str, data: bytes | pa.Buffer) -> None:
        self._write(key, lambda file: file.write(memoryview(data)), os.replace)

    def put_if_absent(self, key: str, data: bytes | pa.Buffer) -> None:
        self._write(key, lambda file: file.write(memoryview(data)), os.link)

    def put_file(self, key: str, source: Path) -> None:
        def copy(file: BinaryIO) -> None:
            with source.open("rb") as original:
                shutil.copyfileobj(original, file, length=1 << 20)

        self._write(key, copy, os.replace)

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[Entry]:
        """As in `Store`. Names that are not UTF-8 cannot be keys, and are left out; so are pipes, sockets and devices.

        So are directories below that may not be read: a volume has such ones at its root, and they are not the table's.
        """
        self.meter.add(1)
        with translate_errors(str(self.location)):
            yield from _list(Path("/", self._under(prefix)), prefix.rstrip("/"), after)

    def _write(self, key: str, fill: Callable[[BinaryIO], object], give_name: Callable[[Path, Path], object]) -> None:
        target = Path("/", self._path(key))
        with translate_errors(self.name_of(key)):
            _make_directory(target.parent)
            with _temporary_file(target.parent) as (temporary, file):
                fill(file)
                file.flush()
                os.fsync(file.fileno())
                give_name(temporary, target)
                written = file.tell()
            self._flush_name(key, target)
        self.meter.add(1, written=written)

    def _flush_name(self, key: str, target: Path) -> None:
        try:
            _flush_directory(target.parent)
        except OSError as error:
            name = self.name_of(key)
            raise NotDurableError(
                f"{name} was written, but the disk did not confirm it ({error}): a crash may take it away; check the disk, "
                "then read the table again to see whether it is there",
                path=name,
            ) from error


def _list(top: Path, key: str, after: str) -> Iterator[Entry]:
    """The entries below a directory whose keys sort after one, level by level; the others cost no `stat`."""
    waiting = deque([(str(top), key)])
    while waiting:
        directory, parent = waiting.popleft()
        try:
            with os.scandir(directory) as found:
                for entry in found:
                    name = f"{parent}/{entry.name}" if parent else entry.name
                    below = f"{name}/"
                    if (below <= after and not after.startswith(below)) or not _is_text(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, name))
                    elif name > after and (entry.is_symlink() or entry.is_file()):
                        with suppress(FileNotFoundError):  # deleted concurrently
                            yield _entry(name, entry)
        except FileNotFoundError:
            pass
        except (PermissionError, NotADirectoryError):  # the latter is a file now
            if parent == key:
                raise


def _entry(key: str, found: os.DirEntry[str]) -> Entry:
    """A link to a file has the facts of the file; one to anything else, or to itself, its own."""
    facts, is_link = found.stat(follow_symlinks=False), found.is_symlink()
    if is_link:
        with suppress(OSError):
            target = found.stat()
            facts = target if stat.S_ISREG(target.st_mode) else facts
    modified = datetime.fromtimestamp(facts.st_mtime, UTC)
    tag = f'"{facts.st_ino:x}-{facts.st_mtime_ns // 1000:x}-{facts.st_size:x}"'  # as `head` has it
    return Entry(key, facts.st_size, modified, tag, link=is_link)


def _is_text(name: str) -> bool:
    with suppress(UnicodeEncodeError):
        return name.isascii() or bool(name.encode())
    return False


@contextmanager
def _temporary_file(directory: Path) -> Iterator[tuple[Path, BinaryIO]]:
    path = directory / f"{TEMPORARY}{uuid4().hex}"
    try:
        with path.open("xb") as file:
            yield path, file
    finally:
        path.unlink(missing_ok=True)


def _make_directory(directory: Path) -> None:
    if directory.is_dir():
        return
    _make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    _flush_directory(directory.parent)


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
