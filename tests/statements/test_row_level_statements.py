"""DELETE FROM, UPDATE and MERGE INTO, read from text."""

import pytest

from indextables.errors import StatementError, UnsupportedOperatorError, UnsupportedStatementError
from indextables.statements import Table, TableName, TablePath
from indextables.statements.row_changes import Action, Assignment, Clause, Delete, Merge, RowChange, Update, When
from indextables.statements.row_level_statements import RowLevelStatement, RowLevelText
from indextables.statements.tokens import qualify_columns, without_qualifier

T = TableName(("t",))
ON = "MERGE INTO t USING s ON t.id = s.id"


def set_to(**values: str) -> tuple[Assignment, ...]:
    return tuple(Assignment(name, value) for name, value in values.items())


def parsed(text: str, *, case_sensitive: bool = False) -> RowLevelStatement:
    found = RowLevelText.of(text)
    assert found is not None
    statement = found.parse(case_sensitive=case_sensitive)
    assert found.table == statement.table
    return statement


def merged(text: str) -> Merge:
    merge = parsed(text).change
    assert isinstance(merge, Merge)
    return merge


@pytest.mark.parametrize(
    ("text", "table", "change"),
    [
        ("DELETE FROM t", T, Delete(where="true", alias="t")),
        ("delete from t;", T, Delete(where="true", alias="t")),
        ("DELETE FROM a.b x WHERE x.c", TableName(("a", "b")), Delete(where="x.c", alias="x")),
        ("DELETE FROM a.b WHERE b.c", TableName(("a", "b")), Delete(where="b.c", alias="b")),
        ("DELETE FROM t AS `my t` WHERE true", T, Delete(where="true", alias="my t")),
        ("DELETE FROM indextables.`/a b` WHERE a = ';'", TablePath("/a b"), Delete(where="a = ';'")),
        ("UPDATE t SET a = 1", T, Update(assignments=set_to(a="1"), alias="t")),
        ("UPDATE t SET a = Default, b = null", T, Update(assignments=set_to(a="NULL", b="null"), alias="t")),
        (
            "UPDATE t AS x SET a = x.b, b = CASE WHEN a = 1 THEN f(1, 2) END WHERE (a, b) IN ((1, 2))",
            T,
            Update(
                assignments=set_to(a="x.b", b="CASE WHEN a = 1 THEN f(1, 2) END"),
                where="(a, b) IN ((1, 2))",
                alias="x",
            ),
        ),
        (
            "UPDATE t SET t.`a b` = (SELECT max(a) FROM u WHERE a = 1) WHERE a = 2",
            T,
            Update(
                assignments=(Assignment("a b", "(SELECT max(a) FROM u WHERE a = 1)"),),
                where="a = 2",
                alias="t",
            ),
        ),
        ("DELETE FROM t WHERE t.where = t.end", T, Delete(where="t.where = t.end", alias="t")),
        ("UPDATE t SET a == 1, b = c == 2", T, Update(assignments=set_to(a="1", b="c == 2"), alias="t")),
        ("UPDATE t SET flag = a = b AND NOT c", T, Update(assignments=set_to(flag="a = b AND NOT c"), alias="t")),
    ],
)
def test_delete_and_update(text: str, table: Table, change: RowChange) -> None:
    assert parsed(text) == RowLevelStatement(table, change)


