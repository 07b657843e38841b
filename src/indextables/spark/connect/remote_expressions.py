"""Expressions of Spark Connect as predicates over column numbers, and what else a plan has to know of them.

Nothing is resolved in these plans: a name has to be looked up, and a condition may be a text. What is not in the table of
`predicate/translation.py` is left to Spark.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from indextables.errors import PredicateError, SchemaError
from indextables.expressions.supported_functions import name_of as function_of
from indextables.predicate import CastMode, Column, IndexQuery, terms_of
from indextables.predicate.dialect import Dialect
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ
from indextables.predicate.parser import ConditionReader, syntax_tree
from indextables.predicate.translation import (
    Call,
    ColumnReference,
    Node,
    Translator,
    UntranslatableError,
    Value,
    cast_node,
)
from indextables.schema import parse_type
from indextables.spark.connect.protocol import Expression, Message, expressions_in
from indextables.spark.planner.column_names import columns_of, name_of
from indextables.spark.planner.plan import Condition
from indextables.spark.source.search_function import FUNCTIONS

_TYPES = {  # those of literals, and those of casts
    "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(), "byte": pa.int8(), "short": pa.int16(),
    "integer": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
    "timestamp": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ,
}  # fmt: skip
_MODES = (CastMode.ANSI, CastMode.LEGACY, CastMode.ANSI, CastMode.TRY)  # by their numbers in the protocol
_DETERMINISTIC = frozenset(
    """== = <=> < <= > >= and or not + - * / % in isnull isnotnull isnan like rlike ilike startswith endswith contains
    coalesce when upper lower length trim ltrim rtrim concat concat_ws substring substr replace regexp_replace
    regexp_extract split abs round floor ceil greatest least year month dayofmonth hour minute second date_trunc trunc
    date_format to_date to_timestamp datediff date_add date_sub hash xxhash64 md5 sha2
    cast try_cast case if day starts_with ends_with ts_or_ds_to_date indexquery textsearch indexqueryall""".split()  # noqa: SIM905 - the last are sqlglot's
)
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
_MADE_OF_EXPRESSIONS = frozenset(  # the columns that they read are those of the expressions inside them
    """literal unresolved_function call_function common_inline_user_defined_function alias cast sort_order window
    lambda_function unresolved_named_lambda_variable unresolved_extract_value""".split()  # noqa: SIM905
)
Resolve = Callable[[str, int | None], int]  # the number of a column, from its identifier and the id of its frame


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads the expressions of one node; `resolve` looks up the columns that its input has."""

    resolve: Resolve
    time_zone: str

    def conditions(self, expression: Expression) -> Iterator[Condition]:
        """The terms of a condition, all of which must be true."""
        translator = Translator(self.read)
        for term in translator.conjuncts(expression):
            try:
                predicate = translator.predicate(term)
            except (UntranslatableError, PredicateError):
                yield Condition(self.references(term), None, self.is_deterministic(term))
            else:
                yield from (Condition(columns_of(one), one) for one in terms_of(predicate))

    def read(self, source: Expression | exp.Expr) -> Node | None:  # noqa: PLR0911 - one line per kind of expression
        """A node of a message, or of the syntax tree of a text in it."""
        if isinstance(source, exp.Expr):
            return ConditionReader("", self.time_zone, self._named).read(source)
        match source.WhichOneof("expr_type"):
            case "unresolved_attribute":
                return ColumnReference(Column(name_of(self.number(source))))
            case "literal":
                return Value(literal(source.literal))
            case "expression_string":
                return self.read(_parsed(source))
            case "cast" if (kind := _type_of(source.cast)) is not None:
                return cast_node(self.read(source.cast.expr), kind, _MODES[source.cast.eval_mode])
        match call_of(source):
            case "indexquery" | "textsearch", [column, query]:
                is_all = column.WhichOneof("expr_type") == "unresolved_star"
                return Call("indexqueryall", (query,)) if is_all else Call("indexquery", (column, query))
            case name, arguments if _is_builtin(source) or name in FUNCTIONS:
                return Call(name, tuple(arguments))
        return None

    def search(self, expression: Expression) -> IndexQuery | None:
        """The search that an expression is."""
        with suppress(UntranslatableError, PredicateError):
            found = Translator(self.read).predicate(expression) if is_search(expression) else None
            return found if isinstance(found, IndexQuery) else None
        return None

    def number(self, expression: Expression) -> int:
        """The number of a plain column."""
        if expression.WhichOneof("expr_type") != "unresolved_attribute":
            raise UntranslatableError
        named = expression.unresolved_attribute
        return self.resolve(named.unparsed_identifier, named.plan_id if named.HasField("plan_id") else None)

    def _named(self, column: exp.Column) -> Column:
        return Column(name_of(self._number(column)))

    def _number(self, column: exp.Column) -> int:
        return self.resolve(".".join("`" + part.name.replace("`", "``") + "`" for part in column.parts), None)

    def references(self, expression: Expression | exp.Expr) -> frozenset[int]:
        """The columns that an expression reads."""
        if isinstance(expression, exp.Expr):
            stars = [star for star in expression.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
            if not stars and expression.find(exp.Query) is None:
                return frozenset(map(self._number, expression.find_all(exp.Column)))
            raise UntranslatableError
        found: set[int] = set()
        parts = list(expressions_in(expression))
        counted = [argument for one in parts if call_of(one).name == "count" for argument in call_of(one).arguments]
        for one in parts:
            match one.WhichOneof("expr_type"):
                case "unresolved_attribute":
                    found.add(self.number(one))
                case "expression_string":
                    found |= self.references(_parsed(one))
                case kind if kind not in _MADE_OF_EXPRESSIONS and one not in counted:
                    raise UntranslatableError
        return frozenset(found)

    def is_deterministic(self, expression: Expression | exp.Expr, functions: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is known to give one value for each row, and the same each time.

        `functions` are further functions that may be in it. Aggregates and generators are not of that kind in general.
        """
        if isinstance(expression, exp.Expr):
            names = {function_of(node) for node in expression.find_all(exp.Func)}
            return names <= _DETERMINISTIC and expression.find(exp.Query, exp.Window) is None
        return all(self._is_deterministic(one, _DETERMINISTIC | functions) for one in expressions_in(expression))

    def _is_deterministic(self, expression: Expression, functions: frozenset[str]) -> bool:
        match expression.WhichOneof("expr_type"):
            case "unresolved_function" if _is_builtin(expression):
                return expression.unresolved_function.function_name.lower() in functions
            case "expression_string":
                return self.is_deterministic(_parsed(expression))
            case kind:
                is_plain = kind in {"literal", "unresolved_attribute", "alias", "cast", "sort_order"}
                return is_plain or is_search(expression)


class FunctionCall(NamedTuple):
    """A call of a function, which may be the user's, by its name in lower case; without a name, any other expression."""

    name: str
    arguments: Sequence[Expression] = ()


def call_of(expression: Expression) -> FunctionCall:
    kind = expression.WhichOneof("expr_type")
    if kind not in {"unresolved_function", "call_function", "common_inline_user_defined_function"}:
        return FunctionCall("")
    called = getattr(expression, kind)
    return FunctionCall(called.function_name.lower(), called.arguments)


def is_search(expression: Expression) -> bool:
    return call_of(expression).name in FUNCTIONS


def _is_builtin(expression: Expression) -> bool:
    if expression.WhichOneof("expr_type") != "unresolved_function":
        return False
    return not expression.unresolved_function.is_user_defined_function


def literal(message: Message) -> pa.Scalar:
    """A literal as an Arrow value."""
    match message.WhichOneof("literal_type"):
        case "null":
            return pa.NA
        case "decimal":
            return pa.scalar(Decimal(message.decimal.value))
        case kind if kind in _TYPES:
            return pa.scalar(getattr(message, kind), _TYPES[kind])
    raise UntranslatableError


def _type_of(cast: Message) -> pa.DataType | None:
    """The type of a cast; None for one that no column of ours has, such as a text with a collation."""
    if cast.HasField("type_str"):
        try:
            return parse_type(cast.type_str)
        except SchemaError:
            return None
    kind = cast.type.WhichOneof("kind")
    if kind == "decimal":
        return pa.decimal128(cast.type.decimal.precision, cast.type.decimal.scale)
    return None if cast.type.string.collation not in {"", "UTF8_BINARY"} else _TYPES.get(kind)


def _parsed(expression: Expression) -> exp.Expr:
    text = expression.expression_string.expression
    with suppress(PredicateError):
        return syntax_tree(text)
    try:
        return parse_one(text, dialect=Dialect)
    except (SqlglotError, RecursionError) as error:
        raise UntranslatableError from error
