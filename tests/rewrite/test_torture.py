"""A short version of `make torture`."""

from pathlib import Path

from tests.torture.merge import merge_beside_writers


def test_a_merge_disturbs_no_writer(tmp_path: Path) -> None:
    done = merge_beside_writers(tmp_path / "t", writers=4, appends=5)
    assert done["appends"] == 20
    assert done["merges"] > 0
    assert done["splits"] == 2
