"""Replacing one partition of a hundred, beside an overwrite of the whole table with the same result.

`python -m benchmarks.replace [rows]`; CPU time of the process, medians of interleaved repetitions. A condition that cuts
through a partition, so that half of it is copied, is measured too.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.split import log_lines
from indextables import IndexTable

PARTITIONS = 100
REPETITIONS = 5


class Replacements(msgspec.Struct):
    """The CPU seconds of each way to replace rows; the first one replaces all."""

    rows: int
    seconds: dict[str, float]

    def shares(self) -> dict[str, float]:
        """Each as a share of the overwrite of all."""
        whole = next(iter(self.seconds.values()))
        return {name: spent / whole for name, spent in self.seconds.items()}


def run(rows: int = 1_000_000) -> dict[str, object]:
    found = measured(rows)
    return {
        "rows": found.rows,
        "CPU seconds": {name: round(spent, 3) for name, spent in found.seconds.items()},
        "share of the overwrite": {name: f"{share:.1%}" for name, share in found.shares().items()},
    }


def measured(rows: int) -> Replacements:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        data = _lines(rows)
        hive, hidden = (_table(Path(name, layout), data, layout) for layout in ("part", "truncate(10, n)"))
        one = data.filter(pc.equal(data["part"], 7))
        half = one.filter(pc.less(one["n"], 75))
        dynamic = {"partitionOverwriteMode": "dynamic"}
        seconds = _interleaved(
            {
                "overwrite of all": lambda: hive.overwrite(data),
                "replaceWhere of 1 in 100": lambda: hive.replace_where(one, "part = 7"),
                "dynamic overwrite of 1 in 100": lambda: hive.overwrite(one, options=dynamic),
                "replaceWhere of half a partition": lambda: hidden.replace_where(half, "n >= 70 AND n < 75"),
            },
            afterwards=lambda: hidden.replace_where(one, "n >= 70 AND n < 80"),  # both halves in one split again
        )
    return Replacements(rows, seconds)


def _lines(rows: int) -> pa.Table:
    """Log lines in a hundred partitions of equal size: `part` from 0 to 99, and `n` ten times as fine."""
    number = pc.divide(pc.multiply(pa.arange(0, rows), PARTITIONS * 10), rows)
    return log_lines(rows).append_column("part", pc.divide(number, 10)).append_column("n", number)


def _table(path: Path, data: pa.Table, layout: str) -> IndexTable:
    table = IndexTable.create(path, data.schema, partition_by=layout, fields={"message": "text"})
    table.append(data)
    return table


def _interleaved(works: dict[str, Callable[[], object]], *, afterwards: Callable[[], object]) -> dict[str, float]:
    spent: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPETITIONS):
        for name, work in works.items():
            start = process_time()
            work()
            spent[name].append(process_time() - start)
        afterwards()
    return {name: statistics.median(times) for name, times in spent.items()}


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(run(*map(int, sys.argv[1:])))).decode())
