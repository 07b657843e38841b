"""Rows replaced by a condition, and partitions by those of the data: what goes, what stays, what is refused.

| what must come out | test; from Spark the same, in tests/spark/test_replace.py |
|---|---|
| 1000 rows, 166 of them replaced by 100: 934 are left | `test_the_seed` |
| a new row outside the condition, or null where it asks: refused, no version, no file | `test_rows_outside` |
| no rows: what matches goes, in one version; if nothing does, there is none | `test_no_rows_take_partitions_out` |
| rows where nothing matches: an append | `test_where_nothing_matches_rows_are_added` |
| no partitions, unknown or data columns, broken text, types, functions: refused | `TestRefused` |
| two parts at once, or a part of an append: refused; the session gives way | `test_contradictions` |
| one version has commitInfo, replaceWhere, removes with their partition, adds | `test_what_one_version_says` |
| a shared split of which the log lists nothing or not all is opened | `test_coalesced.py` |
| dynamic: no rows change nothing; null is replaced, the empty text is not | `TestDynamic` |
| all of it while others write, by threads and processes | `test_conflicts.py`, `test_torture.py` |
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable, Layout, col
from indextables.errors import (
    CastInvalidInputError,
    ConfigError,
    IndexTablesError,
    InvalidPredicateError,
    NonPartitionedTableError,
    OverlappingPredicatesError,
    PartitionColumnNotFoundError,
    ReplaceWhereError,
    RowsOutsideError,
    SchemaError,
    TypeMismatchError,
    UnsupportedOperatorError,
)
from tests.maintain.samples import SCHEMA, evolved, made, numbers, rows, split_files


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Two years of three months and a null one; n is 1 to 8."""
    table = made(tmp_path / "table", "year, month")
    years, months = [2023, 2023, 2023, 2024, 2024, 2024, None, 2024], ["01", "11", "12", "01", "11", "12", "01", None]
    table.append(rows(years, months, range(1, 9)))
    return table


def version_file(table: IndexTable) -> list[dict[str, Any]]:
    file = Path(table.path.removeprefix("file://")) / "_transaction_log" / f"{table.version:018}.json"
    return [json.loads(line) for line in file.read_text().splitlines()]


def metrics(table: IndexTable) -> dict[str, int]:
    return {key: int(value) for key, value in table.history().to_pylist()[0]["metrics"]}


