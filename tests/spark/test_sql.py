"""SQL text over tables: the same rows as from Parquet, splits left out, paths, parameters, commands, errors."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable, IndexTablesError
from indextables.errors import StatementError, TableNotFoundError, UnsupportedOperatorError
from tests.spark.samples import as_parquet, written

WORDS = ["timeout", "retry", "full", "well", "connection", "nothing"]
PLAIN = [
    "level = 'ERROR'",
    "level <> 'INFO'",
    "number > 2",
    "flag",
    "level IS NULL",
    "id % 3 = 0",
    "day >= DATE '2024-01-02'",
]
# `[a]` is a condition on the columns of a, which may be a search; `<a>` is a search of a.
QUERIES = [
    "SELECT id, level FROM t a WHERE [a] AND [a]",
    "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.id = b.id + 1 AND [b] WHERE [a]",
    "SELECT a.id, b.id AS other FROM t a LEFT JOIN t b ON a.id = b.number AND [b] WHERE [a]",
    "SELECT a.id, b.id AS other FROM t a LEFT JOIN t b ON a.id = b.number AND [a] WHERE [b]",
    "SELECT a.id, b.id AS other FROM t a RIGHT JOIN t b ON a.number = b.id WHERE [a] AND [b]",
    "SELECT a.id, b.id AS other FROM t a FULL JOIN t b ON a.id = b.number AND [a] AND [b] WHERE [a] OR [b]",
    "SELECT a.id FROM t a LEFT SEMI JOIN t b ON a.id = b.number AND [b] WHERE [a]",
    "SELECT a.id FROM t a LEFT ANTI JOIN t b ON a.id = b.number AND [a] AND [b]",
    "SELECT a.id FROM t a JOIN t b USING (id) WHERE <a> OR <b>",
    "WITH c AS (SELECT * FROM t a WHERE [a]) SELECT x.id FROM c x JOIN c y ON x.id = y.id WHERE [x] AND [y]",
    "WITH c AS (SELECT *, id AS i FROM t) SELECT i FROM c a WHERE [a] UNION ALL SELECT id FROM c b WHERE <b>",
    "SELECT id FROM (SELECT * FROM t a WHERE [a] UNION ALL SELECT * FROM t b WHERE [b]) c WHERE [c] AND <c>",
    "SELECT id FROM t a WHERE [a] EXCEPT SELECT id FROM t b WHERE [b]",
    "SELECT id FROM t a WHERE [a] INTERSECT SELECT number FROM t b WHERE <b>",
    "SELECT id FROM t a WHERE [a] AND EXISTS (SELECT 1 FROM t b WHERE a.id = b.number AND [b])",
    "SELECT id FROM t a WHERE [a] OR id NOT IN (SELECT id FROM t b WHERE [b])",
    "SELECT id, (SELECT max(id) FROM t b WHERE b.number = a.number AND [b]) AS m FROM t a WHERE [a]",
    "SELECT a.id, n FROM t a, LATERAL (SELECT count(*) AS n FROM t b WHERE b.number = a.number AND [b]) WHERE <a> OR [a]",
    "SELECT id, CASE WHEN <a> THEN 'x' WHEN [a] THEN 'y' END AS c, <a> AS hit FROM t a",
    "SELECT level, count_if(<a>) AS n, count(*) FILTER (WHERE [a]) AS m FROM t a GROUP BY level HAVING count(*) > 1",
    "SELECT <a> AS hit, count(*) AS n FROM t a WHERE [a] GROUP BY <a>",
    "SELECT id, count_if(<a>) OVER (PARTITION BY level ORDER BY id) AS n FROM t a WHERE [a]",
    "SELECT id FROM (SELECT *, row_number() OVER (PARTITION BY level ORDER BY id) AS n FROM t) a WHERE n < 9 AND [a]",
    "SELECT id FROM (SELECT * FROM t ORDER BY id LIMIT 30) a WHERE [a] AND <a> ORDER BY id",
    "SELECT id, x FROM t a LATERAL VIEW explode(array(1, 2)) AS x WHERE [a] AND x = 1",
    "SELECT id FROM (SELECT id, message AS m, level AS l FROM t) b JOIN t a USING (id) WHERE [a] AND m INDEXQUERY 'full'",
]  # fmt: skip


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """The view `ours` is this table, and `plain` the same rows as Parquet."""
    place = tmp_path_factory.mktemp("sql")
    table = written(place / "table")
    spark.read.format("indextables").load(table.path).createOrReplaceTempView("ours")
    spark.read.parquet(as_parquet(place / "parquet")).createOrReplaceTempView("plain")
    return table


@pytest.fixture(scope="module")
def errors(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The view `errors`, over a table of which only the splits of level ERROR are left."""
    table = written(tmp_path_factory.mktemp("errors") / "table")
    for split in table.splits().to_pylist():
        if split["partition"]["level"] != "ERROR":
            Path(table.path, split["path"]).unlink()
    spark.read.format("indextables").load(table.path).createOrReplaceTempView("errors")
    return table


