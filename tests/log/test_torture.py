"""A short version of `make torture`, which see for the long one."""

from pathlib import Path

import pytest

from tests.tiers import slow, slow_after
from tests.torture.crash import kill_at_any_moment, kill_at_every_step
from tests.torture.race import append_from_many_processes, mix_operations

KILLS = "more kills"


@pytest.mark.parametrize(("workers", "appends"), slow_after(1, [(4, 10), (16, 10)], "more processes"))
def test_processes_lose_nothing(tmp_path: Path, workers: int, appends: int) -> None:
    assert append_from_many_processes(tmp_path / "t", workers=workers, appends=appends) == workers * appends


@slow("mixes of operations in many processes")
def test_a_mix_of_operations_is_serial(tmp_path: Path) -> None:
    assert sum(mix_operations(tmp_path / "t", workers=8, operations=3).values()) == 24


@pytest.mark.parametrize("kills", slow_after(1, [4, 25], KILLS))
def test_a_killed_writer_leaves_a_table_that_opens(tmp_path: Path, kills: int) -> None:
    assert kill_at_every_step(tmp_path, kills=kills)["kills"] == kills


@pytest.mark.parametrize("kills", slow_after(1, [2, 10], KILLS))
def test_a_writer_killed_from_outside_leaves_a_table_that_opens(tmp_path: Path, kills: int) -> None:
    kill_at_any_moment(tmp_path, kills=kills)
