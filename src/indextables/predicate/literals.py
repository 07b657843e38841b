"""Python values as Spark's literals: the type that Spark would give them.

>>> literal(5).type, literal(3_000_000_000).type, literal(10**20).type, literal(Decimal("2024.5")).type
(DataType(int32), DataType(int64), Decimal128Type(decimal128(21, 0)), Decimal128Type(decimal128(5, 1)))
"""

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from indextables.errors import InvalidPredicateError
from indextables.schema import MAX_DECIMAL_PRECISION, normalize

TIMESTAMP = pa.timestamp("us", "UTC")
TIMESTAMP_NTZ = pa.timestamp("us")
_INTEGERS = (pa.int32(), pa.int64())


def literal(value: object) -> pa.Scalar:  # noqa: PLR0911  (one per kind of value)
    """The scalar that Spark would make of a Python value; a `pa.Scalar` keeps its own type.

    A datetime without a zone is a wall-clock time: it is in the session's time zone where an instant is required.
    """
    match value:
        case pa.Scalar():
            return value.cast(normalize(pa.schema({"literal": value.type})).field(0).type) if value.is_valid else _NULL
        case None:
            return _NULL
        case str():
            return pa.scalar(whole_text(value))
        case bool() | float() | bytes():
            return pa.scalar(value)
        case int():
            return _integer(value)
        case Decimal() if value.is_finite():
            return decimal(value)
        case dt.datetime():
            return pa.scalar(value, TIMESTAMP if value.tzinfo else TIMESTAMP_NTZ)
        case dt.date():
            return pa.scalar(value, pa.date32())
        case _:
            reason = f"{value!r} of type {type(value).__name__} is not a value that a column could hold"
            raise InvalidPredicateError(reason, predicate=repr(value), reason=reason)


_NULL = pa.NA


def whole_text(text: str) -> str:
    r"""The text itself, or an InvalidPredicateError for one that no column can hold.

    >>> whole_text("a\ud800")
    Traceback (most recent call last):
    indextables.errors.InvalidPredicateError: 'a\ud800' has half a character (a surrogate) in it, which no column can hold
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        reason = f"{text!r} has half a character (a surrogate) in it, which no column can hold"
        raise InvalidPredicateError(reason, predicate=repr(text), reason=reason) from None
    return text


def decimal(value: Decimal) -> pa.Scalar:
    """A decimal of just the precision and scale that its digits need, as Spark reads `1.50`."""
    _, digits, exponent = value.as_tuple()
    scale = max(-int(exponent), 0)
    precision = max(len(digits) + max(int(exponent), 0), scale, 1)
    if precision > MAX_DECIMAL_PRECISION:
        reason = f"{value} needs {precision} digits, and a decimal has at most {MAX_DECIMAL_PRECISION}"
        raise InvalidPredicateError(reason, predicate=str(value), reason=reason)
    return pa.scalar(value, pa.decimal128(precision, scale))


def _integer(value: int) -> pa.Scalar:
    fitting = [kind for kind in _INTEGERS if -1 <= value >> (kind.bit_width - 1) <= 0]
    return pa.scalar(value, fitting[0]) if fitting else decimal(Decimal(value))