def filled(query: str, dice: random.Random) -> str:
    """A query in which each condition is resolve_version, searches still in the words of our SQL."""

    def search(alias: str) -> str:
        return f"{alias}.message {dice.choice(['', 'NOT '])}INDEXQUERY '{dice.choice(WORDS)}'"

    def condition(alias: str, depth: int = 2) -> str:
        if depth and dice.random() < 0.4:
            word = dice.choice(["AND", "OR"])
            return f"({condition(alias, depth - 1)} {word} NOT ({condition(alias, depth - 1)}))"
        plain = re.sub(r"^(\w+)", rf"{alias}.\1", dice.choice(PLAIN))
        return dice.choice([plain, plain, search(alias)])

    query = re.sub(r"\[(\w)\]", lambda found: f"({condition(found[1])})", query)
    return re.sub(r"<(\w)>", lambda found: f"({found[1]}.message INDEXQUERY 'timeout')", query)


def without_searches(query: str) -> str:
    """The same question in plain SQL: a word is in a text if it is one of its words."""
    has_word = r"\2 coalesce(array_contains(split(lower(\1), '[^a-z0-9]+'), '\3'), false)"
    return re.sub(r"([\w.]+) (NOT )?INDEXQUERY '(\w+)'", has_word, query).replace(" t ", " plain ")


def rows_of(frame: Any) -> list[str]:
    return sorted(str(tuple(row)) for row in frame.collect())


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("query", QUERIES)
def test_the_same_rows_as_plain_sql(spark: Any, query: str) -> None:
    asked = filled(query.replace("FROM t)", "FROM t )"), random.Random(query))
    expected = rows_of(spark.sql(without_searches(asked)))
    assert rows_of(spark.sql(asked.replace(" t ", " ours "))) == expected, asked


ERRORS = [
    "SELECT a.id FROM errors a JOIN errors b ON a.id = b.id WHERE a.level = 'ERROR' AND b.level <= 'ERROR'",
    "SELECT a.id FROM errors a LEFT JOIN errors b ON a.id = b.id AND b.level = 'ERROR' WHERE a.level = 'ERROR'",
    "SELECT id FROM (SELECT * FROM errors UNION ALL SELECT * FROM errors) WHERE level = 'ERROR'",
    "SELECT id FROM errors WHERE level = 'ERROR' UNION SELECT id FROM errors WHERE level < 'F' AND id > 7",
    "WITH e AS (FROM errors) SELECT x.id FROM e x JOIN e y USING (id) WHERE x.level = 'ERROR' AND y.level = 'ERROR'",
    "SELECT id FROM errors WHERE level = 'ERROR' AND id IN (SELECT id FROM errors e WHERE e.level = 'ERROR')",
    "SELECT id FROM errors a WHERE level = 'ERROR' AND EXISTS (SELECT 1 FROM errors b WHERE a.id = b.id AND b.level < 'F')",
    "SELECT level, count(message) AS id FROM errors GROUP BY level HAVING level = 'ERROR'",
    "SELECT id FROM errors WHERE message INDEXQUERY 'timeout' AND level = 'ERROR'",
]  # fmt: skip


@pytest.mark.usefixtures("table", "errors")
@pytest.mark.parametrize("query", ERRORS)
def test_only_splits_that_may_match_are_opened(spark: Any, query: str) -> None:
    assert rows_of(spark.sql(query)) == rows_of(spark.sql(query.replace("errors", "ours"))) != []


@pytest.mark.usefixtures("errors")
def test_conditions_that_concern_other_rows_open_splits(spark: Any) -> None:
    with pytest.raises(Exception, match="does not exist"):
        spark.sql("SELECT b.id FROM errors a RIGHT JOIN errors b ON a.id = b.id AND b.level = 'ERROR'").collect()


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


