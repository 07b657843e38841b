"""Search: how columns are indexed, the query language, and what tantivy makes of both."""

from indextables.search.compile import compile_query
from indextables.search.documents import documents
from indextables.search.fields import FieldRule, resolve
from indextables.search.nodes import Query, fields
from indextables.search.reading import parse
from indextables.search.render import to_text
from indextables.search.terms import tantivy_schema

__all__ = [
    "FieldRule",
    "Query",
    "compile_query",
    "documents",
    "fields",
    "parse",
    "resolve",
    "tantivy_schema",
    "to_text",
]
