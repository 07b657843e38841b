"""Words are highlighted in the values that a search finds, and in no others; the text stays what it was."""

import re
from html import unescape

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.search import queries as n
from indextables.search.match_spans import MatchSpans, highlighted
from tests.laws.test_search import RULES, STRINGS, leaves, tables
from tests.search.brute import rows_of

KINDS = n.Term | n.Prefix | n.Wildcard | n.Regex | n.Fuzzy | n.Range
texts = leaves.filter(lambda leaf: isinstance(leaf, KINDS) and leaf.field in STRINGS)


@given(tables(), st.lists(texts, min_size=1, max_size=4))
def test_values_have_highlights_where_a_search_finds_them(table: pa.Table, some: list[n.Leaf]) -> None:
    for leaf in some:
        values = table[leaf.field].to_pylist()
        spans = [MatchSpans.of([leaf], RULES).in_value(leaf.field, value or "") for value in values]
        found = [row for row in rows_of(leaf, table, RULES) if values[row]]
        assert [row for row, places in enumerate(spans) if places] == found


@given(st.text("ab <>&'\"é-_;\n"), st.text("abé", min_size=1, max_size=2))
def test_html_has_the_text_and_nothing_else(value: str, prefix: str) -> None:
    spans = MatchSpans.of([n.Prefix("message", prefix)], RULES).in_value("message", value)
    html = highlighted(value, spans)
    assert unescape(html.replace("<em>", "").replace("</em>", "")) == value
    assert re.sub(r"</?em>", "", html).count("<") == 0
    assert [unescape(word) for word in re.findall("<em>(.*?)</em>", html)] == [value[a:b] for a, b in spans]
