"""DELETE FROM, UPDATE and MERGE INTO, read from text."""

import pytest

from indextables.errors import StatementError, UnsupportedOperatorError
from indextables.statements import TableName, TablePath
from indextables.statements.row_level_statements import (
    Assignment,
    DeleteFrom,
    DeleteRow,
    InsertAll,
    InsertRow,
    MergeClause,
    MergeInto,
    UpdateAll,
    UpdateSet,
    UpdateTable,
    When,
    parse_row_level,
    qualify_columns,
    refuse_non_deterministic,
    without_qualifier,
)

T = TableName(("t",))
ON = "MERGE INTO t USING s ON t.id = s.id"


def set_to(**values: str) -> tuple[Assignment, ...]:
    return tuple(Assignment((name,), value) for name, value in values.items())


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("DELETE FROM t", DeleteFrom(table=T)),
        ("delete from t;", DeleteFrom(table=T)),
        ("DELETE FROM a.b x WHERE x.c", DeleteFrom(table=TableName(("a", "b")), alias="x", where="x.c")),
        ("DELETE FROM t AS `my t` WHERE true", DeleteFrom(table=T, alias="my t", where="true")),
        ("DELETE FROM indextables.`/a b` WHERE a = ';'", DeleteFrom(table=TablePath("/a b"), where="a = ';'")),
        (
            "WITH w AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM w WHERE a > 0)",
            DeleteFrom(table=T, where="a IN (SELECT a FROM w WHERE a > 0)", with_clause="WITH w AS (SELECT 1 AS a) "),
        ),
        ("UPDATE t SET a = 1", UpdateTable(table=T, assignments=set_to(a="1"))),
        (
            "UPDATE t AS x SET a = x.b, b = CASE WHEN a = 1 THEN f(1, 2) END WHERE (a, b) IN ((1, 2))",
            UpdateTable(
                table=T,
                alias="x",
                assignments=set_to(a="x.b", b="CASE WHEN a = 1 THEN f(1, 2) END"),
                where="(a, b) IN ((1, 2))",
            ),
        ),
        (
            "UPDATE t SET t.`a b` = (SELECT max(a) FROM u WHERE a = 1) WHERE a = 2",
            UpdateTable(
                table=T,
                assignments=(Assignment(("t", "a b"), "(SELECT max(a) FROM u WHERE a = 1)"),),
                where="a = 2",
            ),
        ),
    ],
)
def test_delete_and_update(text: str, statement: DeleteFrom | UpdateTable) -> None:
    assert parse_row_level(text) == statement


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("WHEN MATCHED THEN DELETE", MergeClause(When.MATCHED, None, DeleteRow())),
        ("when matched then update set *", MergeClause(When.MATCHED, None, UpdateAll())),
        (
            "WHEN MATCHED AND CASE WHEN s.a THEN s.b END THEN UPDATE SET t.a = s.a, b = 1",
            MergeClause(
                When.MATCHED,
                "CASE WHEN s.a THEN s.b END",
                UpdateSet((Assignment(("t", "a"), "s.a"), Assignment(("b",), "1"))),
            ),
        ),
        ("WHEN NOT MATCHED THEN INSERT *", MergeClause(When.NOT_MATCHED, None, InsertAll())),
        (
            "WHEN NOT MATCHED BY TARGET AND s.a > 1 THEN INSERT (a, t.b) VALUES (s.a, concat('x', s.b))",
            MergeClause(When.NOT_MATCHED, "s.a > 1", InsertRow((("a",), ("t", "b")), ("s.a", "concat('x', s.b)"))),
        ),
        ("WHEN NOT MATCHED THEN INSERT VALUES (1, 2)", MergeClause(When.NOT_MATCHED, None, InsertRow((), ("1", "2")))),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", MergeClause(When.NOT_MATCHED_BY_SOURCE, None, DeleteRow())),
        (
            "WHEN NOT MATCHED BY SOURCE AND t.a = 1 THEN UPDATE SET a = 2",
            MergeClause(When.NOT_MATCHED_BY_SOURCE, "t.a = 1", UpdateSet(set_to(a="2"))),
        ),
    ],
)
def test_the_clauses_of_a_merge(text: str, clause: MergeClause) -> None:
    expected = MergeInto(table=T, source="s", source_alias="s", on="t.id = s.id", clauses=(clause,))
    assert parse_row_level(f"{ON} {text}") == expected


def test_a_merge_of_several_clauses() -> None:
    found = parse_row_level(
        f"{ON} WHEN MATCHED AND s.gone THEN DELETE WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s.a = 1 THEN INSERT * WHEN NOT MATCHED THEN INSERT (a) VALUES (1) "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert isinstance(found, MergeInto)
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
    found = parse_row_level(f"MERGE WITH SCHEMA EVOLUTION INTO t y USING {source} ON true WHEN MATCHED THEN DELETE")
    assert isinstance(found, MergeInto)
    assert (found.source, found.source_alias, found.alias, found.schema_evolution) == (source, alias, "y", True)


@pytest.mark.parametrize(
    "text", ["", "SELECT 1", "MERGE SPLITS '/a'", "DELETE", "WITH w AS (SELECT 1) SELECT * FROM w"]
)
def test_other_statements(text: str) -> None:
    assert parse_row_level(text) is None


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
    ],
)
def test_what_cannot_be_read(text: str, reason: str) -> None:
    with pytest.raises(StatementError, match=reason) as caught:
        parse_row_level(text)
    assert 0 <= caught.value.position <= len(text)


@pytest.mark.parametrize("name", ["rand", "UUID", "shuffle", "monotonically_increasing_id", "input_file_name"])
def test_functions_that_are_not_deterministic(name: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=f"{name.lower()}\\(\\) has another value") as caught:
        refuse_non_deterministic(None, "a = 1", f"a = {name}()")
    assert caught.value.operator == name.lower()


def test_names_that_are_no_calls_are_fine() -> None:
    refuse_non_deterministic("rand = 1 AND uuid > current_timestamp() AND t.shuffle = 'rand()'")


def test_qualifiers() -> None:
    assert qualify_columns("a + x.a + a.b + f(A)", frozenset({"a"}), "`s`") == "`s`.a + x.a + a.b + f(`s`.A)"
    assert qualify_columns("(SELECT a FROM u)", frozenset({"a"}), "`s`") == "(SELECT a FROM u)"
    assert without_qualifier("x.a = 1 AND `X`.b = 'x.a' AND y.x.a", "x") == "a = 1 AND b = 'x.a' AND y.x.a"
