"""Lines of files that cannot be read: counted and kept in a file (`--bad-lines skip`)."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from indextables.cli.input_files import InputFile
from indextables.errors import ConfigError, IndexTablesError
from indextables.plural import agreeing, pluralize


@dataclass(slots=True)
class BadLines:
    """The lines that were left out so far, and what is wrong with the first one."""

    path: Path
    keep: bool
    count: int = 0
    first: str | None = None
    _kept: IO[bytes] = field(default_factory=TemporaryFile)
    _header: bytes = b""
    _saved: bool = False

    def restart(self) -> None:
        """Forgets all lines: what was read until now was a sample."""
        self.count, self.first, self._header = 0, None, b""
        self._kept.truncate(self._kept.seek(0))

    def add(
        self, line: bytes, objection: Callable[[], IndexTablesError | None], file: InputFile, *, header: bytes = b""
    ) -> None:
        """Adds a line; in CSV, the header comes before the first line of files that have it."""
        if self.count == 0:
            self.first = str(objection() or f"{file} has a line that cannot be read")
        if header != self._header:
            self._kept.write(header + b"\n")
            self._header = header
        self._kept.write(line + b"\n")
        self.count += 1

    def finish(self, rows: int) -> None:
        """Saves the lines, once all files are read; where there are no others, this is an error."""
        if self.count and not rows:
            raise IndexTablesError(f"none of {pluralize(self.count, 'line')} can be read; the first: {self.first}")
        if self.count and self.keep:
            self._kept.seek(0)
            with self.path.open("xb") as saved:
                self._saved = True
                shutil.copyfileobj(self._kept, saved)

    def discard(self) -> None:
        if self._saved:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        self._kept.close()

    def facts(self) -> dict[str, Any]:
        """What is said of the lines to scripts."""
        kept = str(self.path) if self.count and self.keep else None
        return {"count": self.count, "file": kept, "first": self.first}

    def note(self) -> str:
        """What is said of the lines."""
        lines, was = pluralize(self.count, "line"), agreeing(self.count, "was", "were")
        place = f"; {agreeing(self.count, 'it is', 'they are')} in {self.path}" if self.keep else ""
        return f"note: {lines} could not be read and {was} left out{place}; the first: {self.first}"


@contextmanager
def bad_lines(path: Path, *, keep: bool) -> Iterator[BadLines]:
    """Bad lines, to be kept at a path; if the import fails, nothing is kept."""
    if path.exists():
        raise ConfigError(
            f"there is a file {path} already; move it away, or name another one for the bad lines with --bad-lines-file",
            key="--bad-lines-file",
            value=str(path),
        )
    found = BadLines(path, keep)
    try:
        yield found
    except BaseException:
        found.discard()
        raise
    finally:
        found.close()
