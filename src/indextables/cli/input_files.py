"""The files of an import: paths, directories, globs, or standard input, which is kept in a file to be read again."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import pyarrow as pa

from indextables.errors import ConfigError, IndexTablesError
from indextables.layout.partition_paths import NULL
from indextables.log.log_files import DIRECTORY
from indextables.log.table_paths import FOREIGN_LOGS, foreign_table
from indextables.plural import agreeing, pluralize
from indextables.redaction import redacted

STANDARD_INPUT = "-"
FORMATS = ("csv", "tsv", "json", "parquet", "arrow", "orc", "log")
COLUMNAR = {"parquet", "arrow", "orc"}
_FORMAT_OF = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".orc": "orc",
    ".log": "log",
}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2", b"\x04\x22\x4d\x18": ".lz4"}
_ROTATION = re.compile(r"\.[\d-]+")  # of log files: app.log.1, app.log.2024-05-01
_NAMED = 3


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file, and what it is called in messages: its path as it was given."""

    path: Path
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)

    @property
    def path_values(self) -> list[tuple[str, str | None]]:
        """The names and values in the directories of a Hive layout.

        >>> InputFile(Path("a.csv"), "orders/country=NO/city=M%C3%BCll/n=__HIVE_DEFAULT_PARTITION__/a.csv").path_values
        [('country', 'NO'), ('city', 'Müll'), ('n', None)]
        """
        pairs = [part.partition("=") for part in Path(self.name).parts[:-1]]
        return [
            (unquote(name), None if value == NULL else unquote(value)) for name, mark, value in pairs if name and mark
        ]


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The files to read, and those in the given directories whose format is not known."""

    files: list[InputFile]
    left_out: list[str]


@contextmanager
def input_files(given: Sequence[Path], format_: str | None = None) -> Iterator[InputFiles]:
    """The files of paths, directories and globs; `-` is standard input."""
    if list(map(str, given)).count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input (-) can be read once", key="FILE", value=STANDARD_INPUT)
    left_out: list[str] = []
    found = [(path, _files_of(path, format_, left_out, alone=len(given) == 1)) for path in given]
    _refuse_overlaps(found)
    for place in dict.fromkeys(_top_of(file) for _, files in found for file in files):
        _refuse_table(place)
    if not any(files for _, files in found):
        why = f"{_listed(left_out)} {agreeing(len(left_out), 'has', 'have')} no known file extension"
        raise _nothing_in(given[0], why if left_out else "all files are hidden")
    with TemporaryDirectory(prefix="indextables-", ignore_cleanup_errors=True) as scratch:
        inputs = [
            _standard_input(Path(scratch)) if str(file) == STANDARD_INPUT else InputFile(file, str(file))
            for _, files in found
            for file in files
        ]
        yield InputFiles([_seekable(file, format_, Path(scratch) / f"{n}") for n, file in enumerate(inputs)], left_out)


def _refuse_overlaps(found: Sequence[tuple[Path, Sequence[Path]]]) -> None:
    """A file may be named twice, but what directories and globs stand for is not doubled."""
    seen: dict[str, bool] = {}
    for path, files in found:
        stands_for_others = list(files) != [path]
        for file in files:
            place = os.path.realpath(file)
            if place in seen and (stands_for_others or seen[place]):
                raise IndexTablesError(f"{file} is among the files twice; name it once, so that no row is doubled")
            seen[place] = stands_for_others


def format_of(file: InputFile, given: str | None = None) -> str:
    """The format of a file: the one that is given, or that of its extension.

    >>> [format_of(InputFile(Path(name), name)) for name in ("lines.jsonl", "rows.csv.gz", "nginx.log.2.gz")]
    ['json', 'csv', 'log']
    """
    found = given or _known_format(file.name)
    if found is None:
        known = ", ".join(_FORMAT_OF)
        raise IndexTablesError(
            f"{file} has no known file extension; supported are {known} (also with .gz or .zst); for others, and for "
            f"standard input, give --format {'|'.join(FORMATS)}"
        )
    return found


def _known_format(name: str) -> str | None:
    endings = [ending.lower() for ending in Path(name).suffixes]
    plain = (end for end in reversed(endings) if end not in _COMPRESSED and not _ROTATION.fullmatch(end))
    return _FORMAT_OF.get(next(plain, ""))


def _files_of(path: Path, format_: str | None, left_out: list[str], *, alone: bool) -> list[Path]:
    """The files of a path. Those of directories and globs whose format is not known are added to `left_out`."""
    if str(path) == STANDARD_INPUT:
        return [path]
    if path.exists() and not path.is_dir():
        is_data = alone or format_ or not _is_hidden(path.name) or _known_format(path.name)
        return [path] if is_data else []  # such as _SUCCESS in orders/*
    files = _files_below(path) if path.is_dir() else _matches(path)
    if not files:
        raise _nothing_in(path, "it is empty, or all its files are hidden")
    left_out += [str(file) for file in files if not (format_ or _known_format(file.name))]
    return [file for file in files if format_ or _known_format(file.name)]


def _matches(path: Path) -> list[Path]:
    """The files that match a glob that a shell did not expand, and those below directories that do."""
    matches = [Path(name) for name in sorted(glob(str(path), recursive=True))] if has_magic(str(path)) else []  # noqa: PTH207 - it may be absolute
    if not matches:
        what = "no file matches" if has_magic(str(path)) else "there is no file"
        raise IndexTablesError(f"{what} {redacted(str(path))}")
    shown = [match for match in matches if not any(map(_is_hidden, set(match.parts) - set(path.parts)))]
    below = [_files_below(match) if match.is_dir() and "**" not in path.parts else [match] for match in shown]
    return [file for files in below for file in files if not file.is_dir()]


def _files_below(directory: Path) -> list[Path]:
    """The files of a directory and those below it, without hidden ones; a table among them is refused."""

    def refuse(error: OSError) -> None:
        raise error

    found, seen = [], set()
    for place, directories, names in os.walk(directory, onerror=refuse, followlinks=True):
        here = Path(place)
        _refuse_table(here)
        seen.add(os.path.realpath(here))
        visible = [name for name in sorted(directories) if not _is_hidden(name)]
        directories[:] = [name for name in visible if os.path.realpath(here / name) not in seen]
        found += [here / name for name in sorted(names) if not _is_hidden(name)]
    return found


def _is_hidden(name: str) -> bool:
    """Whether Spark, Hive and Arrow take a file or directory for no data, by its name: `_SUCCESS`, `.part-0.crc`."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _top_of(file: Path) -> Path:
    """The directory of a file above those of its partition; a table with such files has its log there."""
    tops = (place for place in file.parents if "=" not in place.name)
    return next(tops, file.parent)


