"""A check finds every damage that a table can have, all of it at once, and nothing in a table that has none."""

import base64
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import AccessDeniedError, ConfigError, NotFoundError, TableNotFoundError
from indextables.inspect import log_check
from indextables.inspect.check_findings import CheckFinding, CheckSeverity, Problem, finding
from indextables.inspect.findings import Area, Severity
from indextables.inspect.table_check import CheckProgress, CheckResult
from indextables.log import TransactionLog
from indextables.log.clock import now
from indextables.log.log_files import HINT_KEY, LogListing, checkpoint_key, commit_key
from indextables.log.ownership import split_name
from indextables.split import reader as split_reader
from indextables.split import word_index, writer
from indextables.split.block_bounds import Blocks, block_bounds
from indextables.storage import Store
from tests.log.hand_written import edit_adds, edit_checkpoint, edit_version

SCHEMA = pa.schema(
    {
        "day": pa.string(),
        "n": pa.int32(),
        "id": pa.string(),
        "message": pa.string(),
        "price": pa.float64(),
        "cost": pa.decimal128(10, 2),
        "at": pa.timestamp("us", "UTC"),
        "on": pa.date32(),
        "flag": pa.bool_(),
        "raw": pa.binary(),
    }
)
FIELDS = {"message": "text"}
EXACT = {"indexing.exact.id": "hash", "indexing.exact.day": "dictionary"}
LONG_WORD = "w" * 50


def rows(day: str, first: int = 0, count: int = 40) -> pa.Table:
    """Rows with nulls, NaN, long texts and long words."""
    numbers = range(first, first + count)
    columns = {
        "day": [day] * count,
        "n": list(numbers),
        "id": [f"id-{number:09}-{'x' * 40}" for number in numbers],
        "message": [None if n % 7 == 0 else f"Disk number{n % 5} is full, {LONG_WORD} again: {n}" for n in numbers],
        "price": [float("nan") if n % 5 == 0 else None if n % 3 == 0 else n / 3 for n in numbers],
        "cost": [Decimal(n) / 4 for n in numbers],
        "at": [datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=7 * n) for n in numbers],
        "on": [date(2024, 5, 1) + timedelta(days=n) for n in numbers],
        "flag": [n % 2 == 0 for n in numbers],
        "raw": [bytes([n % 256]) for n in numbers],
    }
    return pa.table(columns, schema=SCHEMA)


def written(path: str | Path, partition_by: str | None = "day", appends: int = 3, count: int = 40) -> IndexTable:
    """A table with a split of each of two days in every append, and a checkpoint of version 2."""
    options = {**EXACT, "checkpoint.interval": "2"}
    table = IndexTable.create(path, SCHEMA, partition_by=partition_by, fields=FIELDS, options=options)
    for number in range(appends):
        table.append(pa.concat_tables([rows("mon", 100 * number, count), rows("tue", 300 * number, count)]))
    return table


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("original") / "t"
    written(place)
    return place


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """A table of its own for each test: it is damaged there."""
    return Path(shutil.copytree(original, tmp_path / "t"))


def checked(path: str | Path, **options: Any) -> CheckResult:
    """A check, which leaves all files as they are."""
    local = Path(path)
    before = {file: file.read_bytes() for file in local.rglob("*") if file.is_file()}
    result = IndexTable.check_path(path, **options)
    assert {file: file.read_bytes() for file in local.rglob("*") if file.is_file()} == before
    return result


def deeply_checked(path: str | Path, **options: Any) -> CheckResult:
    """A check of everything."""
    return checked(path, **{"deep": True, "sample": None, **options})


def kinds(result: CheckResult) -> list[Problem]:
    return sorted({one.kind for one in result.findings})


def only(result: CheckResult, kind: Problem) -> CheckFinding:
    """The one finding that there is."""
    [found] = result.findings
    assert found.kind is kind
    return found


def splits(path: Path) -> list[Path]:
    return sorted(path.rglob("*.split"))


def change(file: Path, edit: Callable[[bytearray], object]) -> None:
    content = bytearray(file.read_bytes())
    edit(content)
    file.write_bytes(content)


def flip(position: int) -> Callable[[bytearray], object]:
    def edit(content: bytearray) -> None:
        content[position] ^= 1

    return edit


def evolved(table: IndexTable) -> None:
    table.add_column("level", "string", field="text")
    table.widen_column("n", "long")
    table.evolve_layout("year(at), bucket(2, id), truncate(1000, n)")
    table.append(rows("wed", 500).append_column("level", pa.array(["ERROR seen"] * 40)).cast(table.schema))


