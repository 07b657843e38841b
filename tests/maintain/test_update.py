import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, ExpressionError, InvalidPredicateError, SchemaError, SearchQueryError
from tests.maintain.samples import litter

SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string(), "n": pa.int32(), "day": pa.string()})


def table_of(path: Path | str, rows: list[tuple[Any, ...]], *, partition_by: str | None = None) -> IndexTable:
    table = IndexTable.create(path, SCHEMA, partition_by=partition_by, fields={"name": "text"})
    table.append(pa.table(list(map(list, zip(*rows, strict=True))), schema=SCHEMA))
    return table


def rows_of(table: IndexTable, columns: list[str] | None = None) -> list[tuple[Any, ...]]:
    found = table.scan(columns=columns).to_arrow()
    return sorted(zip(*found.to_pydict().values(), strict=True), key=repr)


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    return table_of(
        tmp_path / "t",
        [(1, "red apple", 10, "mon"), (2, "green pear", 20, "mon"), (3, None, None, "tue"), (4, "red plum", 40, None)],
        partition_by="day",
    )


def test_matching_rows_get_new_values_and_others_stay(table: IndexTable) -> None:
    result = table.update({"n": "n + 1"}, "id <= 2")
    assert (result.rows, result.version, table.version) == (2, 2, 2)
    assert rows_of(table, ["id", "n"]) == [(1, 11), (2, 21), (3, None), (4, 40)]


def test_without_a_condition_every_row_is_updated(table: IndexTable) -> None:
    result = table.update({"name": "'x'"})
    assert (result.rows, result.splits_removed, result.splits_added) == (4, 3, 3)
    assert rows_of(table, ["name"]) == [("x",)] * 4


def test_expressions_see_the_old_row(table: IndexTable) -> None:
    table.update({"n": "id", "ID": "n"}, "id <= 2")
    assert rows_of(table, ["id", "n"]) == [(10, 1), (20, 2), (3, None), (4, 40)]


def test_a_condition_that_is_unknown_keeps_the_row(table: IndexTable) -> None:
    assert table.update({"name": "'new'"}, "n > 15").rows == 2
    assert table.update({"name": "'new'"}, "NOT n > 15").rows == 1
    assert rows_of(table, ["id", "name"])[2] == (3, None)


def test_a_search_selects_rows_and_finds_their_new_words(table: IndexTable) -> None:
    assert table.update({"name": "replace(name, 'red', 'blue')"}, query="name:red").rows == 2
    assert table.count(query="name:red") == 0
    assert table.count(query="name:blue") == 2


def test_a_row_moves_with_its_partition_column(table: IndexTable) -> None:
    table.update({"day": "'wed'"}, "day = 'mon'")
    assert table.partition_names().to_pydict() == {
        "partition": ["day=__HIVE_DEFAULT_PARTITION__", "day=tue", "day=wed"]
    }
    assert table.count("day = 'wed'") == 2
    table.update({"day": "NULL"}, "day = 'wed' AND id = 1")
    assert rows_of(table, ["id", "day"]) == [(1, None), (2, "wed"), (3, "tue"), (4, None)]


def test_no_match_is_no_commit(table: IndexTable) -> None:
    result = table.update({"n": "0"}, "id = 99")
    assert (result.rows, result.version, result.splits_added, table.version) == (0, 1, 0, 1)


def test_a_dry_run_counts_and_writes_nothing(table: IndexTable, tmp_path: Path) -> None:
    before = rows_of(table)
    result = table.update({"n": "n * 2"}, "day = 'mon'", dry_run=True)
    assert (result.rows, result.dry_run, result.version, table.version) == (2, True, 1, 1)
    assert rows_of(table) == before
    assert litter(tmp_path / "t") == set()
    with pytest.raises(ExpressionError, match="there is no column 'm'"):
        table.update({"n": "m"}, dry_run=True)


def test_the_history_tells_what_was_updated(table: IndexTable) -> None:
    table.update({"n": "n + 1"}, "id = 1")
    last = table.history().slice(0, 1).to_pylist()[0]
    assert last["operation"] == "UPDATE"
    assert "n + 1" in str(last["parameters"])
    assert "id = 1" in str(last["parameters"])
    assert dict(last["metrics"])["numUpdatedRows"] in (1, "1")


