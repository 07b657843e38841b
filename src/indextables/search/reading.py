"""The door to the query language, whose parser is loaded when the first query is read and not before: it takes 50 ms."""

from collections.abc import Mapping, Sequence
from importlib import import_module

import pyarrow as pa

from indextables.search.fields import FieldRule
from indextables.search.nodes import Query


def parse(
    text: str,
    *,
    schema: pa.Schema,
    rules: Mapping[str, FieldRule],
    default_fields: Sequence[str] | None = None,
) -> Query:
    """The query that a text says, bound to the columns of a table, or a SearchQueryError that says why not.

    >>> from indextables.search import resolve
    >>> schema = pa.schema({"message": pa.string(), "level": pa.string(), "status": pa.int32()})
    >>> rules = resolve(schema, {"message": "text"})
    >>> parse('"Connection reset" AND NOT level:INFO', schema=schema, rules=rules)
    And(terms=(Phrase(field='message', words=('connection', 'reset'), slop=0), Not(term=Term(field='level', text='INFO'))))

    Words without a field are looked for in the `default_fields`, or in all text fields where none are given.
    """
    query: Query = import_module("indextables.search.language").parse(
        text, schema=schema, rules=rules, default_fields=default_fields
    )
    return query
