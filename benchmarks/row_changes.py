"""Rows deleted and upserted in place, beside delta-rs; and what a scan and a count cost with 1 % of the rows deleted.

`python -m benchmarks.row_changes [rows]`; seconds by the clock. Ids are scattered over all of the 100 files, so that each
of them has some of the rows: delta-rs writes no deletion vectors, and so it rewrites the files. Each repetition of a change
has a copy of the table.
"""

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from indextables import IndexTable
from indextables.predicate import Column, In

FILES = 100
REPETITIONS = 5
DELETED, UPSERTED = 1_000, 10_000
_DICE = np.random.default_rng(7)


def run(rows: int = 5_000_000) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        place = Path(name)
        ours, delta = _ours(place / "ours", rows), _delta(place / "delta", rows)
        ids = _DICE.choice(rows, DELETED, replace=False)
        condition = f"id IN ({', '.join(map(str, ids))})"
        source = _upserts(rows)
        return {
            "rows": rows,
            "files": FILES,
            f"delete of {DELETED} ids": _beside(
                ours, delta, lambda path: _open(path).delete(condition), lambda path: DeltaTable(path).delete(condition)
            ),
            f"upsert of {UPSERTED} rows": _beside(
                ours, delta, lambda path: _upsert(path, source), lambda path: _upsert_delta(path, source)
            ),
            "with 1 % of the rows deleted": _with_deleted_rows(ours, rows),
        }


def _rows(ids: np.ndarray) -> pa.Table:
    return pa.table(
        {
            "id": ids,
            "user": [f"user{k % 100_000}@example.org" for k in ids],
            "message": [f"request {k} took {k % 977} ms status {k % 5}" for k in ids],
            "value": ids / 7,
        }
    )


def _ours(path: Path, rows: int) -> Path:
    table = IndexTable.create(path, _rows(np.arange(1)).schema)
    for number in range(FILES):
        table.append(_rows(np.arange(number, rows, FILES)))
    return path


def _delta(path: Path, rows: int) -> Path:
    for number in range(FILES):
        write_deltalake(path, _rows(np.arange(number, rows, FILES)), mode="append")
    return path


def _upserts(rows: int) -> pa.Table:
    """Half of the rows are there already, the others are new."""
    there = _DICE.choice(rows, UPSERTED // 2, replace=False)
    return _rows(np.concatenate([there, np.arange(rows, rows + UPSERTED // 2)]))


def _open(path: Path) -> IndexTable:
    return IndexTable.open(path)


def _upsert(path: Path, source: pa.Table) -> object:
    merge = _open(path).merge(source, "t.id = s.id")
    return merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _upsert_delta(path: Path, source: pa.Table) -> object:
    merge = DeltaTable(path).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    return merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _beside(
    ours: Path, delta: Path, change_ours: Callable[[Path], object], change_delta: Callable[[Path], object]
) -> dict[str, object]:
    """Interleaved; delta-rs, whose spread is small beside the difference, three times."""
    mine, theirs = [], []
    for number in range(REPETITIONS):
        mine.append(_seconds(ours, change_ours))
        if number < REPETITIONS - 2:
            theirs.append(_seconds(delta, change_delta))
    return {
        "seconds": _spread(mine),
        "delta-rs": _spread(theirs),
        "delta-rs / ours": round(statistics.median(theirs) / statistics.median(mine), 1),
    }


def _seconds(table: Path, change: Callable[[Path], object]) -> float:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-", dir=table.parent) as name:
        copy = shutil.copytree(table, Path(name, "table"))
        start = perf_counter()
        change(copy)
        return perf_counter() - start


def _with_deleted_rows(ours: Path, rows: int) -> dict[str, object]:
    copy = shutil.copytree(ours, ours.parent / "deleted")
    table = _open(copy)
    gone = _DICE.choice(rows, rows // 100, replace=False)
    table.delete(In(Column("id"), tuple(pa.array(gone))))
    before, after = _open(ours), _open(copy)
    reads: dict[str, Callable[[IndexTable], object]] = {
        "scan": lambda table: table.scan().to_arrow(),
        "scan of two columns": lambda table: table.scan(columns=["id", "value"]).to_arrow(),
        "scan of half of the rows": lambda table: table.scan(where=f"value < {rows / 14}").to_arrow(),
        "count of all": lambda table: table.count(),
        "count of a tenth": lambda table: table.count(f"value < {rows / 70}"),
    }
    found = {}
    for name, read in reads.items():
        times: dict[str, list[float]] = {"before": [], "after": []}
        for _ in range(2 * REPETITIONS):
            for key, one in (("before", before), ("after", after)):
                start = perf_counter()
                read(one)
                times[key].append(perf_counter() - start)
        ratio = statistics.median(times["after"]) / statistics.median(times["before"])
        found[name] = {key: _spread(taken) for key, taken in times.items()} | {"after / before": round(ratio, 2)}
    return found


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f} to {max(seconds):.3f})"


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:])), indent=2))
