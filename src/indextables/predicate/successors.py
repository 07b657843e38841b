"""The next value after a value, and the first text after all that start alike."""

from decimal import Decimal

import pyarrow as pa

_STEPS = {pa.date32(): pa.int32()}
_LAST_CHARACTER = chr(0x10FFFF)
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000


def successor(value: pa.Scalar) -> pa.Scalar | None:
    r"""The next value of the same type, or None where there is none or it is not worth knowing.

    >>> successor(pa.scalar(7)), successor(pa.scalar("a")), successor(pa.scalar(1.5))
    (<pyarrow.Int64Scalar: 8>, <pyarrow.StringScalar: 'a\x00'>, None)
    """
    kind = value.type
    try:
        if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
            steps = _STEPS.get(kind, pa.int64())
            return pa.scalar(value.cast(steps).as_py() + 1, steps).cast(kind)
        if pa.types.is_decimal(kind):
            return pa.scalar(value.as_py() + Decimal((0, (1,), -kind.scale)), kind)
    except (pa.ArrowException, OverflowError):  # the last value of its type
        return None
    if pa.types.is_string(kind):
        return pa.scalar(value.as_py() + "\0")
    return pa.scalar(value.as_py() + b"\0") if pa.types.is_binary(kind) else None


def after_prefix(text: str) -> str | None:
    """The least text above all that start with this one; None where there is none.

    >>> after_prefix("he"), after_prefix("a\U0010ffff"), after_prefix("")
    ('hf', 'b', None)
    """
    stem = text.rstrip(_LAST_CHARACTER)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_AFTER_SURROGATES if following == _FIRST_SURROGATE else following)