def test_older_versions_have_the_old_values(table: IndexTable) -> None:
    table.update({"n": "0"})
    assert table.at(1).count("n = 10") == 1
    assert table.count("n = 0") == 4


def test_rows_of_a_large_split_are_marked_as_deleted(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [(number, "x", number, "mon") for number in range(1000)])
    result = table.update({"n": "-1"}, "id IN (5, 500)")
    assert (result.rows, result.vectors, result.splits_rewritten, result.splits_added) == (2, 1, 0, 1)
    assert table.update({"n": "-2"}, "n = -1").rows == 2
    assert table.count() == 1000
    assert table.count("n = -2") == 2


def test_an_update_rewrites_where_deletion_vectors_are_off(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [(number, "x", number, "mon") for number in range(100)])
    result = table.update({"n": "-1"}, "id = 5", options={"deletionVectors": "false"})
    assert (result.vectors, result.splits_rewritten, result.copied) == (0, 1, 99)
    assert table.count() == 100


def test_splits_shared_by_partitions_are_shared_again(tmp_path: Path) -> None:
    options = {"coalesce.enabled": "true"}
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day", options=options)
    table.append(
        pa.table([[1, 2, 3], ["a", "b", "c"], [1, 2, 3], ["mon", "tue", "wed"]], schema=SCHEMA), options=options
    )
    again = IndexTable.open(tmp_path / "t")
    assert again.detail().num_splits == 1
    result = again.update({"n": "n + 1"})
    assert result.splits_added == 1
    again.update({"day": "'thu'"}, "day = 'tue'")
    assert rows_of(again, ["id", "n", "day"]) == [(1, 2, "mon"), (2, 3, "thu"), (3, 4, "wed")]
    assert again.count("day = 'thu'") == 1


