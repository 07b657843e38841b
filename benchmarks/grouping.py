"""Rows per second when a batch is grouped by its partitions: 1,000,000 rows over 1,000 tuples.

python -m benchmarks.grouping
"""

import random
from time import perf_counter

import pyarrow as pa

from indextables.layout import Layout, group

ROWS = 1_000_000
REGIONS, DAYS = 10, 100
MICROSECONDS_PER_DAY = 86_400_000_000


def run(*, repetitions: int = 3) -> dict[str, float]:
    rows, layout = _log_lines(), Layout.parse("region, day(ts)")
    shuffled = min(_seconds(rows, layout) for _ in range(repetitions))
    by_partition = rows.sort_by([("region", "ascending"), ("ts", "ascending")])
    by_partition = min(_seconds(by_partition, layout) for _ in range(repetitions))
    figures = {"shuffled rows/s": ROWS / shuffled, "sorted rows/s": ROWS / by_partition}
    for name, figure in figures.items():
        print(f"grouping, {name:16} {figure:>12,.0f}")
    return figures


def _seconds(rows: pa.Table, layout: Layout) -> float:
    start = perf_counter()
    groups = list(group(rows, layout))
    elapsed = perf_counter() - start
    assert len(groups) == REGIONS * DAYS
    return elapsed


def _log_lines() -> pa.Table:
    chance = random.Random(7)
    return pa.table(
        {
            "region": [f"region-{chance.randrange(REGIONS)}" for _ in range(ROWS)],
            "ts": pa.array(
                [chance.randrange(DAYS * MICROSECONDS_PER_DAY) for _ in range(ROWS)], pa.timestamp("us", "UTC")
            ),
            "id": range(ROWS),
            "message": [f"request {n} answered in {n % 997} ms" for n in range(ROWS)],
        }
    )


if __name__ == "__main__":
    run()
