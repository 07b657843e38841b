"""The files of an import: paths, or standard input, which is kept in a file because it is read more than once."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from indextables.errors import ConfigError, IndexTablesError
from indextables.redaction import redacted

STANDARD_INPUT = "-"
FORMATS = ("csv", "tsv", "json", "parquet", "log")
_FORMAT_OF = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".log": "log",
}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2", b"\x04\x22\x4d\x18": ".lz4"}


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file, and what it is called in messages."""

    path: Path
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)


@contextmanager
def input_files(given: Sequence[Path]) -> Iterator[list[InputFile]]:
    """The files; `-` is standard input."""
    if list(map(str, given)).count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input (-) can be read once", key="FILE", value=STANDARD_INPUT)
    missing = [str(file) for file in given if str(file) != STANDARD_INPUT and not file.exists()]
    if missing:
        raise IndexTablesError(f"there is no file {redacted(missing[0])}")
    with TemporaryDirectory(prefix="indextables-", ignore_cleanup_errors=True) as scratch:
        yield [
            _standard_input(Path(scratch)) if str(file) == STANDARD_INPUT else InputFile(file, str(file))
            for file in given
        ]


def format_of(file: InputFile, given: str | None = None) -> str:
    """The format of a file: the one that is given, or that of its extension.

    >>> [format_of(InputFile(Path(name), name)) for name in ("lines.jsonl", "rows.csv.gz", "nginx.log")]
    ['json', 'csv', 'log']
    """
    if given is not None:
        return given
    endings = [ending.lower() for ending in Path(file.name).suffixes]
    ending = next((ending for ending in reversed(endings) if ending not in _COMPRESSED), "")
    if ending not in _FORMAT_OF:
        known = ", ".join(_FORMAT_OF)
        raise IndexTablesError(
            f"{file} has no known file extension; supported are {known} (also with .gz or .zst); for others, and for "
            f"standard input, give --format {'|'.join(FORMATS)}"
        )
    return _FORMAT_OF[ending]


def _standard_input(scratch: Path) -> InputFile:
    file = scratch / "input"
    with file.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, length=1 << 20)
    with file.open("rb") as content:
        start = content.read(4)
    ending = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), "")
    return InputFile(file.rename(scratch / f"input{ending}"), "standard input")