@pytest.fixture
def texts(spark: Any) -> Iterator[Any]:
    import indextables  # noqa: PLC0415

    def answers(text: str, args: Any = None, **frames: Any) -> list[int]:
        one = ids(spark.sql(text, args, **frames))
        assert one == ids(indextables.sql(spark, text, args, **frames))
        return one

    yield answers
    assert [view.name for view in spark.catalog.listTables() if "indextables" in view.name] == []


def test_paths_and_parameters(spark: Any, table: IndexTable, texts: Any) -> None:
    here, wanted = f"indextables.`{table.path}`", table.scan(query="message:timeout").to_arrow()["id"].to_pylist()
    assert texts(f"SELECT id FROM {here} WHERE message INDEXQUERY 'timeout'") == sorted(wanted)
    assert texts(f"SELECT id FROM {here} VERSION AS OF 1 AS l") == list(range(30))
    first = {row["version"]: row["timestamp"] for row in table.history().to_pylist()}[1]
    assert texts(f"SELECT id FROM {here} TIMESTAMP AS OF '{first.isoformat()}'") == list(range(30))
    joined = f"SELECT a.id FROM {here} a JOIN {here} FOR VERSION AS OF 1 b USING (id) WHERE a.* INDEXQUERY :q"
    assert texts(joined, {"q": "timeout"}) == sorted(id_ for id_ in wanted if id_ < 30)
    assert texts("SELECT id FROM ours WHERE message TEXTSEARCH ? AND id < ?", ["timeout", 9]) == [0, 2, 7]
    frame = spark.read.format("indextables").load(table.path)
    assert texts("SELECT id FROM {f} WHERE {f}.message INDEXQUERY {q} AND id < 9", f=frame, q="timeout") == [0, 2, 7]
    assert texts("SELECT id FROM ours WHERE indexqueryall('message:timeout AND level:ERROR') AND id < 9") == [0]
    assert texts("SELECT id FROM ours WHERE * INDEXQUERY 'message:timeout AND level:ERROR' AND id < 9") == [0]


def test_views_may_search(spark: Any, table: IndexTable) -> None:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW slow AS SELECT id, level, message FROM ours WHERE message INDEXQUERY 'timeout'"
    )
    expected = table.scan(where="level = 'ERROR' AND message INDEXQUERY 'timeout' AND NOT message INDEXQUERY 'retry'")
    query = "SELECT id FROM slow WHERE level = 'ERROR' AND NOT message INDEXQUERY 'retry'"
    assert ids(spark.sql(query)) == sorted(expected.to_arrow()["id"].to_pylist()) != []
    assert spark.table("slow").count() == table.count("message INDEXQUERY 'timeout'")


def test_commands_that_run_at_once_may_search(spark: Any, table: IndexTable, tmp_path: Path) -> None:
    search = "SELECT id, level FROM {} WHERE message INDEXQUERY 'timeout'"
    expected = sorted(table.scan(query="message:timeout").to_arrow()["id"].to_pylist())
    spark.sql("CREATE TABLE taken (id BIGINT, level STRING) USING parquet")
    assert expected
    for source in ("ours", f"indextables.`{table.path}`"):
        asked = search.format(source)
        spark.sql(f"INSERT OVERWRITE taken {asked}")
        assert ids(spark.table("taken")) == expected
        spark.sql(f"WITH slow AS ({asked}) INSERT INTO taken SELECT * FROM slow WHERE level = 'ERROR'")
        assert len(ids(spark.table("taken"))) == len(expected) + table.count("level = 'ERROR'", query="message:timeout")
        for form in ("parquet", "indextables"):
            spark.sql(f"CREATE TABLE made USING {form} AS {asked}")
            assert ids(spark.table("made")) == expected
            spark.sql(f"WITH slow AS ({asked}) INSERT INTO made SELECT * FROM slow")
            assert ids(spark.table("made")) == sorted([*expected, *expected])
            spark.sql("DROP TABLE made")
        spark.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/there' USING parquet {asked}")
        assert ids(spark.read.parquet(f"{tmp_path}/there")) == expected