class TestReplaceWhere:
    def test_the_seed(self, tmp_path: Path) -> None:
        schema = pa.schema({"id": pa.int64(), "year": pa.string(), "month": pa.string(), "data": pa.string()})
        table = IndexTable.create(tmp_path, schema, partition_by="year, month")

        def of(ids: range, year: Callable[[int], int], month: Callable[[int], int], data: str) -> pa.Table:
            columns = [list(ids), [str(year(i)) for i in ids], [str(month(i)) for i in ids], [data] * len(ids)]
            return pa.table(columns, schema=schema)

        table.append(of(range(1000), lambda i: i % 3, lambda i: i % 2, "initial"))
        gone = table.count("year = '1' AND month = '0'")
        table.replace_where(of(range(100, 200), lambda _: 1, lambda _: 0, "replaced"), "year=1 AND month=0")
        assert table.count("year = '1' AND month = '0'") == 100
        assert (gone, table.count()) == (166, 934 + 166 - gone)
        assert table.scan(where="data = 'replaced'").count() == 100

    @pytest.mark.parametrize(
        ("where", "left"),
        [
            ("year = 2023 AND month IN ('11', '12')", [1, 4, 5, 6, 7, 8]),
            ("YEAR = 2024 AND month > '01'", [1, 2, 3, 4, 7, 8]),
            ("year <> 2023", [1, 2, 3, 7]),
            ("year BETWEEN 2023 AND 2024 AND NOT month = '01'", [1, 4, 7, 8]),
            ("month IS NULL OR year IS NULL", [1, 2, 3, 4, 5, 6]),
            ("year = 2023 OR month = '01'", [5, 6, 8]),
            ("year <=> NULL", [1, 2, 3, 4, 5, 6, 8]),
            (col("year") == 2023, [4, 5, 6, 7, 8]),
            ("1 = 1", []),
            ("1 = 2", [1, 2, 3, 4, 5, 6, 7, 8]),
            ("year = NULL", [1, 2, 3, 4, 5, 6, 7, 8]),
            ("year = 2030", [1, 2, 3, 4, 5, 6, 7, 8]),
        ],
    )
    def test_no_rows_take_partitions_out(self, table: IndexTable, where: str, left: list[int]) -> None:
        version = table.replace_where(SCHEMA.empty_table(), where)
        assert numbers(table) == left
        assert version == (1 if len(left) == 8 else 2)

    def test_what_one_version_says(self, table: IndexTable) -> None:
        table.replace_where(rows([2023, 2023], ["11", "11"], [20, 21]), "year = 2023 AND month IN ('11', '12')")
        info, replaced, *others = version_file(table)
        assert info["commitInfo"]["operation"] == "REPLACE WHERE"
        action = replaced["replaceWhere"]
        assert (action["predicate"], action["dataChange"]) == ("year = 2023 AND month IN ('11', '12')", True)
        assert action["timestamp"] > 0
        removed = [line["remove"]["partitionValues"] for line in others if "remove" in line]
        assert removed == [{"year": "2023", "month": "11"}, {"year": "2023", "month": "12"}]
        assert [line["add"]["numRecords"] for line in others if "add" in line] == [2]
        told = {"numRemovedSplits": 2, "numRewrittenSplits": 0, "numDeletedRows": 2, "numCopiedRows": 0}
        assert metrics(table).items() >= {**told, "numAddedSplits": 1, "numAddedRows": 2}.items()
        assert table.history().to_pylist()[0]["operation"] == "REPLACE WHERE"

    def test_where_nothing_matches_rows_are_added(self, table: IndexTable) -> None:
        assert table.replace_where(rows([2025], ["01"], [9]), "year = 2025") == 2
        assert numbers(table) == [1, 2, 3, 4, 5, 6, 7, 8, 9]

    def test_a_condition_on_no_column_asks_nothing_of_rows(self, table: IndexTable) -> None:
        assert table.replace_where(rows([2023], ["01"], [9]), "1 = 2") == 2
        assert numbers(table) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert table.replace_where(rows([2023], ["01"], [10]), "1 = 1") == 3
        assert numbers(table) == [10]

    def test_the_past_stays(self, table: IndexTable) -> None:
        table.replace_where(SCHEMA.empty_table(), "year = 2024")
        assert numbers(table.at(version=1)) == [1, 2, 3, 4, 5, 6, 7, 8]

    def test_as_options_of_an_overwrite(self, table: IndexTable) -> None:
        table.overwrite(rows([2023], ["02"], [9]), options={"replaceWhere": "year = 2023"})
        assert numbers(table) == [4, 5, 6, 7, 8, 9]

    def test_a_batch_is_written_once(self, table: IndexTable) -> None:
        batch = {"txnAppId": "loader", "txnVersion": "7"}
        assert table.replace_where(rows([2023], ["02"], [9]), "year = 2023", options=batch) == 2
        assert table.replace_where(rows([2023], ["02"], [10]), "year = 2023", options=batch) == 2
        dynamic = {"partitionOverwriteMode": "dynamic", **batch}
        assert table.overwrite(rows([2023], ["02"], [11]), options=dynamic) == 2
        assert numbers(table) == [4, 5, 6, 7, 8, 9]


