"""Random damage to bytes, lines and JSON values, from a seeded generator."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

_NUMBERS = (
    0,
    1,
    -1,
    7,
    127,
    -128,
    2**15,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
)
_FLOATS = (0.5, -0.0, 1e308, 5e-324, -1e-9)
_TEXTS = (
    "",
    "0",
    "a",
    "n",
    "day",
    "../x",
    "/etc/passwd",
    "s3://b/x",
    "\0",
    "a\0b",
    "e\u0301",
    "\U0001f600",
    "NaN",
    "Infinity",
    "1e999",
    "9" * 400,
    "2024-02-30",
    "9999-12-31T23:59:59.999999Z",
    "-292277022657-01-27",
    "day[0]",
    "bucket[0]",
    "bucket[99999999999999999999]",
    "truncate[-1]",
    "decimal(99,2)",
    "decimal(38,38)",
    "struct",
    "long",
    "string",
    "timestamp",
    "boolean",
    "binary",
    "text",
    "none",
    "identity",
    "hour",
    "void",
    "AAAA",
    "A" * 5000,
    "\ud800",
    "bucket[" + "9" * 5000 + "]",
    "decimal(" + "9" * 20 + ",1)",
)


def _nested(rng: Random) -> Any:
    value: Any = []
    for _ in range(rng.choice((3, 40, 300))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def odd_value(rng: Random) -> Any:  # noqa: PLR0911 - one for each kind
    """A JSON value as a reader may not expect it."""
    match rng.randrange(12):
        case 0 | 1 | 2:
            return rng.choice(_NUMBERS)
        case 3:
            return rng.choice(_FLOATS)
        case 4 | 5 | 6:
            return rng.choice(_TEXTS)
        case 7:
            return rng.choice((None, True, False))
        case 8:
            return [odd_value(rng) for _ in range(rng.randrange(3))]
        case 9:
            return {rng.choice(_TEXTS): odd_value(rng) for _ in range(rng.randrange(3))}
        case 10:
            return rng.randrange(-(2**64), 2**64)
        case _:
            return _nested(rng)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every container in a JSON value with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        found.append((value, key))
        _places(inner, found)
    return found


def mutate_json(rng: Random, value: Any) -> Any:
    """The value with one to three of its parts changed."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = _places(value, [])
        if not places:
            return odd_value(rng)
        container, key = rng.choice(places)
        match rng.randrange(9):
            case 0:
                del container[key]
            case 1 | 2 | 3 | 4:
                container[key] = odd_value(rng)
            case 5:
                other, other_key = rng.choice(places)
                if _holds(other, other_key):
                    container[key] = json.loads(json.dumps(other[other_key]))
            case 6 if isinstance(container, list):
                container.insert(key, json.loads(json.dumps(container[key])))
            case 7 if isinstance(container, dict):
                container[rng.choice(_TEXTS)] = container.pop(key)
            case 8 if isinstance(container[key], int):
                container[key] += rng.choice((-1, 1, 2, 1000, -1000))
            case _:
                container[key] = odd_value(rng)
    return value


def _holds(container: Any, key: Any) -> bool:
    return key < len(container) if isinstance(container, list) else key in container


def to_json(value: Any) -> bytes:
    """Compact JSON; a value that is nested too deep for Python's encoder comes from `deep` instead."""
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except RecursionError:
        return b"[" * 5000 + b"]" * 5000


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """The bytes with one to four kinds of damage."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(_DAMAGES)(rng, data)
    return data


def _flip(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :] if data else b"\1"


def _change(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data)) if data else 0
    return data[:at] + bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))]) + data[at + 1 :]


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _drop(rng: Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _zero(rng: Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + bytes(end - start) + data[end:]


def _repeat(rng: Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] + data[end:]


def _swap(rng: Random, data: bytes) -> bytes:
    (a, b), (c, d) = sorted((_span(rng, data), _span(rng, data)))
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _insert(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:]


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, 64))


_DAMAGES: tuple[Callable[[Random, bytes], bytes], ...] = (_flip, _change, _cut, _drop, _zero, _repeat, _swap, _insert)