def test_a_command_runs_once(spark: Any, table: IndexTable, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE once (id BIGINT) USING parquet LOCATION '{tmp_path}/once'")
    try:
        spark.sql("INSERT INTO once SELECT a.id FROM ours a JOIN ours b USING (id) WHERE a.level = 'ERROR'")
        assert spark.table("once").count() == table.count("level = 'ERROR'")
    finally:
        spark.sql("DROP TABLE once")


def test_other_texts_are_sparks(spark: Any) -> None:
    text = (
        "SELECT 'm INDEXQUERY ''a''' AS a, /* m INDEXQUERY 'a' */ `indexquery` AS b FROM VALUES (:v) AS t(indexquery)"
    )
    assert tuple(spark.sql(text, {"v": 7}).collect()[0]) == ("m INDEXQUERY 'a'", 7)


def test_commands(spark: Any, table: IndexTable) -> None:
    def told(text: str) -> list[Any]:
        rows: list[Any] = spark.sql(f"{text} '{table.path}'").collect()
        return rows

    assert [(row.column, row.type) for row in told("DESCRIBE INDEXTABLES")][:2] == [("id", "long"), ("day", "date")]
    assert [row.version for row in told("DESCRIBE INDEXTABLES HISTORY")] == [2, 1, 0]
    assert told("DESCRIBE INDEXTABLES TRANSACTION LOG") == told("DESCRIBE INDEXTABLES HISTORY")
    assert sum(row.num_records for row in told("DESCRIBE INDEXTABLES SPLITS")) == 60
    assert {row.partition.level: row.num_records for row in told("DESCRIBE INDEXTABLES PARTITIONS")}["ERROR"] == 15
    assert [(row.version, row.num_splits) for row in told("CHECKPOINT INDEXTABLES")] == [(2, 8)]


def test_a_check_in_sql(spark: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "checked", pa.schema({"id": pa.int64()}))
    table.append([{"id": 1}])
    assert spark.sql(f"CHECK INDEXTABLE '{table.path}' DEEP ALL VERSIONS").collect() == []
    newest = tmp_path / "checked/_transaction_log/000000000000000001.json"
    newest.write_text("{]")
    [row, _] = spark.sql(f"CHECK INDEXTABLE '{table.path}'").collect()
    assert (row.severity, row.kind, row.file) == ("error", "damaged-version", f"_transaction_log/{newest.name}")
    assert row.repair.startswith("restore it from a copy")
    with pytest.raises(TableNotFoundError):
        spark.sql(f"CHECK INDEXTABLE '{tmp_path}/nothing'")


def test_a_query_in_sql_has_its_quotes_and_backslashes_twice(spark: Any, tmp_path: Path) -> None:
    lines = [(0, "it's a full disk"), (1, "disk full"), (2, r"C:\temp")]
    table = IndexTable.create(tmp_path / "lines", pa.schema({"id": pa.int64(), "message": pa.string()}))
    table.append([{"id": number, "message": message} for number, message in lines])

    def ids(query: str) -> list[int]:
        sql = f"SELECT id FROM indextables.`{table.path}` WHERE message INDEXQUERY {query} ORDER BY id"
        return [row.id for row in spark.sql(sql).collect()]

    assert ids("""'"it''s a full disk"'""") == [0]
    assert ids("""'!"disk full"'""") == [0, 2]
    assert ids(r"""'C\\:\\\\temp || "disk full"'""") == [1, 2]
    with pytest.raises(IndexTablesError, match="at position 9, at '\"': the quote is not closed"):
        ids("""'disk it''s"'""")
    with pytest.raises(IndexTablesError, match="Indexed as exact values: message; .*SET INDEXING .message = text"):
        spark.sql(f"SELECT id FROM indextables.`{table.path}` WHERE * INDEXQUERY 'full'")


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT 1 FROM ours a JOIN ours b USING (id) WHERE indexqueryall('x')", UnsupportedOperatorError, "which table"),
        ("SELECT 1 FROM ours WHERE message INDEXQUERY '(x'", IndexTablesError, "cannot be read"),
        ("SELECT 1 FROM ours WHERE ours.* INDEXQUERY 'nowhere:x'", IndexTablesError, "nowhere"),
        ("SELECT 1 FROM indextables.`/no/such/table`", TableNotFoundError, "/no/such/table"),
        ("CREATE TEMPORARY VIEW v AS SELECT 1 FROM indextables.`/a`", StatementError, "view"),
        ("CHECKPOINT INDEXTABLES", StatementError, "path"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_says_so(spark: Any, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        spark.sql(text)
