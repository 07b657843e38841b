"""One operation in a process of its own: `python -m benchmarks.peers.fresh read|write ...` prints the figures as JSON.

Libraries are imported before the clock starts. What is timed is opening and asking, or one write.
"""

import json
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from benchmarks.memory import peak_memory
from benchmarks.peers.measure import timed
from benchmarks.peers.operations import READS
from benchmarks.peers.systems import BY_NAME, Place

_LIBRARIES = {
    "indextables": ("indextables.read.scan", "indextables.read.top_hits", "indextables.write.write_job"),
    "Lance": ("lance", "lance.query"),
    "Lance, BTREE on trace_id": ("lance", "lance.query"),
    "Parquet": ("pyarrow.dataset",),
    "Parquet and bare tantivy": ("tantivy",),
    "DuckDB over Parquet": ("duckdb",),
    "delta-rs": ("deltalake",),
}


def read(place: str, operation: str, name: str, number: str) -> dict[str, object]:
    """Opens a table and asks once."""
    where, asked = msgspec.json.decode(Path(place).read_bytes(), type=Place), READS[operation]
    answer, seconds, cpu = timed(lambda: asked.ask(BY_NAME[name](where), where, int(number)))
    return {"seconds": seconds, "cpu": cpu, "answer": asked.digest(answer)}


def write(source: str, target: str, partition_by: str, name: str) -> dict[str, object]:
    """Writes the rows of a Parquet file; `added_mb` is how much the peak of memory grew."""
    data = pq.read_table(source)
    before = peak_memory()
    _, seconds, cpu = timed(lambda: BY_NAME[name].write(data, target, partition_by))
    peak, written = peak_memory(), f"{BY_NAME[name].count(target):,} rows"
    return {"seconds": seconds, "cpu": cpu, "peak_mb": peak, "added_mb": peak - before, "answer": written}


def _import_libraries(name: str) -> None:
    for library in _LIBRARIES[name]:
        __import__(library)


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    _import_libraries(arguments[2] if verb == "read" else arguments[3])
    print(json.dumps({"read": read, "write": write}[verb](*arguments)))
