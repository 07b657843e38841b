"""Rows that indexes have found in many splits: fetched split by split, and decoded together.

A search finds a few rows in each of many splits. To decode the pages of each split on its own would take longer in Python
than in Arrow.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from indextables.read.scan_spec import ScanSpec
from indextables.read.split_scan import SplitScan, conform
from indextables.search.row_matching import Numbers
from indextables.split import SplitReader
from indextables.split.fetched_rows import FetchedRows, decode_rows

_FEW = 1024  # rows of a split whose pages are kept until they are decoded
_BUNDLE = 16 * 1024 * 1024  # bytes of pages that are kept


@dataclass(frozen=True, slots=True, eq=False)
class FoundRows:
    """Some rows of a split, in pages that are not decoded yet."""

    split_scan: SplitScan
    numbers: Numbers
    pages: FetchedRows

    def batches(self, decoded: pa.Table) -> list[pa.RecordBatch]:
        """The rows of the output, from the decoded pages."""
        rows = self.split_scan.kept(conform(decoded, self.split_scan.scan_spec), self.numbers)
        batches: list[pa.RecordBatch] = self.split_scan.output(rows).to_batches()
        return batches


MatchingRows: TypeAlias = FoundRows | Iterable[pa.RecordBatch]


def find_matching(reader: SplitReader, scan_spec: ScanSpec, *, all_rows_match: bool) -> MatchingRows:
    """The rows of a split that satisfy a predicate: in pages where an index finds few, else batches that are read lazily."""
    split_scan = SplitScan.of(reader, scan_spec, all_rows_match=all_rows_match)
    numbers = split_scan.numbers()
    if numbers is None or len(numbers) > _FEW:
        parts = split_scan.scan_all(None) if numbers is None else split_scan.fetch(numbers, None)
        return (batch for rows in parts for batch in split_scan.output(rows).to_batches())
    return FoundRows(split_scan, numbers, reader.fetch(numbers, split_scan.stored)) if len(numbers) else ()


def decode_found(found: Iterable[MatchingRows], *, threads: int = 1) -> Iterator[Iterable[pa.RecordBatch]]:
    """The rows of each split that has some, in the order of the splits."""
    kept, size = list[FoundRows](), 0
    for one in found:
        if isinstance(one, FoundRows):
            kept.append(one)
            size += one.pages.data.size
            if size <= _BUNDLE:
                continue
        elif not one:
            continue
        yield from _decoded(kept, threads)
        kept, size = [], 0
        if not isinstance(one, FoundRows):
            yield one
    yield from _decoded(kept, threads)


def _decoded(found: Sequence[FoundRows], threads: int) -> Iterator[list[pa.RecordBatch]]:
    tables = decode_rows([one.pages for one in found], threads=threads)
    return (one.batches(table) for one, table in zip(found, tables, strict=True))
