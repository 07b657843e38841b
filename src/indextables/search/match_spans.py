"""Where the words of a search are in the values that it found.

>>> spans = MatchSpans.of([Term("message", "disk"), Prefix("message", "ful")], {"message": FieldRule("text", "default")})
>>> spans.in_value("message", "Disk nearly full")
[(0, 4), (12, 16)]
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from indextables.search.analysis import words
from indextables.search.field_rules import FieldRule
from indextables.search.queries import And, Boost, Leaf, Or, Phrase, Prefer, Prefix, Query, Term

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class MatchSpans:
    rules: Mapping[str, FieldRule]
    wanted: Mapping[str, frozenset[str]]
    beginnings: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, queries: Iterable[Query], rules: Mapping[str, FieldRule]) -> "MatchSpans":
        wanted: dict[str, set[str]] = {}
        beginnings: dict[str, list[str]] = {}
        for leaf in _leaves(queries):
            match leaf:
                case Term(field, text):
                    wanted.setdefault(field, set()).add(text)
                case Phrase(field, texts):
                    wanted.setdefault(field, set()).update(texts)
                case Prefix(field, text):
                    beginnings.setdefault(field, []).append(text)
        return cls(
            {name: rule for name, rule in rules.items() if name in wanted or name in beginnings},
            {name: frozenset(found) for name, found in wanted.items()},
            {name: tuple(found) for name, found in beginnings.items()},
        )

    def in_value(self, column: str, value: str) -> list[tuple[int, int]]:
        rule = self.rules.get(column)
        if rule is None or (column not in self.wanted and column not in self.beginnings):
            return []
        if rule.tokenizer is None:
            return [(0, len(value))] if self._is_wanted(column, value) else []
        return [
            word.span()
            for word in _WORD.finditer(value)
            if any(self._is_wanted(column, part) for part in words(word[0], rule.tokenizer))
        ]

    def _is_wanted(self, column: str, word: str) -> bool:
        return word in self.wanted.get(column, ()) or word.startswith(self.beginnings.get(column, ()))


def _leaves(queries: Iterable[Query]) -> Iterator[Leaf]:
    for query in queries:
        match query:
            case And(terms) | Or(terms):
                yield from _leaves(terms)
            case Boost(term):
                yield from _leaves([term])
            case Prefer(term, should):
                yield from _leaves([term, *should])
            case Term() | Phrase() | Prefix():
                yield query
            case _:
                pass
