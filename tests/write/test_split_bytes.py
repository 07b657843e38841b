"""Splits have a limit of bytes, whatever the number of their rows is: Arrow has at most 2 GiB of text in an array."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.table import IndexTable

LIMIT = 1_000_000
SCHEMA = pa.schema({"region": pa.string(), "id": pa.int64(), "body": pa.string()})


@pytest.fixture(autouse=True)
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("write.partition_buffer", "write.split_contents", "maintain.bin_packing"):
        monkeypatch.setattr(f"indextables.{module}.MAX_SPLIT_BYTES", LIMIT)


def rows(ids: range, *, size: int, region: str = "eu") -> pa.RecordBatch:
    bodies = [f"{number} ".ljust(size, "x") for number in ids]
    return pa.record_batch([[region] * len(ids), list(ids), bodies], schema=SCHEMA)


def written(path: Path, batches: list[pa.RecordBatch], **options: str) -> IndexTable:
    table = IndexTable.create(path, SCHEMA, partition_by="region")
    table.append(pa.RecordBatchReader.from_batches(SCHEMA, batches), options=options)
    return table


def ids_of(table: IndexTable) -> list[int]:
    return sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())


def sizes_of(table: IndexTable) -> list[int]:
    return table._snapshot.splits["uncompressed_size_bytes"].to_pylist()


def test_a_split_ends_at_the_limit(tmp_path: Path) -> None:
    table = written(tmp_path, [rows(range(40), size=100_000)])
    assert ids_of(table) == list(range(40))
    assert len(table.splits()) == 5
    assert max(sizes_of(table)) <= LIMIT


def test_a_row_beyond_the_limit_is_a_split(tmp_path: Path) -> None:
    batches = [rows(range(1), size=3 * LIMIT), rows(range(1, 3), size=10), rows(range(3, 5), size=2 * LIMIT)]
    table = written(tmp_path, batches)
    assert ids_of(table) == list(range(5))
    assert table.count("id = 4") == 1


@pytest.mark.parametrize("buffer", ["64K", "256K", "256M"])
def test_large_rows_among_many_small_ones(tmp_path: Path, buffer: str) -> None:
    """The size of a partition is estimated from all rows, until it is spilled or may be full."""

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(0, 1000, 100):
            yield rows(range(number, number + 2), size=150_000, region="us")
            yield rows(range(number + 2, number + 100), size=10)

    table = written(tmp_path, list(batches()), **{"spark.indextables.indexWriter.bufferSize": buffer})
    assert ids_of(table) == list(range(1000))
    assert table.count("region = 'us'") == 20


def test_partitions_share_a_split_up_to_the_limit(tmp_path: Path) -> None:
    batches = [rows(range(number, number + 1), size=400_000, region=f"r{number}") for number in range(6)]
    table = written(tmp_path, batches, **{"spark.indextables.coalesce.enabled": "true"})
    assert ids_of(table) == list(range(6))
    assert len(table.splits()) == 3


def test_a_merge_leaves_what_would_not_fit(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="region")
    for number in range(6):
        table.append(pa.Table.from_batches([rows(range(number, number + 1), size=300_000)]))
    merged = table.merge_splits()
    assert (merged.splits_before, merged.splits_after) == (6, 2)
    assert ids_of(table) == list(range(6))
    assert table.merge_splits().merged == 0  # and does not try again
