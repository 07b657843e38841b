"""From batches of rows to one split on local disk."""

import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.search.field_rules import FieldRule
from indextables.split.format import INDEX_KEY, TRAILER, IndexSection, footer_start, seal
from indextables.split.index import IndexBuilder, pack
from indextables.split.statistics import Statistics
from indextables.storage.local import TEMPORARY

_BACKLOG = 8  # row groups that wait to be written as Parquet while others are indexed
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - Linux's disk in memory; a directory of our own is made in it
_INDEX_PER_BYTE = 16  # more than any index takes for a byte of its rows
_SPARE_MEMORY = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """The physical layout of a split; see docs/decisions/0005-row-groups.md."""

    row_group_rows: int = 8192
    compression: str = "zstd"


@dataclass(frozen=True, slots=True)
class SplitSummary:
    """What the log records of a split. `footer` and `index` are the first byte and the one after the last."""

    num_records: int
    size: int
    uncompressed_bytes: int
    footer: tuple[int, int]
    index: tuple[int, int]
    statistics: Statistics
    time_range: tuple[int, int] | None


def write_split(
    batches: Iterable[pa.RecordBatch],
    path: Path,
    *,
    schema: pa.Schema,
    rules: Mapping[str, FieldRule],
    options: SplitOptions | None = None,
) -> SplitSummary:
    """Writes rows, at least one, to a local file; nothing is left of it if it fails.

    >>> import tempfile
    >>> from indextables.search import resolve
    >>> rows = pa.record_batch({"level": ["INFO", "ERROR"], "message": ["started", "disk full"]})
    >>> path = Path(tempfile.mkdtemp(), "part-0.split")
    >>> facts = write_split([rows], path, schema=rows.schema, rules=resolve(rows.schema, {"message": "text"}))
    >>> facts.num_records, facts.statistics.min_values()["level"], facts.size == path.stat().st_size
    (2, 'ERROR', True)
    >>> pq.read_table(path).num_rows
    2
    """
    options = options or SplitOptions()
    groups = _row_groups(batches, schema, options.row_group_rows)
    first = list(islice(groups, 2))
    place = _scratch_place(first, otherwise=path.parent)
    try:
        with _scratch_directory(place) as scratch, pa.OSFile(str(path), "wb") as sink:
            index = IndexBuilder(Path(scratch), schema=schema, rules=rules)
            with pq.ParquetWriter(sink, schema, **_parquet_options(first[0], options)) as parquet:
                seen = _write_rows(chain(first, groups), parquet, index)
                index.close(name=str(path))
                section = pack(Path(scratch), sink, rules=rules)
                parquet.add_key_value_metadata({INDEX_KEY: section.to_json()})
        return _facts(path, section, seen, start=_write_checksum(path))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _scratch_directory(place: Path) -> Iterator[str]:
    """A directory that is deleted at the end. tantivy's last thread may still create a lock file while it is: try again."""
    with TemporaryDirectory(prefix=TEMPORARY, dir=place, ignore_cleanup_errors=True) as scratch:
        yield scratch
    shutil.rmtree(scratch, ignore_errors=True)


def _scratch_place(first: Sequence[pa.RecordBatch], *, otherwise: Path) -> Path:
    """The directory in which the index of a split is built: in memory, if it has only one row group.

    tantivy flushes its files to disk, which took 100 of the 115 ms that a split of 100 rows needs.
    """
    if not first:
        raise ValueError("a split has at least one row")
    needed = _INDEX_PER_BYTE * first[0].nbytes + _SPARE_MEMORY
    small = len(first) == 1 and os.access(_MEMORY_DISK, os.W_OK)
    return _MEMORY_DISK if small and shutil.disk_usage(_MEMORY_DISK).free > needed else otherwise


@dataclass(frozen=True, slots=True)
class _Seen:
    """Statistics of the rows that have been written."""

    statistics: Statistics
    bytes: int

    def and_then(self, other: "_Seen") -> "_Seen":
        return _Seen(self.statistics.merged(other.statistics), self.bytes + other.bytes)


def _write_rows(groups: Iterable[pa.RecordBatch], parquet: pq.ParquetWriter, index: IndexBuilder) -> _Seen:
    """Writes row groups in one thread, and feeds the index in this one."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[_Seen]] = deque()
        done: list[_Seen] = []
        for group in groups:
            waiting.append(pool.submit(_write_group, parquet, group))
            index.add(group)
            if len(waiting) > _BACKLOG:
                done.append(waiting.popleft().result())
        done.extend(future.result() for future in waiting)
    return reduce(_Seen.and_then, done)


def _write_group(parquet: pq.ParquetWriter, group: pa.RecordBatch) -> _Seen:
    parquet.write_table(pa.Table.from_batches([group]), row_group_size=group.num_rows)
    return _Seen(Statistics.of(group), group.nbytes)


def _row_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `rows`; the last one may have fewer."""
    pending: list[pa.RecordBatch] = []
    missing = rows
    for given in batches:
        batch = given if given.schema.equals(schema) else given.cast(schema)
        while batch.num_rows >= missing:
            yield pa.concat_batches([*pending, batch.slice(0, missing)])
            batch, pending, missing = batch.slice(missing), [], rows
        if batch.num_rows:
            pending.append(batch)
            missing -= batch.num_rows
    if pending:
        yield pa.concat_batches(pending)


def _parquet_options(first: pa.RecordBatch, options: SplitOptions) -> dict[str, object]:
    """Dictionaries for columns whose values repeat, going by the first row group; differences for other whole numbers.

    Timestamps rarely repeat and mostly grow.
    """
    instants = {field.name for field in first.schema if pa.types.is_timestamp(field.type)}
    unique = {name for name in first.schema.names if _is_mostly_unique(first[name])} - instants
    numbers = {name for name in unique if pa.types.is_integer(first.schema.field(name).type)}
    return {
        "compression": options.compression,
        "use_dictionary": [name for name in first.schema.names if name not in instants | unique],
        "column_encoding": dict.fromkeys(instants | numbers, "DELTA_BINARY_PACKED") or None,
        "write_page_checksum": True,
    }


def _is_mostly_unique(column: pa.Array) -> bool:
    return bool(2 * pc.count_distinct(column, mode="only_valid").as_py() > len(column) - column.null_count > 0)


def _write_checksum(path: Path) -> int:
    """Writes the checksum into the footer; returns the offset of the footer."""
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(size - TRAILER)
        start = footer_start(file.read(), size=size, name=str(path))
        file.seek(start)
        place, checksum = seal(file.read())
        file.seek(start + place)
        file.write(checksum)
    return start


def _facts(path: Path, section: IndexSection, seen: _Seen, *, start: int) -> SplitSummary:
    size = path.stat().st_size
    return SplitSummary(
        num_records=seen.statistics.rows,
        size=size,
        uncompressed_bytes=seen.bytes,
        footer=(start, size),
        index=(section.offset, section.end),
        statistics=seen.statistics,
        time_range=seen.statistics.time_range(),
    )
