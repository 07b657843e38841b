"""What a purge deletes, and what it never does."""

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, CorruptLogError, SplitNotFoundError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.actions import Remove
from indextables.storage import open_store

SCHEMA = pa.schema({"p": pa.string(), "n": pa.int64()})
ODD = ["a%2Fb", "a b#c", "é", None, "[#small]"]


def row(p: str | None, n: int) -> pa.Table:
    return pa.table({"p": [p], "n": [n]}, schema=SCHEMA)


def unknown_split(table: IndexTable) -> str:
    """A name that a writer of the table may have given to a split that it did not commit."""
    path = table.splits()["path"][0].as_py()
    return f"{path.rpartition('/')[2].rpartition('-')[0]}-{uuid4().hex}.split"


def age(path: Path, days: float) -> None:
    moment = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    os.utime(path, (moment, moment))


def files(table: IndexTable) -> set[str]:
    paths = (path for path in Path(table.path).rglob("*") if path.is_file())
    return {str(path.relative_to(table.path)) for path in paths if "_transaction_log" not in path.parts}


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """A table with odd partitions; two splits of partition x were merged, and then there were orphans; all are old."""
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p AS `_hid`")
    for n, p in enumerate(ODD):
        table.append(row(p, n))
    table.append(row("x", 10))
    table.append(row("x", 11))
    table.merge_splits(where="p = 'x'")
    left = (f"_hid=x/{unknown_split(table)}", f"_hid=y/{unknown_split(table)}")
    Path(table.path, "_hid=y").mkdir()
    for name in (*left, f"_hid=x/.tmp-{uuid4().hex}", f"_hid=y/.tmp-{uuid4().hex}"):
        Path(table.path, name).write_bytes(b"12345")
    Path(table.path, "README.txt").write_text("mine")
    for path in Path(table.path).rglob("*"):
        age(path, 30)
    return table


def purge(table: IndexTable, **options: Any) -> Any:
    newest = table.history()["timestamp"][0].as_py()
    while datetime.now(UTC) <= newest:  # versions of the same millisecond are told apart by the next ones
        pass
    return table.purge(older_than=timedelta(0), force=True, **options)


def test_what_nobody_needs_goes_and_the_rest_stays(table: IndexTable) -> None:
    before, live = files(table), set(table.splits()["path"].to_pylist())
    result = purge(table)
    assert files(table) == live | {"README.txt"}
    assert set(result.paths) == before - files(table)
    assert (result.files, result.past, result.orphans, result.temporary) == (6, 2, 2, 2)
    assert result.bytes > 4 * 5
    assert table.scan().to_arrow().num_rows == 7
    assert str(result).startswith("6 files with ")
    assert purge(table).files == 0


def test_a_dry_run_lists_the_same_and_deletes_nothing(table: IndexTable) -> None:
    before = files(table)
    planned = purge(table, dry_run=True)
    assert files(table) == before
    assert purge(table).paths == planned.paths


def test_the_recent_past_stays_readable_whatever_the_age_of_its_files(table: IndexTable) -> None:
    result = table.purge(older_than=timedelta(days=7))
    assert (result.past, result.orphans, result.temporary) == (0, 2, 2), "the merge was just now"
    assert table.at(version=7).scan(columns=["n"]).to_arrow().num_rows == 7


def test_young_files_may_belong_to_a_writer(table: IndexTable) -> None:
    for path in Path(table.path).rglob("*"):
        age(path, 6.9)
    assert table.purge().files == 0


def test_the_past_that_was_purged_is_named(table: IndexTable) -> None:
    purge(table)
    with pytest.raises(SplitNotFoundError, match=r"version 7 .* was purged") as caught:
        table.at(version=7).scan(where="p = 'x'").to_arrow()
    assert caught.value.version == 7
    assert table.at(version=7).count("p = 'x'") == 2, "the log still knows"
    assert table.at(version=7).scan(where="p <> 'x'").to_arrow().num_rows == 4


