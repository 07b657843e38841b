"""The searches of a query: where they are in its text, and what they search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from indextables.query.duckdb_dialect import SEARCH_FUNCTIONS, SearchOperator, invalid

_ALL_COLUMNS = "indexqueryall"


@dataclass(frozen=True, slots=True)
class Search:
    """A search from `start` to `end` in a text, of a column or, where `column` is None, of all columns of a table."""

    node: exp.Expr
    start: int
    end: int
    qualifier: str | None
    column: str | None
    query: str
    negated: bool = False


def searches_in(text: str, tree: exp.Expr, tokens: Sequence[Token]) -> Iterator[Search]:
    for node in tree.find_all(SearchOperator, exp.Anonymous):
        if isinstance(node, exp.Anonymous):
            if node.name.lower() in SEARCH_FUNCTIONS:
                yield _call(text, node, tokens)
        else:
            yield _operator(text, node, tokens)


def _operator(text: str, node: exp.Expr, tokens: Sequence[Token]) -> Search:
    operand, query = node.this, node.args["expression"]
    start, end = _start(text, operand), _query_end(text, query, _start(text, operand))
    between = (token for token in tokens if start <= token.start < end)
    negated = any(token.token_type == TokenType.NOT for token in between)
    return Search(node, start, end, *_operand(text, operand), str(query.this), negated)


def _call(text: str, node: exp.Anonymous, tokens: Sequence[Token]) -> Search:
    start = node.meta["start"]
    match node.expressions:
        case [operand, query] if node.name.lower() != _ALL_COLUMNS:
            qualifier, column = _operand(text, operand)
        case [query] if node.name.lower() == _ALL_COLUMNS:
            qualifier = column = None
        case _:
            raise invalid(text, "a search takes a column and a query: indexquery(message, 'disk')", start)
    end = _query_end(text, query, start)
    closing = next(token for token in tokens if token.start >= end)
    return Search(node, start, closing.end + 1, qualifier, column, str(query.this))


def _operand(text: str, operand: exp.Expr) -> tuple[str | None, str | None]:
    """The qualifier and the column that are searched; no column where it is a star."""
    match operand:
        case exp.Star():
            return None, None
        case exp.Column() if not operand.args.get("db"):
            return operand.table or None, None if isinstance(operand.this, exp.Star) else operand.name
        case _:
            raise invalid(text, "a search needs a column, or * for all columns, on its left", _start(text, operand))


def _start(text: str, operand: exp.Expr) -> int:
    places = [part.meta["start"] for part in operand.find_all(exp.Identifier, exp.Star) if "start" in part.meta]
    if not places:
        raise invalid(text, "a search needs a column, or * for all columns, on its left")
    return int(min(places))


def _query_end(text: str, query: exp.Expr, position: int) -> int:
    if not isinstance(query, exp.Literal) or not query.is_string or "end" not in query.meta:
        raise invalid(text, "the query of a search is a string literal here", position)
    return int(query.meta["end"]) + 1
