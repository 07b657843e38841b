"""What is ours in a text becomes what Spark reads; every other character stays."""

import pytest

from indextables.errors import StatementError
from indextables.statements import Statement, TableAt, rewrite_statement


def text_of(text: str) -> str:
    return rewrite_statement(text, prefix="t").text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WHERE message INDEXQUERY 'a'", "WHERE indexquery(message , 'a')"),
        ("WHERE message indexquery'a'", "WHERE indexquery(message ,'a')"),
        ("WHERE message TextSearch 'a'", "WHERE indexquery(message , 'a')"),
        ("WHERE NOT l.`odd name` INDEXQUERY 'it''s' AND x", "WHERE NOT indexquery(l.`odd name` , 'it''s') AND x"),
        ("WHERE l.message NOT INDEXQUERY 'a' OR y", "WHERE (NOT indexquery(l.message , 'a')) OR y"),
        ("WHERE * INDEXQUERY 'a'", "WHERE indexquery(* , 'a')"),
        ("WHERE c.s.t.* INDEXQUERY 'a'", "WHERE indexquery(c.s.t.* , 'a')"),
        ("WHERE (message) INDEXQUERY ('a')", "WHERE indexquery((message) , ('a'))"),
        ("WHERE f(a, (b)) INDEXQUERY 'a'", "WHERE indexquery(f(a, (b)) , 'a')"),
        ("WHERE a IN (1) AND date INDEXQUERY 'a' 'b'", "WHERE a IN (1) AND indexquery(date , 'a' 'b')"),
        ("WHERE message INDEXQUERY r'\\d' -- why", "WHERE indexquery(message , r'\\d') -- why"),
        ("WHERE m INDEXQUERY :q OR n INDEXQUERY ?", "WHERE indexquery(m , :q) OR indexquery(n , ?)"),
        ("{logs}.m INDEXQUERY 'a'", "indexquery({logs}.m , 'a')"),
        ("FROM {logs} WHERE {c} INDEXQUERY {q}", "FROM {logs} WHERE indexquery({c} , {q})"),
        ("CASE WHEN m INDEXQUERY 'a' THEN n INDEXQUERY '' END", "CASE WHEN indexquery(m , 'a') THEN indexquery(n , '') END"),
        ("m /* a */ INDEXQUERY /* b */ 'a'", "indexquery(m /* a */ , /* b */ 'a')"),
        ("SELECT '😀', é INDEXQUERY '😀'", "SELECT '😀', indexquery(é , '😀')"),
    ],
)  # fmt: skip
def test_operators_become_functions(text: str, expected: str) -> None:
    assert text_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT 'm INDEXQUERY ''a''', \"m INDEXQUERY 'a'\", `m INDEXQUERY 'a'` FROM t -- m INDEXQUERY 'a'",
        "SELECT 1 /* m INDEXQUERY 'a' */, r'm INDEXQUERY'",
        "SELECT /*+ BROADCAST(t) */ indexquery, m indexquery, m AS indexquery, t.indexquery FROM t indexquery",
        "SELECT indexquery FROM indexquery WHERE indexquery = 'a'",
        "SELECT m FROM t indexquery (a, b) JOIN u textsearch ON a = b",
        "WHERE indexquery(m, 'a') AND indexqueryall('b') AND textsearch(m, 'c')",
        "SELECT INDEXQUERY 'a'",
        "WHERE m INDEXQUERY n",
        "WHERE m INDEXQUERY 'not closed",
        "SELECT indextables.`a` FROM indextables",
        "SELECT x, indextables.`a` FROM db.indextables AS indextables",
        "SELECT x, indextables.`/a` FROM db.indextables AS indextables",
        "SELECT a IS DISTINCT FROM indextables.`a`, indextables.`b` FROM indextables",
        "SELECT f(indextables.`a`, indextables.`b`), (indextables.`c`) IN (indextables.`d`) FROM indextables",
        "SELECT 1 FROM a JOIN indextables USING (indextables.`x`) GROUP BY a, indextables.`b`",
        "SELECT 1 FROM indextables ORDER BY c, indextables.`d` DESC",
        "SELECT sum(x) OVER (PARTITION BY a, indextables.`b`), indextables.`d` FROM indextables",
        "FROM indextables |> SELECT x, indextables.`a`",
        "UPDATE t SET a = 1, indextables.`b` = 2",
        "SELECT * FROM indextables.a, db.indextables.`/a`",
        "SHOW TABLES LIKE 'indexquery'",
        "SET spark.indextables.cache.maxSize = 1G",
    ],
)
def test_what_is_not_ours_is_the_same_text(text: str) -> None:
    assert rewrite_statement(text, prefix="t") == Statement(text)


