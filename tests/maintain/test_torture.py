"""A short version of `make torture`."""

from pathlib import Path

import pytest

from tests.tiers import slow, slow_after
from tests.torture.merge import merge_beside_writers
from tests.torture.rewrite import mix_writes
from tests.torture.row_changes import change_rows

MIXES = "mixes of operations in many processes"


@slow(MIXES)
def test_a_merge_disturbs_no_writer(tmp_path: Path) -> None:
    done = merge_beside_writers(tmp_path / "t", writers=4, appends=5)
    assert done["appends"] == 20
    assert done["merges"] > 0
    assert done["splits"] == 2


@pytest.mark.parametrize("shared", slow_after(1, [False, True], MIXES), ids=["splits of their own", "shared splits"])
def test_writes_of_every_kind_are_serial(tmp_path: Path, *, shared: bool) -> None:
    done = mix_writes(tmp_path, workers=4, operations=6, shared=shared)
    assert {"append", "replace", "partitions", "drop", "overwrite"} <= done.keys()


@slow(MIXES)
def test_changes_of_rows_are_serial(tmp_path: Path) -> None:
    done = change_rows(str(tmp_path / "t"), workers=4, operations=5)
    assert {"append", "delete", "update", "merge"} <= done.keys()
