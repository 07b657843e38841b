"""Rows deleted by any condition and by searches: what goes, what stays, and how it is told."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import (
    ChangedRowsError,
    DamagedSplitError,
    IndexTablesError,
    InvalidPredicateError,
    PredicateError,
    SchemaError,
)
from tests.maintain.samples import litter, split_files

SCHEMA = pa.schema({"day": pa.string(), "id": pa.int64(), "message": pa.string(), "x": pa.float64()})
COUNT = 100


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Two days of one split each; every tenth message is null."""
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day", fields={"message": "text"})
    for day in ("mon", "tue"):
        table.append(
            pa.table(
                {
                    "day": [day] * COUNT,
                    "id": range(COUNT),
                    "message": [None if n % 10 == 9 else f"request {n} of user{n % 7}" for n in range(COUNT)],
                    "x": [float(n) for n in range(COUNT)],
                }
            )
        )
    return table


def ids(table: IndexTable, where: str | None = None) -> list[int]:
    return sorted(table.scan(where=where, columns=["id"]).to_arrow()["id"].to_pylist())


def test_a_few_rows_get_a_deletion_vector(table: IndexTable, tmp_path: Path) -> None:
    before = split_files(tmp_path)
    deleted = table.delete("id IN (3, 5) AND day = 'mon'")
    assert (deleted.version, deleted.rows, deleted.vectors) == (3, 2, 1)
    assert (deleted.splits_removed, deleted.splits_rewritten, deleted.dry_run) == (0, 0, False)
    assert split_files(tmp_path) == before
    assert ids(table, "day = 'mon'") == [n for n in range(COUNT) if n not in {3, 5}]
    assert ids(table, "day = 'tue'") == list(range(COUNT))
    assert IndexTable.open(tmp_path).count() == 2 * COUNT - 2


def test_all_rows_of_a_split_remove_it(table: IndexTable) -> None:
    deleted = table.delete("day = 'mon'")
    assert (deleted.rows, deleted.splits_removed, deleted.vectors) == (COUNT, 1, 0)
    assert table.delete("id < 1000").splits_removed == 1
    assert len(table.splits()) == 0


def test_the_last_rows_of_a_split_remove_it(table: IndexTable) -> None:
    options = {"deletionVectors.maxDeletedShare": "1"}
    assert table.delete("day = 'mon' AND id < 99", options=options).vectors == 1
    deleted = table.delete("day = 'mon' AND id = 99")
    assert (deleted.rows, deleted.splits_removed) == (1, 1)


def test_many_rows_rewrite_the_split(table: IndexTable, tmp_path: Path) -> None:
    deleted = table.delete("day = 'mon' AND id < 31")
    assert (deleted.rows, deleted.splits_rewritten, deleted.copied, deleted.vectors) == (31, 1, 69, 0)
    assert ids(table, "day = 'mon'") == list(range(31, COUNT))
    assert litter(tmp_path) == set()


def test_deletions_add_up_to_a_rewrite(table: IndexTable) -> None:
    assert table.delete("day = 'mon' AND id < 20").vectors == 1
    deleted = table.delete("day = 'mon' AND id < 40")
    assert (deleted.rows, deleted.splits_rewritten, deleted.copied) == (20, 1, 60)
    assert ids(table, "day = 'mon'") == list(range(40, COUNT))


def test_a_table_may_do_without_vectors(table: IndexTable) -> None:
    """Then every file of the current version, read as Parquet, has the rows of the table and no others."""
    table.set_properties({"deletionVectors": "false"})
    deleted = table.delete("id = 7")
    assert (deleted.rows, deleted.splits_rewritten, deleted.vectors) == (2, 2, 0)
    files = [pa.parquet.read_table(Path(table.path, path)) for path in table.splits()["path"].to_pylist()]
    assert sum(len(file) for file in files) == table.count() == 2 * COUNT - 2


@pytest.mark.parametrize("options", [{}, {"deletionVectors": "false"}], ids=["vectors", "rewrites"])
def test_a_search_finds_the_rows(table: IndexTable, options: dict[str, str]) -> None:
    deleted = table.delete(query="message:user3", options=options)
    gone = {n for n in range(COUNT) if n % 7 == 3 and n % 10 != 9}
    assert deleted.rows == 2 * len(gone)
    assert table.count(query="message:user3") == 0
    assert table.search("message:user3").num_rows == 0
    assert ids(table, "day = 'mon'") == [n for n in range(COUNT) if n not in gone]
    assert table.count("message INDEXQUERY 'user4'") == 2 * len({n for n in range(COUNT) if n % 7 == 4 and n % 10 != 9})


