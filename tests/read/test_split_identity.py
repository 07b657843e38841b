"""A split is read only if it is the file of the log: another one may be in its place, of the same size."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import DamagedSplitError
from indextables.storage import open_store
from tests.log.hand_written import edit_adds
from tests.stores.servers import Server

READS: dict[str, Callable[[IndexTable], object]] = {
    "all rows": lambda table: table.scan().to_arrow(),
    "some rows": lambda table: table.scan(where="n = 9").to_arrow(),
    "a column": lambda table: table.scan(columns=["n"]).to_arrow(),
    "a search": lambda table: table.search("level:INFO"),
    "a count by search": lambda table: table.count(query="level:INFO"),
    "a count": lambda table: table.count("n > 3"),
}


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Two splits of the same size and bounds, with other values in between."""
    table = two_splits(tmp_path / "t")
    assert len({path.stat().st_size for path in splits(table)}) == 1
    return table


def two_splits(place: Path | str, options: dict[str, str] | None = None) -> IndexTable:
    table = IndexTable.create(place, pa.schema({"n": pa.int64(), "level": pa.string()}), options=options)
    for middle in (4, 5):
        table.append({"n": [0, middle, 9], "level": ["INFO", "WARN", "INFO"]})
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


REPLACEMENTS: dict[str, Callable[[Path, Path], object]] = {
    "copied": shutil.copyfile,
    "copied with its times": shutil.copy2,
    "renamed": lambda source, target: shutil.copy(source, source.with_suffix(".copy")).replace(target),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS.keys())
@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_another_split_in_the_place_of_one_that_is_cached(
    table: IndexTable, read: Callable[[IndexTable], object], replace: Callable[[Path, Path], object]
) -> None:
    for age, path in enumerate(splits(table)):
        os.utime(path, (age, age))  # the clock of a disk may stand still for some milliseconds
    for warm in READS.values():
        warm(table)
    replace(*splits(table))
    with pytest.raises(DamagedSplitError, match="another split, part-.*, is in its place"):
        read(table)


@pytest.mark.parametrize("place", ["memory", "s3", "azure"])
def test_another_split_in_an_object_store(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """What reads the file notices it, at once or when it opens the file again; the others have the rows in memory."""
    server: Server | None = None if place == "memory" else request.getfixturevalue(place)
    options, uri = ({}, "memory://identity/t") if server is None else (dict(server.options), server.new_table())
    table = two_splits(uri, {**options, "cache.directory": str(tmp_path)})
    for warm in READS.values():
        warm(table)
    store = open_store(uri, Config.resolve(options))
    one, other = sorted(entry.key for entry in store.list() if entry.key.endswith(".split"))
    store.put(other, store.read(one))
    for _ in range(2):
        with pytest.raises(DamagedSplitError, match="another (split|file)"):
            table.scan(query="level:INFO", columns=["n"]).to_arrow()
    with pytest.raises(DamagedSplitError, match="another split, part-.*, is in its place"):
        table.scan().to_arrow()


def test_a_split_that_is_restored_from_a_copy_is_read(table: IndexTable) -> None:
    for read in READS.values():
        read(table)
    copy = shutil.copy2(splits(table)[0], splits(table)[0].with_suffix(".copy"))
    copy.replace(splits(table)[0])
    assert sorted(table.scan(query="level:INFO", columns=["n"]).to_arrow()["n"].to_pylist()) == [0, 0, 9, 9]


def test_compaction_leaves_such_splits_alone(table: IndexTable) -> None:
    swap(*splits(table))
    result = IndexTable.open(table.path).merge_splits()
    assert result.merged == 0
    assert result.damaged


def test_a_split_of_which_the_log_says_little(table: IndexTable) -> None:
    kept = ("path", "size", "modificationTime")
    edit_adds(table.path, 2, lambda add: [add.pop(key) for key in list(add) if key not in kept])
    assert IndexTable.open(table.path).count("n = 5") == 1
