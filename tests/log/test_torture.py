"""A short version of `make torture`, which see for the long one."""

from pathlib import Path

from tests.torture.crash import kill_at_any_moment, kill_at_every_step
from tests.torture.race import append_from_many_processes, mix_operations


def test_processes_lose_nothing(tmp_path: Path) -> None:
    assert append_from_many_processes(tmp_path / "t", workers=16, appends=10) == 160


def test_a_mix_of_operations_is_serial(tmp_path: Path) -> None:
    assert sum(mix_operations(tmp_path / "t", workers=8, operations=3).values()) == 24


def test_a_killed_writer_leaves_a_table_that_opens(tmp_path: Path) -> None:
    assert kill_at_every_step(tmp_path, kills=25)["kills"] == 25


def test_a_writer_killed_from_outside_leaves_a_table_that_opens(tmp_path: Path) -> None:
    kill_at_any_moment(tmp_path, kills=10)
