"""A predicate as Spark SQL: what `explain` and error messages show, and what `parse` reads back.

>>> from indextables.predicate.column_expression import col
>>> to_sql((col("name") == "O'Brien") | col("odd name").isin(1, None))
"name = 'O''Brien' OR `odd name` IN (1, NULL)"
"""

import math
import re
from types import UnionType
from typing import assert_never

import pyarrow as pa

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
    Operand,
    Or,
    Predicate,
    StartsWith,
)
from indextables.schema import sql_type_name, type_name

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that would be read as something else than a name.
_RESERVED = frozenset(
    """all alter and any array as between call case cast connect_by_root create cross current_date current_timestamp
    current_user distinct drop else except execute exists explain false fetch for from glob grant having if ilike in
    indexquery inner insert intersect interval into is join lateral like list localtime map minus not notnull null
    nullable object on optimize or outer partitioned_by prepare qualify range regexp rename returning revoke rlike
    rollback select serdeproperties session_user show some struct tablesample textsearch then true uncache union using vacuum
    values when where with xor""".split()  # noqa: SIM905  (a hundred lines otherwise)
)
_SUFFIX = {pa.int8(): "Y", pa.int16(): "S", pa.int32(): "", pa.int64(): "L", pa.float32(): "F", pa.float64(): "D"}
_TYPE_WORD = {pa.float32(): "FLOAT", pa.float64(): "DOUBLE"}


def to_sql(predicate: Predicate) -> str:
    """The predicate as text; `parse(to_sql(p)) == p` for every predicate, but for the time zone of its casts."""
    match predicate:
        case And(terms):
            return " AND ".join(_grouped(term, Or | And) for term in terms)
        case Or(terms):
            return " OR ".join(_grouped(term, Or) for term in terms)
        case Not(IsNull(operand)):
            return f"{_operand(operand)} IS NOT NULL"
        case Not(term):
            return f"NOT {_grouped(term, And | Or)}"
        case _:
            return _leaf(predicate)


def _leaf(leaf: Predicate) -> str:  # noqa: PLR0911  (one line per kind of leaf)
    match leaf:
        case Comparison(operand, op, value):
            return f"{_operand(operand)} {op.value} {value_sql(value)}"
        case NullSafeEqual(operand, value):
            return f"{_operand(operand)} <=> {value_sql(value)}"
        case In(operand, values):
            return f"{_operand(operand)} IN ({', '.join(map(value_sql, values))})"
        case IsNull(operand):
            return f"{_operand(operand)} IS NULL"
        case StartsWith(operand, text) | EndsWith(operand, text) | Contains(operand, text):
            return f"{type(leaf).__name__.lower()}({_operand(operand)}, {quoted(text)})"
        case Like(operand, pattern, escape):
            suffix = "" if escape == "\\" else f" ESCAPE {quoted(escape)}"
            return f"{_operand(operand)} LIKE {quoted(pattern)}{suffix}"
        case IndexQuery(field, query):
            return f"{'*' if field is None else name_sql(field)} INDEXQUERY {quoted(query)}"
        case Literal(value):
            return "NULL" if value is None else str(value).upper()
        case And() | Or() | Not():
            return f"({to_sql(leaf)})"
        case _:
            assert_never(leaf)


def quoted(text: str) -> str:
    r"""A text literal.

    >>> print(quoted("it's 100% C:\\temp"))
    'it''s 100% C:\\temp'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def name_sql(name: str) -> str:
    """A column's name, in backquotes where it needs them."""
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _RESERVED
    return name if plain else "`" + name.replace("`", "``") + "`"


def value_sql(value: pa.Scalar) -> str:
    """A literal, with its type where digits or quotes alone would be ambiguous.

    >>> value_sql(pa.scalar(5, pa.int32())), value_sql(pa.scalar(5)), value_sql(pa.scalar(0.5))
    ('5', '5L', '0.5D')
    """
    kind = value.type
    if not value.is_valid:
        return "NULL"
    if pa.types.is_boolean(kind):
        return str(value.as_py()).upper()
    if pa.types.is_decimal(kind):
        return _decimal(f"{value.as_py():f}")
    if pa.types.is_binary(kind):
        return f"X'{value.as_py().hex().upper()}'"
    if pa.types.is_temporal(kind):
        return f"{type_name(kind).upper()} '{value.cast(pa.string()).as_py()}'"
    return quoted(value.as_py()) if pa.types.is_string(kind) else _number(value)


def _number(value: pa.Scalar) -> str:
    number = value.as_py()
    if math.isfinite(number):
        return f"{number!r}{_SUFFIX[value.type]}"
    return f"CAST('{number}' AS {_TYPE_WORD[value.type]})"


def _decimal(digits: str) -> str:
    return digits if "." in digits else digits + "BD"


def _operand(operand: Operand) -> str:
    match operand:
        case Column(name):
            return name_sql(name)
        case Cast(name, kind, _, mode):
            word = "TRY_CAST" if mode is CastMode.TRY else "CAST"
            return f"{word}({name_sql(name)} AS {sql_type_name(kind)})"
        case _:
            assert_never(operand)


def _grouped(term: Predicate, looser: type[And | Or] | UnionType) -> str:
    return f"({to_sql(term)})" if isinstance(term, looser) else to_sql(term)
