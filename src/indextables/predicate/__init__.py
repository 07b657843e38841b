"""Predicates: parsed, bound to a schema, evaluated on rows, and on the bounds of files (verdicts)."""

from indextables.predicate.bind import bind
from indextables.predicate.bounds import Bounds, ColumnBounds, ColumnImage
from indextables.predicate.column_expression import col
from indextables.predicate.conditions import parse, parse_condition
from indextables.predicate.evaluate import evaluate
from indextables.predicate.negation_normal_form import push_negations
from indextables.predicate.nodes import (
    And,
    Cast,
    CastMode,
    Column,
    Comparison,
    Contains,
    EndsWith,
    In,
    IndexQuery,
    IsNull,
    Like,
    Literal,
    Not,
    NullSafeEqual,
    Op,
    Or,
    Predicate,
    StartsWith,
    casts,
    columns,
    conjunction,
    disjunction,
    distinct_conjunction,
    index_queries,
    terms_of,
)
from indextables.predicate.sql_text import to_sql
from indextables.predicate.verdict import Verdict, judge

__all__ = [
    "And",
    "Bounds",
    "Cast",
    "CastMode",
    "Column",
    "ColumnBounds",
    "ColumnImage",
    "Comparison",
    "Contains",
    "EndsWith",
    "In",
    "IndexQuery",
    "IsNull",
    "Like",
    "Literal",
    "Not",
    "NullSafeEqual",
    "Op",
    "Or",
    "Predicate",
    "StartsWith",
    "Verdict",
    "bind",
    "casts",
    "col",
    "columns",
    "conjunction",
    "disjunction",
    "distinct_conjunction",
    "evaluate",
    "index_queries",
    "judge",
    "parse",
    "parse_condition",
    "push_negations",
    "terms_of",
    "to_sql",
]