class TestRefused:
    @pytest.mark.parametrize(
        ("year", "month", "outside"),
        [([2023, 2024], ["11", "11"], 1), ([2023, None], ["11", "11"], 1), ([2024] * 5, ["11"] * 5, 5)],
    )
    def test_rows_outside(
        self, table: IndexTable, year: list[int | None], month: list[str], outside: int, tmp_path: Path
    ) -> None:
        before = split_files(tmp_path)
        with pytest.raises(RowsOutsideError, match="for example year=(2024|None), month='11'; leave") as error:
            table.replace_where(rows(year, month, range(len(year))).to_batches(1), "year = 2023 AND month >= '11'")
        assert (error.value.rows, error.value.examples[0]["month"]) == (outside, "11")
        assert len(error.value.examples) <= 3
        assert (table.refresh().version, split_files(tmp_path)) == (1, before)

    @pytest.mark.parametrize(
        ("where", "error", "message"),
        [
            ("", InvalidPredicateError, "there is none"),
            ("year =", InvalidPredicateError, "."),
            ("year = 1)", InvalidPredicateError, "."),
            ("n = 1", InvalidPredicateError, "'n' is not a partition column; the table is partitioned by year, month"),
            ("year = 2023 AND n = 1", InvalidPredicateError, "'n' is not"),
            ("yaer = 1", PartitionColumnNotFoundError, "no column 'yaer'"),
            ("year = 'abc'", TypeMismatchError, "cannot be compared with 'abc'"),
            ("month = TRUE", TypeMismatchError, "column 'month' has type string, and TRUE is of type boolean"),
            ("month = DATE '2024-01-01'", TypeMismatchError, "is of type date"),
            ("month > TRUE", TypeMismatchError, "a column of texts is compared with texts and numbers"),
            (
                "year = 2023.5",
                TypeMismatchError,
                "no value of the column is equal to it; write a value of type integer",
            ),
            ("year IN (2023, 2023.5)", TypeMismatchError, "2023.5"),
            (
                "NOT (YEAR <=> 3000000000)",
                TypeMismatchError,
                "'year' has type integer, and 3000000000L is of type long",
            ),
            ("UPPER(month) = 'A'", UnsupportedOperatorError, "."),
            ("month LIKE '1%'", UnsupportedOperatorError, "LIKE is not for conditions that choose partitions"),
            ("month INDEXQUERY '1'", UnsupportedOperatorError, "INDEXQUERY"),
            ("year IN (SELECT 1)", UnsupportedOperatorError, "."),
        ],
    )
    def test_conditions(
        self, table: IndexTable, where: str, error: type[IndexTablesError], message: str, tmp_path: Path
    ) -> None:
        before = split_files(tmp_path)
        with pytest.raises(error, match=message):
            table.replace_where(rows([2023], ["01"], [1]), where)
        with pytest.raises(ReplaceWhereError, match=message) as refused:
            table.drop_partitions(where)
        assert isinstance(refused.value, error)
        assert (table.refresh().version, split_files(tmp_path)) == (1, before)

    @pytest.mark.parametrize("where", ["year:2023", "year 2023", "UPPER(month) = 'A'", "year LIK 1"])
    def test_operators_for_other_conditions_are_not_recommended(self, table: IndexTable, where: str) -> None:
        with pytest.raises(ReplaceWhereError, match="understood are =, <>, .*, AND, OR and NOT") as error:
            table.replace_where(rows([2023], ["01"], [1]), where)
        assert not any(word in str(error.value) for word in ("LIKE", "INDEXQUERY", "startswith", "as the query"))

    def test_the_facts(self, table: IndexTable) -> None:
        with pytest.raises(PartitionColumnNotFoundError) as missing:
            table.drop_partitions("yaer = 1")
        assert (missing.value.column, missing.value.available_columns) == ("yaer", ["year", "month"])
        with pytest.raises(TypeMismatchError) as mismatch:
            table.drop_partitions("year = 'abc'")
        assert (mismatch.value.column, mismatch.value.expected_type, mismatch.value.actual_type) == (
            "year",
            "integer",
            "string",
        )
        with pytest.raises(UnsupportedOperatorError) as unsupported:
            table.drop_partitions("month LIKE '1%'")
        assert unsupported.value.operator == "LIKE"

    def test_a_table_without_partitions(self, tmp_path: Path) -> None:
        table = made(tmp_path, "")
        with pytest.raises(NonPartitionedTableError, match="not partitioned") as error:
            table.replace_where(rows([2023], ["01"], [1]), "year = 2023")
        assert error.value.table == table.path

    def test_values_that_cannot_be_compared(self, table: IndexTable, tmp_path: Path) -> None:
        table.append(rows([2023], ["jan"], [9]))
        before = split_files(tmp_path)
        with pytest.raises(CastInvalidInputError, match="jan"):
            table.replace_where(rows([2023], ["12"], [10]), "month = 12")
        with pytest.raises(CastInvalidInputError, match="jan"):
            table.drop_partitions("month = 12")
        assert (table.refresh().version, split_files(tmp_path)) == (2, before)

    def test_data_of_another_schema(self, table: IndexTable) -> None:
        with pytest.raises(SchemaError, match="no column 'q'"):
            table.replace_where(pa.table({"q": [1]}), "year = 2023")

    def test_contradictions(self, table: IndexTable) -> None:
        dynamic, where = {"partitionOverwriteMode": "dynamic"}, {"replaceWhere": "year = 2023"}
        data = rows([2023], ["01"], [1])
        with pytest.raises(ConfigError, match="give one of them"):
            table.overwrite(data, options={**dynamic, **where})
        with pytest.raises(ConfigError, match="give one of them"):
            table.replace_where(data, "year = 2023", options=dynamic)
        with pytest.raises(ConfigError, match="needs mode overwrite"):
            table.append(data, options=where)
        handle = IndexTable.open(table.path, options=dynamic)
        handle.overwrite(data, options=where)  # what is said in the call is stronger
        assert numbers(handle) == [1, 4, 5, 6, 7, 8]


