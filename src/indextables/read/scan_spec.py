"""A scan specification: the predicate, the searches and the columns of a scan, checked against the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from indextables.log.snapshot import Snapshot
from indextables.predicate import (
    IndexQuery,
    Literal,
    Predicate,
    columns,
    conjunction,
    index_queries,
    parse_condition,
    terms_of,
)
from indextables.read.index_lookup import PointCondition, point_conditions
from indextables.schema import column_named
from indextables.search.field_rules import FieldRule, indexed_as
from indextables.search.language import parse as parse_query
from indextables.search.lexer import syntax_error
from indextables.search.match_spans import MatchSpans
from indextables.search.queries import Query, fields
from indextables.search.queries import conjunction as all_of

SCORE = "_score"
"""The column with the score of a row."""
ADDRESS = ("_metadata_file_path", "_metadata_row_index")
"""The columns that say where a row is."""
ADDRESS_SCHEMA = pa.schema(
    [pa.field(ADDRESS[0], pa.string(), nullable=False), pa.field(ADDRESS[1], pa.int64(), nullable=False)]
)


@dataclass(frozen=True, slots=True)
class Score:
    """The BM25 score of rows under some searches; null for a row that does not satisfy all of them."""

    searches: tuple[IndexQuery, ...]


SearchResult: TypeAlias = IndexQuery | Score
"""What a search says of a row."""


@dataclass(frozen=True)
class ScanSpec:
    """Bound to the table's schema and field mapping; it is pickled to executors.

    Searches are predicates too: `queries` has the parsed form of each index query in `predicate`. Those in `search_results`
    do not filter: each is a further output column. That of an index query is true where it finds the row; that of a `Score`
    has the score of the row. With `row_address`, two columns before these say where a row is: the path of its split, and its
    number there.
    """

    schema: pa.Schema
    rules: Mapping[str, FieldRule]
    predicate: Predicate
    queries: Mapping[IndexQuery, Query]
    columns: tuple[str, ...]
    search_results: Mapping[str, SearchResult]
    row_address: bool = False

    @cached_property
    def required_columns(self) -> tuple[str, ...]:
        """The columns to read: those of the output, and those of the predicate."""
        return tuple(dict.fromkeys([*self.columns, *sorted(columns(self.predicate))]))

    @cached_property
    def required_searches(self) -> frozenset[IndexQuery]:
        """The searches that every row must satisfy."""
        return frozenset(required_searches(self.predicate))

    @cached_property
    def search(self) -> Query | None:
        """The required searches as one query."""
        terms = required_searches(self.predicate)
        return self.ranking(Score(terms)) if terms else None

    def ranking(self, score: Score) -> Query:
        """The searches of a score as one query."""
        return all_of([self.queries[search] for search in score.searches])

    @property
    def match_spans(self) -> MatchSpans:
        """Finds the words of the searches in the values of a row."""
        return MatchSpans.of(self.queries.values(), self.rules)

    @cached_property
    def residual(self) -> Predicate:
        """The predicate without the required searches."""
        return conjunction(*(term for term in terms_of(self.predicate) if term not in self.required_searches))

    @cached_property
    def residual_columns(self) -> frozenset[str]:
        return frozenset(columns(self.residual))

    @cached_property
    def point_conditions(self) -> tuple[PointCondition, ...]:
        """The conditions of the residual that an exact index can look up."""
        return point_conditions(self.residual)

    @cached_property
    def without_predicate(self) -> "ScanSpec":
        """The same output of all rows."""
        return replace(self, predicate=Literal(value=True))

    @property
    def search_columns(self) -> dict[str, str]:
        """The columns of the searches, in the order of the table, and whether words or exact values are indexed.

        A string column that is not `text` is indexed by exact values: a search does not find a word inside one.
        """
        named = {column for query in self.queries.values() for column in fields(query)}
        return {name: indexed_as(self.rules[name]) for name in self.schema.names if name in named}

    @property
    def output_schema(self) -> pa.Schema:
        results = [result_field(name, result) for name, result in self.search_results.items()]
        address = ADDRESS_SCHEMA if self.row_address else ()
        return pa.schema([*(self.schema.field(name) for name in self.columns), *address, *results])


def build_scan_spec(
    snapshot: Snapshot,
    rules: Mapping[str, FieldRule],
    *,
    where: str | Predicate | None = None,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    search_results: Mapping[str, SearchResult] | None = None,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> ScanSpec:
    """Parses and binds a condition, a search and column names; what cannot be bound raises before anything is read.

    The column `_score`, unless it is one of the table's, is the score of the searches that every row must satisfy.
    """
    schema = snapshot.metadata.arrow_schema()
    conditions = (
        [] if where is None else [parse_condition(where, schema, time_zone=time_zone, case_sensitive=case_sensitive)]
    )
    predicate = conjunction(*conditions, *([] if query is None else [IndexQuery(None, query)]))
    wanted = [columns] if isinstance(columns, str) else columns
    results = dict(search_results or {})
    if wanted is not None and SCORE in wanted and SCORE not in map(str.lower, schema.names):
        results[SCORE] = _score_of(predicate)
        wanted = [name for name in wanted if name != SCORE]
    queries = _parsed(conjunction(predicate, *searches_of(results.values())), schema, rules)
    output = _output_columns(schema, wanted, case_sensitive=case_sensitive)
    return ScanSpec(schema, rules, predicate, queries, output, results)


def with_predicate(spec: ScanSpec, predicate: Predicate) -> ScanSpec:
    """The same with another predicate, which is bound to the schema."""
    missing = conjunction(*(node for node in index_queries(predicate) if node not in spec.queries))
    queries = {**spec.queries, **_parsed(missing, spec.schema, spec.rules)}
    return replace(spec, predicate=predicate, queries=queries)


def required_searches(predicate: Predicate) -> tuple[IndexQuery, ...]:
    """The searches that every row must satisfy, each once, in the order of the predicate."""
    return tuple(dict.fromkeys(term for term in terms_of(predicate) if isinstance(term, IndexQuery)))


def searches_of(results: Iterable[SearchResult]) -> list[IndexQuery]:
    """The searches that some results are of."""
    return [search for one in results for search in (one.searches if isinstance(one, Score) else (one,))]


def result_field(name: str, result: SearchResult) -> pa.Field:
    """The column of a result, which a search always has, and a score only of the rows that are found."""
    is_score = isinstance(result, Score)
    return pa.field(name, pa.float32() if is_score else pa.bool_(), nullable=is_score)


def _parsed(predicate: Predicate, schema: pa.Schema, rules: Mapping[str, FieldRule]) -> dict[IndexQuery, Query]:
    return {
        node: parse_query(
            node.query, schema=schema, rules=rules, default_fields=None if node.field is None else [node.field]
        )
        for node in index_queries(predicate)
    }


def _output_columns(schema: pa.Schema, columns: Sequence[str] | None, *, case_sensitive: bool) -> tuple[str, ...]:
    if columns is None:
        return tuple(schema.names)
    return tuple(dict.fromkeys(column_named(schema, name, case_sensitive=case_sensitive) for name in columns))


def _score_of(predicate: Predicate) -> Score:
    searches = required_searches(predicate)
    if not searches:
        reason = f"there is none that every row satisfies, and the column {SCORE} is its score"
        raise syntax_error("", f"{reason}; give one as query=, or with INDEXQUERY in the condition")
    return Score(searches)
