"""The splits that a table gains, version by version."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import (
    ChangedRowsError,
    ConfigError,
    StreamSchemaError,
    TableNotFoundError,
    TableReplacedError,
    VersionNotFoundError,
)
from indextables.log import TransactionLog
from indextables.read.appended_splits import AppendedSplits
from indextables.read.stream_offset import ReadLimits
from tests.read.stream import NO_LIMITS, Stream, kept

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int32(), "note": pa.string()})
MANY = 64  # versions without rows that a stream passes only together with others


def rows(**numbers_of_days: int) -> pa.Table:
    """A row of each day, in splits of their own."""
    days = list(numbers_of_days)
    return pa.table([days, list(numbers_of_days.values()), [f"at {day}" for day in days]], schema=SCHEMA)


def created(path: str | Path | None = None, partition_by: str = "day", **options: str) -> IndexTable:
    return IndexTable.create(
        path or f"memory://{uuid4().hex}/t", SCHEMA, partition_by=partition_by, options=options or None
    )


@pytest.fixture
def table() -> IndexTable:
    return created()


def numbers(stream: Stream, limits: ReadLimits = NO_LIMITS) -> list[int]:
    return [row["n"] for row in stream.read(limits)]


def sizes(table: IndexTable) -> list[int]:
    """The sizes of all splits, by path."""
    size: list[int] = TransactionLog.open(table.path).snapshot().splits.sort_by("path")["size"].to_pylist()
    return size


def cleaned_up(table: IndexTable) -> int:
    """Checkpoints the newest version and deletes all older files of the log; gives that version."""
    table.checkpoint()
    log = TransactionLog.open(table.path)
    assert log.clean_up(retention=timedelta(0), store_time=datetime.now(UTC) + timedelta(hours=1))
    return log.snapshot().version


# ---------------------------------------------------------------------------------------------------- where it starts


def test_the_table_as_it_is_comes_first_and_then_what_it_gains(table: IndexTable) -> None:
    table.append(rows(mon=1, tue=2))
    table.append(rows(mon=3))
    stream = Stream(table.path)
    table.append(rows(mon=4))
    assert stream.offset.initial_snapshot
    assert stream.offset.version == 2
    assert sorted(numbers(stream)) == [1, 2, 3, 4]
    assert numbers(stream) == []
    table.append(rows(wed=5))
    table.append(rows(mon=6))
    assert numbers(stream) == [5, 6]
    assert stream.offset == stream.splits.latest()


def test_the_first_rows_are_those_of_the_version_at_which_it_started(table: IndexTable) -> None:
    """They are read at that version, however long it takes, and a compaction meanwhile changes nothing."""
    for n in range(4):
        table.append(rows(mon=n))
    stream = Stream(table.path)
    assert len(numbers(stream, ReadLimits(max_files=1))) == 1
    table.merge_splits()
    table.append(rows(mon=9))
    table.merge_splits()
    stream.restart()
    seen = [numbers(stream, ReadLimits(max_files=2)) for _ in range(3)]
    assert [len(some) for some in seen] == [2, 2, 0]
    assert seen[1][1] == 9


def test_an_empty_table_is_waited_for(table: IndexTable) -> None:
    stream = Stream(table.path)
    before = stream.offset
    assert numbers(stream) == []
    assert stream.offset == before
    table.append(rows(mon=1))
    assert numbers(stream) == [1]


def test_it_can_start_with_a_version(table: IndexTable) -> None:
    for n in range(1, 4):
        table.append(rows(mon=n))
    table.merge_splits()
    stream = Stream(table.path)
    for version, expected in [(0, [1, 2, 3]), (1, [1, 2, 3]), (3, [3]), (4, []), (5, [])]:
        stream.offset = stream.splits.from_version(version)
        assert numbers(stream) == expected


@pytest.mark.parametrize("version", [-1, 3])
def test_a_version_that_is_not_there_is_refused(table: IndexTable, version: int) -> None:
    table.append(rows(mon=1))
    with pytest.raises(ConfigError, match=rf"startingVersion is {version}, .* versions 0 to 1; .* or 2 for what comes"):
        Stream(table.path).splits.from_version(version)


def test_it_can_start_with_what_comes_next(table: IndexTable) -> None:
    table.append(rows(mon=1))
    stream = Stream(table.path)
    stream.offset = stream.splits.latest()
    assert numbers(stream) == []
    table.append(rows(mon=2))
    assert numbers(stream) == [2]


def test_it_can_start_at_a_time(table: IndexTable) -> None:
    for n in range(1, 4):
        table.append(rows(mon=n))
    stream = Stream(table.path)
    times = {row["version"]: row["timestamp"] for row in table.history().to_pylist()}
    instant = timedelta(milliseconds=1)
    for version, time in times.items():
        assert stream.splits.from_timestamp(time).version == version
        assert stream.splits.from_timestamp(time + instant).version == version + 1
    assert stream.splits.from_timestamp(times[0] - timedelta(days=1)).version == 0
    assert stream.splits.from_timestamp(times[2].replace(tzinfo=None)).version == 2  # UTC, where it has no zone
    stream.offset = stream.splits.from_timestamp(times[3] + timedelta(hours=1))
    assert numbers(stream) == []
    table.append(rows(mon=4))
    assert numbers(stream) == [4]


def test_an_older_state_of_the_table_is_not_waited_for(tmp_path: Path) -> None:
    table = created(tmp_path / "table")
    table.append(rows(mon=1))
    backup = shutil.copytree(table.path, tmp_path / "backup")
    for n in (2, 3):
        table.append(rows(mon=n))
    offset = Stream(table.path).splits.latest()
    shutil.rmtree(table.path)
    backup.rename(table.path)
    with pytest.raises(VersionNotFoundError, match=r"up to version 3, and the table is at version 1.* new checkpoint"):
        Stream(table.path).splits.advance(offset)


# -------------------------------------------------------------------------------------------------------------- limits


def test_a_batch_has_no_more_splits_than_allowed(table: IndexTable) -> None:
    table.append(rows(a=1, b=2, c=3))
    stream = Stream(table.path)
    table.append(rows(a=4, b=5))
    table.append(rows(a=6, b=7, c=8, d=9))
    batches = [numbers(stream, ReadLimits(max_files=2)) for _ in range(6)]
    assert batches == [[1, 2], [3, 4], [5, 6], [7, 8], [9], []]
    assert (stream.offset.version, stream.offset.position) == (4, 0)


def test_a_batch_that_ends_with_a_version_goes_on_with_the_next(table: IndexTable) -> None:
    table.append(rows(a=1, b=2))
    table.append(rows(a=3, b=4))
    stream = Stream(table.path)
    stream.offset = stream.splits.from_version(1)
    offsets = []
    for expected in ([1, 2], [3, 4]):
        assert numbers(stream, ReadLimits(max_files=2)) == expected
        offsets.append((stream.offset.version, stream.offset.position))
    assert offsets == [(2, 0), (3, 0)]


def test_a_batch_has_no_more_bytes_than_allowed(table: IndexTable) -> None:
    table.append(rows(a=1, b=2, c=3, d=4))
    first, second, third, _ = sizes(table)
    stream = Stream(table.path)
    assert numbers(stream, ReadLimits(max_bytes=first + second)) == [1, 2]
    assert numbers(stream, ReadLimits(max_bytes=third - 1)) == [3]  # larger than allowed, and read alone
    assert numbers(stream, ReadLimits(max_bytes=1)) == [4]
    assert numbers(stream, ReadLimits(max_bytes=1)) == []


def test_one_byte_too_few_leaves_a_split_to_the_next_batch(table: IndexTable) -> None:
    table.append(rows(a=1))
    table.append(rows(b=2))
    stream = Stream(table.path)
    stream.offset = stream.splits.from_version(1)
    assert numbers(stream, ReadLimits(max_bytes=sum(sizes(table)) - 1)) == [1]
    assert (stream.offset.version, stream.offset.position) == (2, 0)
    assert numbers(stream, ReadLimits(max_bytes=sum(sizes(table)) - 1)) == [2]


@pytest.mark.parametrize(("files", "splits_of_bytes", "expected"), [(3, 2, 2), (2, 3, 2), (1, 0, 1), (9, 9, 4)])
def test_both_limits_hold(table: IndexTable, files: int, splits_of_bytes: int, expected: int) -> None:
    table.append(rows(a=1, b=2, c=3, d=4))
    limits = ReadLimits(max_files=files, max_bytes=sum(sizes(table)[:splits_of_bytes]))
    assert len(numbers(Stream(table.path), limits)) == expected


def test_a_large_split_waits_for_a_batch_of_its_own(table: IndexTable) -> None:
    table.append(rows(a=1))
    many = pa.table({"day": ["b"] * 5000, "n": range(5000), "note": [uuid4().hex for _ in range(5000)]}, schema=SCHEMA)
    table.append(many)
    table.append(rows(c=3))
    small, large, _ = sizes(table)
    assert large > 10 * small
    stream = Stream(table.path)
    stream.offset = stream.splits.from_version(1)
    assert [len(numbers(stream, ReadLimits(max_bytes=5 * small))) for _ in range(4)] == [1, 5000, 1, 0]


def test_a_run_ends_where_it_is_told_to(table: IndexTable) -> None:
    table.append(rows(a=1, b=2))
    stream = Stream(table.path)
    table.append(rows(a=3))
    target = stream.splits.latest()
    table.append(rows(a=4))
    one = ReadLimits(max_files=1)
    seen = [stream.read(one, until=target) for _ in range(5)]
    assert [[row["n"] for row in some] for some in seen] == [[1], [2], [3], [], []]
    assert stream.offset == target
    assert numbers(stream) == [4]
    assert stream.read(until=target) == []  # it never goes back
    assert stream.offset.version == 4


# ------------------------------------------------------------------------------------------- commits without any rows


def test_a_compaction_gives_no_rows_and_is_no_batch(table: IndexTable) -> None:
    for n in range(3):
        table.append(rows(mon=n))
    stream = Stream(table.path)
    assert sorted(numbers(stream)) == [0, 1, 2]
    before = stream.offset
    table.merge_splits()
    assert stream.advance().versions == {}
    assert stream.offset == before
    table.append(rows(mon=3))
    assert numbers(stream) == [3]
    assert stream.offset == stream.splits.latest()


def test_rows_come_once_although_a_compaction_has_merged_them_before_they_are_read(table: IndexTable) -> None:
    stream = Stream(table.path)
    for n in range(6):
        table.append(rows(mon=n))
        table.merge_splits()
    assert numbers(stream) == list(range(6))


@pytest.mark.parametrize("initial_snapshot", [False, True])
def test_many_versions_without_rows_move_the_offset(table: IndexTable, *, initial_snapshot: bool) -> None:
    stream = Stream(table.path)
    if not initial_snapshot:
        table.append(rows(mon=0))
        assert numbers(stream) == [0]
    before = stream.offset
    for n in range(MANY - initial_snapshot):
        table.set_properties({"turn": str(n)})
    assert stream.advance().versions == {}
    assert stream.offset == before
    table.set_properties({"turn": "last"})
    assert stream.advance().versions == {}
    assert stream.offset == stream.splits.latest()
    stream.restart()
    table.append(rows(mon=1))
    assert numbers(stream) == [1]


def test_more_versions_than_are_read_together(table: IndexTable) -> None:
    stream = Stream(table.path)
    expected = list(range(MANY + 9))
    for n in expected:
        table.append(rows(mon=n))
    begun = stream.offset
    assert numbers(stream) == expected
    stream.offset = begun
    seen: list[int] = []
    while some := numbers(stream, ReadLimits(max_files=30)):
        seen += some
        stream.restart()
    assert seen == expected


# ------------------------------------------------------------------------------------------- commits that remove rows

CHANGES: dict[str, tuple[Callable[[IndexTable], object], str]] = {
    "overwrite": (lambda table: table.overwrite(rows(mon=9)), "OVERWRITE"),
    "overwrite of partitions": (
        lambda table: table.overwrite(rows(mon=9), options={"partitionOverwriteMode": "dynamic"}),
        "OVERWRITE",
    ),
    "replace_where": (lambda table: table.replace_where(rows(mon=9), "day = 'mon'"), "REPLACEWHERE"),
}
DELETES: dict[str, tuple[Callable[[IndexTable], object], str]] = {
    "drop_partitions": (lambda table: table.drop_partitions("day = 'mon'"), "DROP PARTITIONS"),
    "empty replace_where": (lambda table: table.replace_where(SCHEMA.empty_table(), "day = 'mon'"), "REPLACEWHERE"),
    "empty overwrite": (lambda table: table.overwrite(SCHEMA.empty_table()), "OVERWRITE"),
}


@pytest.mark.parametrize("change", [*CHANGES, *DELETES])
def test_removed_rows_are_an_error_after_all_that_came_before(table: IndexTable, change: str) -> None:
    stream = Stream(table.path)
    table.append(rows(mon=1, tue=2))
    table.append(rows(mon=3))
    act, operation = (CHANGES | DELETES)[change]
    act(table)
    table.append(rows(mon=4))
    assert [numbers(stream, ReadLimits(max_files=2)) for _ in range(2)] == [[1, 2], [3]]
    for _ in range(2):
        with pytest.raises(ChangedRowsError, match=r"version 3 of .* removed rows .*skipChangeCommits") as error:
            stream.advance()
        assert error.value.version == stream.offset.version == 3
        assert error.value.operation.replace(" ", "") == operation.replace(" ", "")
        stream.restart()


def test_the_error_waits_for_no_compaction(table: IndexTable) -> None:
    table.append(rows(mon=1))
    table.append(rows(mon=2))
    stream = Stream(table.path)
    numbers(stream)
    table.merge_splits()
    table.overwrite(rows(mon=3))
    with pytest.raises(ChangedRowsError) as error:
        stream.advance()
    assert error.value.version == 4


def test_the_error_comes_after_the_first_rows(table: IndexTable) -> None:
    table.append(rows(mon=1))
    stream = Stream(table.path)
    table.overwrite(rows(mon=2))
    assert numbers(stream) == [1]
    with pytest.raises(ChangedRowsError):
        stream.advance()


@pytest.mark.parametrize("change", CHANGES)
def test_ignored_deletes_are_not_changes(table: IndexTable, change: str) -> None:
    stream = Stream(table.path, {"ignore_deletes": True})
    table.append(rows(mon=1, tue=2))
    CHANGES[change][0](table)
    assert numbers(stream) == [1, 2]
    with pytest.raises(ChangedRowsError):
        stream.advance()


@pytest.mark.parametrize("policy", ["ignore_deletes", "skip_change_commits"])
@pytest.mark.parametrize("change", DELETES)
def test_deletes_can_be_ignored(table: IndexTable, change: str, policy: str) -> None:
    stream = Stream(table.path, {policy: True})
    table.append(rows(mon=1, tue=2))
    DELETES[change][0](table)
    table.append(rows(mon=3))
    assert numbers(stream) == [1, 2, 3]


@pytest.mark.parametrize("change", CHANGES)
def test_changes_can_be_skipped(table: IndexTable, change: str) -> None:
    stream = Stream(table.path, {"skip_change_commits": True})
    table.append(rows(mon=1, tue=2))
    CHANGES[change][0](table)
    table.append(rows(mon=3))
    assert numbers(stream) == [1, 2, 3]


def test_a_skipped_commit_alone_is_no_batch(table: IndexTable) -> None:
    table.append(rows(mon=1))
    stream = Stream(table.path, {"skip_change_commits": True})
    numbers(stream)
    before = stream.offset
    table.overwrite(rows(mon=2))
    assert stream.advance().versions == {}
    assert stream.offset == before


def test_commits_that_removed_nothing_are_appends(table: IndexTable) -> None:
    stream = Stream(table.path)
    table.overwrite(rows(mon=1))
    table.replace_where(rows(tue=2), "day = 'tue'")
    table.overwrite(rows(wed=3), options={"partitionOverwriteMode": "dynamic"})
    assert numbers(stream) == [1, 2, 3]


def test_a_drop_that_copies_rows_out_of_a_shared_split_is_not_only_a_delete() -> None:
    """The split of several partitions is written again without one: its other rows must not come twice."""
    shared = {"coalesce.enabled": "true", "coalesce.minRows": "10"}
    table = created(**shared)
    strict, lenient = (Stream(table.path, {policy: True}) for policy in ("ignore_deletes", "skip_change_commits"))
    table.append(rows(mon=1, tue=2))
    assert len(table.splits()) == 1
    assert table.drop_partitions("day = 'mon'").rows == 1
    table.append(rows(mon=3))
    assert sorted(numbers(strict)) == [1, 2]
    with pytest.raises(ChangedRowsError):
        strict.advance()
    assert sorted(numbers(lenient)) == [1, 2, 3]


# -------------------------------------------------------------------------------------- columns, layouts and properties


def add_column(table: IndexTable) -> None:
    table.add_column("more", "string")


def merge_schema(table: IndexTable) -> None:
    """The version has rows of its own besides the new column."""
    more = rows(mon=3).append_column("more", pa.array(["x"]))
    table.append(more, options={"mergeSchema": "true"})


def widen_column(table: IndexTable) -> None:
    table.widen_column("n", "long")


@pytest.mark.parametrize(("change", "column"), [(add_column, "more"), (merge_schema, "more"), (widen_column, "n")])
def test_changed_columns_are_an_error_and_a_new_stream_goes_on(
    table: IndexTable, change: Callable[[IndexTable], None], column: str
) -> None:
    stream = Stream(table.path)
    table.append(rows(mon=1))
    table.append(rows(mon=2))
    change(table)
    table.append(rows(mon=4, tue=5))
    assert numbers(stream, ReadLimits(max_files=1)) == [1]
    assert numbers(stream) == [2]
    for _ in range(2):
        with pytest.raises(StreamSchemaError, match=rf"version 3 of .* changed its columns \({column}\)") as error:
            stream.advance()
        assert (error.value.version, error.value.columns) == (3, (column,))
    assert stream.offset.version == 3
    stream.restart()
    assert numbers(stream) == ([3] if change is merge_schema else []) + [4, 5]


def test_rows_from_before_a_new_column_have_it_too(table: IndexTable) -> None:
    """The restart has the newer columns for all that is left, and finds what is null there and what is not."""
    stream = Stream(table.path)
    table.append(rows(mon=1, tue=2))
    table.add_column("more", "int")
    table.append(rows(wed=3).append_column("more", pa.array([7], pa.int32())))
    table.widen_column("more", "long")
    table.widen_column("n", "long")
    stream.restart()
    increment = stream.advance()
    assert [(row["n"], row["more"]) for _, row in stream.rows(increment)] == [(1, None), (2, None), (3, 7)]
    for where, expected in [("more IS NULL", [1, 2]), ("more > 6", [3]), ("n > 1 AND more IS NULL", [2])]:
        assert [row["n"] for _, row in stream.rows(increment, where=where)] == expected


@pytest.mark.parametrize("start", ["latest", "version", "timestamp", "snapshot"])
def test_columns_that_changed_before_the_first_offset_are_an_error_too(table: IndexTable, start: str) -> None:
    """The stream has the columns of the version that it was loaded with."""
    table.append(rows(mon=1))
    stream = Stream(table.path)
    table.add_column("more", "string")
    first_offset = {
        "latest": stream.splits.latest,
        "version": lambda: stream.splits.from_version(3),
        "timestamp": lambda: stream.splits.from_timestamp(datetime.now(UTC) + timedelta(hours=1)),
        "snapshot": stream.splits.from_snapshot,
    }
    stream.offset = first_offset[start]()
    table.append(rows(mon=2))
    with pytest.raises(StreamSchemaError) as error:
        stream.advance()
    assert error.value.columns == ("more",)
    stream.restart()
    assert sorted(numbers(stream)) == ([1, 2] if start == "snapshot" else [2])


def test_the_layout_may_change_on_the_way(table: IndexTable) -> None:
    stream = Stream(table.path)
    table.append(rows(mon=1, tue=2))
    for n, layout in enumerate(["truncate(1, day)", "bucket(4, n)", "", "day"]):
        table.evolve_layout(layout)
        table.append(rows(mon=10 + n, tue=20 + n))
    assert sorted(numbers(stream)) == [1, 2, 10, 11, 12, 13, 20, 21, 22, 23]


@pytest.mark.parametrize("restart", [False, True])
def test_splits_of_a_newer_layout_are_pruned_in_every_later_batch(table: IndexTable, *, restart: bool) -> None:
    stream = Stream(table.path)
    table.append(rows(mon=1))
    numbers(stream)
    table.evolve_layout("truncate(1, day), n")
    for n in range(2, 5):
        table.append(rows(mon=n, tue=n, wed=n))
        if restart:
            stream.restart()
        increment = stream.advance()
        assert set(increment.snapshot.splits["spec_id"].to_pylist()) <= set(increment.snapshot.metadata.layouts)
        partitions = increment.snapshot.splits["partition"].to_pylist()
        assert [place["truncate(1, day)"]["value"] for place in partitions] == ["m", "t", "w"]
        assert [row["day"] for _, row in stream.rows(increment, where="day > 'n' AND day < 'u'")] == ["tue"]


def test_a_layout_that_is_newer_than_the_stream_and_older_than_its_start(table: IndexTable) -> None:
    stream = Stream(table.path)
    table.evolve_layout("truncate(1, day)")
    table.append(rows(mon=1, tue=2))
    for offset in (stream.splits.from_snapshot(), stream.splits.from_version(2), stream.splits.latest()):
        stream.offset = offset
        table.append(rows(mon=3, tue=4))
        increment = stream.advance()
        partitions = increment.snapshot.splits["partition"].to_pylist()
        assert {place["truncate(1, day)"]["value"] for place in partitions} == {"m", "t"}


def test_properties_may_change_on_the_way(table: IndexTable) -> None:
    stream = Stream(table.path)
    table.append(rows(mon=1))
    table.set_properties({"owner": "web", "targetRecordsPerSplit": "1"})
    table.append(rows(mon=2))
    table.unset_properties("owner")
    assert numbers(stream) == [1, 2]


# ------------------------------------------------------------------------------------------------------- the log itself


def test_a_version_that_a_clean_up_deleted_is_named() -> None:
    table = created()
    early = Stream(table.path)
    for n in range(1, 5):
        table.append(rows(mon=n))
    stream = Stream(table.path)
    early.offset = stream.offset = stream.splits.from_version(2)
    left = cleaned_up(table)
    with pytest.raises(VersionNotFoundError, match="what version 2 added: a clean-up of the log deleted its") as error:
        stream.advance()
    assert (error.value.version, error.value.earliest) == (2, left)
    with pytest.raises(VersionNotFoundError, match="version 2"):
        early.advance()
    stream.restart()
    with pytest.raises(VersionNotFoundError, match="version 1 added"):
        stream.splits.from_version(1)
    with pytest.raises(VersionNotFoundError, match="what was added since"):
        stream.splits.from_timestamp(datetime.now(UTC) - timedelta(days=1))
    stream.offset = stream.splits.from_version(left)
    assert numbers(stream) == [4]


def test_a_first_version_that_a_clean_up_deleted_is_named() -> None:
    table = created()
    table.append(rows(mon=1, tue=2))
    stream = Stream(table.path)
    assert numbers(stream, ReadLimits(max_files=1)) == [1]
    for n in range(3, 5):
        table.append(rows(mon=n))
    cleaned_up(table)
    stream.restart()
    with pytest.raises(VersionNotFoundError, match="version 1 of .* is no longer there") as error:
        stream.advance()
    assert error.value.version == 1


def test_a_clean_up_of_what_was_read_changes_nothing() -> None:
    table = created()
    stream = Stream(table.path)
    for n in range(1, 4):
        table.append(rows(mon=n))
    assert numbers(stream) == [1, 2, 3]
    cleaned_up(table)
    stream.restart()
    assert numbers(stream) == []
    table.append(rows(mon=4))
    assert numbers(stream) == [4]


def test_a_clean_up_of_compactions_does_not_stop_a_stream_that_has_seen_them() -> None:
    table = created()
    stream = Stream(table.path)
    for n in range(2):
        table.append(rows(mon=n))
    assert numbers(stream) == [0, 1]
    table.merge_splits()
    table.set_properties({"owner": "web"})
    assert stream.advance().versions == {}
    cleaned_up(table)
    table.append(rows(mon=2))
    assert numbers(stream) == [2]


def test_checkpoints_change_nothing() -> None:
    table = created(**{"checkpoint.interval": "2"})
    stream = Stream(table.path)
    for n in range(9):
        table.append(rows(mon=n))
    stream.restart()
    assert numbers(stream) == list(range(9))


@pytest.mark.parametrize("versions", [1, 9])
def test_a_table_that_took_the_place_of_another_is_an_error(tmp_path: Path, versions: int) -> None:
    table = created(tmp_path / "t")
    for n in range(4):
        table.append(rows(mon=n))
    stream = Stream(table.path)
    assert len(numbers(stream, ReadLimits(max_files=2))) == 2
    old = stream.offset
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(TableNotFoundError):
        stream.advance()
    other = created(tmp_path / "t")
    for n in range(versions):
        other.append(rows(tue=n))
    with pytest.raises(TableReplacedError):
        stream.advance()
    stream.restart()
    for read in (stream.advance, lambda: stream.splits.between(old, old)):
        with pytest.raises(TableReplacedError, match="start with a new checkpoint") as error:
            read()
        assert error.value.table_id == old.table_id != error.value.found_id


# ------------------------------------------------------------------------------------------------- batches planned again


def test_a_batch_is_the_same_when_it_is_planned_again(table: IndexTable) -> None:
    table.append(rows(a=1, b=2, c=3))
    stream = Stream(table.path)
    table.append(rows(a=4, b=5))
    limits = ReadLimits(max_files=2)
    seen = []
    for _ in range(3):
        start = stream.offset
        increment = stream.advance(limits)
        seen.append((kept(start), kept(stream.offset), increment.versions))
    table.merge_splits()
    table.evolve_layout("")
    table.append(rows(a=6))
    log = TransactionLog.open(table.path)
    for start, end, versions in seen:
        again = AppendedSplits(log, log.snapshot()).between(start, end)
        assert again.versions == versions
        assert again.snapshot.splits["path"].to_pylist() == list(versions)
    assert [list(versions.values()) for _, _, versions in seen] == [[1, 1], [1, 2], [2]]


def test_a_batch_has_no_splits_between_an_offset_and_itself(table: IndexTable) -> None:
    table.append(rows(a=1, b=2))
    stream = Stream(table.path)
    for offset in (stream.offset, stream.splits.from_version(1), stream.splits.latest()):
        assert len(stream.splits.between(offset, offset).snapshot.splits) == 0
    numbers(stream, ReadLimits(max_files=1))
    assert stream.splits.between(stream.offset, stream.offset).versions == {}


def test_a_standing_search_is_not_woken_up_by_splits_that_cannot_match(table: IndexTable) -> None:
    stream = Stream(table.path, where="day = 'mon'")
    for n in range(10):
        table.append(rows(tue=n))
        assert (stream.offset, numbers(stream)) == (stream.offset, [])
    assert stream.offset.version == 0
    table.append(rows(mon=10, tue=11))
    table.append(rows(tue=12))
    assert numbers(stream) == [10]
    assert stream.offset.version == table.version + 1


def test_splits_that_cannot_match_do_not_count(table: IndexTable) -> None:
    for n in range(6):
        table.append(rows(mon=n, tue=n, wed=n))
    stream = Stream(table.path, where="day = 'mon'")
    batches = [numbers(stream, ReadLimits(max_files=2)) for _ in range(4)]
    assert sorted(n for batch in batches for n in batch) == list(range(6))
    assert [len(batch) for batch in batches] == [2, 2, 2, 0]


def test_many_versions_without_a_match_are_passed_together(table: IndexTable) -> None:
    stream = Stream(table.path, where="day = 'mon'")
    for n in range(MANY - 1):
        table.append(rows(tue=n))
    assert (numbers(stream), stream.offset.version) == ([], 0)
    table.append(rows(tue=MANY))
    assert (numbers(stream), stream.offset.version) == ([], MANY + 1)


def test_a_change_stops_a_standing_search_too(table: IndexTable) -> None:
    stream = Stream(table.path, where="day = 'mon'")
    table.append(rows(tue=1))
    table.drop_partitions("day = 'tue'")
    with pytest.raises(ChangedRowsError):
        stream.read()
