"""SQL text as predicates, in Spark's dialect, read by sqlglot.

Loading sqlglot takes a while: reach this module through `indextables.predicate.parse`, which loads it on first use.

Nothing that sqlglot does with a text may surprise the caller: the text's length and nesting are bounded before it is
parsed, and whatever sqlglot raises becomes an InvalidPredicateError at one place, `syntax_tree`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, chain, groupby, pairwise

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.helper import ensure_list
from sqlglot.tokenizer_core import Token, TokenType

from indextables.errors import (
    CastInvalidInputError,
    InvalidPredicateError,
    PredicateError,
    SchemaError,
    UnsupportedOperatorError,
)
from indextables.nearest import nearest
from indextables.predicate.cast import cast_scalar
from indextables.predicate.dialect import Dialect
from indextables.predicate.literals import TIMESTAMP, TIMESTAMP_NTZ, decimal, literal, whole_text
from indextables.predicate.nodes import CastMode, Column, Predicate
from indextables.predicate.sql_text import name_sql
from indextables.predicate.translation import (
    Call,
    ColumnReference,
    Node,
    Refusal,
    Translator,
    UntranslatableError,
    Value,
    cast_node,
)
from indextables.schema import parse_type

MAX_LENGTH = 250_000
MAX_DEPTH = 25  # sqlglot takes up to 30 frames a level, and Python has 1,000
SUPPORTED_OPERATORS = (
    "=, <>, <, <=, >, >=, <=>, IN, BETWEEN, LIKE, IS [NOT] NULL, startswith(), endswith(), contains(), INDEXQUERY, "
    "AND, OR and NOT between columns, which CAST and TRY_CAST may convert, and literals"
)
_ANY_FIELD = "\0*"
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>", exp.Not: "not", exp.Between: "between", exp.In: "in", exp.StartsWith: "startswith",
    exp.EndsWith: "endswith", exp.Contains: "contains", exp.Coalesce: "coalesce",
}  # fmt: skip
_FUNCTIONS = {"isnull", "isnotnull"}  # that sqlglot has no class for
_SEARCHES = {"indexquery", "textsearch", "indexqueryall"}
_KEYWORDS = ("AND", "BETWEEN", "IN", "INDEXQUERY", "IS", "LIKE", "NOT", "OR")
_OPERANDS = ("this", "low", "high", "expression", "expressions")
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
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_WORDS = re.compile(r"[\w\s]+")
_TIME = re.compile(r"(?<![\w.'\"])\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?)?(?![\w'\"])")
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.TILDE, TokenType.PLUS}


def parse(text: str, *, time_zone: str, operators: str = SUPPORTED_OPERATORS) -> Predicate:
    """Parses SQL text to a predicate, or raises an InvalidPredicateError or UnsupportedOperatorError.

    Errors about an operator list the `operators`; a search is recommended only if it is among them.
    """
    return ConditionReader(text, time_zone, operators=operators).predicate(syntax_tree(text, operators=operators))


def syntax_tree(text: str, *, operators: str = SUPPORTED_OPERATORS) -> exp.Expr:
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
        raise _first_complaint(text, error, operators) from None
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


def position_of(name: str, text: str) -> int | None:
    """Where a text first has a name."""
    tokens = (token for token in Dialect().tokenize(text) if token.token_type != TokenType.STRING)
    return next((token.start for token in tokens if token.text == name), None)


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


def unquoted_name(error: PredicateError, names: Iterable[str]) -> InvalidPredicateError | None:
    """The error of a name, such as `Ordered At`, that is not in backticks, if it is where another error was found."""
    text, place = error.predicate, -1 if error.position is None else error.position
    for name in names:
        found = re.compile(rf"(?<![\w`'\"]){re.escape(name)}(?![\w`'\"])", re.IGNORECASE).finditer(text)
        start = next((match.start() for match in found if match.start() <= place < match.end()), None)
        if start is not None and (written := name_sql(name)).startswith("`"):
            return _invalid(text, f"the name of the column {name!r} is written in backticks: {written}", start)
    return None


def _unquoted_time(text: str, position: int | None) -> InvalidPredicateError | None:
    """The error of a date or time without quotes, if it is at a position."""
    found = (time for time in _TIME.finditer(text) if position is not None and time.start() <= position <= time.end())
    time = next(found, None)
    if time is None:
        return None
    return _invalid(text, f"a date or time is written in quotes: '{time[0]}'", time.start())


def _first_complaint(text: str, error: ParseError, operators: str) -> InvalidPredicateError:
    facts = next((e for e in error.errors if e.get("line")), None)
    if facts is None:
        return _invalid(text, "it is not a condition", operators=operators)
    end = sum(map(len, text.splitlines(keepends=True)[: facts["line"] - 1])) + facts["col"] - 1
    near = facts["highlight"]
    is_unexpected = "Unexpected token" in facts["description"]
    search = ""
    if near == ":":
        search = "; a search such as level:ERROR is not SQL: give it as the query, or use INDEXQUERY"
    elif _WORDS.fullmatch(text):
        search = "; to search for words, give them as the query"
    if "INDEXQUERY" not in operators:
        search = ""
    meant = nearest(near, [word for word in _KEYWORDS if word in operators]) if is_unexpected else None
    hint = f"; did you mean {meant}?" if meant else ""
    position = end - (len(near) - 1 if is_unexpected else 0)
    is_operator = is_unexpected and not search and not meant
    reason = _complaint(facts["description"], near) + search + hint
    return _unquoted_time(text, position) or _invalid(text, reason, position, operators if is_operator else "")


def _complaint(description: str, near: str) -> str:
    """Sqlglot's words without the names of its classes."""
    if description.startswith("Required keyword"):
        return f"something is missing after {near!r}"
    if near == ":" or "Unexpected token" in description:
        return f"{near!r} is not expected here"
    return f"{description.rstrip('.')} near {near!r}"