def test_a_condition_and_a_search_go_together(table: IndexTable) -> None:
    assert table.delete("day = 'mon'", query="message:user3").rows == len(
        {n for n in range(COUNT) if n % 7 == 3 and n % 10 != 9}
    )
    assert table.count("day = 'tue'") == COUNT


def test_unknown_keeps_a_row(table: IndexTable) -> None:
    """NOT of a condition on a null is null: neither the condition nor its negation deletes such rows."""
    nulls = 2 * COUNT // 10
    table.delete("message LIKE 'request%'")
    assert table.count() == nulls
    table.delete("NOT (message LIKE 'request%')")
    assert table.count() == nulls
    assert table.delete("message IS NULL").rows == nulls


def test_no_match_is_no_commit(table: IndexTable) -> None:
    deleted = table.delete("id = 12345")
    assert (deleted.version, deleted.rows, table.refresh().version) == (2, 0, 2)
    assert table.delete(query="message:nobody").version == 2
    table.delete("id = 7")
    assert table.delete("id = 7").version == 3


@pytest.mark.parametrize("where", ["id < 20", "id IN (1, 2)", "day = 'mon'", "true", "id = -1"])
def test_a_dry_run_tells_the_same_and_does_nothing(table: IndexTable, tmp_path: Path, where: str) -> None:
    before = split_files(tmp_path)
    would = table.delete(where, dry_run=True)
    assert (table.refresh().version, split_files(tmp_path)) == (2, before)
    done = table.delete(where)
    assert would == replace(done, version=2, dry_run=True)


