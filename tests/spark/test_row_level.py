"""DELETE FROM, UPDATE and MERGE INTO by Spark."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from indextables.errors import (
    ConfigError,
    ConflictError,
    IndexTablesError,
    MergeCardinalityError,
    SchemaError,
    StatementError,
    UnsupportedOperatorError,
    UnsupportedStatementError,
)

COLUMNS = {"id": pa.int64(), "day": pa.string(), "message": pa.string(), "n": pa.int32()}
ROWS = [
    (0, "mon", "disk full", 10),
    (1, "mon", "all is well", None),
    (2, "tue", "disk slow", 30),
    (3, "tue", None, 40),
    (4, "wed", "Disk FULL", 50),
    (5, None, "well", 60),
]
Rows = list[tuple[Any, ...]]
Make = Callable[..., IndexTable]


@pytest.fixture
def make(spark: Any, tmp_path: Path) -> Iterator[Make]:
    """Makes a table of the catalog with these rows."""
    made: list[str] = []

    def table(name: str = "t", rows: Rows = ROWS, **options: Any) -> IndexTable:
        made.append(name)
        table = IndexTable.create(
            tmp_path / name, COLUMNS, **{"partition_by": "day", "fields": {"message": "text"}, **options}
        )
        columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
        table.append(pa.table({key: pa.array(values, COLUMNS[key]) for key, values in columns}))
        spark.sql(f"CREATE TABLE {name} USING indextables LOCATION '{tmp_path / name}'")
        return table

    yield table
    for name in made:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def rows(table: IndexTable, *columns: str) -> Rows:
    found = table.refresh().scan(columns=columns or None).to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def changed(spark: Any, statement: str) -> tuple[int, ...]:
    """The counts in the result of a statement."""
    (row,) = spark.sql(statement).collect()
    return tuple(row)


def ids(table: IndexTable) -> list[int]:
    return sorted(row[0] for row in rows(table, "id"))


def with_n(**values: Any) -> Rows:
    """The rows, some with another number: `_3=0` is that of row 3."""
    return sorted(((*row[:3], values.get(f"_{row[0]}", row[3])) for row in ROWS), key=repr)


@pytest.mark.parametrize(
    ("condition", "gone"),
    [
        ("WHERE id = 3", {3}),
        ("AS x WHERE x.id = 3", {3}),
        ("x WHERE x.n > 10 AND x.n < 50", {2, 3}),
        ("WHERE n > 10", {2, 3, 4, 5}),  # a row of which the condition is NULL stays
        ("WHERE NOT (n > 10)", {0}),
        ("WHERE n % 20 = 10", {0, 2, 4}),
        ("WHERE lower(message) = 'disk full'", {0, 4}),
        ("WHERE message INDEXQUERY 'disk'", {0, 2, 4}),
        ("WHERE message INDEXQUERY 'disk' AND upper(day) = 'TUE'", {2}),
        ("WHERE * INDEXQUERY 'full' AND length(day) = 3", {0, 4}),
        ("WHERE day IS NULL OR length(message) IS NULL", {3, 5}),
        ("WHERE id IN (SELECT max(id) FROM t)", {5}),
        ("AS x WHERE EXISTS (SELECT 1 FROM t AS y WHERE y.id = x.id + 1 AND y.message INDEXQUERY 'slow')", {1}),
        ("", {0, 1, 2, 3, 4, 5}),
    ],
)
def test_delete(spark: Any, make: Make, condition: str, gone: set[int]) -> None:
    table = make()
    assert changed(spark, f"DELETE FROM t {condition}") == (len(gone),)
    assert (ids(table), table.version) == (sorted({0, 1, 2, 3, 4, 5} - gone), 2)
    assert table.history()["operation"][0].as_py() == "DELETE"


def test_nothing_to_change_is_no_commit(spark: Any, make: Make) -> None:
    table = make()
    source = "(SELECT 9L AS id) AS s ON t.id = s.id"
    assert changed(spark, "DELETE FROM t WHERE id = 9") == (0,)
    assert changed(spark, "DELETE FROM t WHERE upper(day) = 'SUN'") == (0,)
    assert changed(spark, "UPDATE t SET n = 1 WHERE id > 10") == (0,)
    assert changed(spark, f"MERGE INTO t USING {source} WHEN MATCHED THEN DELETE") == (0, 0, 0, 0)
    assert table.refresh().version == 1


def test_the_result_names_its_columns(spark: Any, make: Make) -> None:
    make()
    merge = "MERGE INTO t USING (SELECT 0L AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert spark.sql("DELETE FROM t WHERE id = 3").columns == ["num_affected_rows"]
    assert spark.sql("UPDATE t SET n = 0 WHERE id = 3").columns == ["num_affected_rows"]
    assert spark.sql(merge).columns == [
        "num_affected_rows",
        "num_updated_rows",
        "num_deleted_rows",
        "num_inserted_rows",
    ]


def test_update_sees_the_old_row(spark: Any, make: Make) -> None:
    table = make()
    assert changed(spark, "UPDATE t SET day = message, message = day, N = n + 1 WHERE id < 2") == (2,)
    assert rows(table)[:2] == [(0, "disk full", "mon", 11), (1, "all is well", "mon", None)]
    assert rows(table)[2:] == sorted(ROWS[2:], key=repr)
    assert table.history()["operation"][0].as_py() == "UPDATE"
    assert [split["partition"]["day"] for split in table.splits().to_pylist() if split["num_records"]].count(
        "disk full"
    )


def test_update_by_a_search_and_a_subquery(spark: Any, make: Make) -> None:
    table = make()
    make("u", [(2, "x", "from u", 7)])
    assert changed(spark, "UPDATE t AS x SET x.n = -1 WHERE message INDEXQUERY 'full'") == (2,)
    assert rows(table) == with_n(_0=-1, _4=-1)
    assert changed(spark, "UPDATE t SET n = (SELECT max(n) FROM u) WHERE id IN (SELECT id FROM u)") == (1,)
    assert rows(table) == with_n(_0=-1, _4=-1, _2=7)
    assert changed(spark, "WITH w AS (SELECT 3L AS id) UPDATE t SET n = NULL WHERE id IN (SELECT id FROM w)") == (1,)
    assert rows(table) == with_n(_0=-1, _4=-1, _2=7, _3=None)


def test_values_are_cast_as_insert_casts_them(spark: Any, make: Make) -> None:
    table = make()
    assert changed(spark, "UPDATE t SET message = id, n = 7L WHERE id = 0") == (1,)
    assert rows(table)[0] == (0, "mon", "0", 7)
    with pytest.raises(Exception, match="CANNOT_SAFELY_CAST"):
        spark.sql("UPDATE t SET n = 'many' WHERE id = 0")
    with pytest.raises(Exception, match="OVERFLOW"):
        spark.sql("UPDATE t SET n = 10000000000 WHERE id = 0")
    assert table.refresh().version == 2


def test_parameters_and_frames(spark: Any, make: Make) -> None:
    table = make()
    assert spark.sql("DELETE FROM t WHERE id = :id", {"id": 3}).first()[0] == 1
    assert spark.sql("UPDATE t SET n = ? WHERE message INDEXQUERY ?", [5, "slow"]).first()[0] == 1
    news = spark.createDataFrame([(0, 99)], "id bigint, n int")
    statement = "MERGE INTO t USING {news} AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"
    assert spark.sql(statement, news=news).first()[0] == 1
    assert changed(spark, "EXECUTE IMMEDIATE 'DELETE FROM t WHERE id = 5'") == (1,)
    with pytest.raises(ConfigError, match="EXECUTE IMMEDIATE with USING"):
        spark.sql("EXECUTE IMMEDIATE 'DELETE FROM t WHERE id = ?' USING 1")
    assert rows(table) == sorted([row for row in with_n(_0=99, _2=5) if row[0] not in {3, 5}], key=repr)


MERGED = """
MERGE INTO t USING (
    SELECT * FROM VALUES (0L, 'gone'), (2L, 'new'), (2L, 'skip'), (8L, 'more'), (8L, 'more'), (NULL, 'none') AS v(id, what)
) AS s ON t.id = s.id
WHEN MATCHED AND s.what = 'gone' THEN DELETE
WHEN MATCHED AND s.what = 'new' THEN UPDATE SET message = s.what, n = t.n + 1
WHEN NOT MATCHED AND s.what = 'none' THEN INSERT (message) VALUES (what)
WHEN NOT MATCHED THEN INSERT (id, day, n) VALUES (id, 'thu', DEFAULT)
WHEN NOT MATCHED BY SOURCE AND id = 5 THEN UPDATE SET day = 'sun'
WHEN NOT MATCHED BY SOURCE AND t.day = 'wed' THEN DELETE
"""


def test_merge(spark: Any, make: Make) -> None:
    table = make()
    assert changed(spark, MERGED) == (7, 2, 2, 3)
    assert rows(table) == sorted(
        [
            ROWS[1],
            (2, "tue", "new", 31),
            ROWS[3],
            (5, "sun", "well", 60),
            (8, "thu", None, None),
            (8, "thu", None, None),
            (None, None, "none", None),
        ],
        key=repr,
    )
    last = table.history().to_pylist()[0]
    assert (table.version, last["operation"]) == (2, "MERGE INTO")
    assert {"numUpdatedRows": "2", "numDeletedRows": "2", "numInsertedRows": "3"}.items() <= dict(
        last["metrics"]
    ).items()


def test_a_row_that_two_rows_of_the_source_would_change(spark: Any, make: Make) -> None:
    table = make()
    source = "(SELECT 3L AS id, 'a' AS m UNION ALL SELECT 3L, 'b') AS s ON t.id = s.id"
    with pytest.raises(MergeCardinalityError, match="MERGE_CARDINALITY_VIOLATION.* id = 3") as caught:
        spark.sql(f"MERGE INTO t USING {source} WHEN MATCHED THEN UPDATE SET message = s.m")
    assert (caught.value.rows, caught.value.keys) == (1, [{"id": 3}])
    assert table.refresh().version == 1
    merge = f"MERGE INTO t USING {source} WHEN MATCHED AND s.m = 'b' THEN UPDATE SET message = s.m"
    assert changed(spark, merge) == (1, 1, 0, 0)


def test_a_merge_with_the_table_itself(spark: Any, make: Make) -> None:
    table = make()
    merge = "MERGE INTO t USING t AS s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET n = s.n"
    assert changed(spark, merge) == (5, 5, 0, 0)
    assert rows(table) == with_n(_1=10, _2=None, _3=30, _4=40, _5=50)


STAR = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def test_stars_take_columns_by_name(spark: Any, make: Make) -> None:
    table = make()
    spark.sql(
        "SELECT 7 AS n, 'x' AS extra, 'M' AS MESSAGE, id, 'fri' AS Day FROM VALUES (0L), (9L) AS v(id)"
    ).createTempView("news")
    assert changed(spark, f"MERGE INTO t USING news ON t.id = news.id {STAR}") == (2, 1, 0, 1)
    assert rows(table) == sorted([*ROWS[1:], (0, "fri", "M", 7), (9, "fri", "M", 7)], key=repr)
    with pytest.raises(SchemaError, match="the source has no column 'day'"):
        spark.sql(f"MERGE INTO t USING (SELECT id, n, message FROM news) AS s ON t.id = s.id {STAR}")
    spark.catalog.dropTempView("news")


def test_schema_evolution(spark: Any, make: Make) -> None:
    table = make()
    source = "(SELECT id, 'x' AS extra, 1.5D AS Ratio FROM VALUES (0L), (9L) AS v(id)) AS s ON t.id = s.id"
    assert changed(spark, f"MERGE WITH SCHEMA EVOLUTION INTO t USING {source} {STAR}") == (2, 1, 0, 1)
    assert table.refresh().schema.names == [*COLUMNS, "extra", "Ratio"]
    assert (0, "mon", "disk full", 10, "x", 1.5) in rows(table)
    assert (9, None, None, None, "x", 1.5) in rows(table)
    assert spark.table("t").columns == table.schema.names
    assert table.version == 2
    clause = "WHEN MATCHED THEN UPDATE SET n = 1"
    assert changed(
        spark, f"MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 0L AS id, 1 AS y) s ON t.id = s.id {clause}"
    )
    assert "y" not in table.refresh().schema.names


def test_a_path_and_a_session_without_enable(spark: Any, make: Make) -> None:
    table = make()
    path = f"indextables.`{table.path}`"
    assert changed(spark, f"UPDATE {path} SET n = 0 WHERE length(day) = 3 AND id = 2") == (1,)
    assert changed(spark, f"MERGE INTO {path} AS a USING {path} VERSION AS OF 1 AS b ON a.id = b.id AND a.n = 0 "
                   "WHEN MATCHED THEN UPDATE SET n = b.n + 1") == (1, 1, 0, 0)  # fmt: skip
    assert rows(table) == with_n(_2=31)
    indextables.disable(spark)
    try:
        assert indextables.sql(spark, f"DELETE FROM {path} WHERE n + 0 = 31").first()[0] == 1
        merge = f"MERGE INTO {path} AS a USING {path} AS b ON a.id = b.id WHEN MATCHED THEN UPDATE SET n = -b.id"
        assert indextables.sql(spark, merge).first()[0] == 5
    finally:
        indextables.enable(spark)
    assert rows(table, "n") == [(-1,), (-3,), (-4,), (-5,), (0,)]


def test_views(spark: Any, make: Make) -> None:
    table = make()
    reader = spark.read.format("indextables")
    before = reader.load(table.path)
    before.createOrReplaceTempView("v")
    assert changed(spark, "DELETE FROM v WHERE v.id = 3") == (1,)
    assert changed(spark, "DELETE FROM v AS x WHERE x.id + 0 = 4") == (1,)
    assert ids(table) == [0, 1, 2, 5]
    assert (before.count(), spark.table("v").count()) == (6, 6)
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM t WHERE id < 2")
    for part in (reader.option("versionAsOf", 1).load(table.path), reader.option("where", "id < 2").load(table.path)):
        part.createOrReplaceTempView("v")
        with pytest.raises(UnsupportedStatementError, match="name the table instead: indextables.`"):
            spark.sql("DELETE FROM v WHERE id = 0")
    spark.catalog.dropTempView("v")
    assert table.refresh().version == 3


REFUSED = [
    ("DELETE FROM t WHERE rand() < 0.5", UnsupportedOperatorError, "rand"),
    ("UPDATE t SET n = 1 WHERE uuid() = message", UnsupportedOperatorError, "uuid"),
    ("MERGE INTO t USING t AS s ON t.id = s.id + randn() WHEN MATCHED THEN DELETE", UnsupportedOperatorError, "randn"),
    ("UPDATE t SET m = 1", SchemaError, "no column 'm'"),
    ("UPDATE t SET n = 1, N = 2", StatementError, "column n is set twice"),
    ("UPDATE t SET message.x = 1", UnsupportedStatementError, "message.x"),
    (
        "MERGE INTO t USING (SELECT 1 AS x) AS s ON t.id = s.x WHEN NOT MATCHED THEN INSERT (id, ID) VALUES (s.x, 1)",
        StatementError,
        "INSERT names a column twice",
    ),
]


def test_what_is_refused_changes_nothing(spark: Any, make: Make) -> None:
    table = make()
    for statement, error, what in REFUSED:
        with pytest.raises(error, match=what):
            spark.sql(statement)
    with pytest.raises(Exception, match="nowhere"):
        spark.sql("DELETE FROM t WHERE nowhere + 1 = 2")
    with pytest.raises(Exception, match="only the last MATCHED clause"):
        spark.sql("MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *")
    assert (table.refresh().version, rows(table)) == (1, sorted(ROWS, key=repr))


def test_the_time_of_a_statement_is_fixed(spark: Any, make: Make) -> None:
    table = make()
    assert changed(spark, "DELETE FROM t WHERE current_timestamp() = now() AND id = 1") == (1,)
    assert ids(table) == [0, 2, 3, 4, 5]


def test_tables_of_other_formats_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "plain"))
    with pytest.raises(Exception, match="parquet") as caught:
        spark.sql(f"DELETE FROM parquet.`{tmp_path / 'plain'}` WHERE id = 1")
    assert not isinstance(caught.value, IndexTablesError)


def test_coalesced_tables(spark: Any, make: Make) -> None:
    many = [(n, f"day {n % 20}", f"message {n}", n) for n in range(200)]
    table = make(rows=many, options={"coalesce.enabled": "true"})
    assert len(table.splits()) < 20
    assert changed(spark, "UPDATE t SET day = 'day 21' WHERE id % 10 = 3") == (20,)
    assert changed(spark, "DELETE FROM t WHERE id % 10 = 4") == (20,)
    merge = "MERGE INTO t USING (SELECT id FROM range(0, 400, 5)) AS s ON t.id = s.id WHEN MATCHED THEN DELETE "
    assert changed(spark, merge + "WHEN NOT MATCHED THEN INSERT (id, day) VALUES (s.id, 'day 1')") == (80, 0, 40, 40)
    kept = [(n, f"day {21 if n % 10 == 3 else n % 20}") for n in range(200) if n % 10 != 4 and n % 5]
    assert rows(table, "id", "day") == sorted([*kept, *((n, "day 1") for n in range(200, 400, 5))], key=repr)
    assert len(table.splits()) < 40


def test_a_merge_opens_the_splits_that_can_match(spark: Any, make: Make) -> None:
    many = [(n, f"day {n // 10}", f"message {n}", n) for n in range(100)]
    table = make(rows=many)
    for split in table.splits().to_pylist():
        if split["partition"]["day"] not in {"day 3", "day 7"}:
            Path(table.path, split["path"]).unlink()
    spark.createDataFrame([(33, 0), (71, 1), (500, 2)], "id bigint, n int").createOrReplaceTempView("few")
    merge = "MERGE INTO t USING few AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n "
    assert changed(spark, merge + "WHEN NOT MATCHED THEN INSERT (id, day) VALUES (s.id, 'day 7')") == (3, 2, 0, 1)
    found = spark.sql("SELECT id, n FROM t WHERE day IN ('day 3', 'day 7') AND n < 5 OR id = 500").collect()
    assert sorted(map(tuple, found), key=repr) == [(33, 0), (500, None), (71, 1)]
    spark.catalog.dropTempView("few")


def overtaken(table: IndexTable, *, times: int) -> Any:
    """A function that is always true, and that appends a row to the table while a statement evaluates it, so many times."""
    path, marks = table.path, Path(table.path).parent / "marks"
    marks.mkdir()

    def append(_: int) -> bool:
        from pathlib import Path  # noqa: PLC0415 - in a Python process of Spark's

        from indextables import IndexTable  # noqa: PLC0415

        version = IndexTable.open(path).version
        if version <= times and not Path(marks, str(version)).exists():
            Path(marks, str(version)).touch()
            IndexTable.open(path).append([{"id": 100 + version, "day": "new", "message": "new", "n": 0}])
        return True

    return append


def test_a_statement_is_run_again_after_another_writer(spark: Any, make: Make) -> None:
    for name, statement in {
        "t": "DELETE FROM t WHERE overtaken(id)",
        "u": "UPDATE u SET n = -1 WHERE overtaken(id)",
    }.items():
        table = make(name, ROWS[:2])
        spark.udf.register("overtaken", overtaken(table, times=1), "boolean")
        assert changed(spark, statement) == (3,)
        assert rows(table, "n") == ([] if name == "t" else [(-1,)] * 3)
        assert table.version == 3
        Path(table.path).parent.joinpath("marks").rename(Path(table.path, "_marks"))


def test_a_statement_that_others_always_get_ahead_of(spark: Any, make: Make) -> None:
    table = make(rows=ROWS[:2])
    spark.udf.register("overtaken", overtaken(table, times=100), "boolean")
    with pytest.raises(ConflictError, match="taken by APPEND"):
        spark.sql("DELETE FROM t WHERE overtaken(id)")
    assert set(ids(table)) >= {0, 1}


def test_a_subquery_of_the_same_table_makes_all_of_it_matter(spark: Any, make: Make) -> None:
    """The function appends a row that the condition of the statement excludes, and that its subquery counts."""
    table = make(rows=ROWS[:2])
    spark.udf.register("overtaken", overtaken(table, times=1), "boolean")
    assert changed(spark, "UPDATE t SET n = (SELECT max(id) FROM t) WHERE day = 'mon' AND overtaken(id)") == (2,)
    assert (rows(table, "n"), table.version) == ([(0,), (101,), (101,)], 3)


def test_changes_of_other_rows_are_no_conflict(spark: Any, make: Make) -> None:
    """The function appends rows of a day that the statement does not read."""
    table = make(rows=ROWS[:2])
    spark.udf.register("overtaken", overtaken(table, times=1), "boolean")
    assert changed(spark, "UPDATE t SET n = -1 WHERE day = 'mon' AND overtaken(id)") == (2,)
    assert (rows(table, "n"), table.version) == ([(-1,), (-1,), (0,)], 3)


def test_restore_and_reorg(spark: Any, make: Make) -> None:
    table = make(rows=[(n, "mon", "message", n) for n in range(100)])
    spark.sql("DELETE FROM t WHERE n + 0 < 10")
    assert table.refresh().splits()["deleted_rows"].to_pylist() == [10]
    assert spark.sql("REORG TABLE t APPLY (PURGE) DRY RUN").first()["version"] == 2
    assert spark.sql("REORG TABLE t APPLY (PURGE)").first()["version"] == 3
    assert table.refresh().splits()["deleted_rows"].to_pylist() == [0]
    planned = spark.sql("RESTORE TABLE t TO VERSION AS OF 1 DRY RUN").first()
    assert (planned["version"], planned["dry_run"], table.refresh().version) == (4, True, 3)
    assert spark.sql("RESTORE TABLE t TO VERSION AS OF 1").first()["version"] == 4
    assert len(ids(table)) == 100
    spark.sql(f"RESTORE indextables.`{table.path}` TO TIMESTAMP AS OF '{datetime.now(UTC).isoformat()}'")
    assert (table.refresh().version, len(ids(table))) == (4, 100)
