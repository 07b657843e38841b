"""What the engine costs by itself: the time to import and open a table, and the memory of a task with 1,000 partitions.

`python -m benchmarks.engine`. Writes, searches, lookups and scans beside other systems are in `benchmarks.peers`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from statistics import median

import pyarrow as pa

from benchmarks.memory import peak_memory
from benchmarks.peers.lines import chunks
from indextables import IndexTable

ROWS = 2_000_000
PARTITIONS = 1_000
REPETITIONS = 5


def run() -> dict[str, str]:
    return {"import and open a small table, ms": _import_time(), **_memory()}


def _import_time() -> str:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        IndexTable.create(name, pa.schema({"x": pa.string()})).append(pa.table({"x": ["a"]}))
        opening = f"from indextables import IndexTable; IndexTable.open({name!r})"
        code = f"from time import perf_counter as t; a = t(); {opening}; print(t() - a)"
        command = [sys.executable, "-c", code]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(REPETITIONS)]
    milliseconds = [float(seconds) * 1000 for seconds in runs]
    return f"{median(milliseconds):.3g} ({min(milliseconds):.3g} to {max(milliseconds):.3g})"


def _memory() -> dict[str, str]:
    """Peak memory of a task that meets 1,000 partitions in 2,000,000 rows, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.engine", "--partitions"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"peak memory of a task with 1,000 partitions, MB": done.stdout.strip()}


def _write_partitions() -> None:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        schema = next(chunks(1)).schema.append(pa.field("part", pa.int64()))
        table = IndexTable.create(name, schema, partition_by="part", fields={"message": "text"})
        table.append(_batches())
        assert len(table.splits()) == PARTITIONS
    print(f"{peak_memory():.0f}")


def _batches() -> Iterator[pa.RecordBatch]:
    for part in chunks(ROWS):
        numbers = pa.array([row % PARTITIONS for row in range(len(part))])
        yield from part.append_column("part", numbers).to_batches(max_chunksize=65_536)


if __name__ == "__main__":
    if "--partitions" in sys.argv:
        _write_partitions()
    else:
        print(json.dumps(run(), indent=2))
