"""A search over values in memory finds what a look at every value finds, whether an expression or an index decides."""

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from indextables.search import queries as n
from indextables.search import resolve
from indextables.search.field_rules import TOKENIZERS
from indextables.search.value_search import match_values
from tests.laws.test_search import RULES, queries, tables
from tests.search.brute import rows_of

# Letters whose lower case is ASCII, or longer than they are; digits and letters outside ASCII; separators of all kinds.
SIGNS = "kKiIaAbsS0\u212a\u0130\u0131\u017f\u00e9\u00c9\u00df\u1e9e\u0663\u00b2_-. \t\n\r\x0b\x00\u00a0\u2028\u4e2d"
texts = st.lists(
    st.text(st.sampled_from(SIGNS), max_size=4) | st.sampled_from([" ", "-", "ab", "a" * 39, "a" * 40]), max_size=8
).map("".join)
parts = st.text(st.sampled_from("kiabs0\u00e9\u0307\u00df\u0131\u4e2d"), min_size=1, max_size=3)
words = parts | st.sampled_from(["ab", "k", "i", "i\u0307", "a" * 39])
PLAIN = [tokenizer for tokenizer in TOKENIZERS if tokenizer != "en_stem"]  # the naive model has no stems
leaves = st.one_of(
    st.builds(n.Term, st.just("x"), words),
    st.builds(n.Phrase, st.just("x"), st.lists(words, min_size=2, max_size=3).map(tuple), st.sampled_from([0, 0, 1])),
    st.builds(n.Prefix, st.just("x"), words),
    st.builds(n.Wildcard, st.just("x"), st.text(st.sampled_from("ki*?a\u00e9"), min_size=1, max_size=4)),
    st.builds(n.Fuzzy, st.just("x"), words, st.just(1)),
)


@given(st.lists(st.none() | texts, max_size=8), st.lists(leaves, min_size=1, max_size=5), st.sampled_from(PLAIN))
@example(["0\u0130"], [n.Wildcard("x", "???")], "default")
def test_words_of_any_letters(values: list[str | None], some: list[n.Leaf], tokenizer: str) -> None:
    table = pa.table({"x": pa.array(values, pa.string())})
    rules = resolve(table.schema, {"x": f"text:{tokenizer}"})
    batch = table.combine_chunks().to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)
    for leaf in some:
        assert match_values(leaf, batch, rules).nonzero()[0].tolist() == rows_of(leaf, table, rules)


@given(tables(), st.lists(queries, min_size=1, max_size=5))
def test_any_query_on_columns_of_any_type(table: pa.Table, some: list[n.Query]) -> None:
    batch = pa.RecordBatch.from_pylist(table.to_pylist(), table.schema)
    for query in some:
        assert match_values(query, batch, RULES).nonzero()[0].tolist() == rows_of(query, table, RULES)
