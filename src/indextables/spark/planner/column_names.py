"""Predicates over column numbers: how a column is named in them, and how columns are replaced."""

from collections.abc import Mapping

import pyarrow as pa
from msgspec.structs import replace

from indextables.predicate import And, IndexQuery, Literal, Not, Or, Predicate, columns
from indextables.predicate.evaluate import evaluate_leaf
from indextables.predicate.nodes import ColumnLeaf


def name_of(column: int) -> str:
    """The name of a column in a predicate of a plan.

    >>> name_of(12)
    '#12'
    """
    return f"#{column}"


def columns_of(predicate: Predicate) -> frozenset[int]:
    """The columns of a predicate of a plan."""
    return frozenset(int(name[1:]) for name in columns(predicate))


def renamed(
    predicate: Predicate, names: Mapping[str, str], searches: Mapping[str, IndexQuery] | None = None
) -> Predicate:
    """The predicate with other column names; `searches` are index queries in the place of boolean columns."""
    match predicate:
        case And(terms) | Or(terms):
            return replace(predicate, terms=tuple(renamed(term, names, searches) for term in terms))
        case Not(term):
            return Not(renamed(term, names, searches))
        case IndexQuery() | Literal():
            return predicate
        case _ if searches and predicate.operand.name in searches:
            return _of_search(predicate, searches[predicate.operand.name])
        case _:
            return replace(predicate, operand=replace(predicate.operand, name=names[predicate.operand.name]))


def on_columns(predicate: Predicate, sources: Mapping[int, int]) -> Predicate:
    """The predicate on columns that are its own under other numbers."""
    return renamed(predicate, {name_of(column): name_of(source) for column, source in sources.items()})


def _of_search(condition: ColumnLeaf, search: IndexQuery) -> Predicate:
    """A condition on the column of a search, which is true or false, as one on the search.

    >>> from indextables.predicate import col
    >>> _of_search(col("#1") != True, IndexQuery("message", "disk"))
    Not(term=IndexQuery(field='message', query='disk'))
    """
    found, missed = evaluate_leaf(condition, pa.array([True, False])).to_pylist()
    match found, missed:
        case True, False:
            return search
        case False, True:
            return Not(search)
        case _ if found == missed:
            return Literal(found)
        case _:
            return (search & Literal(found)) | (Not(search) & Literal(missed))
