"""Queries on one column: a word, a phrase, a pattern or a range.

>>> from indextables.search.field_rules import FieldRule
>>> message = Field("message", pa.string(), FieldRule("text", "default"))
>>> message.match("Time-Out")
Phrase(field='message', words=('time', 'out'), slop=0)
>>> message.word("Time*")
Prefix(field='message', text='time')
>>> Field("status", pa.int32(), FieldRule("integer")).word("abc")
Traceback (most recent call last):
indextables.search.field_queries.LeafError: 'abc' is not a value of type integer
"""

import re
from dataclasses import dataclass

import pyarrow as pa
import tantivy

from indextables.schema import type_name
from indextables.search import analysis, wildcards
from indextables.search.field_rules import FieldRule
from indextables.search.phrases import MAX_SLOP, MAX_WORD_ORDERS, count_word_orders
from indextables.search.queries import Exists, Fuzzy, Leaf, Phrase, Prefix, Range, Regex, Term, Wildcard
from indextables.search.syntax import unescaped
from indextables.search.text_fields import Shape, shape
from indextables.values import decode

MAX_FUZZY_DISTANCE = 2
LONGEST_PATTERN = 1_000  # characters
_PROBE = tantivy.SchemaBuilder().add_text_field("probe").build()
_OFFSET = re.compile(r"\s*(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
_PIECE = re.compile(r"(?P<escape>\\.)|(?P<wild>[*?])|(?P<plain>[^\\*?]+)", re.DOTALL)


class LeafError(ValueError):
    """The reason why a column does not support a query."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column, and how it is indexed. A text without any word becomes None: no query."""

    name: str
    type: pa.DataType
    rule: FieldRule

    @property
    def has_words(self) -> bool:
        return shape(self.rule) is Shape.WORDS

    @property
    def is_text(self) -> bool:
        """Whether the values are strings, in words or whole."""
        return bool(pa.types.is_string(self.type))

    def word(self, written: str) -> Leaf | None:
        """A word as it was written, with escapes and wildcards."""
        wilds = [piece["wild"] for piece in _PIECE.finditer(written)]
        if not any(wilds):
            return self.match(unescaped(written))
        if written.strip("*") == "":
            return Exists(self.name)
        self._need_text("a wildcard")
        if wilds[-1] == "*" and not any(wilds[:-1]):
            return self._prefix(self._part(unescaped(written[:-1])))
        return Wildcard(self.name, self._wildcard(written))

    def match(self, text: str, slop: int = 0) -> Leaf | None:
        """Rows with this text: its words in a text field, the whole value in others."""
        if self.has_words:
            for word in analysis.too_long(text, self._tokenizer):
                raise _too_long(word)
            return self._phrase(tuple(analysis.words(text, self._tokenizer)), slop)
        if slop:
            raise LeafError("a distance between words needs a text field")
        if self.is_text:
            return Term(self.name, _fitting(text))
        value = self._value(text)
        return Range(self.name, value, value)

    def regex(self, pattern: str) -> Leaf:
        """Rows with a word, or a value, that a pattern matches from end to end."""
        self._need_text("a regular expression")
        _refuse_longer(pattern, LONGEST_PATTERN)
        return Regex(self.name, _searchable(pattern, pattern))

    def fuzzy(self, text: str, distance: int) -> Leaf | None:
        """Rows with a word, or a value, within an edit distance."""
        self._need_text("a fuzzy search")
        if distance > MAX_FUZZY_DISTANCE:
            raise LeafError(f"a word may differ by up to {MAX_FUZZY_DISTANCE} changes, not {distance}")
        _refuse_longer(text, LONGEST_PATTERN)
        return Fuzzy(self.name, self._part(text), distance) if distance else self.match(text)

    def range(self, lower: str | None, upper: str | None, *, includes_lower: bool, includes_upper: bool) -> Leaf:
        """Rows with a value, or a word, between two ends; None is open."""
        if lower is None and upper is None:
            return Exists(self.name)
        ends = {"includes_lower": includes_lower or lower is None, "includes_upper": includes_upper or upper is None}
        if self.is_text:
            lower, upper = (None if end is None else self._part(end) for end in (lower, upper))
            _searchable(wildcards.between(lower, upper, **ends) or "", lower or upper or "")
        return Range(self.name, self._end(lower), self._end(upper), **ends)

    @property
    def _tokenizer(self) -> str:
        return self.rule.tokenizer or "default"

    def _phrase(self, words: tuple[str, ...], slop: int) -> Leaf | None:
        if len(words) < 2:  # noqa: PLR2004 - a phrase is of two
            return Term(self.name, words[0]) if words else None
        if slop and (slop > MAX_SLOP or count_word_orders(words, slop) > MAX_WORD_ORDERS):
            raise LeafError(f"{len(words)} words with a distance of {slop} are too many; use fewer, or a shorter one")
        return Phrase(self.name, words, slop)

    def _prefix(self, text: str) -> Leaf:
        _refuse_longer(text, LONGEST_PATTERN)
        _searchable(wildcards.prefix(text), text)
        return Prefix(self.name, text)

    def _end(self, text: str | None) -> pa.Scalar | None:
        return None if text is None else self._value(text)

    def _value(self, text: str) -> pa.Scalar:
        value = decode(pa.array([text]), self.type)[0]
        if value.is_valid:
            return value
        local = _OFFSET.sub("", text)
        has_offset = self.type == pa.timestamp("us") and local != text
        hint = f"; the column has no time zone, so write {local} without an offset" if has_offset else ""
        raise LeafError(f"{text!r} is not a value of type {type_name(self.type)}{hint}")

    def _part(self, text: str) -> str:
        return analysis.normalized(_fitting(text), self.rule.tokenizer)

    def _wildcard(self, written: str) -> str:
        _refuse_longer(written, LONGEST_PATTERN)
        pieces = _PIECE.finditer(written)
        pattern = "".join(p["wild"] or wildcard_literal(self._part(unescaped(p[0]))) for p in pieces)
        _searchable(wildcards.wildcard(pattern), pattern)
        return pattern

    def _need_text(self, what: str) -> None:
        if not self.is_text:
            raise LeafError(f"{what} needs a column of strings, and {self.name!r} has type {type_name(self.type)}")


def wildcard_literal(text: str) -> str:
    r"""A text in which no character is a wildcard.

    >>> print(wildcard_literal("1*2"))
    1\*2
    """
    return re.sub(r"([\\*?])", r"\\\1", text)


def _searchable(pattern: str, written: str) -> str:
    """The pattern, if tantivy can make an automaton of it."""
    try:
        tantivy.Query.regex_query(_PROBE, "probe", pattern)
    except ValueError as error:
        *_, reason = str(error).strip("'").splitlines()
        raise LeafError(f"{written[:50]!r} cannot be searched for: {reason.removeprefix('error: ')}") from None
    return pattern


def _fitting(text: str) -> str:
    if len(text.encode()) > analysis.LONGEST_TERM:
        raise _too_long(text)
    return text


def _too_long(text: str) -> LeafError:
    return LeafError(f"{text[:50]!r} ... has {len(text.encode()):,} bytes, and a word that long cannot be searched for")


def _refuse_longer(text: str, limit: int) -> None:
    if len(text) > limit:
        raise LeafError(f"{text[:50]!r} ... has more than {limit:,} characters")
