"""Queries on words as tantivy's queries. All columns of such a query are `text` columns.

Scores are BM25 for words and phrases. Patterns, fuzzy words, ranges and `field:*` count 1, as in Lucene, and what must
not be counts nothing.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never

import pyarrow as pa
import tantivy
from tantivy import FieldType, Occur

from indextables.search import queries as nodes
from indextables.search import wildcards
from indextables.search.phrases import is_supported, word_orders
from indextables.search.queries import Leaf, Query
from indextables.search.text_fields import NULL, TextColumns, field_name, null_field_name, tantivy_schema


@lru_cache(maxsize=256)
def compile_query(query: Query, columns: TextColumns) -> tantivy.Query:
    """The query for word indexes with these text columns. Other columns are null in all of their rows.

    All splits of a table share it, because the fields of their indexes have the same numbers.
    """
    return _Compiler(tantivy_schema(columns), {name for name, _ in columns}).query(query)


class _Compiler:
    def __init__(self, schema: tantivy.Schema, columns: set[str]) -> None:
        self.schema = schema
        self.known = columns

    def query(self, query: Query) -> tantivy.Query:
        match query:
            case nodes.And(terms):
                return self.all_of(terms)
            case nodes.Or(terms):
                return tantivy.Query.boolean_query([(Occur.Should, self.query(term)) for term in terms])
            case nodes.Not():
                return self.all_of([query])
            case nodes.Prefer(term, should):
                wished = [(Occur.Should, self.query(wish)) for wish in should]
                return tantivy.Query.boolean_query([(Occur.Must, self.query(term)), *wished])
            case nodes.Boost(term, factor):
                return tantivy.Query.boost_query(self.query(term), factor)
            case _:
                return self.leaf(query)

    def all_of(self, terms: Sequence[Query]) -> tantivy.Query:
        wanted = [(Occur.Must, self.query(term)) for term in terms if not isinstance(term, nodes.Not)]
        banned = [(Occur.MustNot, self.query(term.term)) for term in terms if isinstance(term, nodes.Not)]
        # tantivy finds nothing where nothing is wanted
        return tantivy.Query.boolean_query([*(wanted or [(Occur.Must, tantivy.Query.all_query())]), *banned])

    def leaf(self, leaf: Leaf) -> tantivy.Query:  # noqa: C901, PLR0911 - one for each kind
        match leaf:
            case nodes.MatchAll():
                return tantivy.Query.all_query()
            case nodes.MatchNone():
                return tantivy.Query.empty_query()
            case _ if leaf.field not in self.known:
                return tantivy.Query.empty_query()
            case nodes.Exists(column):
                null = tantivy.Query.range_query(self.schema, null_field_name(column), FieldType.Integer, NULL, NULL)
                clauses = [(Occur.Must, tantivy.Query.all_query()), (Occur.MustNot, null)]
                return tantivy.Query.const_score_query(tantivy.Query.boolean_query(clauses), 1.0)
            case nodes.Term(column, text):
                return tantivy.Query.term_query(self.schema, field_name(column), text)
            case nodes.Phrase():
                return self.phrase(leaf)
            case nodes.Prefix(column, text):
                return self.matching(column, wildcards.prefix(text))
            case nodes.Wildcard(column, pattern):
                return self.matching(column, wildcards.wildcard(pattern))
            case nodes.Regex(column, pattern):
                return self.matching(column, f"(?s){pattern}")
            case nodes.Fuzzy(column, text, distance):
                return tantivy.Query.fuzzy_term_query(self.schema, field_name(column), text, distance)
            case nodes.Range():
                return self.range(leaf)
            case _:
                assert_never(leaf)

    def matching(self, column: str, pattern: str | None) -> tantivy.Query:
        if pattern is None:
            return tantivy.Query.empty_query()
        return tantivy.Query.regex_query(self.schema, field_name(column), pattern)

    def phrase(self, phrase: nodes.Phrase) -> tantivy.Query:
        name, words, slop = field_name(phrase.field), phrase.words, phrase.slop
        if is_supported(words, slop):
            return tantivy.Query.phrase_query(self.schema, name, list(words), slop)
        ways = [tantivy.Query.phrase_query(self.schema, name, list(way)) for way in word_orders(words, slop)]
        return tantivy.Query.disjunction_max_query(ways)

    def range(self, range_: nodes.Range) -> tantivy.Query:
        pattern = wildcards.between(
            _text(range_.lower),
            _text(range_.upper),
            includes_lower=range_.includes_lower,
            includes_upper=range_.includes_upper,
        )
        return self.matching(range_.field, pattern)


def _text(end: pa.Scalar | None) -> str | None:
    return None if end is None else end.as_py()