def test_everything_goes_only_if_one_says_so(table: IndexTable) -> None:
    with pytest.raises(InvalidPredicateError, match='where="true" means every row'):
        table.delete()
    assert table.delete("true").rows == 2 * COUNT
    assert table.count() == 0


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("rand() < 0.5", PredicateError),
        ("uuid() = message", PredicateError),
        ("nope = 1", PredicateError),
        ("", PredicateError),
    ],
)
def test_conditions_that_cannot_be_are_refused(table: IndexTable, where: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        table.delete(where)
    assert table.refresh().version == 2


def test_a_search_of_an_unknown_field_is_refused(table: IndexTable) -> None:
    with pytest.raises(IndexTablesError):
        table.delete(query="nope:x")


def test_the_past_keeps_its_rows(table: IndexTable) -> None:
    before = table.at(version=table.version)
    table.delete("id < 10")
    table.delete("id < 20")
    assert [table.at(version=version).count() for version in (2, 3, 4)] == [200, 180, 160]
    assert before.count() == 2 * COUNT
    with pytest.raises(IndexTablesError, match="shows the past"):
        before.delete("id = 1")


def test_counts_groups_and_extremes_are_exact(table: IndexTable) -> None:
    table.delete("id IN (0, 99)")
    scan = table.scan()
    assert table.count("day = 'mon'") == COUNT - 2
    assert scan.group_by("day").count().to_pylist() == [
        {"day": "mon", "count": COUNT - 2},
        {"day": "tue", "count": COUNT - 2},
    ]
    assert (scan.min("id"), scan.max("id"), scan.min("x"), scan.max("x")) == (1, 98, 1.0, 98.0)
    assert scan.explain().metadata_rows == 2 * (COUNT - 2)
    assert table.detail().num_records == table.health().rows == 2 * (COUNT - 2)


def test_limits_give_rows_that_are_there(table: IndexTable) -> None:
    table.delete("id < 25")
    assert ids_of(table.scan(limit=5).to_arrow()) == [25, 26, 27, 28, 29]
    assert table.search("message:request", limit=200).num_rows == 2 * 67


def ids_of(rows: pa.Table) -> list[int]:
    return list(rows["id"].to_pylist())


def test_coalesced_splits(tmp_path: Path) -> None:
    options = {"coalesce.enabled": "true", "coalesce.minRows": "50"}
    table = IndexTable.create(tmp_path, SCHEMA, partition_by="day", options=options)
    days = [f"d{n % 4}" for n in range(40)]
    table.append(pa.table({"day": days, "id": range(40), "message": ["m"] * 40, "x": [0.0] * 40}))
    assert len(table.splits()) == 1
    assert table.delete("id IN (0, 1, 5)").vectors == 1
    assert table.scan().group_by("day").count().to_pylist() == [
        {"day": "d0", "count": 9},
        {"day": "d1", "count": 8},
        {"day": "d2", "count": 10},
        {"day": "d3", "count": 10},
    ]
    assert table.delete("day = 'd1'").rows == 8
    assert table.count("day = 'd1'") == 0
    assert ids(table) == [n for n in range(40) if n % 4 != 1 and n != 0]


def test_compaction_drops_deleted_rows(table: IndexTable) -> None:
    table.append(pa.table({"day": ["mon"], "id": [1000], "message": ["late"], "x": [0.0]}))
    table.delete("id IN (1, 2, 3)")
    merged = table.merge_splits(where="day = 'mon'")
    assert (merged.merged, merged.rows) == (1, COUNT - 3 + 1)
    expected = [n for n in [*range(COUNT), 1000] if n not in {1, 2, 3}]
    assert ids(table, "day = 'mon'") == expected
    assert table.splits()["deleted_rows"].to_pylist().count(0) == 1


def test_overwrites_of_a_part_keep_deleted_rows_deleted(table: IndexTable) -> None:
    table.evolve_layout("truncate(50, id)")
    table.delete("id IN (10, 60)")
    table.replace_where(pa.table({"day": ["new"], "id": [70], "message": ["m"], "x": [0.0]}), "id >= 50")
    assert ids(table) == sorted([*[n for n in range(50) if n != 10] * 2, 70])


def test_large_vectors_are_in_a_file(table: IndexTable, tmp_path: Path) -> None:
    count = 100_000
    big = pa.table({"day": ["wed"] * count, "id": range(count), "message": ["m"] * count, "x": [0.0] * count})
    table.append(big)
    scattered = [n * 7 % count for n in range(3000)]
    deleted = table.delete(f"day = 'wed' AND id IN ({', '.join(map(str, scattered))})")
    assert (deleted.rows, deleted.vectors) == (3000, 1)
    [file] = tmp_path.glob("vectors-*.bin")
    table.checkpoint()
    again = IndexTable.open(tmp_path)
    assert again.count("day = 'wed'") == count - 3000
    assert not set(ids(again, "day = 'wed'")) & set(scattered)
    damaged = bytearray(file.read_bytes())
    damaged[100] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(DamagedSplitError, match="checksum"):
        IndexTable.open(tmp_path, options={"cache.maxSize": "1M"}).scan(where="day = 'wed' AND x = 0").to_arrow()


def test_vacuum_keeps_the_vectors_that_are_needed(table: IndexTable, tmp_path: Path) -> None:
    count = 20_000
    table.append(pa.table({"day": ["wed"] * count, "id": range(count), "message": ["m"] * count, "x": [0.0] * count}))
    table.delete("day = 'wed' AND id IN (" + ", ".join(str(n * 3) for n in range(2000)) + ")")
    table.delete("day = 'wed' AND id IN (" + ", ".join(str(n * 3 + 1) for n in range(2000)) + ")")
    assert len(list(tmp_path.glob("vectors-*.bin"))) == 2
    table.purge(older_than="0s", force=True)
    assert len(list(tmp_path.glob("vectors-*.bin"))) == 1
    assert IndexTable.open(tmp_path).scan(where="day = 'wed' AND x = 0").count() == count - 4000


def test_history_says_what_was_done(table: IndexTable) -> None:
    table.delete("id = 3", query="message:user3")
    newest = table.history().to_pylist()[0]
    assert (newest["operation"], dict(newest["parameters"])) == (
        "DELETE",
        {"predicate": "id = 3", "query": "message:user3"},
    )
    metrics = dict(newest["metrics"])
    assert (metrics["numDeletedRows"], metrics["numDeletionVectors"]) == ("2", "2")


def test_an_incremental_scan_stops_at_a_delete(table: IndexTable) -> None:
    table.delete("id = 3")
    with pytest.raises(ChangedRowsError, match="DELETE"):
        table.incremental_scan(2).to_arrow()
    assert table.incremental_scan(2, ignore_deletes=True).count() == 0
    table.append(pa.table({"day": ["mon"], "id": [1000], "message": ["late"], "x": [0.0]}))
    assert table.incremental_scan(2, ignore_deletes=True).to_arrow()["id"].to_pylist() == [1000]


def test_names_are_case_sensitive_only_if_told(table: IndexTable) -> None:
    assert table.delete("ID = 3", dry_run=True).rows == 2
    with pytest.raises((PredicateError, SchemaError)):
        table.delete("ID = 3", case_sensitive=True)
