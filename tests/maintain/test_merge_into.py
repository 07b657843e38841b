import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import (
    ChangedRowsError,
    ConflictError,
    ExpressionError,
    IndexTablesError,
    MergeCardinalityError,
    MergeError,
    SchemaError,
)
from indextables.maintain.merge_into import MergeBuilder
from tests.maintain.samples import litter

SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string(), "n": pa.int32()})
Row = tuple[Any, ...]


def table_of(path: Path, rows: Sequence[Row], *, partition_by: str | None = None, **kept: Any) -> IndexTable:
    table = IndexTable.create(path, SCHEMA, partition_by=partition_by, **kept)
    if rows:
        table.append(data(rows))
    return table


def data(rows: Sequence[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def rows_of(table: IndexTable, columns: list[str] | None = None) -> list[Row]:
    return sorted(zip(*table.scan(columns=columns).to_arrow().to_pydict().values(), strict=True), key=repr)


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    return table_of(tmp_path / "t", [(1, "ann", 10), (2, "bob", 20), (3, "cleo", 30), (None, "nobody", 0)])


NEWS = data([(2, "Bob", 21), (4, "Dan", 40), (None, "Nemo", None)])


def upsert(table: IndexTable, source: Any = NEWS) -> MergeBuilder:
    return table.merge(source, "t.id = s.id").when_matched_update_all().when_not_matched_insert_all()


def test_an_upsert(table: IndexTable) -> None:
    result = upsert(table).execute()
    assert (result.rows_updated, result.rows_inserted, result.rows_deleted) == (1, 2, 0)
    assert (result.version, table.version, result.source_rows) == (2, 2, 3)
    assert rows_of(table) == [
        (1, "ann", 10),
        (2, "Bob", 21),
        (3, "cleo", 30),
        (4, "Dan", 40),
        (None, "Nemo", None),
        (None, "nobody", 0),
    ]


def test_the_same_upsert_again_changes_the_same_rows(table: IndexTable) -> None:
    upsert(table, data([(2, "Bob", 21), (4, "Dan", 40)])).execute()
    before = rows_of(table)
    result = upsert(table, data([(2, "Bob", 21), (4, "Dan", 40)])).execute()
    assert (result.rows_updated, result.rows_inserted) == (2, 0)
    assert rows_of(table) == before


@pytest.mark.parametrize(
    "source",
    [
        [{"id": 2, "name": "x", "n": 1}],
        {"id": [2], "name": ["x"], "n": [1]},
        pa.table({"ID": [2], "NAME": ["x"], "N": [1]}),
        pa.record_batch({"id": [2], "name": ["x"], "n": [1]}),
        pa.table({"id": [2], "name": pa.array(["x"]).dictionary_encode(), "n": pa.array([1], pa.int8()), "more": [5]}),
        pa.table({"id": pa.array([2], pa.int16()), "name": pa.array(["x"], pa.large_string()), "n": ["1"]}),
    ],
    ids=["dicts", "columns", "letter case", "batch", "dictionary", "other types"],
)
def test_sources(table: IndexTable, source: Any) -> None:
    upsert(table, source).execute()
    assert (2, "x", 1) in rows_of(table)


def test_readers_and_iterators_are_sources(table: IndexTable) -> None:
    upsert(table, NEWS.to_reader()).execute()
    upsert(table, iter(data([(3, "c", 3)]).to_batches())).execute()
    assert {(2, "Bob", 21), (3, "c", 3)} <= set(rows_of(table))


def test_a_table_a_scan_and_the_table_itself_are_sources(table: IndexTable, tmp_path: Path) -> None:
    other = table_of(tmp_path / "other", [(1, "x", 1), (2, "y", 2)])
    upsert(table, other).execute()
    upsert(table, other.scan(where="id = 2")).execute()
    assert rows_of(table, ["id", "n"]) == [(1, 1), (2, 2), (3, 30), (None, 0)]
    result = (
        table.merge(table, "t.id = s.id")
        .when_matched_update({"n": "t.n + s.n"})
        .when_not_matched_insert({"name": "concat('copy of ', s.name)"})
        .execute()
    )
    assert (result.rows_updated, result.rows_inserted) == (3, 1)
    assert rows_of(table, ["id", "n"]) == [(1, 2), (2, 4), (3, 60), (None, 0), (None, None)]


def test_a_frame_that_has_arrow_data_is_collected(table: IndexTable) -> None:
    class Frame:
        def toArrow(self) -> pa.Table:  # noqa: N802 - as Spark calls it
            return NEWS

    assert upsert(table, Frame()).execute().rows_updated == 1


def test_what_is_no_source_is_refused(table: IndexTable) -> None:
    with pytest.raises(SchemaError, match="no data for a table"):
        upsert(table, 5).execute()
    with pytest.raises(SchemaError, match="neither rows nor columns"):
        upsert(table, iter(())).execute()


def test_the_first_clause_whose_predicate_is_true_wins(table: IndexTable) -> None:
    source = data([(1, "a", None), (2, "b", 1), (3, "c", 2), (7, "d", None), (8, "e", 1), (9, "f", 2)])
    result = (
        table.merge(source, "t.id = s.id")
        .when_matched_delete("s.n = 1")
        .when_matched_update({"n": "100"}, "s.n >= 1")
        .when_matched_update({"name": "'unknown'"})
        .when_not_matched_insert({"id": "s.id", "n": "200"}, "s.n = 1")
        .when_not_matched_insert_all("s.n = 2")
        .execute()
    )
    assert (result.rows_updated, result.rows_deleted, result.rows_inserted) == (2, 1, 2)
    expected = [(1, "unknown", 10), (3, "cleo", 100), (8, None, 200), (9, "f", 2), (None, "nobody", 0)]
    assert rows_of(table) == expected


def test_rows_without_a_match_in_the_source(table: IndexTable) -> None:
    result = (
        table.merge(data([(2, "x", 0)]), "t.id = s.id")
        .when_matched_update({"t.name": "s.name"})
        .when_not_matched_by_source_delete("t.id IS NULL")
        .when_not_matched_by_source_update({"n": "-n"}, "n > 10")
        .execute()
    )
    assert rows_of(table) == [(1, "ann", 10), (2, "x", 20), (3, "cleo", -30)]
    assert (result.rows_updated, result.rows_matched_updated) == (2, 1)
    assert (result.rows_not_matched_by_source_updated, result.rows_not_matched_by_source_deleted) == (1, 1)


def test_an_empty_source_matches_nothing(table: IndexTable) -> None:
    assert upsert(table, SCHEMA.empty_table()).execute().version == 1
    result = table.merge(SCHEMA.empty_table(), "t.id = s.id").when_not_matched_by_source_delete().execute()
    assert (result.rows_deleted, result.splits_removed, table.count()) == (4, 1, 0)


def test_an_empty_table_gets_all_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [])
    assert upsert(table).execute().rows_inserted == 3
    assert table.count() == 3


def test_no_change_is_no_commit(table: IndexTable) -> None:
    result = table.merge(data([(99, "x", 1)]), "t.id = s.id").when_matched_update_all().execute()
    assert (result.version, table.version, result.rows_updated, result.splits_added) == (1, 1, 0, 0)
    wider = NEWS.append_column("extra", pa.array([1, 2, 3]))
    merge = table.merge(wider, "t.id = s.id", merge_schema=True).when_matched_update_all("false")
    assert merge.execute().version == 1
    assert table.schema.names == SCHEMA.names


def test_nulls_match_by_the_null_safe_operator(table: IndexTable) -> None:
    result = table.merge(NEWS, "t.id <=> s.id").when_matched_update_all().execute()
    assert result.rows_updated == 2
    assert (None, "Nemo", None) in rows_of(table)


class TestCardinality:
    TWICE = data([(2, "x", 1), (2, "y", 2), (3, "z", 3)])

    def test_two_rows_for_one_are_an_error_with_the_key(self, table: IndexTable, tmp_path: Path) -> None:
        with pytest.raises(MergeCardinalityError, match="1 row of the table would be changed .* id=2") as caught:
            upsert(table, self.TWICE).execute()
        assert (caught.value.rows, caught.value.keys) == (1, [{"id": 2}])
        assert (table.refresh().version, litter(tmp_path / "t")) == (1, set())

    def test_rows_that_no_clause_applies_to_do_not_count(self, table: IndexTable) -> None:
        result = table.merge(self.TWICE, "t.id = s.id").when_matched_update_all("s.n > 1").execute()
        assert result.rows_updated == 2
        assert (2, "y", 2) in rows_of(table)

    def test_a_deletion_without_a_condition_may_be_asked_for_twice(self, table: IndexTable) -> None:
        assert table.merge(self.TWICE, "t.id = s.id").when_matched_delete().execute().rows_deleted == 2
        assert rows_of(table, ["id"]) == [(1,), (None,)]

    def test_a_deletion_with_a_condition_may_not(self, table: IndexTable) -> None:
        with pytest.raises(MergeCardinalityError):
            table.merge(self.TWICE, "t.id = s.id").when_matched_delete("s.n > 0").execute()

    def test_two_rows_that_only_insert_are_both_inserted(self, table: IndexTable) -> None:
        assert upsert(table, data([(7, "x", 1), (7, "y", 2), (8, "z", 3)])).execute().rows_inserted == 3
        assert table.count("id = 7") == 2

    def test_one_row_may_change_many(self, table: IndexTable) -> None:
        table.append(data([(2, "again", 5)]))
        assert upsert(table, data([(2, "x", 1)])).execute().rows_updated == 2


class TestConditions:
    def test_conditions_other_than_equality(self, table: IndexTable) -> None:
        source = pa.table({"low": [15], "high": [30], "label": ["middle"]})
        result = table.merge(source, "t.n > s.low AND t.n <= high").when_matched_update({"name": "label"}).execute()
        assert result.rows_updated == 2
        assert rows_of(table, ["name"]) == [("ann",), ("middle",), ("middle",), ("nobody",)]

    def test_conditions_on_one_side(self, table: IndexTable) -> None:
        result = table.merge(NEWS, "t.id = s.id AND t.n > 100 AND s.n > 0").when_not_matched_insert_all().execute()
        assert result.rows_inserted == 3

    def test_expressions_of_the_source(self, table: IndexTable) -> None:
        source = pa.table({"key": ["1", "3"]})
        merge = table.merge(source, "t.id = CAST(s.key AS BIGINT)").when_matched_delete()
        assert merge.execute().rows_deleted == 2

    def test_expressions_of_the_table(self, table: IndexTable) -> None:
        assert (
            table.merge(pa.table({"half": [5, 15]}), "t.n div 2 = s.half").when_matched_delete().execute().rows_deleted
            == 2
        )

    def test_every_row(self, table: IndexTable) -> None:
        merge = table.merge(pa.table({"add": [1]}), "true").when_matched_update({"n": "t.n + s.add"})
        assert merge.execute().rows_updated == 4

    def test_own_aliases(self, table: IndexTable) -> None:
        merge = table.merge(NEWS, "target.id = source.id", source_alias="source", target_alias="target")
        assert merge.when_matched_update({"target.n": "source.n + Target.n"}).execute().rows_updated == 1
        assert (2, "bob", 41) in rows_of(table)


class TestPruning:
    def test_splits_without_a_key_are_not_opened(self, tmp_path: Path) -> None:
        table = table_of(tmp_path / "t", [])
        for first in range(0, 500, 100):
            table.append(data([(number, f"name {number}", number) for number in range(first, first + 100)]))
        needed = table.scan(where="id = 250").plan.tasks
        for split in (tmp_path / "t").rglob("*.split"):
            if split.name not in {task.split.path for task in needed}:
                split.unlink()
        result = upsert(table, data([(250, "x", 1), (1000, "y", 2)])).execute()
        assert (len(needed), result.rows_updated, result.rows_inserted) == (1, 1, 1)

    def test_conditions_on_the_table_select_splits_too(self, tmp_path: Path) -> None:
        table = table_of(tmp_path / "t", [(1, "a", 1), (1, "b", 2)], partition_by="name")
        for split in (tmp_path / "t" / "name=b").rglob("*.split"):
            split.unlink()
        merge = table.merge(data([(1, "x", 1)]), "t.id = s.id AND t.name = 'a'")
        assert merge.when_matched_update({"n": "9"}).execute().rows_updated == 1

    @pytest.mark.parametrize("max_keys", [1, 100_000])
    def test_many_keys_select_by_their_range(
        self, table: IndexTable, monkeypatch: pytest.MonkeyPatch, max_keys: int
    ) -> None:
        monkeypatch.setattr("indextables.maintain.merge_source.MAX_KEYS", max_keys)
        assert upsert(table, data([(1, "x", 1), (3, "y", 2), (9, "z", 3)])).execute().rows_updated == 2
        assert rows_of(table, ["id", "n"]) == [(1, 1), (2, 20), (3, 2), (9, 3), (None, 0)]

    def test_keys_that_the_column_cannot_have(self, table: IndexTable) -> None:
        source = pa.table({"k": pa.array([10, 2**40, None], pa.int64())})
        assert table.merge(source, "t.n = s.k").when_matched_delete().execute().rows_deleted == 1
        assert table.merge(pa.table({"k": [20.0, 20.5]}), "t.n = s.k").when_matched_delete().execute().rows_deleted == 1

    def test_times_are_keys_in_any_zone(self, tmp_path: Path) -> None:
        schema = pa.schema({"at": pa.timestamp("us", "UTC"), "n": pa.int32()})
        table = IndexTable.create(tmp_path / "t", schema)
        for day in (1, 2):
            table.append(pa.table([[datetime(2024, 1, day, tzinfo=UTC)], [day]], schema=schema))
        unneeded = table.scan(where="n = 2").plan.tasks[0].split.path
        (tmp_path / "t" / unneeded).unlink()
        source = pa.table({"text": ["2024-01-01 01:00:00"]})
        merge = table.merge(source, "t.at = CAST(s.text AS TIMESTAMP)", time_zone="Europe/Berlin")
        assert merge.when_matched_delete().execute().rows_deleted == 1

    def test_a_partitioned_table(self, tmp_path: Path) -> None:
        table = table_of(tmp_path / "t", [(1, "a", 1), (1, "b", 2), (2, "b", 3)], partition_by="name")
        result = (
            table.merge(data([(1, "b", 9), (2, "c", 8)]), "t.id = s.id AND t.name = s.name")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )
        assert (result.rows_updated, result.rows_inserted) == (1, 1)
        assert rows_of(table) == [(1, "a", 1), (1, "b", 9), (2, "b", 3), (2, "c", 8)]


def test_rows_move_with_their_partition_column(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [(1, "mon", 1), (2, "mon", 2), (3, "tue", 3)], partition_by="name")
    table.merge(data([(1, "wed", 9)]), "t.id = s.id").when_matched_update_all().execute()
    assert table.partition_names()["partition"].to_pylist() == ["name=mon", "name=tue", "name=wed"]
    assert rows_of(table) == [(1, "wed", 9), (2, "mon", 2), (3, "tue", 3)]


def test_splits_that_partitions_share(tmp_path: Path) -> None:
    options = {"coalesce.enabled": "true"}
    table = table_of(tmp_path / "t", [(n, f"day {n % 5}", n) for n in range(50)], partition_by="name", options=options)
    assert table.detail().num_splits == 1
    again = IndexTable.open(tmp_path / "t")
    result = upsert(again, data([(3, "day 9", -1), (77, "day 1", 77)])).execute()
    assert (result.rows_updated, result.rows_inserted, result.splits_added) == (1, 1, 1)
    assert again.count() == 51
    assert rows_of(again, ["id", "name"])[-1] == (9, "day 4")
    assert again.count("name = 'day 3'") == 9


class TestAllColumns:
    def test_a_column_that_the_source_lacks_is_an_error(self, table: IndexTable) -> None:
        source = NEWS.drop_columns(["n"])
        for merge in (
            table.merge(source, "t.id = s.id").when_matched_update_all(),
            table.merge(source, "t.id = s.id").when_not_matched_insert_all(),
        ):
            with pytest.raises(SchemaError, match="the source has no column 'n'"):
                merge.execute()

    def test_columns_that_are_excepted(self, table: IndexTable) -> None:
        source = NEWS.drop_columns(["n"])
        merge = table.merge(source, "t.id = s.id").when_matched_update_all(except_cols=["N"])
        merge.when_not_matched_insert_all("s.id IS NOT NULL", except_cols=["n"]).execute()
        assert {(2, "Bob", 20), (4, "Dan", None)} <= set(rows_of(table))
        with pytest.raises(SchemaError, match="there is no column 'm'"):
            table.merge(source, "t.id = s.id").when_matched_update_all(except_cols=["m"]).execute()

    def test_columns_that_the_table_lacks_are_ignored(self, table: IndexTable) -> None:
        upsert(table, NEWS.append_column("extra", pa.array([1, 2, 3]))).execute()
        assert table.schema.names == SCHEMA.names

    def test_columns_that_no_table_holds_are_ignored_too(self, table: IndexTable) -> None:
        source = NEWS.append_column("tags", pa.array([[1], [2], []]))
        assert upsert(table, source).execute().rows_updated == 1
        with pytest.raises(SchemaError, match="'tags' has type list"):
            table.merge(source, "t.id = s.id", merge_schema=True).when_matched_update_all().execute()

    def test_one_column_may_be_excepted_by_its_name(self, table: IndexTable) -> None:
        table.merge(NEWS, "t.id = s.id").when_matched_update_all(except_cols="name").execute()
        assert (2, "bob", 21) in rows_of(table)

    def test_with_merge_schema_they_are_added(self, table: IndexTable) -> None:
        source = pa.table({"id": [2, 5], "extra": ["x", "y"], "more": [1, 2], "name": ["B", "E"]})
        merge = table.merge(source, "t.id = s.id", merge_schema=True)
        merge.when_matched_update_all(except_cols=["more"]).when_not_matched_insert_all(except_cols=["more"]).execute()
        assert table.schema.names == ["id", "name", "n", "extra"]
        assert rows_of(table) == [
            (1, "ann", 10, None),
            (2, "B", 20, "x"),
            (3, "cleo", 30, None),
            (5, "E", None, "y"),
            (None, "nobody", 0, None),
        ]
        assert table.version == 2
        assert table.count(query="extra:x") == 1

    def test_a_new_column_may_be_assigned(self, table: IndexTable) -> None:
        source = pa.table({"id": [2], "extra": ["x"], "other": [1]})
        merge = table.merge(source, "t.id = s.id", merge_schema=True)
        merge.when_matched_update({"extra": "upper(s.extra)"}).execute()
        assert rows_of(table, ["id", "extra"])[1] == (2, "X")
        assert "other" not in table.schema.names
        with pytest.raises(SchemaError, match="there is no column 'other'"):
            table.merge(source, "t.id = s.id").when_matched_update({"other": "1"}).execute()


def test_a_builder_is_a_value(table: IndexTable) -> None:
    base = table.merge(NEWS, "t.id = s.id")
    one = base.when_matched_delete()
    base.when_matched_update({"n": "0"})
    assert len(one.merge.clauses) == 1
    assert base.merge.clauses == ()
    assert one.execute().rows_deleted == 1


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda m: m, MergeError, "no clause"),
        (lambda m: m.when_matched_delete().when_matched_update({"n": "1"}, "s.n = 1"), MergeError, "no condition"),
        (lambda m: m.when_not_matched_insert_all().when_not_matched_insert_all("s.n = 1"), MergeError, "no condition"),
        (
            lambda m: m.when_not_matched_by_source_delete().when_not_matched_by_source_update({"n": "1"}),
            MergeError,
            "WHEN NOT MATCHED BY SOURCE",
        ),
        (lambda m: m.when_matched_update({"nmae": "s.name"}), SchemaError, "no column 'nmae'; did you mean 'name'"),
        (lambda m: m.when_matched_update({"name": "s.nmae"}), ExpressionError, "no column 'nmae'; did you mean 'name'"),
        (lambda m: m.when_matched_update({"n": "1", "t.n": "2"}), SchemaError, "assigned twice"),
        (lambda m: m.when_matched_update({}), SchemaError, "dict of columns"),
        (lambda m: m.when_matched_update({"n": "n + 1"}), ExpressionError, "may be t.n and s.n"),
        (
            lambda m: m.when_matched_update({"n": "x.n"}),
            ExpressionError,
            "nothing is called 'x' here; there is t and s",
        ),
        (lambda m: m.when_matched_update({"n": "rand()"}), ExpressionError, "another result each time"),
        (lambda m: m.when_matched_delete("uuid() = s.name"), ExpressionError, "another result each time"),
        (lambda m: m.when_matched_delete("s.n"), ExpressionError, "is no condition: its type is INTEGER"),
        (lambda m: m.when_not_matched_insert({"n": "t.n"}), ExpressionError, "nothing is called 't' here; there is s"),
        (lambda m: m.when_not_matched_by_source_delete("s.n = 1"), ExpressionError, "there is t"),
        (lambda m: m.when_matched_update({"n": "DATE '2024-01-01'"}), ExpressionError, "cast"),
        (lambda m: m.when_matched_update({"n": "s.n / 0"}), ExpressionError, "division by zero"),
        (
            lambda m: m.when_matched_update({"n": "s.name", "id": "s.id"}),
            ExpressionError,
            "'s.name' .* 'Bob' is no INTEGER",
        ),
        (lambda m: m.when_matched_delete("s.n / 0 = 1"), ExpressionError, "'s.n / 0 = 1' .* division by zero"),
        (lambda m: m.when_not_matched_insert({"n": "s.id * 3000000000"}, "s.id = 4"), ExpressionError, "out of range"),
    ],
)
def test_what_cannot_be_merged_is_refused_and_leaves_no_file(
    table: IndexTable, tmp_path: Path, build: Any, error: type[IndexTablesError], message: str
) -> None:
    before = rows_of(table)
    with pytest.raises(error, match=message):
        build(table.merge(NEWS, "t.id = s.id")).execute()
    assert table.refresh().version == 1
    assert rows_of(table) == before
    assert litter(tmp_path / "t") == set()


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("id = s.id", "may be t.id and s.id"),
        ("t.id = s.ident", "no column 'ident'"),
        ("t.id", "is no condition"),
        ("t.name INDEXQUERY 'x'", "INDEXQUERY"),
        ("", "it is empty"),
        ("t.id = s.id / 0", "division by zero"),
    ],
)
def test_conditions_that_are_refused(table: IndexTable, on: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        table.merge(NEWS, on).when_matched_delete().execute()


def test_one_alias_for_both_is_refused(table: IndexTable) -> None:
    with pytest.raises(MergeError, match="same alias"):
        table.merge(NEWS, "T.id = t.id", source_alias="T").when_matched_delete().execute()


def test_a_column_that_may_not_be_null_has_to_be_inserted(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.int64())])
    table = IndexTable.create(tmp_path / "t", schema)
    with pytest.raises(SchemaError, match="'k' may not be null"):
        table.merge(pa.table({"k": [1]}), "t.k = s.k").when_not_matched_insert({"v": "1"}).execute()
    with pytest.raises(SchemaError, match="'k' may not be null"):
        table.merge(pa.table({"k": [None]}), "false").when_not_matched_insert({"k": "s.k"}).execute()


TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [-128, 0, 127]),
    (pa.int64(), [-(2**63), 0, 2**63 - 1]),
    (pa.float32(), [0.5, -0.0, math.inf]),
    (pa.float64(), [0.1, math.nan, -math.inf]),
    (pa.bool_(), [True, False]),
    (pa.string(), ["", "O'Neil", "\u00e9\U0001f600\n%_\\"]),
    (pa.binary(), [b"", b"\x00\xff", b"a\\x41"]),
    (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    (pa.timestamp("us", "UTC"), [datetime(1900, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 1, 2, 3, 456789, UTC)]),
    (pa.timestamp("us"), [datetime(1900, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 456789)]),  # noqa: DTZ001 - a local time
    (pa.decimal128(38, 10), [Decimal("-9999999999999999999999999999.9999999999"), Decimal("0.0000000001")]),
]


@pytest.mark.parametrize(("kind", "values"), TYPES, ids=lambda value: str(value)[:24])
def test_values_of_all_types_are_keys_and_are_kept(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    schema = pa.schema({"k": kind, "v": kind, "hit": pa.int32()})
    table = IndexTable.create(tmp_path / "t", schema)
    table.append(pa.table([pa.array(values, kind), pa.array(values, kind), [0] * len(values)], schema=schema))
    source = pa.table({"k": pa.array(values, kind), "v": pa.array(reversed(values), kind)})
    result = (
        table.merge(source, "t.k = s.k")
        .when_matched_update({"v": "s.v", "hit": "hit + 1"})
        .when_not_matched_insert({"hit": "-1"})
        .execute()
    )
    assert (result.rows_updated, result.rows_inserted) == (len(values), 0)
    got = {repr(k): repr(v) for k, v, _ in rows_of(table)}
    expected = pa.array(values, kind).to_pylist()
    assert got == {repr(k): repr(v) for k, v in zip(expected, reversed(expected), strict=True)}


def test_text_is_compared_by_its_bytes(table: IndexTable) -> None:
    source = pa.table({"name": ["ANN", "ann ", "a\u0301nn"]})
    assert table.merge(source, "t.name = s.name").when_matched_delete().execute().version == 1


def test_the_history_tells_what_was_merged(table: IndexTable) -> None:
    upsert(table).execute()
    last = table.history().slice(0, 1).to_pylist()[0]
    assert last["operation"] == "MERGE INTO"
    assert "t.id = s.id" in str(last["parameters"])
    assert "WHEN MATCHED THEN UPDATE *" in str(last["parameters"])
    metrics = {name: int(value) for name, value in dict(last["metrics"]).items()}
    assert (metrics["numUpdatedRows"], metrics["numInsertedRows"], metrics["numDeletedRows"]) == (1, 2, 0)


def test_few_rows_of_a_large_split_are_marked_as_deleted(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", [(number, "x", number) for number in range(1000)])
    result = upsert(table, data([(5, "y", 1), (2000, "z", 2)])).execute()
    assert (result.vectors, result.splits_rewritten, result.splits_added) == (1, 0, 1)
    assert (table.count(), table.count("name = 'y'")) == (1001, 1)


class TestRaces:
    """Another handle commits between the look at the table and the commit."""

    def test_both_insert_one_key(self, table: IndexTable, tmp_path: Path) -> None:
        upsert(IndexTable.open(table.path), data([(7, "theirs", 1)])).execute()
        result = upsert(table, data([(7, "mine", 2)])).execute()
        assert (result.rows_updated, result.rows_inserted) == (1, 0)
        assert table.count("id = 7") == 1
        assert litter(tmp_path / "t") == set()

    def test_both_update_one_row(self, table: IndexTable) -> None:
        other = IndexTable.open(table.path)
        other.merge(data([(1, "x", 5)]), "t.id = s.id").when_matched_update({"n": "t.n + s.n"}).execute()
        table.merge(data([(1, "x", 7)]), "t.id = s.id").when_matched_update({"n": "t.n + s.n"}).execute()
        assert rows_of(table, ["id", "n"])[0] == (1, 22)

    def test_a_row_that_was_deleted_is_inserted(self, table: IndexTable) -> None:
        IndexTable.open(table.path).delete("id = 2")
        result = upsert(table, NEWS.slice(0, 1)).execute()
        assert (result.rows_updated, result.rows_inserted) == (0, 1)

    def test_appends_that_cannot_match_do_not_matter(self, table: IndexTable) -> None:
        IndexTable.open(table.path).append(data([(1000, "far", 1)]))
        assert upsert(table).execute().version == 3
        assert table.count() == 7

    def test_rows_that_came_meanwhile_are_not_matched_by_the_source(self, table: IndexTable) -> None:
        IndexTable.open(table.path).append(data([(1000, "far", 1)]))
        result = table.merge(NEWS, "t.id = s.id").when_not_matched_by_source_delete().execute()
        assert (result.rows_deleted, rows_of(table, ["id"])) == (4, [(2,)])

    def test_both_add_a_column(self, table: IndexTable) -> None:
        IndexTable.open(table.path).add_column("extra", "string")
        source = NEWS.append_column("extra", pa.array(["x", "y", "z"]))
        with pytest.raises(ConflictError, match="both change the table's new columns"):
            table.merge(source, "t.id = s.id", merge_schema=True).when_matched_update_all().execute()
        table.refresh().merge(source, "t.id = s.id", merge_schema=True).when_matched_update_all().execute()
        assert rows_of(table, ["id", "extra"])[1] == (2, "x")

    def test_a_reader_is_read_once_however_often_the_merge_is_planned(self, table: IndexTable) -> None:
        IndexTable.open(table.path).update({"n": "0"})
        assert upsert(table, NEWS.to_reader()).execute().rows_updated == 1


def test_streams_of_added_rows_see_a_change_unless_rows_were_only_inserted(table: IndexTable) -> None:
    table.merge(data([(7, "new", 1)]), "t.id = s.id").when_not_matched_insert_all().execute()
    assert table.incremental_scan(1).count() == 1
    upsert(table, data([(7, "changed", 1)])).execute()
    with pytest.raises(ChangedRowsError, match="MERGE INTO"):
        table.incremental_scan(2).count()


def test_renamed_columns_are_merged_and_updated(table: IndexTable) -> None:
    table.rename_column("n", "amount")
    table.rename_column("name", "n")
    source = pa.table({"id": [2, 9], "n": ["x", "y"], "amount": [5, 6]})
    upsert(table, source).execute()
    table.update({"amount": "length(n) + amount"}, "id >= 2")
    assert rows_of(table) == [(1, "ann", 10), (2, "x", 6), (3, "cleo", 34), (9, "y", 7), (None, "nobody", 0)]