def merged(table: IndexTable) -> None:
    table.merge_splits(cluster_by="n")
    table.drop_partitions("day = 'tue'")
    table.overwrite(rows("mon", 7), options={"replaceWhere": "day = 'mon'"})


def merged_to_another_layout(table: IndexTable) -> None:
    evolved(table)
    table.merge_splits(rewrite_layout=True)


def coalesced(table: IndexTable) -> None:
    small = pa.concat_tables([rows(f"d{number}", number, 2) for number in range(9)])
    for most in ("20", "3"):
        table.append(small, options={"coalesce.enabled": "true", "coalesce.maxTuples": most})
    table.merge_splits(coalesce=True)


def cleaned_up(table: IndexTable) -> None:
    table.merge_splits()
    table.checkpoint()
    log = TransactionLog.open(table.path)
    assert log.clean_up(retention=timedelta(0))
    table.purge(older_than=timedelta(0), force=True)


def emptied(table: IndexTable) -> None:
    table.overwrite(SCHEMA.empty_table())


class TestHealthyTables:
    @pytest.mark.parametrize(
        ("steps", "place"),
        [
            *product([None, merged, coalesced, cleaned_up], ["disk", "memory"]),
            *((steps, "disk") for steps in (evolved, merged_to_another_layout, emptied)),
        ],
    )
    def test_there_is_nothing_to_find(
        self, tmp_path: Path, steps: Callable[[IndexTable], None] | None, place: str
    ) -> None:
        table = written(tmp_path / "t" if place == "disk" else f"memory://{uuid4().hex}/t", appends=2)
        if steps is not None:
            steps(table)
        result = table.check(deep=True, sample=None)
        assert result.findings == ()
        assert result.ok
        assert (result.version, result.opened, result.rows) == (table.version, len(table.splits()), table.count())
        assert (result.splits, result.bytes) == (len(table.splits()), sum(table.splits()["size"].to_pylist()))
        assert str(result).endswith("\nno findings")

    @pytest.mark.parametrize("layout", [None, "day(at), flag", "on, cost", "price", "truncate(3, id), year(on)"])
    def test_of_any_layout(self, tmp_path: Path, layout: str | None) -> None:
        written(tmp_path / "t", layout, appends=1, count=6)
        assert deeply_checked(tmp_path / "t").findings == ()

    def test_of_large_splits(self, tmp_path: Path) -> None:
        """With several pages of each column, and the indexes that are chosen for large splits."""
        table = IndexTable.create(tmp_path / "t", SCHEMA, fields=FIELDS)
        table.append(rows("mon", count=10_000))
        result = deeply_checked(tmp_path / "t", sample=5)
        assert (result.findings, result.rows) == ((), 10_000)

    def test_one_without_rows(self, tmp_path: Path) -> None:
        IndexTable.create(tmp_path / "t", SCHEMA)
        assert deeply_checked(tmp_path / "t").findings == ()

    def test_a_log_of_another_writer_without_checksums(self, path: Path) -> None:
        edit_version(path, 0, lambda lines: lines)
        edit_checkpoint(path / checkpoint_key(2), lambda rows: rows)
        assert deeply_checked(path).findings == ()

    def test_older_versions_whose_splits_are_there(self, path: Path) -> None:
        table = IndexTable.open(path)
        table.merge_splits()
        table.checkpoint()
        result = deeply_checked(path, all_versions=True)
        assert (result.findings, result.splits, result.rows) == ((), 8, 2 * table.count())

    def test_older_versions_after_a_purge(self, path: Path) -> None:
        table = IndexTable.open(path)
        table.merge_splits()
        table.purge(older_than=timedelta(0), force=True)
        assert deeply_checked(path).findings == ()
        found = only(deeply_checked(path, all_versions=True), Problem.PURGED_SPLIT)
        assert found.message == "6 splits of older versions are not there any more"
        assert deeply_checked(path, all_versions=True).ok

    def test_no_table_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(TableNotFoundError, match="there is no table"):
            checked(tmp_path)