class TestSeveral:
    def test_one_commit(self, table: IndexTable) -> None:
        pairs = [(rows([2023], ["01"], [20]), "year = 2023"), (SCHEMA.empty_table(), col("year").is_null())]
        assert table.replace_where(pairs) == 2
        assert numbers(table) == [4, 5, 6, 8, 20]
        replaced = [line["replaceWhere"]["predicate"] for line in version_file(table) if "replaceWhere" in line]
        assert replaced == ["year = 2023", "year IS NULL"]
        assert "year IS NULL" in dict(table.history().to_pylist()[0]["parameters"])["predicate"]

    def test_rows_belong_to_their_own_condition(self, table: IndexTable) -> None:
        data = rows([2023], ["01"], [20])
        with pytest.raises(RowsOutsideError, match="year=2023"):
            table.replace_where([(data, "year = 2023"), (data, "year = 2024")])

    def test_conditions_that_may_overlap(self, table: IndexTable, tmp_path: Path) -> None:
        data, before = rows([2023], ["01"], [20]), split_files(tmp_path)
        with pytest.raises(OverlappingPredicatesError) as error:
            table.replace_where([(data, "year = 2023"), (data, "month = '01'")])
        assert (error.value.predicate, error.value.other) == ("year = 2023", "month = '01'")
        assert split_files(tmp_path) == before

    def test_neither_a_condition_nor_pairs(self, table: IndexTable) -> None:
        for data in ([], rows([2023], ["01"], [1]), [rows([2023], ["01"], [1])]):
            with pytest.raises(IndexTablesError, match="pairs of data and condition"):
                table.replace_where(data)


START = datetime(2024, 1, 1, tzinfo=UTC)


class TestStraddling:
    def by_hours(self, layout: str = "day(ts)") -> IndexTable:
        schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "n": pa.int64()})
        table = IndexTable.create(f"memory://straddle/{id(self)}", schema, partition_by=layout)
        table.append(pa.table([[START + timedelta(hours=h) for h in range(0, 72, 6)], list(range(12))], schema=schema))
        return table

    def test_the_rest_of_a_hidden_partition_is_copied(self) -> None:
        table = self.by_hours()
        where = "ts >= TIMESTAMP '2024-01-01T12:00:00Z' AND ts < TIMESTAMP '2024-01-02T12:00:00Z'"
        new = pa.table({"ts": [START + timedelta(hours=30)], "n": [100]}).cast(table.schema)
        table.replace_where(new, where)
        assert numbers(table) == [0, 1, 6, 7, 8, 9, 10, 11, 100]
        told = {"numRemovedSplits": 2, "numRewrittenSplits": 2, "numDeletedRows": 4, "numCopiedRows": 4}
        assert metrics(table).items() >= {**told, "numAddedSplits": 3, "numAddedRows": 1}.items()

    def test_a_split_without_such_a_row_is_left_alone(self) -> None:
        table = self.by_hours()
        before = table.splits()["path"].to_pylist()
        where = "ts > TIMESTAMP '2024-01-01T13:00:00Z' AND ts < TIMESTAMP '2024-01-01T14:00:00Z'"
        assert table.drop_partitions(where).version == 1
        assert table.splits()["path"].to_pylist() == before

    def test_buckets(self) -> None:
        schema = pa.schema({"user": pa.string(), "n": pa.int64()})
        table = IndexTable.create("memory://straddle/buckets", schema, partition_by="bucket(2, user)")
        table.append(pa.table({"user": list("abcdef"), "n": list(range(6))}))
        table.replace_where(pa.table({"user": ["c"], "n": [9]}), "user IN ('c', 'e')")
        assert numbers(table) == [0, 1, 3, 5, 9]

    def test_an_older_layout(self, table: IndexTable) -> None:
        evolved(table, "month")
        table.replace_where(rows([1999], ["12"], [20]), "month = '12'")
        assert numbers(table) == [1, 2, 4, 5, 7, 8, 20]
        table.replace_where(rows([2024], ["07"], [21]), "year = 2024")
        assert numbers(table) == [1, 2, 7, 20, 21]
        assert metrics(table)["numCopiedRows"] == 0

    def test_a_layout_that_came_later(self, tmp_path: Path) -> None:
        table = made(tmp_path, "")
        table.append(rows([2023, 2024, None], ["01", "01", "02"], [1, 2, 3]))
        evolved(table, "year")
        table.replace_where(rows([2024], ["05"], [9]), "year = 2024")
        assert numbers(table) == [1, 3, 9]
        assert {str(p["year"]) for p in table.splits()["partition"].to_pylist()} == {"2023", "2024", "None"}


