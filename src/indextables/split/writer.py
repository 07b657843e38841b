"""From batches of rows to one split on local disk."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.arrow_features import HAS_ROW_LIMIT_OF_PAGES
from indextables.search.field_rules import FieldRule
from indextables.search.term_filter import SplitTerms
from indextables.search.text_fields import Shape, shape, text_columns
from indextables.split.exact_index import ExactIndex, Kind, build, is_mostly_unique
from indextables.split.format import INDEX_KEY, ExactColumn, IndexSection, PackedFile, seal
from indextables.split.statistics import Statistics
from indextables.split.word_index import WordIndexBuilder, WordIndexBuilders, pack

_SAMPLE = 8192
_MAX_BATCH = 128
_FEW_ROWS = 1024
_TEXT_LEVEL = 3  # of LZ4: a tenth smaller than the default, and a quarter of its speed


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """The physical layout of a split, the kinds of exact indexes by column, and the size that the term filter may have.

    See docs/decisions/0021-exact-indexes-and-pages.md and docs/decisions/0022-term-filters-in-the-log.md.
    """

    row_group_rows: int = 131_072
    page_bytes: int = 24 * 1024
    page_rows: int = 4096
    compression: str | None = None  # a codec for all columns; else LZ4 or zstd, by column
    exact: Mapping[str, Kind] = field(default_factory=dict)
    term_filter_bytes: int = 4096


@dataclass(frozen=True, slots=True)
class SplitSummary:
    """What the log records of a split. `footer` and `index` are the first byte and the one after the last.

    `footer` includes the page indexes before it.
    """

    num_records: int
    size: int
    uncompressed_bytes: int
    footer: tuple[int, int]
    index: tuple[int, int]
    statistics: Statistics
    time_range: tuple[str, str] | None
    term_filter: bytes | None


def write_split(
    batches: Iterable[pa.RecordBatch],
    path: Path,
    *,
    schema: pa.Schema,
    rules: Mapping[str, FieldRule],
    options: SplitOptions | None = None,
    builders: WordIndexBuilders | None = None,
) -> SplitSummary:
    """Writes rows, at least one, to a local file, which has the name of the split; nothing is left of it if it fails.

    Whoever writes many splits passes the `builders` of their word indexes.

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
    if builders is None:
        with WordIndexBuilders(path.parent, schema=schema, rules=rules) as own:
            return write_split(batches, path, schema=schema, rules=rules, options=options, builders=own)
    rows = pa.Table.from_batches(
        (batch if batch.schema.equals(schema) else batch.cast(schema) for batch in batches), schema
    )
    if not rows.num_rows:
        raise ValueError("a split has at least one row")
    try:
        return _write(rows, path, rules, options or SplitOptions(), builders)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class _Written:
    """What is known of the rows after they were written."""

    statistics: Statistics
    terms: SplitTerms
    exact: Mapping[str, ExactIndex]


def _write(
    rows: pa.Table,
    path: Path,
    rules: Mapping[str, FieldRule],
    options: SplitOptions,
    builders: WordIndexBuilders,
) -> SplitSummary:
    """Writes Parquet and exact indexes in one thread, and the word index in this one; few rows without a thread."""
    texts = [name for name, _ in text_columns(rows.schema.names, rules)]
    with (
        pa.OSFile(str(path), "wb") as sink,
        pq.ParquetWriter(sink, rows.schema, **_parquet_options(rows, rules, options)) as parquet,
        builders.lease(rows.select(texts).nbytes) if texts else nullcontext() as words,
    ):
        if rows.num_rows <= _FEW_ROWS:
            facts, files = _write_rows(rows, parquet, rules, options), _index_words(rows, words, name=str(path))
        else:
            with ThreadPoolExecutor(1) as pool:
                written = pool.submit(_write_rows, rows, parquet, rules, options)
                files, facts = _index_words(rows, words, name=str(path)), written.result()
        section = _write_index(files, facts.exact, sink, rules, name=path.name)
        term_filter = facts.terms.term_filter(_no_words if words is None else words.terms)
        parquet.add_key_value_metadata({INDEX_KEY: section.to_json()})
    _write_checksum(path, section.end)
    return _summary(path, section, facts.statistics, term_filter, uncompressed=rows.nbytes)


def _no_words(column: str) -> pa.Array:
    raise AssertionError(f"column {column!r} has no words")


def _write_rows(
    rows: pa.Table, parquet: pq.ParquetWriter, rules: Mapping[str, FieldRule], options: SplitOptions
) -> _Written:
    statistics = []
    for start in range(0, rows.num_rows, options.row_group_rows):
        group = rows.slice(start, options.row_group_rows)
        parquet.write_table(group, row_group_size=group.num_rows)
        statistics.append(Statistics.of(group))
    terms = SplitTerms(rows.schema, rules, max_bytes=options.term_filter_bytes)
    terms.observe(rows.to_batches(max_chunksize=_SAMPLE))
    return _Written(reduce(Statistics.merged, statistics), terms, dict(_exact_indexes(rows, rules, options)))


