"""Where the words of a search are in the values that it found, and these values as HTML.

>>> spans = MatchSpans.of([Term("message", "disk"), Prefix("message", "ful")], {"message": FieldRule("text", "default")})
>>> spans.in_value("message", "Disk nearly full")
[(0, 4), (12, 16)]

Words of terms and phrases are found, and those that prefixes, wildcards, regular expressions, fuzzy words and ranges match.
What a row must not have (NOT) is not looked for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.search import wildcards
from indextables.search.analysis import placed_words
from indextables.search.field_rules import FieldRule
from indextables.search.queries import (
    And,
    Boost,
    Fuzzy,
    Leaf,
    Or,
    Phrase,
    Prefer,
    Prefix,
    Query,
    Range,
    Regex,
    Term,
    Wildcard,
)

Spans: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class MatchSpans:
    """What searches look for in each column: words, regular expressions for words, and words within an edit distance."""

    rules: Mapping[str, FieldRule]
    words: Mapping[str, frozenset[str]]
    patterns: Mapping[str, tuple[str, ...]]
    fuzzy: Mapping[str, tuple[tuple[str, int], ...]]

    @classmethod
    def of(cls, queries: Iterable[Query], rules: Mapping[str, FieldRule]) -> "MatchSpans":
        words, patterns, fuzzy = dict[str, set[str]](), dict[str, list[str]](), dict[str, list[tuple[str, int]]]()
        for leaf in _wanted(queries):
            match leaf:
                case Term(field, text):
                    words.setdefault(field, set()).add(text)
                case Phrase(field, texts):
                    words.setdefault(field, set()).update(texts)
                case Fuzzy(field, text, distance):
                    fuzzy.setdefault(field, []).append((text, distance))
                case Prefix(field) | Wildcard(field) | Regex(field) | Range(field):
                    patterns.setdefault(field, []).extend(_pattern(leaf))
        return cls(
            {name: rule for name, rule in rules.items() if name in words.keys() | patterns.keys() | fuzzy.keys()},
            {name: frozenset(found) for name, found in words.items()},
            {name: tuple(found) for name, found in patterns.items()},
            {name: tuple(found) for name, found in fuzzy.items()},
        )

    def in_value(self, column: str, value: str) -> Spans:
        """Where the words are in a value: from which character to before which."""
        rule = self.rules.get(column)
        if rule is None:
            return []
        placed = placed_words(value, rule.tokenizer)
        found = self._found(column, {word for word, _, _ in placed})
        return [(start, end) for word, start, end in placed if word in found]

    def _found(self, column: str, words: set[str]) -> set[str]:
        found = words & self.words.get(column, frozenset())
        for pattern in self.patterns.get(column, ()):
            found |= _matching(words, pattern)
        for text, distance in self.fuzzy.get(column, ()):
            found |= {word for word in words if _is_within(word, text, distance)}
        return found


def highlighted(value: str, spans: Spans) -> str:
    """A text as HTML, with the spans emphasized.

    >>> highlighted("disk <b> full", [(0, 4), (9, 13)])
    '<em>disk</em> &lt;b&gt; <em>full</em>'
    """
    html, last = "", 0
    for start, end in spans:
        html += f"{escape(value[last:start])}<em>{escape(value[start:end])}</em>"
        last = end
    return html + escape(value[last:])


def _wanted(queries: Iterable[Query]) -> Iterator[Leaf]:
    """The leaves that rows may have: those under NOT are what they must not have."""
    for query in queries:
        match query:
            case And(terms) | Or(terms):
                yield from _wanted(terms)
            case Boost(term):
                yield from _wanted([term])
            case Prefer(term, should):
                yield from _wanted([term, *should])
            case Term() | Phrase() | Prefix() | Wildcard() | Regex() | Fuzzy() | Range():
                yield query
            case _:
                pass


def _pattern(leaf: Prefix | Wildcard | Regex | Range) -> Iterator[str]:
    """A regular expression for the words that a leaf finds; none for ranges of numbers and times."""
    match leaf:
        case Prefix(_, text):
            yield wildcards.prefix(text)
        case Wildcard(_, pattern):
            yield wildcards.wildcard(pattern)
        case Regex(_, pattern):
            yield f"(?s){pattern}"
        case Range(_, lower, upper):
            ends = [end for end in (lower, upper) if end is not None]
            if all(pa.types.is_string(end.type) for end in ends):
                texts = (None if end is None else end.as_py() for end in (lower, upper))
                found = wildcards.between(
                    *texts, includes_lower=leaf.includes_lower, includes_upper=leaf.includes_upper
                )
                yield from [] if found is None else [found]


def _matching(words: set[str], pattern: str) -> set[str]:
    texts = pa.array(sorted(words), pa.string())
    try:
        found = pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")
    except pa.ArrowInvalid:  # of a syntax that only tantivy has; nothing is marked then
        return set()
    return set(texts.filter(found).to_pylist())


def _is_within(word: str, text: str, distance: int) -> bool:
    """Whether two words are so near: by insertions, deletions, substitutions, and transpositions of neighbours.

    >>> _is_within("dsik", "disk", 1), _is_within("desk", "disk", 1), _is_within("dust", "disk", 1)
    (True, True, False)
    """
    if abs(len(word) - len(text)) > distance:
        return False
    before, above = list[int](), list(range(len(text) + 1))
    for i, mine in enumerate(word, 1):
        row = [i]
        for j, other in enumerate(text, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (mine != other)))
            if i > 1 and j > 1 and mine == text[j - 2] and other == word[i - 2]:
                row[-1] = min(row[-1], before[j - 2] + 1)
        before, above = above, row
    return above[-1] <= distance