def test_common_table_expressions_come_before_the_statement() -> None:
    for statement in (
        "DELETE FROM t WHERE a IN (SELECT a FROM w WHERE a > 0)",
        "UPDATE t SET a = (SELECT a FROM w)",
        "MERGE INTO t USING w ON t.a = w.a WHEN MATCHED THEN DELETE",
    ):
        found = parsed(f"WITH w AS (SELECT 1 AS a) {statement}")
        assert (found.with_clause, found.change) == ("WITH w AS (SELECT 1 AS a) ", parsed(statement).change)


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("WHEN MATCHED THEN DELETE", Clause(When.MATCHED, Action.DELETE)),
        ("when matched then update set *", Clause(When.MATCHED, Action.UPDATE)),
        (
            "WHEN MATCHED AND CASE WHEN s.a THEN s.b END THEN UPDATE SET t.a = s.a, b = 1",
            Clause(When.MATCHED, Action.UPDATE, "CASE WHEN s.a THEN s.b END", set_to(a="s.a", b="1")),
        ),
        ("WHEN MATCHED AND s.then = s.when THEN DELETE", Clause(When.MATCHED, Action.DELETE, "s.then = s.when")),
        ("WHEN NOT MATCHED THEN INSERT *", Clause(When.NOT_MATCHED, Action.INSERT)),
        (
            "WHEN NOT MATCHED BY TARGET AND s.a > 1 THEN INSERT (a, t.b) VALUES (s.a, concat('x', s.b))",
            Clause(When.NOT_MATCHED, Action.INSERT, "s.a > 1", set_to(a="s.a", b="concat('x', s.b)")),
        ),
        (
            "WHEN NOT MATCHED THEN INSERT VALUES (1, 2)",
            Clause(When.NOT_MATCHED, Action.INSERT, None, (Assignment(None, "1"), Assignment(None, "2"))),
        ),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", Clause(When.NOT_MATCHED_BY_SOURCE, Action.DELETE)),
        (
            "WHEN NOT MATCHED BY SOURCE AND t.a = 1 THEN UPDATE SET a = 2",
            Clause(When.NOT_MATCHED_BY_SOURCE, Action.UPDATE, "t.a = 1", set_to(a="2")),
        ),
    ],
)
def test_the_clauses_of_a_merge(text: str, clause: Clause) -> None:
    expected = Merge(on="t.id = s.id", clauses=(clause,), alias="t", source_alias="s")
    assert parsed(f"{ON} {text}") == RowLevelStatement(T, expected, source="s")


def test_a_merge_of_several_clauses() -> None:
    found = merged(
        f"{ON} WHEN MATCHED AND s.gone THEN DELETE WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s.a = 1 THEN INSERT * WHEN NOT MATCHED THEN INSERT (a) VALUES (1) "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert [clause.when for clause in found.clauses] == [
        When.MATCHED,
        When.MATCHED,
        When.NOT_MATCHED,
        When.NOT_MATCHED,
        When.NOT_MATCHED_BY_SOURCE,
    ]


@pytest.mark.parametrize(
    ("source", "alias"),
    [
        ("db.s", "s"),
        ("db.s AS x", "x"),
        ("s x", "x"),
        ("(SELECT * FROM u WHERE a IN (1)) AS x", "x"),
        ("(SELECT 1 AS id)", None),
        ("(VALUES (1, 2)) AS x(id, b)", "x"),
        ("(v AS `s`)", "s"),
        ("indextables.`/a/b` AS x", "x"),
        ("s VERSION AS OF 3 AS x", "x"),
    ],
)
def test_the_source_of_a_merge(source: str, alias: str | None) -> None:
    text = f"MERGE WITH SCHEMA EVOLUTION INTO t y USING {source} ON true WHEN MATCHED THEN DELETE"
    found = merged(text)
    assert (parsed(text).source, found.source_alias, found.alias, found.merge_schema) == (source, alias, "y", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "MERGE SPLITS '/a'",
        "DELETE",
        "WITH w AS (SELECT 1) SELECT * FROM w",
        "WITH w AS (SELECT update FROM t) SELECT * FROM w",
    ],
)
def test_other_statements(text: str) -> None:
    assert RowLevelText.of(text) is None


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("DELETE FROM t x y WHERE a", T),
        ("UPDATE a.b nonsense", TableName(("a", "b"))),
        ("MERGE WITH EVOLUTION INTO indextables.`/a`", TablePath("/a")),
        ("MERGE WITH EVOLUTION", None),
        ("DELETE FROM", None),
        ("DELETE FROM (SELECT 1)", None),
    ],
)
def test_the_table_is_known_if_the_rest_cannot_be_read(text: str, table: Table | None) -> None:
    found = RowLevelText.of(text)
    assert found is not None
    assert found.table == table
    with pytest.raises(StatementError):
        found.parse()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DELETE FROM", "the name of a table"),
        ("DELETE FROM t WHERE", "a condition after WHERE"),
        ("DELETE FROM t x y WHERE a", "nothing but an alias"),
        ("UPDATE t a = 1", "SET is expected"),
        ("UPDATE t SET", "column = value"),
        ("UPDATE t SET a = 1, b", "column = value"),
        ("UPDATE t SET f(a) = 1", "the name of a column"),
        ("UPDATE t SET t, a = 1", "column = value"),
        ("UPDATE t SET t a b = 1", "the name of a column"),
        ("UPDATE t SET a =", "a value after ="),
        ("MERGE INTO t ON a WHEN MATCHED THEN DELETE", "USING is expected"),
        ("MERGE INTO t USING s WHEN MATCHED THEN DELETE", "ON is expected"),
        ("MERGE INTO t USING s ON a = b", "WHEN MATCHED or WHEN NOT MATCHED"),
        ("MERGE WITH EVOLUTION INTO t USING s ON a = b WHEN MATCHED THEN DELETE", "MERGE WITH SCHEMA EVOLUTION"),
        (f"{ON} WHEN MATCHED DELETE", "THEN is expected"),
        (f"{ON} WHEN MATCHED OR a THEN DELETE", "AND or THEN"),
        (f"{ON} WHEN SOMETIMES THEN DELETE", "NOT MATCHED BY SOURCE is expected"),
        (f"{ON} WHEN MATCHED THEN INSERT *", "UPDATE SET, UPDATE SET \\* or DELETE"),
        (f"{ON} WHEN NOT MATCHED THEN DELETE", "INSERT \\(columns\\)"),
        (f"{ON} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *", "column = value"),
        (f"{ON} WHEN NOT MATCHED THEN INSERT (a) VALUES (1, 2)", "1 columns and 2 values"),
        (f"{ON} WHEN NOT MATCHED THEN INSERT (a)", "VALUES is expected"),
        (f"{ON} WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *", "only the last WHEN MATCHED clause"),
        ("MERGE WITH EVOLUTION", "INTO is expected"),
        ("UPDATE t SET a = 1, b = 2, A = 3", "column a is set twice"),
        (f"{ON} WHEN NOT MATCHED THEN INSERT (a, t.A) VALUES (1, 2)", "INSERT names a column twice"),
    ],
)
def test_what_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(StatementError, match=reason) as caught:
        parsed(text)
    assert 0 <= caught.value.position <= len(text)