def _invalid(text: str, reason: str, position: int | None = None, operators: str = "") -> InvalidPredicateError:
    message = _unreadable(text, reason, position) + _understood(operators)
    return InvalidPredicateError(message, predicate=text, reason=reason, position=position)


def _understood(operators: str) -> str:
    return f"; understood are {operators}" if operators else ""


def _unreadable(text: str, reason: str, position: int | None = None) -> str:
    return f"the condition {_shown(text)} cannot be read{_at(position)}: {reason}"


def _at(position: int | None) -> str:
    return "" if position is None else f" at position {position}"


def _shown(text: str, *, limit: int = 200) -> str:
    return repr(text if len(text) <= limit else text[:limit] + " ...")


def _unqualified(column: exp.Column) -> Column | None:
    is_plain = isinstance(column.this, exp.Identifier) and not column.args.get("table")
    return Column(column.name) if is_plain else None


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads sqlglot's tree of a condition; the text is there for the errors, and so are the operators that they list."""

    text: str
    time_zone: str
    find_column: Callable[[exp.Column], Column | None] = _unqualified
    operators: str = ""

    def predicate(self, tree: exp.Expr) -> Predicate:
        try:
            return Translator(self.read).predicate(tree)
        except UntranslatableError as error:
            raise self.error(error.source, error.refusal) from None

    def read(self, tree: exp.Expr) -> Node | None:
        match tree.unnest():
            case exp.Column() as column:
                return ColumnReference(self.find_column(column))
            case exp.Cast() as cast if _is_column(cast):
                kind, mode = _type_of(cast), CastMode.TRY if cast.args.get("safe") else CastMode.ANSI
                return (kind and cast_node(self.read(cast.this), kind, mode)) or ColumnReference(None)
            case exp.Glob(this=field, expression=query):
                is_any = self.read(field) == ColumnReference(Column(_ANY_FIELD))
                return Call("indexqueryall", (query,)) if is_any else Call("indexquery", (field, query))
            case exp.Anonymous() as search if search.name.lower() in _SEARCHES:
                return self.search(search)
            case exp.In(expressions=[]) as listed:
                raise self.unsupported(listed, "IN needs a list of literals")
            case exp.Binary(this=exp.Literal(is_string=True) as name) as tree if self.compares_name(tree, name.name):
                reason = f'"{name.name}" is a text, as in Spark; a column is written in backticks: `{name.name}`'
                raise _invalid(self.text, reason, _position(name))
            case tree:
                value = self.value(tree)
                return read_operator(tree) if value is None else Value(value)

    def compares_name(self, tree: exp.Binary, name: str) -> bool:
        """`"host" = 'web-1'` compares two texts in Spark, and finds nothing, where other databases mean a column."""
        is_comparison = isinstance(tree, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE)
        return is_comparison and f'"{name}"' in self.text and not _is_column(tree.expression)

    def search(self, node: exp.Anonymous) -> Call:
        match node.expressions:
            case [query] if node.name.lower() == "indexqueryall":
                return Call("indexqueryall", (query,))
            case [exp.Literal(is_string=True) as field, query]:
                return Call("indexquery", (ColumnReference(Column(field.name)), query))
            case [field, query] if field.is_star:
                return Call("indexqueryall", (query,))
            case [field, query]:
                return Call("indexquery", (field, query))
            case _:
                raise _invalid(self.text, "indexquery takes a column and a query", _position(node))

    def value(self, node: exp.Expr) -> pa.Scalar | None:  # noqa: PLR0911  (one line per kind of literal)
        match node:
            case exp.Null():
                return literal(None)
            case exp.Boolean():
                return literal(bool(node.this))
            case exp.RawString() | exp.Literal(is_string=True):
                return literal(node.name)
            case exp.HexString():
                return self.binary(node)
            case exp.Concat() if all(isinstance(part, exp.Literal) and part.is_string for part in node.expressions):
                return literal("".join(part.name for part in node.expressions))
            case exp.Cast(this=exp.Literal(is_string=True) as text) if node.to.this in _TIMES:
                return self.time(text, _TIMES[node.to.this])
            case exp.Neg(this=exp.Literal(is_string=False) | exp.Cast() as number):
                return self.number(number, sign="-")
            case _:
                return self.number(node)

    def number(self, node: exp.Expr, *, sign: str = "") -> pa.Scalar | None:
        """Digits with or without a type: `5`, `5L`, `5.0`, `5e0`, `5BD`, `CAST('NaN' AS DOUBLE)`."""
        try:
            match node:
                case exp.Literal(is_string=False):
                    return _plain_number(sign + node.name)
                case exp.Cast(this=exp.Literal(is_string=False) as digits) if node.to.this in _WHOLE_NUMBERS:
                    return pa.scalar(int(sign + digits.name), _WHOLE_NUMBERS[node.to.this])
                case exp.Cast(this=exp.Literal() as digits) if node.to.this in _FRACTIONS:
                    return pa.scalar(float(sign + digits.name), _FRACTIONS[node.to.this])
                case exp.Cast(this=exp.Literal(is_string=True) as digits) if node.to.this == exp.DType.DECIMAL:
                    return decimal(Decimal(sign + digits.name))
                case _:
                    return None
        except (ValueError, ArithmeticError, pa.ArrowException, InvalidPredicateError):
            reason = f"{sign}{node.sql('spark')} is not a number of that type"
            raise _invalid(self.text, reason, _position(node)) from None

    def time(self, node: exp.Literal, kind: pa.DataType) -> pa.Scalar:
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

    def error(self, source: exp.Expr, refusal: Refusal) -> PredicateError:  # noqa: PLR0911  (one line per error)
        """The error for a node that is not translated."""
        node = source if isinstance(source, exp.Subquery) else source.unnest()
        time = _unquoted_time(self.text, _position(node)) if isinstance(node, exp.Sub) else None
        if time is not None:
            return time
        match refusal, node:
            case Refusal.TEXT, _:
                return _invalid(self.text, refusal.value, _position(node))
            case Refusal.CHARACTER, _:
                escape = str(self.value(node))
                return _invalid(self.text, f"the escape {escape!r} is not one character", _position(node))
            case Refusal.VALUE, exp.Column():  # most often a text without quotes
                name, where = node.sql("spark"), _at(_position(node))
                reason = f"a value was expected{where}, and {name} is read as the name of a column"
                reason = f"{reason}; if it is a text, write '{name}'"
                return self.unsupported(node, reason, _unreadable(self.text, reason))
            case Refusal.COLUMN, exp.Column() if _unqualified(node) is None:
                reason = "names are not qualified here; quote a name with a dot in backquotes"
                return self.unsupported(node, reason, _unreadable(self.text, reason, _position(node)))
            case ((Refusal.COLUMN | Refusal.CONDITION), exp.Cast(this=of, to=kind)) if not node.args.get("format"):
                if _is_column(node) and _type_of(node) is None:
                    return self.unsupported(node, f"{kind.sql('spark')} is not a type of a column")
                if not _is_column(node) or _unqualified(of.unnest()) is None:
                    return self.error(_innermost_cast(of), Refusal.COLUMN)
            case _, exp.Anonymous():
                meant = nearest(node.name, [*_OPERATORS.values(), *_FUNCTIONS, *_SEARCHES])
                hint = f"; did you mean {meant}()?" if meant else ""
                return self.unsupported(node, f"there is no function {node.name!r} here{hint}")
        return self.unsupported(node, refusal.value)

    def unsupported(self, node: exp.Expr, reason: str, message: str | None = None) -> UnsupportedOperatorError:
        operator = node.name if isinstance(node, exp.Anonymous) else type(node).key.upper()
        position = _position(node)
        shown = f"{operator}{_at(position)} of the condition {_shown(self.text)} is not supported: {reason}"
        return UnsupportedOperatorError(
            message or shown + _understood(self.operators),
            predicate=self.text,
            reason=reason,
            operator=operator,
            position=position,
        )


