"""Merging while others write: no append fails, and every row is there once."""

from collections import Counter
from pathlib import Path

import pyarrow as pa

from indextables import IndexTable
from tests.torture.race import in_parallel

SCHEMA = pa.schema({"day": pa.string(), "writer": pa.int64(), "n": pa.int64(), "message": pa.string()})
DAYS = ("mon", "tue")


def merge_beside_writers(table: Path, writers: int, appends: int) -> dict[str, int]:
    """Figures of the merges, once every row has been found exactly once, by scan, search and count."""
    created = IndexTable.create(table, SCHEMA, partition_by="day", fields={"message": "text"})
    in_parallel(_work, [(table, worker, appends, writers) for worker in range(writers + 1)])
    after = created.refresh()
    rows = after.scan(columns=["writer", "n"]).to_arrow().to_pylist()
    expected = Counter((writer, n) for writer in range(writers) for n in range(2 * appends))
    assert Counter((row["writer"], row["n"]) for row in rows) == expected
    assert after.count() == after.count(query="message:row") == sum(expected.values())
    assert after.count("day = 'mon'") == writers * appends
    operations = Counter(after.history()["operation"].to_pylist())
    assert operations["APPEND"] == writers * appends
    return {"appends": operations["APPEND"], "merges": operations["MERGE SPLITS"], "splits": len(after.splits())}


def _work(table: Path, worker: int, appends: int, writers: int) -> None:
    if worker < writers:
        _append(table, worker, appends)
    else:
        _merge(table, writers * appends * len(DAYS))


def _append(table: Path, worker: int, appends: int) -> None:
    handle = IndexTable.open(table, options={"commit.maxRetries": "100"})
    for number in range(appends):
        numbers = [2 * number, 2 * number + 1]
        rows = {"day": DAYS, "writer": [worker] * 2, "n": numbers, "message": [f"row {n}" for n in numbers]}
        handle.append(pa.table(rows, schema=SCHEMA))


def _merge(table: Path, rows: int) -> None:
    """Merges again and again, the last time the version that has all rows."""
    handle = IndexTable.open(table, options={"commit.maxRetries": "100"})
    appended = 0
    while appended < rows:
        appended = handle.refresh().count()
        result = handle.merge_splits()
        assert result.conflicts == ()