TYPES: list[tuple[pa.DataType, Any, str, Any]] = [
    (pa.int8(), 1, "v + 1", 2),
    (pa.int16(), 32766, "v + 1", 32767),
    (pa.int64(), 2**40, "v div 3", 2**40 // 3),
    (pa.float32(), 0.5, "v * 3", 1.5),
    (pa.float64(), 7.0, "v / 2", 3.5),
    (pa.float64(), 1.0, "CAST('NaN' AS DOUBLE)", math.nan),
    (pa.float64(), math.nan, "CASE WHEN v = CAST('NaN' AS DOUBLE) THEN 1 ELSE 0 END", 1.0),
    (pa.bool_(), True, "NOT v", False),
    (pa.string(), "abc", "concat(v, '-', length(v))", "abc-3"),
    (pa.string(), "O'Neil", "v || '''s'", "O'Neil's"),
    (pa.binary(), b"ab", "concat(v, X'00FF')", b"ab\x00\xff"),
    (pa.binary(), b"ab", "'\u00e9'", "\u00e9".encode()),
    (pa.date32(), date(2024, 1, 31), "date_add(v, 30)", date(2024, 3, 1)),
    (pa.date32(), date(2024, 1, 31), "'2023-12-31'", date(2023, 12, 31)),
    (
        pa.timestamp("us", "UTC"),
        datetime(2024, 1, 1, tzinfo=UTC),
        "v + INTERVAL 1 DAY",
        datetime(2024, 1, 2, tzinfo=UTC),
    ),
    (pa.timestamp("us", "UTC"), None, "TIMESTAMP '2024-05-01 10:00:00'", datetime(2024, 5, 1, 10, tzinfo=UTC)),
    (pa.timestamp("us"), datetime(2024, 1, 1, 5), "v - INTERVAL 2 HOURS", datetime(2024, 1, 1, 3)),  # noqa: DTZ001
    (pa.decimal128(10, 2), Decimal("1.25"), "v * 2 + 0.005", Decimal("2.51")),
    (pa.int32(), 5, "2.9", 2),
    (pa.int32(), 5, "'17'", 17),
    (pa.string(), "x", "1 = 1", "true"),
    (pa.int32(), 5, "NULL", None),
]


@pytest.mark.parametrize(("kind", "old", "expression", "new"), TYPES, ids=lambda value: str(value)[:30])
def test_new_values_have_the_type_of_the_column(
    tmp_path: Path, kind: pa.DataType, old: Any, expression: str, new: Any
) -> None:
    table = IndexTable.create(tmp_path / "t", pa.schema({"k": pa.int64(), "v": kind}))
    table.append(pa.table({"k": pa.array([1, 2]), "v": pa.array([old, old], kind)}))
    table.update({"v": expression}, "k = 1")
    after = dict(zip(*table.scan().to_arrow().to_pydict().values(), strict=True))
    assert repr(after) == repr({1: new, 2: old}) or after == {1: new, 2: old}


@pytest.mark.parametrize(
    ("updates", "where", "error", "message"),
    [
        ({"nmae": "1"}, None, SchemaError, "there is no column 'nmae'; did you mean 'name'"),
        ({"n": "1", "N": "2"}, None, SchemaError, "assigned twice"),
        ({}, None, SchemaError, "a dict of columns"),
        ({"n": 5}, None, ExpressionError, "write 5 as a string"),
        ({"n": "n +"}, None, ExpressionError, "missing after|not expected"),
        ({"n": "nn + 1"}, None, ExpressionError, "there is no column 'nn'"),
        ({"n": "rand()"}, None, ExpressionError, "rand.. gives another result each time"),
        ({"name": "uuid()"}, None, ExpressionError, "uuid.. gives another result each time"),
        ({"n": "sum(n)"}, None, ExpressionError, "computed from many rows"),
        ({"n": "(SELECT 1)"}, None, ExpressionError, "subquery"),
        ({"n": "frobnicate(n)"}, None, ExpressionError, "frobnicate is not supported"),
        ({"n": "name INDEXQUERY 'x'"}, None, ExpressionError, "INDEXQUERY"),
        ({"n": "date '2024-01-01'"}, None, ExpressionError, "cast"),
        ({"n": "n / 0"}, None, ExpressionError, "'n / 0' cannot be used: division by zero"),
        ({"n": "n + 2147483647"}, "n = 10", ExpressionError, "overflow"),
        ({"n": "name"}, "id = 1", ExpressionError, "'red apple' is no INTEGER"),
        ({"n": "id * 3000000000"}, "id = 1", ExpressionError, "out of range"),
        ({"n": "1", "id": "CAST(name AS BIGINT)"}, "id = 1", ExpressionError, "'CAST.name AS BIGINT.' cannot be used"),
        ({"n": "1"}, "idd = 1", InvalidPredicateError, "there is no column 'idd'"),
    ],
)
def test_what_cannot_be_updated_is_refused_and_leaves_no_file(  # noqa: PLR0917 - two fixtures, four parameters
    table: IndexTable, tmp_path: Path, updates: dict[str, str], where: str, error: type[Exception], message: str
) -> None:
    before = rows_of(table)
    with pytest.raises(error, match=message):
        table.update(updates, where)
    assert table.refresh().version == 1
    assert rows_of(table) == before
    assert litter(tmp_path / "t") == set()


def test_an_invalid_search_is_refused(table: IndexTable) -> None:
    with pytest.raises(SearchQueryError):
        table.update({"n": "1"}, query="nope:(")


def test_a_column_that_may_not_be_null_stays_so(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
    table = IndexTable.create(tmp_path / "t", schema)
    table.append(pa.table([[1], [None]], schema=schema))
    with pytest.raises(SchemaError, match="'k' may not be null"):
        table.update({"k": "v"})
    assert litter(tmp_path / "t") == set()


def test_the_time_is_the_same_in_all_rows(tmp_path: Path) -> None:
    schema = pa.schema({"k": pa.int64(), "a": pa.timestamp("us", "UTC"), "b": pa.timestamp("us", "UTC")})
    table = IndexTable.create(tmp_path / "t", schema)
    for number in range(3):
        table.append(pa.table([[number], [None], [None]], schema=schema))
    table.update({"a": "current_timestamp()", "b": "now()"})
    times = {time for _, *both in rows_of(table) for time in both}
    assert len(times) == 1
    assert abs(datetime.now(UTC) - times.pop()).total_seconds() < 600


def test_times_without_a_zone_are_in_the_given_zone(tmp_path: Path) -> None:
    schema = pa.schema({"at": pa.timestamp("us", "UTC"), "text": pa.string()})
    table = IndexTable.create(tmp_path / "t", schema)
    table.append(pa.table([[datetime(2024, 1, 1, 12, tzinfo=UTC)], [""]], schema=schema))
    table.update({"text": "at", "at": "TIMESTAMP '2024-07-01 12:00:00'"}, time_zone="Europe/Berlin")
    assert rows_of(table) == [(datetime(2024, 7, 1, 10, tzinfo=UTC), "2024-01-01 13:00:00")]


def test_a_zone_may_be_an_offset(tmp_path: Path) -> None:
    schema = pa.schema({"at": pa.timestamp("us", "UTC"), "text": pa.string()})
    table = IndexTable.create(tmp_path / "t", schema)
    table.append(pa.table([[datetime(2024, 1, 1, 12, tzinfo=UTC)], [""]], schema=schema))
    table.update({"text": "at", "at": "TIMESTAMP '2024-07-01 12:00:00'"}, time_zone="+05:30")
    assert rows_of(table) == [(datetime(2024, 7, 1, 6, 30, tzinfo=UTC), "2024-01-01 17:30:00")]
    with pytest.raises(ConfigError, match="'Mars/Olympus' is no time zone"):
        table.update({"text": "''"}, time_zone="Mars/Olympus")


def test_names_with_spaces_and_quotes(tmp_path: Path) -> None:
    schema = pa.schema({'a "b"': pa.int64(), "c d": pa.int64(), "e.f": pa.int64()})
    table = IndexTable.create(tmp_path / "t", schema)
    table.append(pa.table([[1], [2], [3]], schema=schema))
    table.update({'a "b"': "`c d` + 1", "e.f": '`a "b"` * `e.f`'})
    assert rows_of(table) == [(3, 2, 3)]


class TestRaces:
    """Another handle commits between the look at the table and the commit."""

    def test_rows_that_were_added_meanwhile_are_updated_too(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        other.append(pa.table([[9], ["new"], [90], ["mon"]], schema=SCHEMA))
        assert table.update({"n": "n + 1"}, "day = 'mon'").rows == 3
        assert rows_of(table, ["id", "n"]) == [(1, 11), (2, 21), (3, None), (4, 40), (9, 91)]

    def test_rows_that_were_updated_meanwhile_are_read_again(self, table: IndexTable, tmp_path: Path) -> None:
        IndexTable.open(table.path).update({"n": "n + 100"}, "id = 1")
        table.update({"n": "n * 2"}, "id = 1")
        assert rows_of(table, ["id", "n"])[0] == (1, 220)
        assert litter(tmp_path / "t") == set()

    def test_rows_that_were_deleted_meanwhile_stay_deleted(self, table: IndexTable) -> None:
        IndexTable.open(table.path).delete("id = 1")
        assert table.update({"n": "0"}, "id = 1").rows == 0
        assert [row[0] for row in rows_of(table)] == [2, 3, 4]

    def test_other_rows_of_one_split_are_changed_by_both(self, tmp_path: Path) -> None:
        table = table_of(tmp_path / "t", [(number, "x", number, "mon") for number in range(1000)])
        IndexTable.open(table.path).update({"n": "-1"}, "id = 1")
        table.update({"n": "-2"}, "id = 2")
        assert table.count() == 1000
        assert (table.count("n = -1"), table.count("n = -2")) == (1, 1)

    def test_a_merge_of_splits_meanwhile(self, table: IndexTable) -> None:
        table.append(pa.table([[5], ["x"], [50], ["mon"]], schema=SCHEMA))
        IndexTable.open(table.path).merge_splits()
        assert table.update({"n": "0"}, "day = 'mon'").rows == 3
        assert table.count("n = 0") == 3

    def test_a_column_that_was_added_meanwhile_keeps_its_values(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        other.add_column("extra", "string")
        other.update({"extra": "'kept'"})
        table.update({"n": "7"}, "id = 1")
        assert rows_of(table, ["id", "n", "extra"])[0] == (1, 7, "kept")

    def test_a_column_that_was_only_added_is_null(self, table: IndexTable) -> None:
        IndexTable.open(table.path).add_column("extra", "string")
        table.update({"n": "7"}, "id = 1")
        assert rows_of(table, ["id", "n", "extra"])[0] == (1, 7, None)
