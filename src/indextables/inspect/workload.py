"""A query workload: the constraints of queries on columns, as far as a layout can use them.

>>> schema = pa.schema({"tenant": pa.string(), "n": pa.int64()})
>>> workload = read_workload(["SELECT * FROM logs WHERE tenant = 'a' AND n BETWEEN 5 AND 9", "tenant IN ('a', 'b')"], schema)
>>> [sorted(query.constraints) for query in workload.queries]
[['n', 'tenant'], ['tenant']]
>>> workload.coverage("n")
0.5
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa

from indextables.errors import PredicateError
from indextables.predicate import (
    Comparison,
    In,
    IsNull,
    NullSafeEqual,
    Op,
    Or,
    Predicate,
    StartsWith,
    parse_condition,
    terms_of,
)
from indextables.predicate.nodes import Column

QueryInput: TypeAlias = str | Predicate | tuple[str | Predicate, float]
"""A SQL query or condition, optionally with its weight."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """The constraint of a query on a column: a number of values (`points`), or a range from `low` to `high`."""

    points: int | None = None
    low: pa.Scalar | None = None
    high: pa.Scalar | None = None

    @property
    def is_equality(self) -> bool:
        return self.points is not None

    def also(self, other: "Constraint") -> "Constraint":
        """Both at once; of two ends on one side, the first is kept."""
        points = [points for points in (self.points, other.points) if points is not None]
        low = other.low if self.low is None else self.low
        high = other.high if self.high is None else self.high
        return Constraint(min(points, default=None), low, high)


@dataclass(frozen=True, slots=True)
class Query:
    """One query, its share of all queries, and its constraints on columns."""

    text: str
    share: float
    constraints: Mapping[str, Constraint]


@dataclass(frozen=True, slots=True)
class Workload:
    """Parsed queries, and the texts of those that could not be parsed."""

    queries: tuple[Query, ...]
    unparsed: tuple[str, ...]

    def coverage(self, column: str) -> float:
        """The share of queries that constrain a column, from 0 to 1."""
        return sum(query.share for query in self.queries if column in query.constraints)

    @property
    def columns(self) -> list[str]:
        """The columns that any query constrains, those of most queries first."""
        named = dict.fromkeys(column for query in self.queries for column in query.constraints)
        return sorted(named, key=lambda column: (-self.coverage(column), column))


def read_workload(given: Iterable[QueryInput], schema: pa.Schema) -> Workload:
    """Parses the queries of a workload; a query that cannot be parsed has no weight."""
    understood: list[Query] = []
    unparsed: list[str] = []
    for query in [given] if isinstance(given, str) else given:
        text, weight = query if isinstance(query, tuple) else (query, 1.0)
        try:
            understood.append(Query(str(text), float(weight), _constraints(_conditions(text, schema))))
        except PredicateError:
            unparsed.append(str(text))
    total = sum(query.share for query in understood) or 1.0
    return Workload(tuple(replace(query, share=query.share / total) for query in understood), tuple(unparsed))


def _conditions(text: str | Predicate, schema: pa.Schema) -> Iterator[Predicate]:
    """The conditions that all rows of the result satisfy."""
    conjuncts: Sequence[Any] = [text] if not isinstance(text, str) or not _is_query(text) else _conjuncts_of(text)
    for conjunct in conjuncts:
        bound = parse_condition(conjunct, schema)
        yield from terms_of(bound)


def _is_query(text: str) -> bool:
    return text.lstrip().lower().startswith(("select", "with"))


def _conjuncts_of(text: str) -> list[str]:
    """The conditions of a SELECT, without the names of tables before columns."""
    import sqlglot  # noqa: PLC0415 - it takes 0.2 s to import

    try:
        where = sqlglot.parse_one(text, dialect="spark").find(sqlglot.exp.Where)
    except sqlglot.errors.SqlglotError as error:
        raise PredicateError(f"{text!r} cannot be read", predicate=text, reason=str(error)) from error
    if where is None:
        return []
    for column in where.find_all(sqlglot.exp.Column):
        column.set("table", None)
    return (
        [term.sql(dialect="spark") for term in where.this.unnest().flatten()]
        if where.this.key == "and"
        else [where.this.sql(dialect="spark")]
    )


def _constraints(terms: Iterable[Predicate]) -> dict[str, Constraint]:
    found: dict[str, Constraint] = {}
    for term in terms:
        for column, constraint in _of_term(term):
            found[column] = found.get(column, Constraint()).also(constraint)
    return found


def _of_term(term: Predicate) -> Iterator[tuple[str, Constraint]]:
    match term:
        case Comparison(Column(name), Op.EQ, _) | NullSafeEqual(Column(name), _) | IsNull(Column(name)):
            yield name, Constraint(points=1)
        case In(Column(name), values):
            yield name, Constraint(points=len(set(values)))
        case Comparison(Column(name), Op.GT | Op.GE, value):
            yield name, Constraint(low=value)
        case Comparison(Column(name), Op.LT | Op.LE, value):
            yield name, Constraint(high=value)
        case StartsWith(Column(name), text) if text:
            yield name, Constraint(low=pa.scalar(text))
        case Or(terms):
            yield from _of_alternatives(terms)
        case _:
            return


def _of_alternatives(terms: Sequence[Predicate]) -> Iterator[tuple[str, Constraint]]:
    """`a = 1 OR a = 2` is `a IN (1, 2)`; other alternatives do not constrain one column."""
    each = [dict(_of_term(term)) for term in terms]
    columns = {column for one in each for column in one}
    if len(columns) == 1 and all(len(one) == 1 and next(iter(one.values())).is_equality for one in each):
        [column] = columns
        yield column, Constraint(points=reduce(int.__add__, (one[column].points or 1 for one in each)))
