"""Huge cells, of text and of bytes, among small ones: every operation works, and takes a bounded multiple of their size."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.load.figures import Figures, progress
from benchmarks.load.invariants import require
from benchmarks.load.steps import Steps
from indextables.table import IndexTable

SCHEMA = pa.schema({"id": pa.int64(), "body": pa.string(), "raw": pa.binary(), "tag": pa.string()})
STEPS = 8
MOST = 12  # times the bytes of the cells that a step handles may be in memory: rows, pages, documents, the index


@dataclass(frozen=True)
class Size:
    cell: int
    huge: int
    small: int


SIZES = {"tiny": Size(300_000, 1, 20), "small": Size(10_000_000, 2, 1000), "full": Size(50_000_000, 4, 10_000)}


def run(size: Size, directory: Path, figures: Figures) -> None:
    data = rows(size)
    middle, cells = len(data) // 2, data.nbytes / 1024**2
    with progress("cells", STEPS) as advance:
        steps = Steps(figures, advance)
        table = IndexTable.create(directory / "cells", SCHEMA, fields={"body": "text"})
        steps.run("write one half", lambda: table.append(data.slice(0, middle)))
        steps.run("write the other half", lambda: table.append(data.slice(middle)))
        scanned = steps.run("scan", lambda: table.scan().to_arrow())
        require(scanned.sort_by("id").equals(data), "a scan gives other cells")
        del scanned
        one = steps.run("look up a small row", lambda: table.scan(where="id = 1", columns=["tag"]).to_arrow())
        require(one["tag"].to_pylist() == ["tag-1"], "a small row is another one")
        huge = steps.run("look up a huge row", lambda: table.scan(where="id = 0").to_arrow())
        require(huge.equals(data.slice(0, 1)), "a huge row is another one")
        hits = steps.run("search a word of huge cells", lambda: table.search("body:needle", limit=100, columns=["id"]))
        require(sorted(hits["id"].to_pylist()) == huge_ids(size), "a search finds other rows")
        steps.run("merge", lambda: table.merge_splits(target_size="2G"))
        require(len(table.splits()) == 1, "the splits are not merged")
        merged = steps.run("scan what was merged", lambda: table.scan().to_arrow())
        require(merged.sort_by("id").equals(data), "a merge changed cells")
    figures.facts = {"cells MB": round(cells, 1), "most times": round(max(figures.column("peak MB")) / cells, 1)}
    check(figures, cells)


def huge_ids(size: Size) -> list[int]:
    """The rows with huge cells: the first, and others at even distances."""
    return list(range(0, size.huge * (size.small + 1), size.small + 1))


def rows(size: Size) -> pa.Table:
    """Rows of small cells, and after so many of them a row of huge ones."""
    words = np.random.default_rng(7).integers(0, 50_000, size.cell // 8)
    text = " ".join(map("{:07}".format, words)) + " needle"
    raw = np.random.default_rng(8).bytes(size.cell)
    huge, count = set(huge_ids(size)), size.huge * (size.small + 1)
    return pa.table(
        {
            "id": range(count),
            "body": [text if i in huge else f"small body {i}" for i in range(count)],
            "raw": [raw if i in huge else i.to_bytes(8) for i in range(count)],
            "tag": [f"tag-{i}" for i in range(count)],
        },
        SCHEMA,
    )


def check(figures: Figures, cells: float) -> None:
    for row in figures.rows:
        allowed = 150 + MOST * cells
        require(row["peak MB"] <= allowed, f"{row['step']} took {row['peak MB']} MB; {allowed:.0f} are explained")