@pytest.mark.parametrize(
    ("text", "expected", "table"),
    [
        ("FROM a JOIN b ON x IN (1, 2), indextables.`c`", "FROM a JOIN b ON x IN (1, 2), t0", TableAt("t0", "c")),
        ("FROM a JOIN b USING (x), indextables.`c` WHERE y", "FROM a JOIN b USING (x), t0 WHERE y", TableAt("t0", "c")),
        ("FROM (indextables.`c` JOIN b), f(TABLE(a))", "FROM (t0 JOIN b), f(TABLE(a))", TableAt("t0", "c")),
        ("SHOW COLUMNS IN indextables.`c`", "SHOW COLUMNS IN t0", TableAt("t0", "c")),
        ("DESC FORMATTED indextables.`c` id", "DESC FORMATTED t0 id", TableAt("t0", "c")),
        ("UNCACHE TABLE IF EXISTS indextables.`c`", "UNCACHE TABLE IF EXISTS t0", TableAt("t0", "c")),
        ("SELECT * FROM indextables.`/a b` l", "SELECT * FROM t0 l", TableAt("t0", "/a b")),
        ("UPDATE indextables.`a` SET b = 1", "UPDATE t0 SET b = 1", TableAt("t0", "a")),
        ("DELETE FROM indextables.`a`", "DELETE FROM t0", TableAt("t0", "a")),
        ("MERGE INTO t USING indextables.`a` AS s", "MERGE INTO t USING t0 AS s", TableAt("t0", "a")),
        ("SELECT * FROM IndexTables.`logs`", "SELECT * FROM t0", TableAt("t0", "logs")),
        ("FROM a, indextables.`s3://b/c`", "FROM a, t0", TableAt("t0", "s3://b/c")),
        ("FROM indextables.`/a` VERSION AS OF 3 AS l", "FROM t0 AS l", TableAt("t0", "/a", version="3")),
        ("FROM indextables.`/a` FOR SYSTEM_VERSION AS OF '3'", "FROM t0", TableAt("t0", "/a", version="3")),
        ("FROM indextables.`/a` TIMESTAMP AS OF '2024-01-01' l", "FROM t0 l", TableAt("t0", "/a", timestamp="2024-01-01")),
        (
            "FROM indextables.`/a` FOR TIMESTAMP AS OF TIMESTAMP '2024-01-01'",
            "FROM t0",
            TableAt("t0", "/a", timestamp="2024-01-01"),
        ),
        ("FROM indextables.`/a` VERSION WHERE x", "FROM t0 VERSION WHERE x", TableAt("t0", "/a")),
    ],
)  # fmt: skip
def test_paths_become_names(text: str, expected: str, table: TableAt) -> None:
    assert rewrite_statement(text, prefix="t") == Statement(expected, (table,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE TABLE indextables.`a` (id INT)", "CREATE TABLE `t_path:a` (id INT)"),
        (
            "CREATE OR REPLACE TABLE indextables.`/a``b` AS SELECT 1",
            "CREATE OR REPLACE TABLE `t_path:/a``b` AS SELECT 1",
        ),
        ("create table if not exists indextables.`a` (id INT)", "create table if not exists `t_path:a` (id INT)"),
        ("REPLACE TABLE indextables.`a` (id INT)", "REPLACE TABLE `t_path:a` (id INT)"),
    ],
)
def test_the_path_of_a_new_table_is_a_name(text: str, expected: str) -> None:
    assert rewrite_statement(text, prefix="t_") == Statement(expected)


def test_each_path_has_its_name() -> None:
    text = "SELECT * FROM indextables.`/a` x JOIN indextables.`/a` VERSION AS OF 1 y ON x.m INDEXQUERY 'a'"
    found = rewrite_statement(text, prefix="t")
    assert found.text == "SELECT * FROM t0 x JOIN t1 y ON indexquery(x.m , 'a')"
    assert found.tables == (TableAt("t0", "/a"), TableAt("t1", "/a", version="1"))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("SELECT * FROM indextables.`/a` TIMESTAMP AS OF current_date()", 46),
        ("SELECT * FROM indextables.`/a` VERSION AS OF", 44),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM indextables.`/a`", 0),
        ("DROP TABLE IF EXISTS indextables.`a`", 21),
        ("ALTER TABLE indextables.`a` RENAME TO b", 12),
        ("COMMENT ON TABLE indextables.`a` IS NULL", 17),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text: str, position: int) -> None:
    with pytest.raises(StatementError) as error:
        rewrite_statement(text, prefix="t")
    assert (error.value.statement, error.value.position) == (text, position)


def test_credentials_in_a_location_are_not_told() -> None:
    with pytest.raises(StatementError) as caught:
        rewrite_statement("SELECT * FROM indextables.`https://host/t?sig=hidden` VERSION AS OF", prefix="t")
    assert "hidden" not in f"{caught.value} {vars(caught.value)}"
