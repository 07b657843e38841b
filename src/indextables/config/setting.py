"""One setting: a dataclass field with its key, its parser and its documentation.

Parsers raise ValueError with what they expected.
"""

import re
from collections.abc import Callable
from dataclasses import field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from indextables.errors import ConfigError

PREFIX = "spark.indextables."


def setting(
    key: str,
    default: Any,
    parse: Callable[[str], Any],
    doc: str,
    *,
    short: str | None = None,
    secret: bool = False,
    credentials: str | None = None,
) -> Any:
    """A setting; a `secret` one is never shown. The `credentials` of a store are used together or not at all."""
    facts = {"key": PREFIX + key, "parse": parse, "doc": doc, "short": short}
    facts |= {"secret": secret, "credentials": credentials}
    return field(default=default, repr=not secret, metadata=facts)


def setting_family(prefix: str) -> Any:
    """Settings whose keys start with `prefix`; the rest of a key is the user's: `indexing.typemap.message`."""
    return field(default_factory=dict, metadata={"family": prefix})


_DURATION = re.compile(r"\s*([0-9]{1,18})\s*(d|days?|h|hours?|min|minutes?|s|seconds?)\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)\s*", re.IGNORECASE)
_SHARE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(%?)")
_NATURAL, _WHOLE = re.compile(r"\s*[0-9]{1,18}\s*"), re.compile(r"\s*-?[0-9]{1,18}\s*")
_LONGEST = timedelta(days=365_000)  # a time so long ago would be none that Python has
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def _integer(pattern: re.Pattern[str], expected: str, *, above_zero: bool = False) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not pattern.fullmatch(text) or (above_zero and int(text) == 0):
            raise ValueError(expected)
        return int(text)

    return parse


positive_integer = _integer(_NATURAL, "a whole number above zero, of 18 digits at most", above_zero=True)
natural_number = _integer(_NATURAL, "a whole number, zero or more, of 18 digits at most")
whole_number = _integer(_WHOLE, "a whole number, of 18 digits at most")
row_count = _integer(_NATURAL, "a number of rows, of 18 digits at most")


def boolean(text: str) -> bool:
    """True or false, in any letter case.

    >>> boolean("TRUE"), boolean(" false ")
    (True, False)
    """
    try:
        return {"true": True, "false": False}[text.strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def size(text: str) -> int:
    """A number of bytes: K, M, G and T are powers of 1024.

    >>> size("512K"), size("1.5g"), size(" 104857600 ")
    (524288, 1610612736, 104857600)
    """
    match = _SIZE.fullmatch(text)
    number = Decimal(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ") if match else Decimal(0)
    if match is None or (not match[2] and "." in match[1]) or not 1 <= number < 2**63:
        raise ValueError("a size from 1 byte up, such as 104857600, 512K, 100M or 1.5G")
    return int(number)


def share(text: str) -> float:
    """A share of a whole.

    >>> share("0.25"), share("30%")
    (0.25, 0.3)
    """
    match = _SHARE.fullmatch(text.strip())
    number = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= number <= 1:
        raise ValueError("a share from 0 to 1, such as 0.3 or 30%")
    return number


def size_or_zero(text: str) -> int:
    """A number of bytes, or none.

    >>> size_or_zero("0"), size_or_zero("2K")
    (0, 2048)
    """
    return 0 if text.strip() == "0" else size(text)


def text(given: str) -> str:
    return given


def https_address(text: str) -> str:
    if not text.strip().lower().startswith("https://"):
        raise ValueError("an address that begins with https://")
    return text.strip().rstrip("/")


def one_of(*words: str, expected: str = "") -> Callable[[str], str]:
    """A parser of some words, in any letter case; `expected` is what errors say.

    >>> one_of("keys", "anonymous")("Keys")
    'keys'
    """
    known = {word.lower(): word for word in words}

    def parse(text: str) -> str:
        try:
            return known[text.strip().lower()]
        except KeyError:
            raise ValueError(expected or f"one of {', '.join(words)}") from None

    return parse


def names(text: str) -> tuple[str, ...]:
    """Columns, separated by commas.

    >>> names("tenant, level")
    ('tenant', 'level')
    """
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise ValueError("the names of columns, separated by commas")
    return parts


def names_or(*words: str) -> Callable[[str], str | tuple[str, ...]]:
    """A parser of some words, in any letter case, or else of columns, separated by commas.

    >>> names_or("auto", "none")("Auto"), names_or("auto", "none")("title, body")
    ('auto', ('title', 'body'))
    """

    def parse(text: str) -> str | tuple[str, ...]:
        word = text.strip().lower()
        try:
            return word if word in words else names(text)
        except ValueError as error:
            raise ValueError(f"{', '.join(words)} or {error}") from None

    return parse


def duration(text: str) -> timedelta:
    """A duration.

    >>> duration("7 days"), duration("36h")
    (datetime.timedelta(days=7), datetime.timedelta(days=1, seconds=43200))
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError("a number of days, hours, minutes or seconds, such as '7 days' or '12h'")
    try:
        return _checked(timedelta(**{_UNITS[match[2][0].lower()]: int(match[1])}))
    except OverflowError:
        return _checked(timedelta.max)


def _checked(given: timedelta) -> timedelta:
    if abs(given) > _LONGEST:
        raise ValueError(f"a duration of {_LONGEST.days:,} days at most")
    return given


def duration_argument(value: timedelta | str | None, *, name: str) -> timedelta | None:
    """The duration that was passed as the argument `name`, as a timedelta or as text.

    >>> duration_argument("12h", name="older_than"), duration_argument(None, name="older_than")
    (datetime.timedelta(seconds=43200), None)
    """
    if value is None:
        return None
    try:
        return _checked(value) if isinstance(value, timedelta) else duration(str(value))
    except ValueError as error:
        raise ConfigError(f"{name} is {value!r}, but must be {error}", key=name, value=str(value)) from None


def part_size(text: str) -> int:
    if size(text) < 5 * 1024**2:
        raise ValueError("a size from 5M up, the least that S3 accepts")
    return size(text)
