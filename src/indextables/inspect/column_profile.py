"""Column statistics for choosing a layout: from the log, or else from a sample of rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import sqrt

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConfigError
from indextables.kernels import sum_of
from indextables.layout import Identity
from indextables.log import Snapshot
from indextables.log.actions import Metadata
from indextables.log.logical_partitions import explode_logical_partitions
from indextables.log.split_bounds import partition_value
from indextables.log.splits import live_rows, partition_terms, statistic
from indextables.maintain.copy_rows import refs_to
from indextables.read.opener import SplitOpener

_SAMPLED_SPLITS = 8
_SAMPLED_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """About how many values a column has, and the least and the greatest of them where they are known."""

    name: str
    type: pa.DataType
    distinct: int
    low: pa.Scalar | None = None
    high: pa.Scalar | None = None


@dataclass(frozen=True, slots=True)
class TableProfile:
    rows: int
    bytes: int
    columns: Mapping[str, ColumnProfile]

    def with_rows(self, expected: int) -> "TableProfile":
        """The profile of a table of such rows, in another number.

        Columns keep their values and their range; only those with a value for every other row at least get more values.
        """
        if isinstance(expected, bool) or not isinstance(expected, int) or expected < 1:
            raise ConfigError(
                f"expected_rows is {expected!r}, but must be a whole number of at least 1",
                key="expected_rows",
                value=str(expected),
            )
        if not self.rows:
            raise ConfigError(
                "expected_rows is for a table with some rows, and this one has none: write a sample of them first, for the "
                "sizes and values of its columns",
                key="expected_rows",
                value=str(expected),
            )
        columns = {
            name: replace(column, distinct=max(1, column.distinct * expected // self.rows))
            if self.rows < 2 * column.distinct
            else column
            for name, column in self.columns.items()
        }
        return TableProfile(expected, self.bytes * expected // self.rows, columns)


def profile(snapshot: Snapshot, columns: Iterable[str], opener: SplitOpener) -> TableProfile:
    """The profile of some columns; a few splits are read for those that are not in the layout."""
    splits, schema = snapshot.splits, snapshot.metadata.arrow_schema()
    rows = _rows(splits, snapshot.metadata, opener)
    known = {column: _values_in_log(snapshot, column) for column in columns}
    uncounted = [column for column, values in known.items() if values is None]
    sampled = _sample(splits, uncounted, snapshot.metadata, opener) if uncounted else {}
    profiles = {}
    for column, values in known.items():
        low, high = _ends(splits, column)
        distinct = len(values) if values is not None else _distinct(sampled.get(column), rows)
        profiles[column] = ColumnProfile(column, schema.field(column).type, max(1, distinct), low, high)
    return TableProfile(rows, sum_of(splits["size"]), profiles)


def _rows(splits: pa.Table, metadata: Metadata, opener: SplitOpener) -> int:
    """The rows of all splits; where the log has no counts, estimated from the sizes of some of these splits."""
    counted, uncounted = (
        splits.filter(known) for known in (splits["num_records"].is_valid(), splits["num_records"].is_null())
    )
    rows = sum_of(live_rows(counted))
    if not len(uncounted):
        return rows
    some = list(refs_to(_spread(uncounted), metadata))
    seen, size = sum(opener.open(split).num_rows for split in some), sum(split.size for split in some)
    return rows + round(seen * int(pc.sum(uncounted["size"]).as_py()) / max(1, size))


def _spread(splits: pa.Table) -> pa.Table:
    """Some splits from all over the table."""
    step = max(1, len(splits) // _SAMPLED_SPLITS)
    return splits.take(pa.array(range(0, len(splits), step)[:_SAMPLED_SPLITS], pa.int64()))


def _values_in_log(snapshot: Snapshot, column: str) -> pa.Array | None:
    """All values of a column that the table is partitioned by; None where it is not, or not everywhere."""
    parts = explode_logical_partitions(snapshot.splits, snapshot.metadata).table
    for term, field in partition_terms(snapshot.metadata).items():
        if field.source == column and isinstance(field.transform, Identity):
            value, known = partition_value(parts, term)
            return value.unique() if pc.all(known).as_py() and len(parts) else None
    return None


def _ends(splits: pa.Table, column: str) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    lower, upper = statistic(splits, "min", column), statistic(splits, "max", column)
    if lower is None or upper is None:
        return None, None
    low, high = pc.min(lower), pc.max(upper)
    return (low if low.is_valid else None), (high if high.is_valid else None)


def _sample(
    splits: pa.Table, columns: list[str], metadata: Metadata, opener: SplitOpener
) -> dict[str, pa.ChunkedArray]:
    """Some rows of splits from all over the table."""
    found: dict[str, list[pa.Array]] = {column: [] for column in columns}
    for split in refs_to(_spread(splits), metadata):
        reader = opener.open(split)
        have = [column for column in columns if column in reader.schema.names]
        seen = 0
        for batch in reader.read(have) if have else ():
            for column in have:
                found[column].append(batch.column(column))
            seen += batch.num_rows
            if seen >= _SAMPLED_ROWS:
                break
    return {column: pa.chunked_array(arrays) for column, arrays in found.items() if arrays}


def _distinct(sample: pa.ChunkedArray | None, rows: int) -> int:
    """An estimate of how many values a column has: those seen once stand for those not seen (the GEE estimator)."""
    if sample is None or not len(sample):
        return 1
    counts = sample.combine_chunks().value_counts().field("counts")
    once = sum_of(pc.equal(counts, 1))
    unseen = sqrt(max(1.0, rows / len(sample))) * once
    return min(max(1, rows), round(unseen) + len(counts) - once)
