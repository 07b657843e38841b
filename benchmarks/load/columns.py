"""A table with thousands of columns: the work of every operation grows with their number, not with its square."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.load.figures import Figures, log_files, progress
from benchmarks.load.invariants import require
from benchmarks.load.steps import Steps
from indextables.table import IndexTable

KINDS = (pa.int64(), pa.string(), pa.float64(), pa.timestamp("us", "UTC"))
STEPS = 18
MS_PER_COLUMN = 3  # of CPU time that one operation may take


@dataclass(frozen=True)
class Size:
    columns: int
    rows: int


SIZES = {"tiny": Size(40, 20), "small": Size(500, 1000), "full": Size(2000, 10_000)}


def run(size: Size, directory: Path, figures: Figures) -> None:
    path, data = directory / "columns", rows(size)
    with progress("columns", STEPS) as advance:
        steps = Steps(figures, advance)
        table = steps.run("create", lambda: IndexTable.create(path, data.schema, fields={"c1": "text"}))
        steps.run("write", lambda: table.append(data))
        steps.run("append a row", lambda: table.append(data.slice(0, 1)))
        table = steps.run("open", lambda: IndexTable.open(path))
        require(steps.run("count", table.count) == size.rows + 1, "the count is wrong")
        for name in ("look up a row", "look up a row again"):
            found = steps.run(name, lambda: table.scan(where="c0 = 7").to_arrow())
            require(found.equals(data.slice(7, 1)), f"{name}: it is another row")
        one = steps.run("look up a column of a row", lambda: table.scan(where="c0 = 7", columns=["c2"]).to_arrow())
        require(one.equals(data.slice(7, 1).select(["c2"])), "a column of a row is another one")
        require(len(steps.run("first row", lambda: table.scan(limit=1).to_arrow())) == 1, "there is no first row")
        whole = steps.run("scan all rows", lambda: table.scan().to_arrow())
        require(whole.sort_by("c0").slice(1).equals(data), "a scan gives other rows")
        for name in ("search", "search again"):
            hits = steps.run(name, lambda: table.search("c1:word7"))
            require(hits.drop_columns("_score").equals(data.slice(7, 1)), f"{name}: it finds other rows")
        groups = steps.run("group by a column", lambda: table.scan().group_by("c4").count())
        require(sum(groups["count"].to_pylist()) == size.rows + 1, "the groups lack rows")
        steps.run("health", table.health)
        steps.run("merge two splits", table.merge_splits)
        require(table.scan().to_arrow().sort_by("c0").slice(1).equals(data), "a merge changed rows")
        require(len(table.splits()) == 1, "the splits are not merged")
        steps.run("write a checkpoint", table.checkpoint)
        again = steps.run("open from it", lambda: IndexTable.open(path))
        require(steps.run("count by a condition", lambda: again.count("c0 >= 1")) == size.rows - 1, "a count is wrong")
    figures.facts = log_files(path)
    check(figures, size)


def rows(size: Size) -> pa.Table:
    """Rows of which every column has its own values; `c0` is the number of the row."""
    numbers = pa.array(range(size.rows), pa.int64())
    words = pa.array([f"word{number} of {number % 7}" for number in range(size.rows)])
    of_kind = {kind: words if kind == pa.string() else numbers.cast(kind) for kind in KINDS}
    return pa.table({f"c{i}": of_kind[KINDS[i % len(KINDS)]] for i in range(size.columns)})


def check(figures: Figures, size: Size) -> None:
    """No operation takes more than its share for each column and each cell."""
    allowed = 1 + size.columns * (MS_PER_COLUMN + size.rows * 1e-3) / 1000
    for row in figures.rows:
        require(row["CPU s"] <= allowed, f"{row['step']} took {row['CPU s']} s; {allowed:.2g} s are explained")