def read_operator(tree: exp.Expr) -> Call | None:
    """An operator or a function that means the same in every dialect of SQL; None for anything else.

    >>> read_operator(syntax_tree("x IS NULL")).function
    'isnull'
    """
    plain: exp.Expr = tree.this if isinstance(tree, exp.Escape) else tree
    if {name for name, value in plain.args.items() if value} - {*_OPERANDS, "negate"}:
        return None  # such as SYMMETRIC after BETWEEN, or a query after IN
    operands = tuple(chain.from_iterable(ensure_list(plain.args.get(name)) for name in _OPERANDS))
    match plain:
        case exp.And() | exp.Or():
            return Call(plain.key, tuple(_chain(plain)))
        case exp.Is(expression=exp.Null()):
            call = Call("isnull", operands[:1])
        case exp.Is(expression=exp.Boolean()):
            call = Call("<=>", operands)
        case exp.Like():
            call = Call("like", (*operands, *([] if plain is tree else [tree.expression])))
        case exp.Anonymous() if plain.name.lower() in _FUNCTIONS:
            call = Call(plain.name.lower(), tuple(plain.expressions))
        case _ if plain is tree and type(plain) in _OPERATORS:
            call = Call(_OPERATORS[type(plain)], operands)
        case _:
            return None
    is_negated = plain.args.get("negate") or isinstance(plain, exp.NullSafeNEQ)
    return Call("not", (call,)) if is_negated else call


def _innermost_cast(node: exp.Expr) -> exp.Expr:
    """The last one of nested casts, without recursion; another node itself."""
    while isinstance(cast := node.unnest(), exp.Cast) and not _is_column(cast):
        node = cast.this
    return node


def _type_of(cast: exp.Cast) -> pa.DataType | None:
    if cast.args.get("format"):
        return None
    try:
        return _TIMES.get(cast.to.this) or parse_type(cast.to.sql("spark"))
    except SchemaError:
        return None


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
