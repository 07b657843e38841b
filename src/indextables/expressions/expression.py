"""Expressions as text become trees: columns are resolved, and functions checked. Nothing is evaluated here.

>>> scope = Scope((Relation("t", "t", pa.schema({"Price": pa.int64()})),))
>>> scope.expression("price * 2").columns
frozenset({('t', 'Price')})
>>> scope.expression("prise * 2")
Traceback (most recent call last):
indextables.errors.ExpressionError: 'prise * 2' cannot be used: there is no column 'prise'; did you mean 'Price'? ...
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
from sqlglot import exp

from indextables.errors import ExpressionError, InvalidPredicateError
from indextables.expressions.supported_functions import NAMES, is_non_deterministic, is_supported, name_of
from indextables.predicate.parser import syntax_tree
from indextables.schema import available_columns_hint

_QUERIES = (exp.Query, exp.Subquery, exp.Exists)
_OVER_ROWS = (exp.AggFunc, exp.Window)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that expressions may use: what it is called in them, and its `name` when they are evaluated."""

    name: str
    alias: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was checked; `columns` are those that it uses, each with the name of its relation."""

    text: str
    tree: exp.Expr
    columns: frozenset[tuple[str, str]]

    def uses(self, relation: str) -> bool:
        return any(name == relation for name, _ in self.columns)


@dataclass(frozen=True, slots=True)
class Scope:
    """The relations that expressions may use. `time` is what the current time is in all of them."""

    relations: Sequence[Relation]
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    case_sensitive: bool = False

    def expression(self, text: object) -> Expression:
        """Parses and checks an expression; an ExpressionError says what is wrong with it."""
        if not isinstance(text, str):
            raise unusable(repr(text), f"an expression is SQL text: write {text!r} as a string", ())
        try:
            tree = syntax_tree(text)
        except InvalidPredicateError as error:
            raise unusable(text, error.reason, ()) from None
        return self.bound(tree, text)

    def bound(self, tree: exp.Expr, text: str) -> Expression:
        self._refuse(tree, text)
        used: set[tuple[str, str]] = set()

        def resolved(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column):
                relation, column = self.column(node, text)
                used.add((relation.name, column))
                return exp.column(column, table=relation.name, quoted=True)
            return self._fixed_time(node)

        return Expression(text, tree.transform(resolved), frozenset(used))

    def only(self, *names: str) -> "Scope":
        """The scope with some of its relations."""
        kept = [relation for relation in self.relations if relation.name in names]
        return Scope(kept, self.time, self.case_sensitive)

    def column(self, node: exp.Column, text: str) -> tuple[Relation, str]:
        """The relation and the own name of a column."""
        if isinstance(node.this, exp.Star) or node.args.get("db") is not None:
            raise unusable(text, f"{node.sql(dialect='spark')} is not the name of a column", self._names())
        among = self._named(node.table, text) if node.table else self.relations
        found = [
            (relation, name) for relation in among for name in relation.schema.names if self._same(name, node.name)
        ]
        if not found:
            names = [name for relation in among for name in relation.schema.names]
            what = f"there is no column {node.name!r}; {available_columns_hint(node.name, names)}"
            raise unusable(text, what, names)
        if len(found) > 1:
            aliases = " and ".join(f"{relation.alias}.{name}" for relation, name in found)
            raise unusable(text, f"the column {node.name!r} may be {aliases}; write one of them", self._names())
        return found[0]

    def _named(self, alias: str, text: str) -> list[Relation]:
        found = [relation for relation in self.relations if relation.alias.lower() == alias.lower()]
        if not found:
            known = " and ".join(relation.alias for relation in self.relations)
            raise unusable(text, f"nothing is called {alias!r} here; there is {known}", self._names())
        return found

    def _same(self, one: str, other: str) -> bool:
        return one == other if self.case_sensitive else one.lower() == other.lower()

    def _names(self) -> list[str]:
        return [name for relation in self.relations for name in relation.schema.names]

    def _refuse(self, tree: exp.Expr, text: str) -> None:
        for node in tree.walk():
            reason = _refusal(node)
            if reason is not None:
                raise unusable(text, reason, ())

    def _fixed_time(self, node: exp.Expr) -> exp.Expr:
        """The current time as a value: the same for each row, and each time that the rows are computed."""
        if isinstance(node, exp.CurrentTimestamp) or (isinstance(node, exp.Anonymous) and name_of(node) == "now"):
            return exp.cast(exp.Literal.string(self.time.isoformat(sep=" ")), exp.DType.TIMESTAMPTZ)
        if isinstance(node, exp.CurrentDate):
            now = exp.cast(exp.Literal.string(self.time.isoformat(sep=" ")), exp.DType.TIMESTAMPTZ)
            return exp.cast(now, exp.DType.DATE)
        return node


def conjuncts(tree: exp.Expr) -> Iterable[exp.Expr]:
    """The conditions that all have to be true."""
    match tree:
        case exp.Paren():
            yield from conjuncts(tree.this)
        case exp.And():
            yield from conjuncts(tree.left)
            yield from conjuncts(tree.right)
        case _:
            yield tree


def unusable(text: str, reason: str, columns: Sequence[str]) -> ExpressionError:
    shown = text if len(text) <= 200 else text[:200] + " ..."  # noqa: PLR2004 - a line or two
    return ExpressionError(f"{shown!r} cannot be used: {reason}", expression=text, reason=reason, columns=columns)


def _refusal(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Glob):
        return "INDEXQUERY and TEXTSEARCH are not evaluated here; search by the argument query, or in a scan"
    if isinstance(node, _QUERIES):
        return "it has a subquery; join or scan first, and give the rows as the source"
    if is_non_deterministic(node):
        return f"{name_of(node)}() gives another result each time, so that the change could not be planned again"
    if isinstance(node, _OVER_ROWS):
        return f"{name_of(node)} is computed from many rows; an expression sees one row"
    if is_supported(node):
        return None
    return f"{name_of(node)} is not supported here; the functions are {NAMES}"