def test_names_of_columns_in_any_letter_case() -> None:
    assert parsed("UPDATE t SET a = 1, A = 2", case_sensitive=True).change.clauses[0].assignments == set_to(
        a="1", A="2"
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("UPDATE t SET message.x = 1", "message.x"),
        ("UPDATE db.t AS x SET t.a = 1", "t.a"),
        (f"{ON} WHEN NOT MATCHED THEN INSERT (s.a) VALUES (1)", "s.a"),
    ],
)
def test_columns_are_set_as_a_whole(text: str, column: str) -> None:
    with pytest.raises(UnsupportedStatementError, match=f"cannot set {column}: it sets columns as a whole"):
        parsed(text)


def test_what_may_stand_before_a_column_that_is_set() -> None:
    for text in ("UPDATE c.db.t SET c.db.t.a = 1", "UPDATE c.db.t SET db.T.a = 1", "UPDATE c.db.t AS x SET X.a = 1"):
        assert parsed(text).change.clauses[0].assignments == set_to(a="1")


@pytest.mark.parametrize("name", ["rand", "UUID", "shuffle", "monotonically_increasing_id", "input_file_name"])
def test_functions_that_are_not_deterministic(name: str) -> None:
    condition = f"b = 1 AND a = {name}()"
    for text in (
        f"DELETE FROM t WHERE {condition}",
        f"UPDATE t SET a = 1 WHERE {condition}",
        f"MERGE INTO t USING s ON {condition} WHEN MATCHED THEN DELETE",
        f"{ON} WHEN MATCHED AND {condition} THEN DELETE",
    ):
        with pytest.raises(UnsupportedOperatorError, match=f"{name.lower()}\\(\\) has another value") as caught:
            parsed(text)
        assert (caught.value.operator, caught.value.predicate) == (name.lower(), condition)
        assert caught.value.position == condition.index(name)


def test_names_that_are_no_calls_are_fine() -> None:
    condition = "rand = 1 AND uuid > current_timestamp() AND t.shuffle = 'rand()'"
    assert parsed(f"UPDATE t SET a = rand() WHERE {condition}").change == Update(
        assignments=set_to(a="rand()"), where=condition, alias="t"
    )


def test_qualifiers() -> None:
    assert qualify_columns("a + x.a + a.b + f(A)", frozenset({"a"}), "`s`") == "`s`.a + x.a + a.b + f(`s`.A)"
    assert qualify_columns("(SELECT a FROM u)", frozenset({"a"}), "`s`") == "(SELECT a FROM u)"
    assert without_qualifier("x.a = 1 AND `X`.b = 'x.a' AND y.x.a", "x") == "a = 1 AND b = 'x.a' AND y.x.a"