class TestDynamic:
    DYNAMIC = {"partitionOverwriteMode": "dynamic"}  # noqa: RUF012 - it is not changed

    def test_partitions_of_the_data_are_replaced(self, table: IndexTable) -> None:
        table.overwrite(rows([2023, 2024], ["11", "01"], [20, 21]), options=self.DYNAMIC)
        assert numbers(table) == [1, 3, 5, 6, 7, 8, 20, 21]
        first = table.history().to_pylist()[0]
        assert (first["operation"], metrics(table)["numDeletedRows"]) == ("OVERWRITE", 2)

    def test_null_is_not_the_empty_text(self, tmp_path: Path) -> None:
        table = made(tmp_path, "month")
        table.append(rows([1, 2], ["", None], [1, 2]))
        table.overwrite(rows([3], [None], [3]), options=self.DYNAMIC)
        assert numbers(table) == [1, 3]

    def test_no_rows_replace_nothing(self, table: IndexTable) -> None:
        assert table.overwrite(SCHEMA.empty_table(), options=self.DYNAMIC) == 1
        assert len(numbers(table)) == 8

    def test_a_table_without_partitions_is_one(self, tmp_path: Path) -> None:
        table = made(tmp_path, "")
        table.append(rows([1], ["1"], [1]))
        table.overwrite(SCHEMA.empty_table(), options=self.DYNAMIC)
        assert numbers(table) == [1]
        table.overwrite(rows([2], ["2"], [2]), options=self.DYNAMIC)
        assert numbers(table) == [2]

    @pytest.mark.parametrize("layout", ["month", "truncate(1, month)", "bucket(4, month)", "bucket(4, month), year"])
    def test_rows_of_older_layouts_too(self, table: IndexTable, layout: str) -> None:
        evolved(table, layout)
        own = table.scan(columns=["year", "month", "n"]).to_arrow()
        keys = [tuple(group) for group in self.tuples(layout, own)]
        given = rows([2023], ["11"], [20])
        (target,) = self.tuples(layout, given)
        expected = [n for n, key in zip(own["n"].to_pylist(), keys, strict=True) if key != tuple(target)]
        table.overwrite(given, options=self.DYNAMIC)
        assert numbers(table) == sorted([*expected, 20])
        assert len(expected) < 8

    def tuples(self, layout: str, data: pa.Table) -> list[tuple[Any, ...]]:
        fields = Layout.parse(layout).fields
        return list(zip(*(f.transform.apply(data[f.source]).to_pylist() for f in fields), strict=True))

    def test_as_a_property_of_the_table(self, tmp_path: Path) -> None:
        properties = {"spark.indextables.partitionOverwriteMode": "dynamic"}
        table = IndexTable.create(tmp_path, SCHEMA, partition_by="year", properties=properties)
        table.append(rows([1, 2], ["a", "a"], [1, 2]))
        table.overwrite(rows([2], ["a"], [3]))
        assert numbers(table) == [1, 3]
        table.overwrite(rows([2], ["a"], [4]), options={"partitionOverwriteMode": "static"})
        assert numbers(table) == [4]