class TestOptions:
    def test_without_deep_no_split_is_opened(self, path: Path) -> None:
        change(splits(path)[0], flip(100))
        result = checked(path)
        assert (result.findings, result.splits, result.opened, result.rows) == ((), 6, 0, 0)
        table = IndexTable.open(path)
        before = table.traffic.requests
        table.check()
        assert table.traffic.requests - before == 10, (
            "two listings, four versions, two first lines, a checkpoint and the hint"
        )

    def test_a_sample_is_opened(self, path: Path) -> None:
        assert (deeply_checked(path, sample=4).opened, deeply_checked(path, sample=100).opened) == (4, 6)
        with pytest.raises(ConfigError, match="from 1 up"):
            deeply_checked(path, sample=0)

    def test_progress(self, path: Path) -> None:
        seen: list[CheckProgress] = []
        deeply_checked(path, progress=seen.append)
        assert seen[:4] == [CheckProgress("versions", number, 4) for number in range(1, 5)]
        assert seen[4:] == [CheckProgress("splits", number, 6) for number in range(1, 7)]


class TestVersions:
    def test_one_is_missing(self, path: Path) -> None:
        (path / commit_key(1)).unlink()
        found = only(checked(path), Problem.MISSING_VERSION)
        assert (found.file, found.message) == (commit_key(1), "version 1 is missing, though version 3 is there")
        assert checked(path).version == 3, "the checkpoint of version 2 is there"

    def test_many_are_missing(self, path: Path) -> None:
        (path / "_transaction_log/1700000000.json").write_bytes((path / commit_key(3)).read_bytes())
        result = checked(path)
        assert kinds(result) == [Problem.DAMAGED_VERSION, Problem.MISSING_VERSION]
        assert "versions 4 to 1699999999 are missing" in str(result)
        assert result.version == 3

    def test_the_oldest_are_missing(self, path: Path) -> None:
        for number in range(2):
            (path / commit_key(number)).unlink()
        assert checked(path).findings == (), "a checkpoint stands for them"
        (path / checkpoint_key(2)).unlink()
        (path / HINT_KEY).unlink()
        result = checked(path)
        assert (only(result, Problem.MISSING_VERSION).file, result.version, result.splits) == (commit_key(0), None, 0)
        assert "no version can be read" in str(result)

    @pytest.mark.parametrize(
        ("number", "edit", "reason", "version"),
        [
            (3, lambda content: content.__delitem__(slice(-200, None)), "cannot be read|of its 2 actions", 2),
            (3, lambda content: content.__setitem__(slice(200, 202), b"??"), "first line|cannot be read", 2),
            (3, lambda content: content.clear(), "the file is empty", 2),
            (1, lambda content: content.extend(b'{"txn":{"appId":"a","version":1}}\n'), "3 of its 2 actions", 3),
            (0, lambda content: content.extend(b"\0"), "cannot be read", 3),
        ],
    )
    def test_one_is_damaged(
        self, path: Path, number: int, edit: Callable[[bytearray], object], reason: str, version: int
    ) -> None:
        change(path / commit_key(number), edit)
        result = checked(path)
        [found] = result.errors
        assert found.file == commit_key(number)
        assert any(word in found.message for word in reason.split("|"))
        assert (found.kind, result.version) == (Problem.DAMAGED_VERSION, version)

    def test_splits_that_may_be_of_a_lost_version_are_not_to_be_purged(self, path: Path) -> None:
        change(path / commit_key(3), flip(100))
        for file in splits(path):
            os.utime(file, (1_000_000,) * 2)
        result = checked(path)
        assert kinds(result) == [Problem.DAMAGED_VERSION, Problem.LOST_VERSION]
        assert "2 splits" in str(result)
        assert "they may be of the versions that cannot be read" in str(result)
        assert "purge()" not in str(result)

    def test_a_line_is_named(self, path: Path) -> None:
        change(path / commit_key(1), lambda content: content.extend(b"{]\n"))
        found = only(checked(path), Problem.DAMAGED_VERSION)
        assert found.place == "line 4"
        assert f"{commit_key(1)}, line 4: " in str(found)

    def test_the_file_of_another_version(self, path: Path) -> None:
        shutil.copy(path / commit_key(1), path / commit_key(2))
        assert only(checked(path), Problem.DAMAGED_VERSION).message == "it is the file of version 1"

    def test_one_of_another_copy_of_the_table(self, path: Path, tmp_path: Path) -> None:
        shutil.copytree(path, tmp_path / "copy")
        (path / commit_key(3)).unlink()
        for place in (path, tmp_path / "copy"):
            IndexTable.open(place).append(rows("sun"))
        IndexTable.open(path).append(rows("mon"))
        shutil.copy(tmp_path / "copy" / commit_key(3), path / commit_key(3))
        result = checked(path)
        broken = next(one for one in result.findings if one.kind is Problem.BROKEN_CHAIN)
        assert (broken.file, result.ok) == (commit_key(4), False)
        assert "one of the two was replaced" in broken.message

    def test_one_of_another_table(self, path: Path) -> None:
        edit_version(path, 3, lambda lines: lines[0]["commitInfo"].update(tableId="other"))
        result = checked(path)
        assert (Problem.STRAY_VERSION in kinds(result), result.ok, result.version) == (True, True, 3)
        assert result.splits == 4, "it changes nothing"

    @pytest.mark.parametrize("number", [0, 1])
    def test_one_of_another_table_before_a_checkpoint(
        self, path: Path, tmp_path: Path, number: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A file that was restored to the wrong place: readers begin at the checkpoint, and do not open it."""
        table = IndexTable.open(path)
        table.checkpoint()
        written(tmp_path / "other", appends=3)
        shutil.copy(tmp_path / "other" / commit_key(number), path / commit_key(number))
        result = checked(path)
        assert [one.file for one in result.findings if one.kind is Problem.STRAY_VERSION] == [commit_key(number)]
        assert set(kinds(result)) == {Problem.STRAY_VERSION, Problem.BROKEN_CHAIN}
        assert (result.version, result.splits, IndexTable.open(path).count()) == (
            3,
            table.check().splits,
            table.count(),
        )
        caplog.clear()
        [found] = [one for one in table.health().findings if "of another table" in one.message]
        assert (found.area, found.severity) == (Area.LOG, Severity.WARNING)
        assert found.message.startswith(f"version {number} of the log is of another table")
        assert [record.getMessage() for record in caplog.records] == [
            f"versions [{number}] of {table.path} are of another table, and are passed over"
        ]

    def test_one_of_another_table_beyond_a_gap(self, path: Path, tmp_path: Path) -> None:
        written(tmp_path / "other", appends=9)
        for key in (commit_key(9), checkpoint_key(8)):
            shutil.copy(tmp_path / "other" / key, path / key)
        result = checked(path)
        assert kinds(result) == [Problem.STRAY_CHECKPOINT, Problem.STRAY_VERSION]
        assert (result.ok, result.version, IndexTable.open(path).version) == (True, 3, 3)

    def test_two_files_of_one_version(self, path: Path) -> None:
        shutil.copy(path / commit_key(3), path / "_transaction_log/3.json")
        found = only(checked(path), Problem.DUPLICATE_VERSION)
        assert {found.file, *found.message.split()} >= {commit_key(3), "version", "3"}

    def test_no_metadata(self, path: Path) -> None:
        (path / checkpoint_key(2)).unlink()
        (path / HINT_KEY).unlink()
        edit_version(path, 0, lambda lines: [line for line in lines if "metaData" not in line])
        result = checked(path)
        assert "no metaData action" in only(result, Problem.DAMAGED_VERSION).message
        assert result.version is None

    def test_one_that_cannot_be_applied(self, path: Path) -> None:
        def unknown_type(lines: list[dict[str, Any]]) -> None:
            [metadata] = [
                json.loads(line) for line in (path / commit_key(0)).read_text().splitlines() if "metaData" in line
            ]
            metadata["metaData"]["schema"]["fields"][0]["type"] = "nothing"
            lines.append(metadata)

        edit_version(path, 3, unknown_type)
        result = checked(path)
        [found] = result.errors
        assert (found.kind, found.file, result.version) == (Problem.DAMAGED_VERSION, commit_key(3), 2)
        assert "type 'nothing'" in found.message

    def test_one_that_the_listing_missed(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As a listing during writes may."""
        entries = log_check.list_log_entries

        def without_one(store: Store) -> LogListing:
            listing = entries(store)
            del listing.commits[1]
            return listing

        monkeypatch.setattr(log_check, "list_log_entries", without_one)
        assert checked(path).findings == ()

    def test_one_that_is_cleaned_up_meanwhile(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        read = Store.read

        def gone(self: Store, wanted: str) -> pa.Buffer:
            if wanted == commit_key(0):
                raise NotFoundError("it is not there", path=wanted)
            return read(self, wanted)

        monkeypatch.setattr(Store, "read", gone)
        assert (checked(path).findings, checked(path).version) == ((), 3)

    def test_a_newer_protocol(self, path: Path) -> None:
        def newer(lines: list[dict[str, Any]]) -> None:
            lines.append({"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}})

        edit_version(path, 3, newer)
        result = checked(path)
        assert (only(result, Problem.UNSUPPORTED_PROTOCOL).file, result.opened) == (commit_key(3), 0)

    @pytest.mark.parametrize("key", [commit_key(1), checkpoint_key(2), HINT_KEY])
    def test_one_that_may_not_be_read(self, path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
        read = Store.read

        def refused(self: Store, wanted: str) -> pa.Buffer:
            if wanted == key:
                raise AccessDeniedError("it may not be read", path=key)
            return read(self, wanted)

        monkeypatch.setattr(Store, "read", refused)
        result = checked(path)
        assert (only(result, Problem.UNREADABLE_FILE).file, result.version) == (key, 3)


class TestLostVersions:
    def test_the_newest_version_was_deleted(self, path: Path) -> None:
        for file in splits(path):  # of the newest version; file systems may have coarse clocks
            os.utime(file, (now() / 1000 + 60,) * 2)
        (path / commit_key(3)).unlink()
        found = only(checked(path), Problem.LOST_VERSION)
        assert "2 splits" in found.message
        assert "a newer version was deleted" in found.message
        assert found.severity is CheckSeverity.WARNING

    def test_with_its_checkpoint_too(self, path: Path) -> None:
        (path / commit_key(3)).unlink()
        (path / commit_key(2)).unlink()
        (path / checkpoint_key(2)).unlink()
        assert Problem.LOST_VERSION in kinds(checked(path)), "the hint names a newer version"

    def test_leftovers_of_a_failed_write(self, path: Path) -> None:
        table_id = IndexTable.open(path).detail().id
        name = split_name(table_id, task=0, job="0" * 12)
        leftover, strange = path / f"day=mon/{name}", path / "day=mon/notes.txt"
        for file in (leftover, strange):
            file.write_bytes(b"abc")
            os.utime(file, (1_000_000,) * 2)
        found = only(checked(path), Problem.ORPHAN)
        assert (found.file, found.message) == (f"day=mon/{name}", "1 split with 3 B that no version has")
        assert found.repair().startswith("table.purge(), ")
        assert checked(path).ok

    def test_temporary_and_foreign_files(self, path: Path) -> None:
        (path / f"_transaction_log/.tmp-{uuid4().hex}").write_bytes(b"1")
        (path / f"day=mon/.tmp-{uuid4().hex}").write_bytes(b"1")
        (path / "_transaction_log/notes.txt").write_text("notes")
        result = checked(path)
        assert [one.kind for one in result.findings].count(Problem.TEMPORARY_FILE) == 2
        assert kinds(result) == [Problem.FOREIGN_FILE, Problem.TEMPORARY_FILE]
        assert result.ok


class TestCheckpoints:
    @pytest.mark.parametrize("edit", [flip(300), flip(-300), lambda content: content.clear()])
    def test_one_is_damaged(self, path: Path, edit: Callable[[bytearray], object]) -> None:
        change(path / checkpoint_key(2), edit)
        result = checked(path)
        found = only(result, Problem.DAMAGED_CHECKPOINT)
        assert (found.file, result.version) == (checkpoint_key(2), 3)
        assert "table.checkpoint(), after the file has been deleted" in str(found)

    def test_the_only_base_is_damaged(self, path: Path) -> None:
        change(path / checkpoint_key(2), flip(300))
        for number in range(2):
            (path / commit_key(number)).unlink()
        result = checked(path)
        assert (Problem.DAMAGED_CHECKPOINT in kinds(result), result.version) == (True, None)

    @pytest.mark.parametrize(
        ("edit", "what"),
        [
            (lambda rows: rows.slice(1), "0 too many and 1 too few"),
            (lambda rows: replaced(rows, "size", pa.array([1] * len(rows), pa.int64())), "size"),
            (lambda rows: replaced(rows, "num_merge_ops", pa.array([7] * len(rows), pa.int32())), "num_merge_ops"),
        ],
    )
    def test_one_is_another_state(self, path: Path, edit: Callable[[pa.Table], pa.Table], what: str) -> None:
        edit_checkpoint(path / checkpoint_key(2), edit)
        state_with_rows(path / checkpoint_key(2))
        found = only(checked(path), Problem.WRONG_CHECKPOINT)
        assert "it is not the state after version 2" in found.message
        assert what in found.message

    def test_one_of_another_table(self, path: Path, tmp_path: Path) -> None:
        written(tmp_path / "other")
        shutil.copy(tmp_path / "other" / checkpoint_key(2), path / checkpoint_key(2))
        result = checked(path)
        assert only(result, Problem.STRAY_CHECKPOINT).file == checkpoint_key(2)
        assert (result.ok, result.version) == (True, 3)

    def test_one_of_another_copy_of_the_table(self, path: Path, tmp_path: Path) -> None:
        shutil.copytree(path, tmp_path / "copy")
        for key in (commit_key(3), commit_key(2), checkpoint_key(2), HINT_KEY):
            (tmp_path / "copy" / key).unlink()
        IndexTable.open(tmp_path / "copy", options={"checkpoint.interval": "2"}).append(rows("sun"))
        shutil.copy(tmp_path / "copy" / checkpoint_key(2), path / checkpoint_key(2))
        assert Problem.WRONG_CHECKPOINT in kinds(checked(path))
        for number in range(3):
            (path / commit_key(number)).unlink()
        result = checked(path)
        assert Problem.BROKEN_CHAIN in kinds(result), "the next version was written after another state"
        assert result.version == 2

    @pytest.mark.parametrize("text", ["{]", '{"version":1}', '{"version":null}'])
    def test_the_hint(self, path: Path, text: str) -> None:
        (path / HINT_KEY).write_text(text)
        assert only(checked(path), Problem.WRONG_HINT).severity is CheckSeverity.INFO


def replaced(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, column)


def state_with_rows(file: Path) -> None:
    """Makes the state of a checkpoint count the rows that it has, in one row group."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only here

    rows = pq.read_table(file)
    state = json.loads(rows.schema.metadata[b"indextables.snapshot"])
    state |= {"numSplits": len(rows), "splitRowGroups": 1}
    pq.write_table(rows.replace_schema_metadata({"indextables.snapshot": json.dumps(state)}), file)


class TestSplits:
    def test_one_is_missing(self, path: Path) -> None:
        gone = splits(path)[2]
        gone.unlink()
        result = deeply_checked(path)
        found = only(result, Problem.MISSING_SPLIT)
        assert (path / found.file, result.splits, result.opened) == (gone, 6, 5)
        assert "drop its partition" in found.repair()

    def test_one_was_cut(self, path: Path) -> None:
        change(splits(path)[2], lambda content: content.pop())
        found = only(checked(path), Problem.WRONG_SIZE)
        assert "bytes where the log says" in found.message

    def test_one_behind_a_link_is_there(self, path: Path, tmp_path: Path) -> None:
        shutil.move(path / "day=mon", tmp_path / "elsewhere")
        (path / "day=mon").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        assert deeply_checked(path).findings == ()

    @pytest.mark.parametrize(("position", "place"), [(100, "column n"), (-30, "")])
    def test_a_flipped_bit(self, path: Path, position: int, place: str) -> None:
        change(splits(path)[0], flip(position))
        result = deeply_checked(path)
        assert {one.kind for one in result.findings} == {Problem.DAMAGED_SPLIT}
        assert {path / one.file for one in result.findings} == {splits(path)[0]}
        assert place in {one.place for one in result.findings}

    def test_no_flipped_bit_goes_unnoticed(self, tmp_path: Path) -> None:
        """Not in any part of the file, but for fields in the headers of pages that no reader uses."""
        written(tmp_path / "t", None, appends=1)
        [file] = splits(tmp_path / "t")
        content = file.read_bytes()
        unnoticed = 0
        for position in range(4, len(content), len(content) // 40):
            file.write_bytes(content)
            change(file, flip(position))
            unnoticed += deeply_checked(tmp_path / "t").ok
        assert unnoticed <= 2

    def test_another_split_in_its_place(self, path: Path) -> None:
        first, second, *_ = splits(path)
        content = second.read_bytes()
        edit_version(path, 0, lambda lines: lines)
        second.write_bytes(first.read_bytes())
        result = deeply_checked(path)
        assert {one.kind for one in result.findings} <= {Problem.DAMAGED_SPLIT, Problem.WRONG_SIZE}
        assert not result.ok
        second.write_bytes(content)
        assert deeply_checked(path).ok

    @pytest.mark.parametrize(
        ("edit", "kind", "column"),
        [
            (lambda add: add["minValues"].update(n=105), Problem.WRONG_STATISTICS, "n"),
            (lambda add: add["minValues"].update(n=-5), Problem.WRONG_STATISTICS, "n"),
            (lambda add: add["maxValues"].update(id="id-"), Problem.WRONG_STATISTICS, "id"),
            (lambda add: add["maxValues"].update(price=0.5), Problem.WRONG_STATISTICS, "price"),
            (lambda add: add["nullCounts"].update(message=0), Problem.WRONG_STATISTICS, "message"),
            (lambda add: add["partitionValues"].update(day="sun"), Problem.WRONG_PARTITION, "day"),
            (lambda add: add["partitionValues"].update(day=None), Problem.WRONG_PARTITION, "day"),
            (lambda add: add.update(docMappingId=7), Problem.WRONG_DOC_MAPPING, ""),
            (lambda add: add.update(indexStartOffset=7), Problem.WRONG_OFFSETS, ""),
            (lambda add: add.update(termFilter=without_bits(add["termFilter"])), Problem.WRONG_TERM_FILTER, "message"),
            (lambda add: add.update(numRecords=39), Problem.DAMAGED_SPLIT, ""),
            (lambda add: add.update(specId=9), Problem.WRONG_PARTITION, ""),
        ],
    )
    def test_the_log_says_something_else(
        self, path: Path, edit: Callable[[dict[str, Any]], object], kind: Problem, column: str
    ) -> None:
        edit_adds(path, 3, edit)
        result = deeply_checked(path)
        assert kind in kinds(result)
        assert (f"column {column}" if column else "") in {one.place for one in result.findings if one.kind is kind}
        assert result.version == 3

    def test_a_partition_value_that_is_not_of_its_type(self, tmp_path: Path) -> None:
        written(tmp_path / "t", "n", appends=1, count=3)
        edit_adds(tmp_path / "t", 1, lambda add: add["partitionValues"].update(n="seven"))
        assert "which is not of its type" in only_kind(deeply_checked(tmp_path / "t"), Problem.WRONG_PARTITION).message

    def test_a_doc_mapping_of_other_fields(self, path: Path) -> None:
        def other(lines: list[dict[str, Any]]) -> None:
            metadata = next(line["metaData"] for line in lines if "metaData" in line)
            metadata["docMappings"][0]["fields"]["id"]["type"] = "none"

        (path / checkpoint_key(2)).unlink()
        (path / HINT_KEY).unlink()
        edit_version(path, 0, other)
        found = [one for one in deeply_checked(path).findings if one.kind is Problem.WRONG_DOC_MAPPING]
        assert (len(found), found[0].place) == (6, "column id")

    @pytest.mark.parametrize(
        "edit",
        [
            lambda logical: logical["counts"].__setitem__(0, 1),
            lambda logical: logical["tuples"].__setitem__(0, ["sun"]),
            lambda logical: (logical["tuples"].pop(), logical["counts"].pop()),
            lambda logical: logical.update(columns=["nothing"]),
        ],
    )
    def test_logical_partitions(self, tmp_path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
        table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day", fields=FIELDS)
        small = pa.concat_tables([rows(f"d{number}", number, 2) for number in range(4)])
        table.append(small, options={"coalesce.enabled": "true"})
        assert deeply_checked(table.path).findings == ()
        edit_adds(table.path, 1, lambda add: edit(add["logicalPartitions"]))
        assert only_kind(deeply_checked(table.path), Problem.WRONG_PARTITION)

    def test_a_column_of_another_type(self, path: Path) -> None:
        def other(lines: list[dict[str, Any]]) -> None:
            metadata = next(line["metaData"] for line in lines if "metaData" in line)
            next(column for column in metadata["schema"]["fields"] if column["name"] == "id")["type"] = "integer"

        (path / checkpoint_key(2)).unlink()
        (path / HINT_KEY).unlink()
        edit_version(path, 0, other)
        assert Problem.WRONG_SCHEMA in kinds(deeply_checked(path))


def without_bits(text: str) -> str:
    """A term filter with its header and without any bit."""
    data = base64.b64decode(text)
    header = 7 + (len(SCHEMA) + 7) // 8
    return base64.b64encode(data[:header] + bytes(len(data) - header)).decode()


def only_kind(result: CheckResult, kind: Problem) -> CheckFinding:
    """One of the findings, all of which are of one kind."""
    assert kinds(result) == [kind]
    return result.findings[0]


class TestIndexes:
    def test_one_that_makes_no_sense(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever is raised, the other columns and splits are checked."""

        def nonsense(*_: object) -> None:
            raise LookupError("no such thing")

        monkeypatch.setattr(split_reader, "parse_index", nonsense)
        result = deeply_checked(path)
        found = only_kind(result, Problem.DAMAGED_SPLIT)
        assert found.message == "it cannot be checked: LookupError: no such thing"
        assert (len(result.findings), result.opened) == (12, 6), "two columns of each split"

    @pytest.mark.parametrize("column", ["id", "day"])
    def test_an_exact_index_of_other_rows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str) -> None:
        build = writer.build
        monkeypatch.setattr(
            writer, "build", lambda values, kind: build(values.take(pa.array(range(len(values))[::-1])), kind)
        )
        table = written(tmp_path / "t", None, appends=1)
        monkeypatch.undo()
        result = deeply_checked(table.path)
        assert kinds(result) == [Problem.WRONG_EXACT_INDEX]
        assert f"column {column}" in {one.place for one in result.findings}

    @pytest.mark.parametrize(
        ("edit", "message"),
        [
            (lambda document: document.replace('full"', 'fuller"').replace("is full", "is void"), "not found by"),
            (lambda document: document.replace(": 3", ": 3 more"), "that do not have it|other numbers of rows"),
            (lambda document: document.replace('"?message":0', '"=message":"none"'), "as null"),
        ],
    )
    def test_a_word_index_of_other_texts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: Callable[[str], str], message: str
    ) -> None:
        documents = word_index.documents
        monkeypatch.setattr(word_index, "documents", lambda *given: map(edit, documents(*given)))
        monkeypatch.setattr(word_index.WordIndexBuilder, "_is_in_place", lambda *_: [True])
        table = written(tmp_path / "t", "day", appends=1)
        monkeypatch.undo()
        result = deeply_checked(table.path)
        assert set(kinds(result)) <= {Problem.WRONG_WORD_INDEX, Problem.WRONG_TERM_FILTER}
        assert any(part in one.message for one in result.findings for part in message.split("|"))

    def test_bounds_of_pages_that_do_not_hold(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def swapped(*given: Any) -> Blocks:
            blocks = block_bounds(*given)
            for facts in blocks.bounds.columns.values():
                for bounds in facts:
                    object.__setattr__(bounds, "upper", bounds.lower)  # type: ignore[union-attr]
            return blocks

        monkeypatch.setattr(split_reader, "block_bounds", swapped)
        found = only_kind(deeply_checked(path), Problem.WRONG_PAGE_INDEX)
        assert found.message == "the bounds of rows 0 to 39 do not hold"


def test_all_damage_is_reported_at_once(path: Path) -> None:
    (path / commit_key(1)).unlink()
    change(path / checkpoint_key(2), lambda content: content.append(0))
    (path / "_transaction_log/notes.txt").write_text("notes")
    (path / HINT_KEY).write_text("{]")
    result = deeply_checked(path)
    assert kinds(result) == sorted(
        [
            Problem.MISSING_VERSION,
            Problem.DAMAGED_CHECKPOINT,
            Problem.LOST_VERSION,
            Problem.FOREIGN_FILE,
            Problem.WRONG_HINT,
        ]
    )
    assert (result.version, result.versions, result.checkpoints) == (0, 3, 1)
    assert [one.severity for one in result.findings] == sorted(
        (one.severity for one in result.findings), key=list(CheckSeverity).index
    )
    assert str(result).endswith("\n2 errors, 1 warning, 2 notes")


def test_damage_of_splits_is_reported_beside_that_of_the_log(path: Path) -> None:
    first, second, third, *_ = splits(path)
    first.unlink()
    change(second, lambda content: content.pop())
    change(third, flip(100))
    change(path / checkpoint_key(2), flip(300))
    (path / HINT_KEY).write_text("{]")
    assert kinds(deeply_checked(path)) == sorted(
        [
            Problem.MISSING_SPLIT,
            Problem.WRONG_SIZE,
            Problem.DAMAGED_SPLIT,
            Problem.DAMAGED_CHECKPOINT,
            Problem.WRONG_HINT,
        ]
    )


def test_a_report_of_many_findings_is_short(tmp_path: Path) -> None:
    table = written(tmp_path / "t", "n", appends=1, count=25)
    shutil.copytree(tmp_path / "t/_transaction_log", tmp_path / "bare/_transaction_log")
    result = checked(tmp_path / "bare")
    assert len(result.errors) == len(table.splits()) > 20
    assert f"... and {len(result.errors) - 20} more findings of the kind missing-split" in str(result)


@pytest.mark.parametrize("kind", Problem)
def test_every_finding_has_a_repair_and_is_documented(kind: Problem) -> None:
    found = finding(kind, "file", "it is wrong")
    assert found.repair()
    page = Path(__file__).parents[2] / "docs/upkeep.md"
    assert f"| `{kind}` | {found.severity} |" in page.read_text()


def test_a_layout_that_came_later_is_no_difference(tmp_path: Path) -> None:
    """A checkpoint of a handle that has read the table before, beside the log, folded at once."""
    table = IndexTable.create(tmp_path / "t", {"n": pa.int64()})
    table.append(pa.table({"n": [1, 2]}))
    assert table.count() == 2
    table.evolve_layout("bucket(2, n)")
    table.checkpoint()
    assert table.check(all_versions=True).findings == ()
