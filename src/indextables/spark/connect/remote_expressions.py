"""Expressions of Spark Connect as predicates over column numbers, and what else a plan has to know of them.

Nothing is resolved in these plans: a name has to be looked up, and a condition may be a text. What is not in the tables here
is left to Spark.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from indextables.errors import PredicateError
from indextables.predicate import Column, Like, Not, Predicate, columns, conjunction, disjunction, parse, terms_of
from indextables.predicate.column_expression import ColumnExpression
from indextables.predicate.dialect import Dialect
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ
from indextables.spark.connect.protocol import Expression, expressions_in
from indextables.spark.planner.column_names import columns_of, name_of, renamed
from indextables.spark.planner.plan import Condition

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARISONS: Mapping[str, Callable[[ColumnExpression, pa.Scalar], Predicate]] = {
    "==": lambda column, value: column == value,
    "=": lambda column, value: column == value,
    "<=>": lambda column, value: column.eq_null_safe(value),
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "startswith": lambda column, value: column.startswith(value.as_py()),
    "endswith": lambda column, value: column.endswith(value.as_py()),
    "contains": lambda column, value: column.contains(value.as_py()),
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "=": "=", "<=>": "<=>"}
_TEXT = frozenset({"startswith", "endswith", "contains", "like"})
_DETERMINISTIC = frozenset(
    """== = <=> < <= > >= and or not + - * / % in isnull isnotnull isnan like rlike ilike startswith endswith contains
    coalesce when upper lower length trim ltrim rtrim concat concat_ws substring substr replace regexp_replace
    regexp_extract split abs round floor ceil greatest least year month dayofmonth hour minute second date_trunc trunc
    date_format to_date to_timestamp datediff date_add date_sub hash xxhash64 md5 sha2""".split()  # noqa: SIM905
)
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
_SCALAR = (  # functions in texts, as sqlglot knows them
    *(exp.Cast, exp.TryCast, exp.Case, exp.If, exp.Coalesce, exp.Upper, exp.Lower, exp.Length, exp.Trim, exp.Concat),
    *(
        exp.Substring,
        exp.Replace,
        exp.Abs,
        exp.Round,
        exp.Floor,
        exp.Ceil,
        exp.Year,
        exp.Month,
        exp.Day,
        exp.And,
        exp.Or,
    ),
    *(exp.StartsWith, exp.EndsWith, exp.Contains, exp.Greatest, exp.Least, exp.DateAdd, exp.DateSub, exp.TsOrDsToDate),
)


class UnreadableError(Exception):
    """An expression or a node that only Spark can understand; never shown to a user."""


Resolve = Callable[[str, int | None], int]  # the number of a column, from its identifier and the id of its frame


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads the expressions of one node; `resolve` looks up the columns that its input has."""

    resolve: Resolve
    time_zone: str

    def conditions(self, expression: Expression) -> Iterator[Condition]:
        """The terms of a condition, all of which must be true."""
        kind = expression.WhichOneof("expr_type")
        if kind == "unresolved_function" and expression.unresolved_function.function_name.lower() == "and":
            for argument in expression.unresolved_function.arguments:
                yield from self.conditions(argument)
        elif kind == "expression_string":
            yield from self._text_conditions(expression.expression_string.expression)
        else:
            yield self._condition(expression)

    def _condition(self, expression: Expression) -> Condition:
        """One term. As a whole, `coalesce(search, false)` is true where the search is; under NOT, it is not its opposite."""
        called = expression.unresolved_function
        if called.function_name.lower() == "coalesce" and len(called.arguments) == 2 and _is_false(called.arguments[1]):  # noqa: PLR2004
            return self._condition(called.arguments[0])
        try:
            predicate = self.predicate(expression)
        except (UnreadableError, PredicateError):
            return Condition(self.references(expression), None, self.is_deterministic(expression))
        return Condition(columns_of(predicate), predicate)

    def _text_conditions(self, text: str) -> Iterator[Condition]:
        try:
            predicate = self._numbered(parse(text, time_zone=self.time_zone))
        except PredicateError:
            for term in _terms(text):
                yield self._text_condition(term)
        else:
            for conjunct in terms_of(predicate):
                yield Condition(columns_of(conjunct), conjunct)

    def _text_condition(self, term: exp.Expr) -> Condition:
        """One term of a text; it is parsed again, because only a text is read as Spark reads it."""
        try:
            predicate = self._numbered(parse(term.sql(dialect=Dialect), time_zone=self.time_zone))
        except PredicateError:
            return Condition(self._text_references(term), None, _is_scalar(term))
        return Condition(columns_of(predicate), predicate)

    def _numbered(self, predicate: Predicate) -> Predicate:
        """A predicate over the names of columns, over their numbers."""
        names = {name: name_of(self.resolve(_quoted(name), None)) for name in columns(predicate)}
        return renamed(predicate, names)

    def predicate(self, expression: Expression) -> Predicate:  # noqa: C901, PLR0911 - one line for each function
        kind = expression.WhichOneof("expr_type")
        if kind == "unresolved_attribute":
            return ColumnExpression(self.column(expression)) == True  # noqa: E712 - it makes a predicate
        if kind == "expression_string":
            return self._numbered(parse(expression.expression_string.expression, time_zone=self.time_zone))
        if kind != "unresolved_function":
            raise UnreadableError
        name, arguments = expression.unresolved_function.function_name.lower(), expression.unresolved_function.arguments
        match name, len(arguments):
            case "and", 2:
                return conjunction(*map(self.predicate, arguments))
            case "or", 2:
                return disjunction(*map(self.predicate, arguments))
            case "not", 1:
                return Not(self.predicate(arguments[0]))
            case "isnull", 1:
                return ColumnExpression(self.column(arguments[0])).is_null()
            case "isnotnull", 1:
                return Not(ColumnExpression(self.column(arguments[0])).is_null())
            case "in", _:
                return ColumnExpression(self.column(arguments[0])).isin(*map(literal, arguments[1:]))
            case "like", 2:
                return Like(self.column(arguments[0]), _text(arguments[1]), "\\")
            case _, 2:
                return self._comparison(name, *arguments)
        raise UnreadableError

    def _comparison(self, name: str, left: Expression, right: Expression) -> Predicate:
        if left.WhichOneof("expr_type") == "literal":
            if name not in _FLIPPED:
                raise UnreadableError
            name, left, right = _FLIPPED[name], right, left
        if name not in _COMPARISONS:
            raise UnreadableError
        if name in _TEXT:
            _text(right)
        return _COMPARISONS[name](ColumnExpression(self.column(left)), literal(right))

    def column(self, expression: Expression) -> Column:
        return Column(name_of(self.number(expression)))

    def number(self, expression: Expression) -> int:
        """The number of a plain column."""
        if expression.WhichOneof("expr_type") != "unresolved_attribute":
            raise UnreadableError
        named = expression.unresolved_attribute
        return self.resolve(named.unparsed_identifier, named.plan_id if named.HasField("plan_id") else None)

    def references(self, expression: Expression) -> frozenset[int]:
        """The columns that an expression reads."""
        found: set[int] = set()
        for one in expressions_in(expression):
            match one.WhichOneof("expr_type"):
                case "unresolved_attribute":
                    found.add(self.number(one))
                case "expression_string":
                    found |= self._text_references(_parsed(one.expression_string.expression))
                case "literal" | "unresolved_function" | "alias" | "cast" | "sort_order":
                    continue
                case _:
                    raise UnreadableError
        return frozenset(found)

    def _text_references(self, tree: exp.Expr) -> frozenset[int]:
        if tree.find(exp.Query, exp.Star) is not None:
            raise UnreadableError
        return frozenset(
            self.resolve(".".join(_quoted(part.name) for part in column.parts), None)
            for column in tree.find_all(exp.Column)
        )

    def is_deterministic(self, expression: Expression, functions: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is known to give one value for each row, and the same each time.

        `functions` are further functions that may be in it. Aggregates and generators are not of that kind in general.
        """
        for one in expressions_in(expression):
            kind = one.WhichOneof("expr_type")
            if kind == "unresolved_function":
                name = one.unresolved_function.function_name.lower()
                if one.unresolved_function.is_user_defined_function or name not in _DETERMINISTIC | functions:
                    return False
            elif kind == "expression_string":
                if not _is_scalar(_parsed(one.expression_string.expression)):
                    return False
            elif kind not in {"literal", "unresolved_attribute", "alias", "cast", "sort_order"}:
                return False
        return True


def literal(expression: Expression) -> pa.Scalar:  # noqa: PLR0911 - one for each kind of literal
    """A literal as an Arrow value."""
    if expression.WhichOneof("expr_type") != "literal":
        raise UnreadableError
    value = expression.literal
    match kind := value.WhichOneof("literal_type"):
        case "null":
            return pa.scalar(None, pa.null())
        case "boolean" | "string" | "binary":
            return pa.scalar(getattr(value, kind))
        case "byte" | "short" | "integer" | "long":
            types = {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64()}
            return pa.scalar(getattr(value, kind), types[kind])
        case "float" | "double":
            return pa.scalar(getattr(value, kind), pa.float32() if kind == "float" else pa.float64())
        case "decimal":
            return pa.scalar(Decimal(value.decimal.value))
        case "date":
            return pa.scalar(value.date, pa.int32()).cast(pa.date32())
        case "timestamp" | "timestamp_ntz":
            moment = _EPOCH + timedelta(microseconds=getattr(value, kind))
            return pa.scalar(moment.replace(tzinfo=None) if kind == "timestamp_ntz" else moment, _TIMES[kind])
    raise UnreadableError


_TIMES = {"timestamp": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ}


def _text(expression: Expression) -> str:
    value = literal(expression)
    if not pa.types.is_string(value.type) or not value.is_valid:
        raise UnreadableError
    return str(value.as_py())


def _is_false(expression: Expression) -> bool:
    kind = expression.WhichOneof("expr_type")
    return kind == "literal" and expression.literal.HasField("boolean") and not expression.literal.boolean


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _parsed(text: str) -> exp.Expr:
    try:
        return parse_one(text, dialect=Dialect)
    except (SqlglotError, RecursionError) as error:
        raise UnreadableError from error


def _terms(text: str) -> Iterator[exp.Expr]:
    tree = _parsed(text)
    yield from tree.flatten() if isinstance(tree, exp.And) else [tree]


def _is_scalar(tree: exp.Expr) -> bool:
    """Whether a text has no function but those that are known to give one value for each row, the same each time."""
    return (
        all(isinstance(node, _SCALAR) for node in tree.find_all(exp.Func)) and tree.find(exp.Query, exp.Window) is None
    )
