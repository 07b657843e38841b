"""The load scenarios in their tiny form: they run, and they fail where something is wrong."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.load import appends, cells, columns, splits, steady
from benchmarks.load.__main__ import SCENARIOS, main
from benchmarks.load.children import ChildError
from benchmarks.load.figures import Figures
from benchmarks.load.invariants import BrokenInvariantError, bounded, each_once
from indextables.table import IndexTable
from tests.tiers import slow


@slow("load scenarios, each as a process")
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--size", "tiny", "--json", str(tmp_path / "figures.json"), "--directory", str(tmp_path)])
    assert f"{name}, tiny" in capsys.readouterr().out
    assert '"rows"' in (tmp_path / "figures.json").read_text()


@pytest.mark.parametrize(
    ("ids", "why"),
    [([0, 1, 3], "the ids are"), ([0, 1, 1], "1 of 3 rows are doubled"), ([0, 1], "1 of 3 rows are lost")],
)
def test_rows_that_are_lost_or_doubled(ids: list[int], why: str) -> None:
    with pytest.raises(BrokenInvariantError, match=why):
        each_once(pa.chunked_array([ids]), 3)


def test_growth_that_is_not_explained() -> None:
    bounded("memory", [100, 110, 120, 180], slack=100)
    with pytest.raises(BrokenInvariantError, match="memory grew from 100 to 300; 200 is explained"):
        bounded("memory", [100, 200, 300], slack=100)


def test_a_doubled_append_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = IndexTable.append

    def twice(table: IndexTable, data: pa.Table) -> int:
        append(table, data)
        return append(table, data) if data["id"][0].as_py() == 2 else table.version

    monkeypatch.setattr(IndexTable, "append", twice)
    with pytest.raises((BrokenInvariantError, ChildError), match=r"doubled|rows, and"):
        appends.run(appends.SIZES["tiny"], tmp_path, Figures("doubled", "tiny"))


def test_a_reader_notices_a_row_that_is_lost(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", appends.SCHEMA, fields={"message": "text"})
    table.append(appends.rows(0, 1))
    look = steady.follow(table.path)
    assert look() == 1
    table.append(appends.rows(2, 1))
    with pytest.raises(BrokenInvariantError, match="version 2 has 2 rows, and its last id is 2"):
        look()


@pytest.mark.parametrize("scenario", [columns, cells])
def test_a_wrong_row_is_noticed(scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merge = IndexTable.merge_splits

    def losing(table: IndexTable, **options: Any) -> object:
        done = merge(table, **options)
        table.overwrite(table.scan(limit=3).to_arrow())
        return done

    monkeypatch.setattr(IndexTable, "merge_splits", losing)
    with pytest.raises(BrokenInvariantError, match="a merge changed"):
        scenario.run(scenario.SIZES["tiny"], tmp_path, Figures("wrong", "tiny"))


def grown(**columns_of: list[float]) -> Figures:
    figures = Figures("grown", "tiny")
    figures.rows = [dict(zip(columns_of, values, strict=True)) for values in zip(*columns_of.values(), strict=True)]
    return figures


def test_each_scenario_bounds_what_it_measures() -> None:
    few, more = [10.0, 10.0, 10.0], [10.0, 10.0, 1000.0]
    steady_figures = {"appends": few, "splits": few, "append p50 ms": few}
    memory = {f"{process} MB": few for process in ("writer", "reader", "compaction", "vacuum")}
    slow_steps = Figures("steps", "tiny", [{"step": "x", "CPU s": 1e6, "peak MB": 1e6}])
    for check in (
        lambda: appends.check(grown(versions=few, **{"append CPU p50 ms": more})),
        lambda: appends.check(grown(versions=few, **{"append CPU p50 ms": few, "reader MB": more})),
        lambda: steady.check(grown(**steady_figures, **memory | {"vacuum MB": more})),
        lambda: steady.check(grown(**{**steady_figures, "splits": more}, **memory)),
        lambda: columns.check(slow_steps, columns.SIZES["tiny"]),
        lambda: splits.check(slow_steps, 1000),
        lambda: cells.check(slow_steps, 1),
    ):
        with pytest.raises(BrokenInvariantError, match="explained|in spite of"):
            check()


def test_a_wrong_count_of_splits_is_noticed(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", splits.SCHEMA, partition_by="app, day")
    with pytest.raises(BrokenInvariantError, match="the count is wrong"):
        splits.read(table.path, 1)
