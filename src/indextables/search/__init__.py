"""Search: how columns are indexed, the query language, what tantivy makes of both, and sums over what was found."""

from indextables.search.aggregations import Aggregation, bind, date_histogram, histogram, ranges, stats, terms
from indextables.search.compile import compile_query
from indextables.search.field_rules import FieldRule, FieldsInput, fields_from_input, resolve
from indextables.search.index_documents import documents
from indextables.search.language import parse
from indextables.search.partial_aggregates import merge, over_rows
from indextables.search.queries import Query, fields
from indextables.search.text_fields import tantivy_schema
from indextables.search.to_lucene import to_text

__all__ = [
    "Aggregation",
    "FieldRule",
    "FieldsInput",
    "Query",
    "bind",
    "compile_query",
    "date_histogram",
    "documents",
    "fields",
    "fields_from_input",
    "histogram",
    "merge",
    "over_rows",
    "parse",
    "ranges",
    "resolve",
    "stats",
    "tantivy_schema",
    "terms",
    "to_text",
]