def _exact_indexes(
    rows: pa.Table, rules: Mapping[str, FieldRule], options: SplitOptions
) -> Iterator[tuple[str, ExactIndex]]:
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if shape(rules[name]) is Shape.EXACT:
            index = build(column, options.exact.get(name, Kind.AUTO))
            if index is not None:
                yield name, index


def _index_words(rows: pa.Table, words: WordIndexBuilder | None, *, name: str) -> list[Path]:
    """The files of the word index; none without a builder."""
    if words is None:
        return []
    for batch in rows.to_batches(max_chunksize=_SAMPLE):
        words.add(batch)
    return words.finish(name=name)


def _write_index(
    words: Sequence[Path],
    exact: Mapping[str, ExactIndex],
    sink: pa.NativeFile,
    rules: Mapping[str, FieldRule],
    *,
    name: str,
) -> IndexSection:
    """Appends the files of the index to the sink; returns their positions."""
    start = sink.tell()
    files: list[PackedFile] = [pack(path.name, pa.py_buffer(path.read_bytes()), sink, start) for path in words]
    columns = {}
    for number, (column, index) in enumerate(exact.items()):
        file = f"exact-{number}.arrow"
        files.append(pack(file, index.to_bytes(), sink, start))
        columns[column] = ExactColumn(index.kind, file)
    length = sink.tell() - start
    return IndexSection(offset=start, length=length, files=tuple(files), fields=dict(rules), exact=columns, name=name)


def _parquet_options(rows: pa.Table, rules: Mapping[str, FieldRule], options: SplitOptions) -> dict[str, object]:
    """How columns are encoded, going by the first rows.

    Dictionaries for values that repeat; differences for other whole numbers and for timestamps, which rarely repeat and
    mostly grow; lengths apart from characters for other texts. No bounds of texts: nobody asks for ranges of them.
    """
    first = rows.slice(0, _SAMPLE)
    instants = {field.name for field in rows.schema if pa.types.is_timestamp(field.type)}
    unique = {name for name in rows.schema.names if is_mostly_unique(first[name])} - instants
    numbers = {name for name in unique if pa.types.is_integer(rows.schema.field(name).type)}
    strings = {name for name in unique if pa.types.is_string(rows.schema.field(name).type)}
    texts = {name for name in rows.schema.names if shape(rules[name]) is Shape.WORDS}
    repetitive = [name for name in rows.schema.names if name not in instants and name not in unique]
    return {
        **_compression(rows.schema.names, texts=texts, plain=unique - numbers, codec=options.compression),
        "use_dictionary": repetitive,
        "column_encoding": dict.fromkeys(instants | numbers, "DELTA_BINARY_PACKED")
        | dict.fromkeys(strings, "DELTA_LENGTH_BYTE_ARRAY")
        or None,
        "write_statistics": [name for name in rows.schema.names if name not in texts],
        "write_page_checksum": True,
        "write_page_index": True,
        "data_page_size": options.page_bytes,
        **({"max_rows_per_page": options.page_rows} if HAS_ROW_LIMIT_OF_PAGES else {}),
        "write_batch_size": _rows_per_batch(first, options.page_bytes),
    }


def _compression(names: Sequence[str], *, texts: set[str], plain: set[str], codec: str | None) -> dict[str, object]:
    """LZ4 for columns whose pages are fetched most, and for those that an encoding has made small; zstd for the others.

    See docs/decisions/0023-lz4-for-text.md.
    """
    if codec is not None:
        return {"compression": codec}
    return {
        "compression": {name: "zstd" if name in plain - texts else "lz4" for name in names},
        "compression_level": dict.fromkeys(texts, _TEXT_LEVEL) or None,
    }


def _rows_per_batch(first: pa.Table, page_bytes: int) -> int:
    """The number of rows after which a page may end: a quarter of a page, or less, in the widest column."""
    widest = max(column.nbytes for column in first.columns) / len(first)
    return int(min(_MAX_BATCH, max(1, page_bytes / 4 // widest)))


def _write_checksum(path: Path, tail: int) -> None:
    """Writes the checksum of the tail, which begins at `tail`, into the footer."""
    with path.open("r+b") as file:
        file.seek(tail)
        place, checksum = seal(file.read())
        file.seek(tail + place)
        file.write(checksum)


def _summary(
    path: Path, section: IndexSection, statistics: Statistics, term_filter: bytes | None, *, uncompressed: int
) -> SplitSummary:
    size = path.stat().st_size
    return SplitSummary(
        num_records=statistics.rows,
        size=size,
        uncompressed_bytes=uncompressed,
        footer=(section.end, size),
        index=(section.offset, section.end),
        statistics=statistics,
        time_range=statistics.time_range(),
        term_filter=term_filter,
    )