@pytest.mark.parametrize("days", [0, 6.99])
def test_a_short_retention_is_refused(table: IndexTable, days: float) -> None:
    before = files(table)
    with pytest.raises(ConfigError, match="force=True"):
        table.purge(older_than=timedelta(days=days))
    with pytest.raises(ConfigError, match="below zero"):
        table.purge(older_than=timedelta(days=-1), force=True)
    assert files(table) == before


def test_exactly_the_retention_is_allowed_and_a_setting_lowers_it(table: IndexTable) -> None:
    assert table.purge(older_than=timedelta(days=7), dry_run=True).files == 4
    assert table.purge(older_than=timedelta(hours=1), options={"purge.minRetention": "1h"}).files == 4


def test_a_listing_that_lacks_live_splits_is_not_trusted(table: IndexTable) -> None:
    lost = table.splits()["path"][0].as_py()
    Path(table.path, lost).unlink()
    before = files(table)
    with pytest.raises(CorruptLogError, match="nothing is purged"):
        purge(table)
    assert files(table) == before


def test_tombstones_that_the_log_forgot_do_not_shorten_the_retention(tmp_path: Path) -> None:
    options = {"tombstone.retention": "0s", "checkpoint.interval": "1"}
    table = IndexTable.create(tmp_path / "t", SCHEMA, options=options)
    table.append(row("a", 1))
    table.overwrite(row("b", 2))
    for path in Path(table.path).rglob("*.split"):
        age(path, 60)
    reopened = IndexTable.open(table.path)
    assert reopened.purge().files == 0
    assert reopened.at(version=1).scan().to_arrow()["p"].to_pylist() == ["a"]


def test_other_stores(tmp_path: Path) -> None:
    table = IndexTable.create(f"memory://{tmp_path.name}/t", SCHEMA)
    table.append(row("a", 1))
    table.overwrite(row("b", 2))
    assert purge(table).past == 1
    assert table.scan().to_arrow()["p"].to_pylist() == ["b"]


def old(table: IndexTable) -> IndexTable:
    """The table with a split of the past and one of the present, all files old."""
    table.append(row("a", 1))
    table.overwrite(row("b", 2))
    for path in Path(table.path).rglob("*"):
        age(path, 30)
    return table


@pytest.mark.parametrize("place", ["backup", "p=a", "p=a/deep"])
def test_a_table_that_was_copied_into_another_one_stays_whole(tmp_path: Path, place: str) -> None:
    inner = old(IndexTable.create(tmp_path / "inner", SCHEMA, partition_by="p"))
    outer = old(IndexTable.create(tmp_path / "outer", SCHEMA, partition_by="p"))
    copied = Path(outer.path, place)
    copytree(inner.path, copied, dirs_exist_ok=True)
    before = {path for path in copied.rglob("*") if path.is_file()}
    assert purge(outer).past == (0 if place == "p=a" else 1), "what lies beside another log is left alone"
    assert {path for path in copied.rglob("*") if path.is_file()} == before
    assert IndexTable.open(copied).scan().to_arrow()["p"].to_pylist() == ["b"]
    assert outer.scan().to_arrow()["p"].to_pylist() == ["b"]


