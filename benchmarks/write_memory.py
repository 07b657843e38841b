"""The memory that one task of a write needs: `python -m benchmarks.write_memory` writes three splits of 1,000,000 log lines.

What the lines themselves need while they are made up is in the first number.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks.memory import peak_memory
from benchmarks.split import log_lines
from indextables import IndexTable

ROWS, TIMES = 250_000, 12


def run() -> str:
    lines = log_lines(ROWS)
    before = peak_memory()

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(TIMES):
            yield from lines.to_batches(max_chunksize=10_000)

    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        table = IndexTable.create(Path(name, "table"), lines.schema, fields={"message": "text"})
        table.append(pa.RecordBatchReader.from_batches(lines.schema, batches()))
        size = TIMES * lines.nbytes / 1e6
        return f"{size:.0f} MB of rows: {before:.0f} MB before, {peak_memory():.0f} MB at the peak"


if __name__ == "__main__":
    print(run())
