"""Any text means what Lucene's grammar says, on real rows in a real index, or it is refused where Lucene's would be."""

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import event, example, given, reject
from hypothesis import strategies as st

from indextables.errors import SearchQueryError
from indextables.search import parse, resolve
from tests.search import lucene
from tests.search.indexes import found, index_of

COLUMNS = {"message": lucene.TEXT, "level": lucene.STRING, "count": lucene.NUMBER}
MESSAGES = [
    "",
    "a",
    "b",
    "c",
    "a b",
    "b a",
    "c a b",
    "a c b",
    "ab",
    "abc c",
    "to and not or",
    "disk full",
    "full",
    None,
]
ROWS = [
    {"message": message, "level": level, "count": count}
    for (message, level), count in zip(
        product(MESSAGES, ["a", "A b", "c:/", None]), [*range(-2, 6), None] * len(MESSAGES), strict=False
    )
]
TABLE = pa.Table.from_pylist(ROWS, pa.schema({"message": pa.string(), "level": pa.string(), "count": pa.int64()}))
RULES = resolve(TABLE.schema, {"message": "text"})
INDEX = index_of(TABLE, RULES)


def rows_found(text: str) -> list[int] | None:
    try:
        return found(parse(text, schema=TABLE.schema, rules=RULES), INDEX)
    except SearchQueryError:
        return None


WORDS = ["a", "b", "c", "A", "ab", "full", "TO", "1", "2", "a*", "b?", "*", r"\:", r"a\ b", r"\u0061", "a/b", "a-b"]
QUOTED = ['"a b"', '"disk full"', '"a"', r'"b\"c"', '""']
PATTERNS = ["/a.*/", "/[ab]/", r"/c:\//", "//"]
RANGES = ["[a TO b]", "{a TO *}", "[1 TO 2}", '["a b" TO b]', "[* TO -1]", "[TO TO TO]", ">=a", "<2", '>"a b"', "<=-1"]
FIELDS = ["message:", "level:", "count:", "*:", "nowhere:", "level :"]
OPERATORS = ["AND", "OR", "NOT", "&&", "||", "!", "+", "-"]
SUFFIXES = ["~", "~1", "~2", "~5", "^2", "^0.5", "^", "^-1", "~1^2", "^2~1"]
SIGNS = ["(", ")", "[", "]", "{", "}", '"', "/", "\\", "'", "=", ">", "<", "&", "|", "!=", '="']
COUNTS = ["count:1", "count:-1", "count:[1 TO 2}", "count:>=2", 'count:"3"', "count:(1 2)", "count:*"]
gap = st.sampled_from(["", " ", " ", "  ", "\t"])
piece = st.sampled_from([*WORDS, *QUOTED, *PATTERNS, *RANGES, *FIELDS, *OPERATORS, *SUFFIXES, *SIGNS])
soup = st.lists(st.tuples(piece, gap).map("".join), min_size=1, max_size=10).map("".join)
leaf = st.sampled_from([*WORDS, *WORDS, *QUOTED, *PATTERNS, *RANGES, *COUNTS])
join = st.sampled_from([" ", " ", " AND ", " OR ", "&&", "||", " && ", " || ", " &&", "|| ", " AND", "OR ", ""])
sign = st.sampled_from(["", "", "", "", "+", "-", "!", "NOT ", "NOT"])
prefix = st.sampled_from(["", "", "", "", "", "message:", "level: ", "count:"])
suffix = st.sampled_from(["", "", "", "", "", "", "", *SUFFIXES])


def clauses(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Clauses side by side, with and without spaces, most of them as they should be."""
    term = st.tuples(sign, prefix, leaf | inner.map(lambda text: f"({text})"), suffix).map("".join)
    return st.lists(st.tuples(join, term), min_size=1, max_size=4).map(
        lambda parts: parts[0][1] + "".join(a + b for a, b in parts[1:])
    )


queries = st.recursive(leaf, clauses, max_leaves=6)
texts = queries | queries | soup


@given(texts)
@example('!"disk full"')
@example("!/ful.*/")
@example('"a b"&&"c a"')
@example('NOT"a b"')
@example("NOT/a/")
@example('key="some value"')
@example("a^-1")
@example('failure"')
@example("a OR b -c")
@example("a OR b +c")
@example("a &&!b")
@example("a!b")
def test_a_text_means_what_the_grammar_says(text: str) -> None:
    try:
        expected = lucene.rows_of(text, COLUMNS, ROWS)
    except lucene.Unclear:
        reject()
    event("refused" if expected is None else "read")
    assert rows_found(text) == expected


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_between_all_kinds_of_clauses(operator: str) -> None:
    """With a space, and without, before and after the operator."""
    kinds = ["a", "b*", '"a b"', "/a.*/", "(c)", "level:a", "count:[1 TO 2]", "ab~1", "b^2"]
    read = 0
    for left, right, before, after in product(kinds, kinds, ["", " "], ["", " "]):
        text = left + before + operator + after + right
        expected = lucene.rows_of(text, COLUMNS, ROWS)
        assert rows_found(text) == expected, text
        read += expected is not None
    assert read >= len(kinds) ** 2
