"""Search: how columns are indexed, the query language, and what tantivy makes of both."""

from indextables.search.documents import documents
from indextables.search.fields import FieldRule, resolve
from indextables.search.terms import tantivy_schema

__all__ = ["FieldRule", "documents", "resolve", "tantivy_schema"]