def _refuse_table(directory: Path) -> None:
    """The files of a table may hold rows that were deleted."""
    if directory.name == DIRECTORY or (directory / DIRECTORY).is_dir():
        raise IndexTablesError(
            f"{directory} is a table of indextables, whose files are not imported one by one; name other files, or copy its "
            f"rows with IndexTable.write(path, IndexTable.open({str(directory)!r}).scan().to_reader())"
        )
    root = directory.parent if directory.name == "data" else directory  # of an Iceberg table
    for place in dict.fromkeys((directory, root)):
        keys = [place.name, *(f"{file.parent.name}/{file.name}" for file in place.glob("metadata/*.metadata.json"))]
        found = foreign_table([*keys, *(name for name in FOREIGN_LOGS if (place / name).exists())])
        if found is not None:
            raise IndexTablesError(f"{place} cannot be imported as files, because {found}")


def _nothing_in(path: Path, why: str) -> IndexTablesError:
    return IndexTablesError(f"there is no file to import in {path}: {why}; say what the files are with --format NAME")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {pluralize(more, 'other file')}" if more > 0 else "")


def note_on_left_out(names: Sequence[str]) -> str:
    """What is said of files in directories that are not imported.

    >>> note_on_left_out(["orders/README.md"])
    'note: 1 file was left out, because its extension is not known: orders/README.md'
    """
    was, its = agreeing(len(names), "was", "were"), agreeing(len(names), "its", "their")
    return (
        f"note: {pluralize(len(names), 'file')} {was} left out, because {its} extension is not known: {_listed(names)}"
    )


def _standard_input(scratch: Path) -> InputFile:
    file = scratch / "input"
    with file.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, length=1 << 20)
    with file.open("rb") as content:
        start = content.read(4)
    ending = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), "")
    return InputFile(file.rename(scratch / f"input{ending}"), "standard input")


def _seekable(file: InputFile, format_: str | None, unpacked: Path) -> InputFile:
    """The file, unpacked if its format cannot be read from the beginning to the end."""
    if file.path.suffix.lower() not in _COMPRESSED or (format_ or _known_format(file.name)) not in COLUMNAR:
        return file
    try:
        with pa.input_stream(str(file.path)) as packed, unpacked.open("wb") as plain:
            shutil.copyfileobj(packed, plain, length=1 << 20)
    except (pa.ArrowException, OSError) as error:
        raise IndexTablesError(f"{file} cannot be unpacked: {error}") from error
    return InputFile(unpacked, file.name)
