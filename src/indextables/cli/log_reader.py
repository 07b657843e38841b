"""Plain log files: each line that matches a pattern is a row, and lines that do not match belong to the row before."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.file_reader import (
    BLOCK,
    Reader,
    Types,
    first_refused,
    fits,
    in_columns,
    line_blocks,
    lossy,
    misfit,
    names_in,
    not_utf8,
    place_of,
    read_errors,
    refuse_utf16,
    shortened,
)
from indextables.cli.input_files import InputFile
from indextables.cli.log_patterns import EXAMPLE, PATTERNS, LogPattern, detect_pattern
from indextables.cli.timestamp_columns import TimestampColumn, are_iso
from indextables.errors import IndexTablesError
from indextables.kernels import sum_of
from indextables.plural import agreeing, pluralize
from indextables.values import decode

_DETECTED_BY = 100  # lines
_LONGEST = 4 * BLOCK  # row
_FEW = 10  # times fewer lines than another pattern
_DESCRIBE = f"describe them with --pattern, a regular expression with named groups, as in --pattern {EXAMPLE}"
_INFERRED = (pa.int64(), pa.float64())
_NO_ZONE = pa.timestamp("us")
_NUMBER, _LINE = "\0number", "\0line"


@dataclass(slots=True)
class UnmatchedLines:
    """The lines that did not match the pattern: added to the row before, or left out; and those that matched in part."""

    added: int = 0
    left_out: int = 0
    first: str | None = None
    partial: int = 0
    first_partial: str | None = None

    @property
    def lines(self) -> int:
        return self.added + self.left_out


@dataclass(frozen=True, slots=True)
class LogReader(Reader):
    pattern: LogPattern
    types: Types
    _unmatched: dict[InputFile, UnmatchedLines] = field(default_factory=dict)

    @property
    def unmatched(self) -> UnmatchedLines:
        """The lines of all files that did not match."""
        found = list(self._unmatched.values())
        return UnmatchedLines(
            sum(lines.added for lines in found),
            sum(lines.left_out for lines in found),
            next((lines.first for lines in found if lines.first), None),
            sum(lines.partial for lines in found),
            next((lines.first_partial for lines in found if lines.first_partial), None),
        )

    def columns(self, file: InputFile) -> pa.Schema:
        first = self._first(file)
        if first is None:
            self._refuse_no_match(file)
            return pa.schema([])
        self._refuse_other_pattern(file, first)
        return pa.schema([(name, self._inferred(name, first.column(name))) for name in self.pattern.columns])

    def batches(self, file: InputFile, wanted: pa.Schema, *, strict: bool) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        own = names_in(self.pattern.columns, wanted)
        with read_errors(file, "a log"):
            self._unmatched[file] = UnmatchedLines()
            for rows in self._rows(file, self._unmatched[file]):
                yield self._typed(file, rows, own, wanted)

    def iso_timestamps(self, file: InputFile) -> list[TimestampColumn]:
        """The columns whose texts are timestamps of ISO 8601, unless they have another type."""
        first = self._first(file)
        typed = [name for name in self.pattern.columns if pa.types.is_timestamp(self.types.get(name.lower(), _NO_ZONE))]
        found = [] if first is None else [name for name in typed if are_iso(first.column(name))]
        return [TimestampColumn(name, (name,), None) for name in found]

    def _first(self, file: InputFile) -> pa.RecordBatch | None:
        with read_errors(file, "a log"):
            return next(self._rows(file, UnmatchedLines()), None)

    def _inferred(self, name: str, texts: pa.Array) -> pa.DataType:
        """Numbers where all texts are numbers that lose no digits, or else strings."""
        if name == self.pattern.continued or name == self.pattern.text:  # noqa: PLR1714 - either may be None
            return pa.string()
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        for kind in _INFERRED if texts.null_count < len(texts) else ():
            odd = pc.any(pc.match_substring_regex(texts, lossy(kind) or "")).as_py()
            if not odd and decode(texts, kind).null_count == texts.null_count:
                return kind
        return pa.string()

    def _typed(self, file: InputFile, rows: pa.RecordBatch, own: dict[str, str], wanted: pa.Schema) -> pa.RecordBatch:
        try:
            return in_columns(rows, own, wanted)
        except pa.ArrowInvalid:
            for column, name in own.items():
                kinds = {name: wanted.field(column).type}
                wrong = _first_unfit(rows.select([name]), kinds)
                if wrong is not None:
                    place = place_of(file, rows.column(_NUMBER)[wrong].as_py())
                    raise misfit(place, name, rows.column(name)[wrong].as_py(), kinds[name]) from None
            raise

    def _rows(self, file: InputFile, unmatched: UnmatchedLines) -> Iterator[pa.RecordBatch]:
        """The groups of the lines that match, as strings, with the numbers of the lines."""
        held: pa.RecordBatch | None = None  # the last row of a block, which may go on in the next one
        for lines, is_last in _with_last(_lines_of(file)):
            matched = self._matched(lines)
            block = matched if held is None else pa.concat_batches([held, matched])
            starts = np.flatnonzero(np.asarray(block.column(self.pattern.columns[0]).is_valid()))
            if self.pattern.continued is not None and len(starts) and not is_last:
                block, held = block.slice(0, starts[-1]), block.slice(starts[-1])
                starts = starts[:-1]
                _refuse_endless(file, held)
            else:
                held = None
            yield from self._with_continuations(block, starts, unmatched)

    def _matched(self, lines: pa.RecordBatch) -> pa.RecordBatch:
        groups = self.pattern.match(lines.column(_LINE))
        valid = groups.is_valid()
        columns = [pc.if_else(valid, pc.struct_field(groups, name), None) for name in self.pattern.columns]
        return pa.RecordBatch.from_arrays([*lines.columns, *columns], names=[_NUMBER, _LINE, *self.pattern.columns])

    def _with_continuations(
        self, block: pa.RecordBatch, starts: np.ndarray, unmatched: UnmatchedLines
    ) -> Iterator[pa.RecordBatch]:
        first = int(starts[0]) if len(starts) else len(block)
        continued = self.pattern.continued
        added = len(block) - first - len(starts) if continued is not None else 0
        unmatched.added += added
        unmatched.left_out += len(block) - len(starts) - added
        if unmatched.first is None and len(block) > len(starts):
            other = np.setdiff1d(np.arange(min(len(block), len(starts) + 1)), starts)[0]
            unmatched.first = _shown(block, other)
        if not len(starts):
            return
        rows = block.take(pa.array(starts))
        partial = pc.invert(self.pattern.in_full(rows))
        unmatched.partial += sum_of(partial)
        if unmatched.first_partial is None and (wrong := pc.index(partial, value=True).as_py()) >= 0:
            unmatched.first_partial = _shown(rows, wrong)
        if added and continued is not None:
            texts = pc.coalesce(block.column(continued), block.column(_LINE)).slice(first)
            offsets = pa.array(np.append(starts - first, len(texts)), pa.int32())
            joined = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), "\n")
            rows = rows.set_column(rows.schema.get_field_index(continued), continued, joined)
        yield self._with_nulls(rows)

    def _with_nulls(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        for name in self.pattern.columns:
            if nulls := self.pattern.nulls(name):
                values = rows.column(name)
                values = pc.if_else(pc.is_in(values, pa.array(nulls)), None, values)
                rows = rows.set_column(rows.schema.get_field_index(name), name, values)
        return rows

    def _refuse_no_match(self, file: InputFile) -> None:
        first = next(_lines_of(file), None)
        if first is not None:
            lines = first.column(_LINE).slice(0, _DETECTED_BY)
            raise IndexTablesError(
                f"no line of {file} matches {self.pattern}, which has to match whole lines; the first line is "
                f"{shortened(lines[0].as_py())}; {_advice(lines)}"
            )

    def _refuse_other_pattern(self, file: InputFile, rows: pa.RecordBatch) -> None:
        """Refuses a file whose lines all match in part, or almost all while another pattern matches them in full."""
        in_full = self.pattern.in_full(rows)
        count = sum_of(in_full)
        if count * _FEW > len(rows):
            return
        lines = rows.column(_LINE)
        other = detect_pattern(lines)
        if count and (other is None or other.recognized(lines) < count * _FEW):
            return
        first = _shown(rows, pc.index(in_full, value=False).as_py())
        raise IndexTablesError(
            f"of {pluralize(len(rows), 'line')} of {file} that {agreeing(len(rows), 'begins', 'begin')} with a time, "
            f"{f'only {count:,}' if count else 'none'} {agreeing(count or 1, 'matches', 'match')} {self.pattern} in full; "
            f"the first that does not is {first}; {_advice(lines)}"
        )


def pattern_of(file: InputFile) -> LogPattern:
    """The pattern that the first lines of a file match; an error where none does."""
    with read_errors(file, "a log"):
        first = next(_lines_of(file), None)
    if first is None:
        raise IndexTablesError(f"{file} is empty, so its lines say nothing about their pattern; give --pattern")
    lines = first.column(_LINE).slice(0, _DETECTED_BY)
    pattern = detect_pattern(lines)
    if pattern is None:
        line = lines[0].as_py()
        hint = "use --format json, if each line is an object" if line.startswith("{") else _DESCRIBE
        raise IndexTablesError(
            f"the lines of {file} match none of the patterns {', '.join(PATTERNS)}; the first is {shortened(line)}; {hint}"
        )
    return pattern


def _advice(lines: pa.Array) -> str:
    """Which pattern matches lines, or how to write one."""
    fitting = detect_pattern(lines)
    if fitting is None:
        return f"{_DESCRIBE}; patterns that have a name are {', '.join(PATTERNS)}"
    return (
        f"use --pattern {fitting.name}, which matches {fitting.recognized(lines):,} of {pluralize(len(lines), 'line')}"
    )


def _shown(lines: pa.RecordBatch, index: int) -> str:
    number, line = lines.column(_NUMBER)[index].as_py(), lines.column(_LINE)[index].as_py()
    return f"line {number:,}: {shortened(line)}"


def _lines_of(file: InputFile) -> Iterator[pa.RecordBatch]:
    """The lines of a file that are not blank, with their numbers, in blocks."""
    refuse_utf16(file)
    number = 1
    for block in line_blocks(file, _LONGEST):
        lines = _split(file, block, number)
        numbers = pa.array(np.arange(number, number + len(lines)))
        kept = pc.match_substring_regex(lines, r"\S")
        number += len(lines)
        batch = pa.RecordBatch.from_arrays([numbers, lines], names=[_NUMBER, _LINE]).filter(kept)
        if len(batch):
            yield batch


def _with_last(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Batches, and whether each is the last one."""
    batch = next(batches, None)
    while batch is not None:
        following = next(batches, None)
        yield batch, following is None
        batch = following


def _split(file: InputFile, block: bytes, number: int) -> pa.Array:
    try:
        text = pa.array([block], pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        lines = block.split(b"\n")
        wrong = next(n for n, line in enumerate(lines, number) if line != line.decode(errors="ignore").encode())
        raise not_utf8(place_of(file, wrong), None) from None
    lines = pc.split_pattern(text, "\n").values.cast(pa.string())
    return pc.utf8_rtrim(lines, "\r")


def _first_unfit(rows: pa.RecordBatch, kinds: Types) -> int | None:
    """The first row that cannot be read in this type."""
    numbers = iter(range(len(rows)))
    found = first_refused(numbers, lambda some: fits(lambda: [rows.slice(some[0], len(some))], kinds))
    return found[-1] if found else None


def _refuse_endless(file: InputFile, held: pa.RecordBatch) -> None:
    if held.nbytes > _LONGEST:
        line = held.column(_NUMBER)[0].as_py()
        raise IndexTablesError(
            f"{place_of(file, line)}: none of the {len(held) - 1:,} lines after this one matches the pattern; correct it"
        )
