"""What a query means, row by row in Python: slow, naive, and written without a look at the index."""

import math
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

import pyarrow as pa

from indextables.search import FieldRule
from indextables.search import queries as n

Row = Mapping[str, Any]


def rows_of(query: n.Query, table: pa.Table, rules: Mapping[str, FieldRule]) -> list[int]:
    """The numbers of the rows that satisfy a query."""
    rows = table.to_pylist()
    return [number for number, row in enumerate(rows) if satisfies(query, row, rules)]


def satisfies(query: n.Query, row: Row, rules: Mapping[str, FieldRule]) -> bool:  # noqa: C901, PLR0911, PLR0912
    match query:
        case n.MatchAll():
            return True
        case n.MatchNone():
            return False
        case n.And(terms):
            return all(satisfies(term, row, rules) for term in terms)
        case n.Or(terms):
            return any(satisfies(term, row, rules) for term in terms)
        case n.Not(term):
            return not satisfies(term, row, rules)
        case n.Prefer(term) | n.Boost(term):
            return satisfies(term, row, rules)
        case n.Exists(field):
            return row[field] is not None
    value = row[query.field]
    if value is None:
        return False
    words = tokens(value, rules[query.field])
    match query:
        case n.Term(_, text):
            return text in words.values()
        case n.Phrase(_, wanted, slop):
            return near(wanted, words, slop)
        case n.Prefix(_, text):
            return any(word.startswith(text) for word in words.values())
        case n.Wildcard(_, pattern):
            return any(re.fullmatch(globbed(pattern), word, re.DOTALL) for word in words.values())
        case n.Regex(_, pattern):
            return any(re.fullmatch(pattern, word, re.DOTALL) for word in words.values())
        case n.Fuzzy(_, text, distance):
            return any(changes(text, word) <= distance for word in words.values())
        case n.Range():
            return any(between(query, word) for word in words.values())
    raise AssertionError(query)


def tokens(value: Any, rule: FieldRule) -> dict[int, Any]:
    """The words of a value by position; a value that is not text is its own only word."""
    if rule.type != "text":
        return {0: value}
    return _tokens(value, rule.tokenizer or "default")


@cache
def _tokens(text: str, tokenizer: str) -> dict[int, str]:
    if tokenizer == "whitespace":
        return dict(enumerate(re.findall(r"[^ \t\n\r\f]+", text)))
    if tokenizer == "raw":
        return {0: text}
    found = enumerate(_split(text))
    return {place: _lower(word) for place, word in found if len(word.encode()) < 40}


def _split(text: str) -> list[str]:
    spaced = "".join(c if _is_letter_or_digit(c) else "\x00" for c in text)
    return [word for word in spaced.split("\x00") if word]


def _is_letter_or_digit(c: str) -> bool:
    return c.isalpha() or unicodedata.category(c)[0] == "N"


def _lower(text: str) -> str:
    return "".join(c.lower() for c in text)


def near(wanted: tuple[str, ...], words: Mapping[int, str], slop: int) -> bool:
    places = [[place for place, word in words.items() if word == want] for want in wanted]
    for choice in product(*places):
        moved = [place - index for index, place in enumerate(choice)]
        if len(set(choice)) == len(choice) and max(moved) - min(moved) <= slop:
            return True
    return False


def globbed(pattern: str) -> str:
    out, escaped = "", False
    for c in pattern:
        if not escaped and c == "\\":
            escaped = True
            continue
        out += re.escape(c) if escaped or c not in "*?" else {"*": ".*", "?": "."}[c]
        escaped = False
    return out


def changes(a: str, b: str) -> int:
    """The number of changes between two words, where an exchange of neighbours is one."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            best = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            now.append(best)
        before, last = last, now
    return last[-1]


def between(query: n.Range, word: Any) -> bool:
    key = ordered(word)
    if query.lower is not None:
        lower = ordered(query.lower.as_py())
        if key < lower or (key == lower and not query.includes_lower):
            return False
    if query.upper is not None:
        upper = ordered(query.upper.as_py())
        if key > upper or (key == upper and not query.includes_upper):
            return False
    return True


def ordered(value: Any) -> Any:
    """NaN is one value, after all others."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value
