"""A split is read only if it is the file of the log: another one may be in its place, of the same size."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import DamagedSplitError
from tests.log.hand_written import edit_adds

READS: dict[str, Callable[[IndexTable], object]] = {
    "all rows": lambda table: table.scan().to_arrow(),
    "some rows": lambda table: table.scan(where="n = 5").to_arrow(),
    "a column": lambda table: table.scan(columns=["n"]).to_arrow(),
    "a search": lambda table: table.search("level:INFO"),
    "a count by search": lambda table: table.count(query="level:INFO"),
    "a count": lambda table: table.count("n > 3"),
}


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Two splits of the same size and bounds, with other values in between."""
    table = IndexTable.create(tmp_path / "t", pa.schema({"n": pa.int64(), "level": pa.string()}))
    for middle in (4, 5):
        table.append({"n": [0, middle, 9], "level": ["INFO", "WARN", "INFO"]})
    assert len({path.stat().st_size for path in splits(table)}) == 1
    return table


def splits(table: IndexTable) -> list[Path]:
    return sorted(Path(table.path).glob("*.split"))


def swap(one: Path, other: Path) -> None:
    one.rename(aside := one.with_suffix(".aside"))
    other.rename(one)
    aside.rename(other)


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_another_split_of_the_same_size(table: IndexTable, read: Callable[[IndexTable], object]) -> None:
    swap(*splits(table))
    with pytest.raises(DamagedSplitError, match=r"is damaged: another split, part-.*, is in its place") as caught:
        read(IndexTable.open(table.path))
    assert caught.value.path in {str(path) for path in splits(table)}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_a_split_with_another_number_of_rows(table: IndexTable, read: Callable[[IndexTable], object]) -> None:
    edit_adds(table.path, 2, lambda add: add.update(numRecords=4))
    with pytest.raises(DamagedSplitError, match="it has 3 rows where the log says 4"):
        read(IndexTable.open(table.path))


def test_compaction_leaves_such_splits_alone(table: IndexTable) -> None:
    swap(*splits(table))
    result = IndexTable.open(table.path).merge_splits()
    assert result.merged == 0
    assert result.damaged


def test_a_split_of_which_the_log_says_little(table: IndexTable) -> None:
    kept = ("path", "size", "modificationTime")
    edit_adds(table.path, 2, lambda add: [add.pop(key) for key in list(add) if key not in kept])
    assert IndexTable.open(table.path).count("n = 5") == 1
