"""What is asked of a table: rows that satisfy a predicate, and of these some columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from indextables.log.snapshot import Snapshot
from indextables.predicate import IndexQuery, Predicate, columns, conjunction, index_queries, read
from indextables.schema import column_named
from indextables.search.fields import FieldRule, indexed_as
from indextables.search.language import parse as parse_query
from indextables.search.queries import Query, fields


@dataclass(frozen=True, slots=True)
class Question:
    """Checked against the table's schema and field mapping; it travels to executors.

    Searches are predicates too: `queries` has the parsed form of each index query in `predicate`. Those in `searched` do not
    choose rows: each is a further column of the answer, true where the search finds the row.
    """

    schema: pa.Schema
    rules: Mapping[str, FieldRule]
    predicate: Predicate
    queries: Mapping[IndexQuery, Query]
    columns: tuple[str, ...]
    searched: Mapping[str, IndexQuery]

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to be read: those asked for, and those that decide."""
        return tuple(dict.fromkeys([*self.columns, *sorted(columns(self.predicate))]))

    @property
    def searched_columns(self) -> dict[str, str]:
        """The columns that the searches look at, in the order of the table, and whether it is words or values there.

        Columns of strings that are not `text` have exact values: a word in the middle of one is not found.
        """
        named = {column for query in self.queries.values() for column in fields(query)}
        return {name: indexed_as(self.rules[name]) for name in self.schema.names if name in named}

    @property
    def answer_schema(self) -> pa.Schema:
        flags = [pa.field(name, pa.bool_(), nullable=False) for name in self.searched]
        return pa.schema([*(self.schema.field(name) for name in self.columns), *flags])


def ask(
    snapshot: Snapshot,
    rules: Mapping[str, FieldRule],
    *,
    where: str | Predicate | None = None,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    searched: Mapping[str, IndexQuery] | None = None,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> Question:
    """The question that a user's words mean; errors name what was not understood and what would have been."""
    schema = snapshot.metadata.arrow_schema()
    asked = [] if where is None else [read(where, schema, time_zone=time_zone, case_sensitive=case_sensitive)]
    predicate = conjunction(*asked, *([] if query is None else [IndexQuery(None, query)]))
    flags = {} if searched is None else searched
    queries = {
        node: parse_query(
            node.query, schema=schema, rules=rules, default_fields=None if node.field is None else [node.field]
        )
        for node in index_queries(conjunction(predicate, *flags.values()))
    }
    chosen = _chosen(schema, columns, case_sensitive=case_sensitive)
    return Question(schema, rules, predicate, queries, chosen, flags)


def _chosen(schema: pa.Schema, columns: Sequence[str] | None, *, case_sensitive: bool) -> tuple[str, ...]:
    if columns is None:
        return tuple(schema.names)
    names = [columns] if isinstance(columns, str) else columns
    return tuple(dict.fromkeys(column_named(schema, name, case_sensitive=case_sensitive) for name in names))
