"""Whatever stands around an operator in a text, only the operator is replaced."""

from hypothesis import given
from hypothesis import strategies as st

from indextables.statements import Statement, rewrite_statement

TEXTS = st.text(st.sampled_from("ab é'`\"\\-/*;😀\n") | st.characters(codec="utf-8"), max_size=8).map(
    lambda text: f"x INDEXQUERY {text}"
)
QUOTED = TEXTS.map(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "''") + "'")
OPAQUE = st.one_of(
    QUOTED.map(lambda text: f"= {text} AND"),
    TEXTS.map(lambda text: "`" + text.replace("`", "``") + "` ="),
    TEXTS.map(lambda text: "-- " + text.replace("\n", " ").replace("\r", " ") + "\n"),
    TEXTS.map(lambda text: "/* " + text.replace("/", "").replace("*", "") + " */"),
    st.sampled_from(["SELECT", "indexquery,", "(1)", "AND", "t.indexquery AS", "FROM indexquery", "{df} WHERE"]),
)
OPERATORS = st.tuples(
    st.sampled_from(["m", "a.b.m", "`a b`.`INDEXQUERY 'x'`", "*", "t.*", "(m)", "{c}"]),
    st.sampled_from(["INDEXQUERY", "textsearch", "IndexQuery"]),
    QUOTED | st.sampled_from([":q", "?", "{q}"]),
)


@given(st.lists(OPAQUE | OPERATORS))
def test_only_operators_are_replaced(parts: list[str | tuple[str, str, str]]) -> None:
    written = " AND ".join(part if isinstance(part, str) else " ".join(part) for part in parts)
    expected = " AND ".join(part if isinstance(part, str) else f"indexquery({part[0]} , {part[2]})" for part in parts)
    assert rewrite_statement(written, prefix="t") == Statement(expected)
