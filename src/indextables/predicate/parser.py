"""SQL text as predicates, in Spark's dialect, read by sqlglot.

Loading sqlglot takes a while: reach this module through `indextables.predicate.parse`, which loads it on first use.

Nothing that sqlglot does with a text may surprise the caller: the text's length and nesting are bounded before it is
parsed, and whatever sqlglot raises becomes an InvalidPredicateError at one place, `syntax_tree`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, groupby, pairwise
from typing import cast

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import (
    CastInvalidInputError,
    InvalidPredicateError,
    PredicateError,
    SchemaError,
    UnsupportedOperatorError,
)
from indextables.predicate import nodes
from indextables.predicate.cast import cast_scalar
from indextables.predicate.dialect import Dialect
from indextables.predicate.evaluate import evaluate_leaf
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ, decimal, literal, whole_text
from indextables.predicate.nodes import Cast, CastMode, Column, Comparison, IndexQuery, Literal, Op, Operand, Predicate
from indextables.schema import parse_type

MAX_LENGTH = 250_000
MAX_DEPTH = 25  # sqlglot takes up to 30 frames a level, and Python has 1,000
SUPPORTED_OPERATORS = (
    "=, <>, <, <=, >, >=, <=>, IN, BETWEEN, LIKE, IS [NOT] NULL, startswith(), endswith(), contains(), INDEXQUERY, "
    "AND, OR and NOT between columns, which CAST and TRY_CAST may convert, and literals"
)
_ANY_FIELD = "\0*"


_OPS = {exp.EQ: Op.EQ, exp.NEQ: Op.NE, exp.LT: Op.LT, exp.LTE: Op.LE, exp.GT: Op.GT, exp.GTE: Op.GE}
_WHOLE_NUMBERS = {
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
}
_FRACTIONS = {exp.DType.FLOAT: pa.float32(), exp.DType.DOUBLE: pa.float64()}
_TIMES = {
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
}
_TYPES = {**_WHOLE_NUMBERS, **_FRACTIONS, **_TIMES, exp.DType.BOOLEAN: pa.bool_(), exp.DType.TEXT: pa.string()}
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_WORDS = re.compile(r"[\w\s]+")
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.TILDE, TokenType.PLUS}


def parse(text: str, *, time_zone: str) -> Predicate:
    """Parses SQL text to a predicate, or raises an InvalidPredicateError or UnsupportedOperatorError."""
    return _Reader(text, time_zone).predicate(syntax_tree(text))


def syntax_tree(text: str) -> exp.Expr:
    """The expression that a text is, as sqlglot reads it; an InvalidPredicateError says what is wrong with it."""
    whole_text(text)
    if len(text) > MAX_LENGTH:
        raise _invalid(text, f"it has {len(text):,} characters, and {MAX_LENGTH:,} are allowed")
    try:
        tokens = Dialect().tokenize(text)
        _check_depth(text, tokens)
        trees = Dialect().parser().parse_into(exp.Condition, _with_any_field(tokens), text)
    except PredicateError:
        raise
    except ParseError as error:
        raise _invalid(text, *_first_complaint(text, error)) from None
    except TokenError:
        raise _invalid(text, "a quote or a comment is not closed") from None
    except RecursionError:
        raise _invalid(text, "it is nested too deep") from None
    except Exception as error:  # whatever odd text makes of sqlglot, it is the text that is at fault
        raise _invalid(text, "it cannot be parsed as SQL") from error
    match trees:
        case [exp.Expr() as tree]:
            return tree
        case _:
            raise _invalid(text, "it is empty" if not any(trees) else "it is more than one condition")


def _check_depth(text: str, tokens: Sequence[Token]) -> None:
    steps = ((t.token_type in _OPENING) - (t.token_type in _CLOSING) for t in tokens)
    nested = max(accumulate(steps), default=0)
    prefixed = max((sum(1 for _ in run) for is_prefix, run in _prefix_runs(tokens) if is_prefix), default=0)
    if max(nested, prefixed) > MAX_DEPTH:
        raise _invalid(text, f"it is nested more than {MAX_DEPTH} deep")


def _prefix_runs(tokens: Sequence[Token]) -> Iterator[tuple[bool, Iterator[Token]]]:
    return groupby(tokens, key=lambda token: token.token_type in _PREFIXES)


def _with_any_field(tokens: list[Token]) -> list[Token]:
    """`* INDEXQUERY 'q'`, with the star as a name that no column has."""
    for star, operator in pairwise(tokens):
        if star.token_type == TokenType.STAR and operator.token_type == TokenType.GLOB:
            star.token_type, star.text = TokenType.IDENTIFIER, _ANY_FIELD
    return tokens


def _first_complaint(text: str, error: ParseError) -> tuple[str, int | None]:
    facts = next((e for e in error.errors if e.get("line")), None)
    if facts is None:
        return "it is not a condition", None
    lines = text.splitlines(keepends=True)[: facts["line"] - 1]
    words = "; to search for words, give them as the query" if _WORDS.fullmatch(text) else ""
    return _complaint(facts["description"], facts["highlight"]) + words, sum(map(len, lines)) + facts["col"] - 1


def _complaint(description: str, near: str) -> str:
    """Sqlglot's words without the names of its classes."""
    if description.startswith("Required keyword"):
        return f"something is missing after {near!r}"
    if near == ":":
        return (
            "':' is not expected here; a search such as level:ERROR is not SQL: give it as the query, or use INDEXQUERY"
        )
    if "Unexpected token" in description:
        return f"{near!r} is not expected here"
    return f"{description.rstrip('.')} near {near!r}"