def test_splits_of_another_table_stay_even_without_their_log(tmp_path: Path) -> None:
    other = old(IndexTable.create(tmp_path / "other", SCHEMA, partition_by="p"))
    table = old(IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p"))
    [live] = other.splits()["path"].to_pylist()
    copies = [Path(table.path, place, live) for place in (".", "backup")]
    for copied in copies:
        copytree(Path(other.path, live).parent, copied.parent, dirs_exist_ok=True)
    assert purge(table).files == 1
    assert all(copied.exists() for copied in copies)


def test_copies_of_its_own_splits_stay_where_no_writer_puts_any(tmp_path: Path) -> None:
    table = old(IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p"))
    copytree(Path(table.path, "p=b"), Path(table.path, "backup"))
    copytree(Path(table.path, "p=b"), Path(table.path, "p=b", "p=b"))
    assert all("backup" not in path and "p=b" not in path for path in purge(table).paths)


def test_links_are_neither_followed_nor_deleted(tmp_path: Path) -> None:
    other = old(IndexTable.create(tmp_path / "other", SCHEMA, partition_by="p"))
    table = old(IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p"))
    [live] = (Path(other.path) / path for path in other.splits()["path"].to_pylist())
    links = [Path(table.path, name) for name in ("link", "p=c", "loop", f"p=b/{unknown_split(table)}")]
    for link, target in zip(links, (other.path, Path(other.path, "p=b"), table.path, live), strict=True):
        link.symlink_to(target)
    moved = tmp_path / "elsewhere"
    Path(table.path, "p=b").rename(moved)
    Path(table.path, "p=b").symlink_to(moved)
    before = files(other)
    assert purge(table).past == 1, "the loop does not stop it, nor does a partition that is a link"
    assert files(other) == before
    assert all(link.is_symlink() for link in links)
    assert table.scan().to_arrow()["p"].to_pylist() == ["b"]


def test_another_table_below_the_root_stays_in_other_stores(tmp_path: Path) -> None:
    place = f"memory://{tmp_path.name}/t"
    table = IndexTable.create(place, SCHEMA)
    table.append(row("a", 1))
    table.overwrite(row("b", 2))
    store = open_store(place)
    for entry in list(store.list()):
        store.put(f"copy/{entry.key}", store.read(entry.key))
    assert purge(table).past == 1
    assert IndexTable.open(f"{place}/copy").at(version=1).scan().to_arrow()["p"].to_pylist() == ["a"]


SPECIALS: dict[str, Callable[[Path], object]] = {
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to the table": lambda path: path.symlink_to(path.parent),
    "pipe": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
}


@pytest.mark.parametrize("special", SPECIALS)
def test_what_is_no_file_is_left_alone(tmp_path: Path, special: str) -> None:
    table = old(IndexTable.create(tmp_path / "t", SCHEMA, partition_by="p"))
    names = ("odd", unknown_split(table), f".tmp-{uuid4().hex}")
    paths = [Path(table.path, place, name) for place in (".", "p=b", "_transaction_log") for name in names]
    for path in paths:
        SPECIALS[special](path)
        os.utime(path, (0, 0), follow_symlinks=False)
    assert purge(table).past == 1
    assert [path for path in paths if not os.path.lexists(path)] == []
    assert IndexTable.open(table.path).scan().to_arrow()["p"].to_pylist() == ["b"]
    assert table.health().tombstones == 0


def claim_removed(table: IndexTable, paths: list[str]) -> None:
    """A version that says that the table has removed these files."""
    log = TransactionLog.open(table.path)
    removes = [Remove(path=path, deletion_timestamp=0) for path in paths]
    log.commit(Transaction(operation=Operation.DROP, snapshot=log.snapshot(), removes=removes))


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_log_that_lies_costs_no_file_of_anybody_else(tmp_path: Path, kind: str) -> None:
    root = str(tmp_path) if kind == "local" else f"memory://{tmp_path.name}-lies"
    other = IndexTable.create(f"{root}/other", SCHEMA, partition_by="p")
    other.append(row("a", 1))
    table = IndexTable.create(f"{root}/t", SCHEMA, partition_by="p")
    table.append(row("a", 1))
    copies = open_store(f"{root}/t")
    [split], others = other.splits()["path"].to_pylist(), open_store(f"{root}/other")
    for entry in list(others.list()):
        copies.put(f"p=x/{entry.key}", others.read(entry.key))  # another table, in a directory of a partition
    copies.put(split, others.read(split))  # and a split without its table
    copies.put("p=a/notes.txt", b"mine")
    if kind == "local":
        Path(table.path, "p=link").symlink_to(Path(other.path, "p=a"))
        Path(table.path, "p=a", unknown_split(table)).symlink_to(Path(other.path, split))
    mine = set(table.splits()["path"].to_pylist())
    stays = {entry.key for entry in copies.list() if entry.key not in mine}
    through_links = {f"p=link/{split.rpartition('/')[2]}", "p=x", "p=link"}
    claim_removed(table, sorted({*stays, *through_links}))
    result = purge(table.refresh())
    assert result.files == 0
    assert stays <= {entry.key for entry in copies.list()}
    assert IndexTable.open(other.path).scan().to_arrow().num_rows == 1
    assert IndexTable.open(f"{root}/t/p=x").scan().to_arrow().num_rows == 1