def _invalid(text: str, reason: str, position: int | None = None) -> InvalidPredicateError:
    where = "" if position is None else f" at position {position}"
    return InvalidPredicateError(
        f"the condition {_shown(text)} cannot be read{where}: {reason}; understood are {SUPPORTED_OPERATORS}",
        predicate=text,
        reason=reason,
        position=position,
    )


def _shown(text: str, *, limit: int = 200) -> str:
    return repr(text if len(text) <= limit else text[:limit] + " ...")


@dataclass(frozen=True, slots=True)
class _Reader:
    """sqlglot's tree as a predicate; the text is there for the errors."""

    text: str
    time_zone: str

    def predicate(self, node: exp.Expr) -> Predicate:  # noqa: C901, PLR0911, PLR0912  (one line per kind of node)
        match node:
            case exp.Paren():
                return self.predicate(node.this)
            case exp.And():
                return nodes.conjunction(*map(self.predicate, _chain(node)))
            case exp.Or():
                return nodes.disjunction(*map(self.predicate, _chain(node)))
            case exp.Not():
                return nodes.Not(self.predicate(node.this))
            case exp.Boolean():
                return Literal(bool(node.this))
            case exp.Null():
                return nodes.UNKNOWN
            case exp.Column() | exp.Cast():
                return Comparison(self.operand(node), Op.EQ, pa.scalar(True))
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self.comparison(node, _OPS[type(node)])
            case exp.NullSafeEQ():
                return self.null_safe_equal(node)
            case exp.In():
                return self.membership(node)
            case exp.Between() if not node.args.get("symmetric"):
                column = self.operand(node.this)
                low, high = self.value(node.args["low"]), self.value(node.args["high"])
                return Comparison(column, Op.GE, low) & Comparison(column, Op.LE, high)
            case exp.Is():
                return self.state(node)
            case exp.StartsWith():
                return nodes.StartsWith(self.operand(node.this), self.string(node.expression))
            case exp.EndsWith():
                return nodes.EndsWith(self.operand(node.this), self.string(node.expression))
            case exp.Contains():
                return nodes.Contains(self.operand(node.this), self.string(node.expression))
            case exp.Like():
                return self.like(node)
            case exp.Escape(this=exp.Like() as like):
                return self.like(like, self.escape(node.expression))
            case exp.Glob():
                return IndexQuery(self.field(node.this), self.string(node.expression))
            case exp.Anonymous() if node.name.lower() in {"indexquery", "textsearch"}:
                return self.search(node)
            case exp.Anonymous(expressions=[query]) if node.name.lower() == "indexqueryall":
                return IndexQuery(None, self.string(query))
            case _:
                raise self.unsupported(node)

    def comparison(self, node: exp.Expr, op: Op) -> Predicate:
        if _is_column(node.this):
            return Comparison(self.operand(node.this), op, self.value(node.expression))
        if _is_column(node.expression):
            return Comparison(self.operand(node.expression), op.flipped, self.value(node.this))
        self.refuse_quoted_name(node.this)
        left, right = self.value(node.this), self.value(node.expression)
        if left.type == right.type:  # `1 = 1`, as programs write it
            return Literal(evaluate_leaf(Comparison(Column(""), op, right), pa.array([left]))[0].as_py())
        raise self.unsupported(node, "it compares no column with a literal")

    def refuse_quoted_name(self, node: exp.Expr) -> None:
        """`"host" = 'web-1'` compares two texts in Spark, and finds nothing, where other databases mean a column."""
        if isinstance(node, exp.Literal) and node.is_string and f'"{node.name}"' in self.text:
            reason = f'"{node.name}" is a text, as in Spark; a column is written in backticks: `{node.name}`'
            raise _invalid(self.text, reason, _position(node))

    def null_safe_equal(self, node: exp.Expr) -> Predicate:
        column, value = (node.this, node.expression) if _is_column(node.this) else (node.expression, node.this)
        return nodes.NullSafeEqual(self.operand(column), self.value(value))

    def membership(self, node: exp.In) -> Predicate:
        if not node.expressions:
            raise self.unsupported(node, "IN needs a list of literals")
        return nodes.In(self.operand(node.this), tuple(map(self.value, node.expressions)))

    def state(self, node: exp.Is) -> Predicate:
        match node.expression:
            case exp.Null():
                return nodes.IsNull(self.operand(node.this))
            case exp.Boolean() as value:
                return nodes.NullSafeEqual(self.operand(node.this), pa.scalar(bool(value.this)))
            case _:
                raise self.unsupported(node)

    def like(self, node: exp.Like, escape: str = "\\") -> Predicate:
        like = nodes.Like(self.operand(node.this), self.string(node.expression), escape)
        return nodes.Not(like) if node.args.get("negate") else like

    def escape(self, node: exp.Expr) -> str:
        escape = self.string(node)
        if len(escape) != 1:
            raise _invalid(self.text, f"the escape {escape!r} is not one character", _position(node))
        return escape

    def search(self, node: exp.Anonymous) -> Predicate:
        match node.expressions:
            case [exp.Literal(is_string=True) as field, query]:
                return IndexQuery(field.name, self.string(query))
            case [field, query]:
                return IndexQuery(self.field(field), self.string(query))
            case _:
                raise _invalid(self.text, "indexquery takes a column and a query", _position(node))

    def field(self, node: exp.Expr) -> str | None:
        name = self.column(node).name
        return None if name == _ANY_FIELD else name

    def operand(self, node: exp.Expr) -> Operand:
        """A column, or a column in another type."""
        match node.unnest():
            case exp.Cast(this=of) as cast_ if not cast_.args.get("format"):
                mode = CastMode.TRY if cast_.args.get("safe") else CastMode.ANSI
                return Cast(self.column(of).name, self.type(cast_), mode=mode)
            case _:
                return self.column(node)

    def type(self, node: exp.Cast) -> pa.DataType:
        kind = _TYPES.get(node.to.this)
        if kind is not None:
            return kind
        try:
            return parse_type(node.to.sql("spark"))
        except SchemaError:
            raise self.unsupported(node, f"{node.to.sql('spark')} is not a type of a column") from None

    def column(self, node: exp.Expr) -> Column:
        match node:
            case exp.Paren():
                return self.column(node.this)
            case exp.Column(this=exp.Identifier() as name) if not node.args.get("table"):
                return Column(name.name)
            case exp.Column():
                raise self.unsupported(node, "names are not qualified here; quote a name with a dot in backquotes")
            case _:
                raise self.unsupported(node, "a column's name was expected here")

    def string(self, node: exp.Expr) -> str:
        value = self.value(node)
        if not pa.types.is_string(value.type):
            raise _invalid(self.text, "a text in quotes was expected here", _position(node))
        return cast("str", value.as_py())

    def value(self, node: exp.Expr) -> pa.Scalar:  # noqa: C901, PLR0911  (one line per kind of literal)
        match node:
            case exp.Paren():
                return self.value(node.this)
            case exp.Null():
                return literal(None)
            case exp.Boolean():
                return literal(bool(node.this))
            case exp.RawString():
                return literal(node.name)
            case exp.HexString():
                return self.binary(node)
            case exp.Literal() if node.is_string:
                return literal(node.name)
            case exp.Concat() if all(isinstance(part, exp.Literal) and part.is_string for part in node.expressions):
                return literal("".join(part.name for part in node.expressions))
            case exp.Neg(this=exp.Literal(is_string=False) | exp.Cast() as number):
                return self.number(number, sign="-")
            case exp.Cast(this=exp.Literal(is_string=True) as text) if node.to.this in _TIMES:
                return self.from_text(text, _TIMES[node.to.this])
            case exp.Literal() | exp.Cast():
                return self.number(node)
            case exp.Column():
                raise self.unquoted(node)
            case _:
                raise self.unsupported(node, "a literal was expected here")

    def number(self, node: exp.Expr, *, sign: str = "") -> pa.Scalar:
        """Digits with or without a type: `5`, `5L`, `5.0`, `5e0`, `5BD`, `CAST('NaN' AS DOUBLE)`."""
        try:
            match node:
                case exp.Literal() if not node.is_string:
                    return _plain_number(sign + node.name)
                case exp.Cast(this=exp.Literal(is_string=False) as digits) if node.to.this in _WHOLE_NUMBERS:
                    return pa.scalar(int(sign + digits.name), _WHOLE_NUMBERS[node.to.this])
                case exp.Cast(this=exp.Literal() as digits) if node.to.this in _FRACTIONS:
                    return pa.scalar(float(sign + digits.name), _FRACTIONS[node.to.this])
                case exp.Cast(this=exp.Literal(is_string=True) as digits) if node.to.this == exp.DType.DECIMAL:
                    return decimal(Decimal(sign + digits.name))
        except (ValueError, ArithmeticError, pa.ArrowException, InvalidPredicateError):
            raise _invalid(
                self.text, f"{sign}{node.sql('spark')} is not a number of that type", _position(node)
            ) from None
        raise self.unsupported(node, "a literal was expected here")

    def from_text(self, node: exp.Literal, kind: pa.DataType) -> pa.Scalar:
        try:
            return cast_scalar(pa.scalar(node.name), kind, time_zone=self.time_zone)
        except CastInvalidInputError as error:
            raise _invalid(self.text, error.reason, _position(node)) from None

    def binary(self, node: exp.HexString) -> pa.Scalar:
        digits = node.name
        try:
            return literal(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)))
        except ValueError:
            raise _invalid(self.text, f"X'{digits}' is not hexadecimal", _position(node)) from None

    def unquoted(self, node: exp.Column) -> UnsupportedOperatorError:
        """The error for a column where a value has to be: most often a text without quotes."""
        name, position = node.sql("spark"), _position(node)
        where = "" if position is None else f" at position {position}"
        reason = (
            f"a value was expected{where}, and {name} is read as the name of a column; if it is a text, write '{name}'"
        )
        return UnsupportedOperatorError(
            f"the condition {_shown(self.text)} cannot be read: {reason}; understood are {SUPPORTED_OPERATORS}",
            predicate=self.text,
            reason=reason,
            operator="COLUMN",
            position=position,
        )

    def unsupported(self, node: exp.Expr, reason: str = "it is not understood here") -> UnsupportedOperatorError:
        operator = node.name if isinstance(node, exp.Anonymous) else type(node).key.upper()
        position = _position(node)
        where = "" if position is None else f" at position {position}"
        return UnsupportedOperatorError(
            f"{operator}{where} of the condition {_shown(self.text)} is not supported: {reason}; "
            f"understood are {SUPPORTED_OPERATORS}",
            predicate=self.text,
            reason=reason,
            operator=operator,
            position=position,
        )


def _plain_number(digits: str) -> pa.Scalar:
    if "e" in digits.lower():
        return literal(float(digits))
    return literal(Decimal(digits)) if "." in digits else literal(int(digits))


def _is_column(node: exp.Expr) -> bool:
    plain = node.unnest()
    return isinstance(plain.this.unnest() if isinstance(plain, exp.Cast) else plain, exp.Column)


def _chain(node: exp.Connector) -> list[exp.Expr]:
    """The terms of `a AND b AND c`, which sqlglot nests to the left, without recursion."""
    terms: list[exp.Expr] = []
    left: exp.Expr = node
    while type(left) is type(node):
        terms.append(left.expression)
        left = left.this
    return [left, *reversed(terms)]


def _position(node: exp.Expr) -> int | None:
    return min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=None)
