r"""Searches over values in memory: the rows that a search finds are those that an index of the same values would find.

>>> from indextables.search import parse, resolve
>>> rows = pa.record_batch({"message": ["Disk full", "disk-less", None]})
>>> rules = resolve(rows.schema, {"message": "text"})
>>> match_values(parse("message:disk AND NOT full", schema=rows.schema, rules=rules), rows, rules).tolist()
[False, True, False]

A regular expression of Arrow's decides about words of ASCII, for a fraction of what an index costs. It finds at least the
rows that the tokenizer would find: `Word` says how. Rows of which it is not sure are indexed in memory, and searched there.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import flat
from indextables.search.analysis import LONGEST_WORD
from indextables.search.compile import compile_query
from indextables.search.exact_values import Mask, flags, matches
from indextables.search.field_rules import FieldRule
from indextables.search.index_documents import documents, index_in_memory
from indextables.search.queries import Exists, Leaf, MatchAll, MatchNone, Phrase, Prefix, Query, Term, Wildcard
from indextables.search.row_matching import Numbers, evaluate_parts, is_leaf, mask_of
from indextables.search.text_fields import Shape, shape, tantivy_schema
from indextables.search.wildcards import PIECE, literal

_MEMORY = 128 * 1024**2  # bytes of tantivy's writer, which takes them as it needs them
_PART = 4 * 1024**2  # bytes of values that are indexed at once
_LONGEST_TERM = 65_530  # bytes; tantivy leaves longer words out

Sure: TypeAlias = Callable[[pa.Array], pa.BooleanArray]
"""For which values an expression decides exactly as the tokenizer does; it never misses a value that has the words."""


def match_values(query: Query, rows: pa.RecordBatch, rules: Mapping[str, FieldRule]) -> Mask:
    """Whether each row satisfies a query; a row without a value has no words."""

    def evaluate(part: Query, numbers: Numbers | None) -> Mask | None:
        if not is_leaf(part):
            return None
        if isinstance(part, MatchAll | MatchNone):
            return np.full(rows.num_rows if numbers is None else len(numbers), isinstance(part, MatchAll))
        values = flat(rows.column(part.field))
        return _match_leaf(part, values if numbers is None else values.take(pa.array(numbers)), rules[part.field])

    return evaluate_parts(query, None, rows.num_rows, evaluate)


def _match_leaf(leaf: Leaf, values: pa.Array, rule: FieldRule) -> Mask:
    if isinstance(leaf, Exists):
        return flags(values.is_valid())
    if shape(rule) is not Shape.WORDS:
        return matches(leaf, values)
    if pa.types.is_dictionary(values.type):
        values = values.cast(pa.string())
    tokenizer = rule.tokenizer or "default"
    candidates = np.flatnonzero(flags(values.is_valid()))
    expressions = _WORDS[tokenizer].expressions(leaf) if tokenizer in _WORDS else None
    if expressions is None:
        return mask_of(_indexed(leaf, values, rule, candidates), len(values))
    for expression in expressions:
        candidates = candidates[flags(pc.match_substring_regex(_take(values, candidates), expression))]
    sure = flags(_SURE[tokenizer](_take(values, candidates)))
    return mask_of(np.concatenate([candidates[sure], _indexed(leaf, values, rule, candidates[~sure])]), len(values))


def _take(values: pa.Array, numbers: Numbers) -> pa.Array:
    return values if len(numbers) == len(values) else values.take(pa.array(numbers))


def _indexed(leaf: Leaf, values: pa.Array, rule: FieldRule, numbers: Numbers) -> Numbers:
    """The numbers of those of some values that an index of them finds."""
    if not len(numbers):
        return numbers
    found = _hits(leaf, _take(values, numbers), rule)
    if found is not None:
        return numbers[found]
    return np.concatenate([_indexed(leaf, values, rule, some) for some in np.array_split(numbers, 2)])


def _hits(leaf: Leaf, values: pa.Array, rule: FieldRule) -> Numbers | None:
    """The values that an index in memory finds; None where they are too many for one segment."""
    if len(values) > 1 and values.nbytes > _PART:
        return None
    name = leaf.field  # type: ignore[union-attr]  # a leaf on a column
    columns = ((name, rule.tokenizer or "default"),)
    rows = documents(pa.record_batch({name: values}), {name: rule})
    searcher = index_in_memory(tantivy_schema(columns), rows, memory=_MEMORY).searcher()
    if searcher.num_segments > 1:
        return None
    hits = searcher.search(compile_query(leaf, columns), limit=max(1, len(values))).hits
    return np.fromiter((address.doc for _, address in hits), np.int64, len(hits))


@dataclass(frozen=True, slots=True)
class Word:
    """How a tokenizer's words are found by an expression: what is between them, what is in them, and a text in one.

    `separator` and `character` overlap: each also has what only the tokenizer decides about. `growing` are characters of
    which words have several.
    """

    separator: str
    character: str
    text: Callable[[str], str]
    growing: str | None = None

    def expressions(self, leaf: Leaf) -> list[str] | None:
        """Expressions that all values match that may satisfy a leaf, a fast one first; None where only an index can tell."""
        match leaf:
            case Term(_, text):
                return [self.text(text), self.bounded(self.text(text))]
            case Phrase(_, words, 0):
                together = f"(?:{self.separator})+".join(map(self.text, words))
                return [self.text(max(words, key=len)), self.bounded(together)]
            case Prefix(_, text) if text:
                return [self.text(text), self.bounded(f"{self.text(text)}(?:{self.character})*")]
            case Wildcard(_, pattern) if pattern.strip("*"):  # else the empty text would be a word
                word = self.bounded("".join(self.piece(found) for found in PIECE.finditer(pattern)))
                return [word if self.growing is None else f"{word}|{self.growing}"]
            case _:
                return None

    def piece(self, found: re.Match[str]) -> str:
        if found["wild"]:
            return f"(?:{self.character})" + ("*" if found["wild"] == "*" else "")
        return self.text(found["escaped"] or found["plain"])

    def bounded(self, inner: str) -> str:
        return rf"(?:\A|{self.separator})(?:{inner})(?:\z|{self.separator})"


def _folded(text: str) -> str:
    """A text in any letter case. Two characters outside ASCII become letters of ASCII in lower case: K and İ."""
    pieces = re.split(r"(i?[^\x00-\x7f]+)", text)
    return "(?i)" + "".join(
        r"(?:i?[^\x00-\x7f]+)" if number % 2 else "".join("[i\\x{130}]" if c == "i" else literal(c) for c in piece)
        for number, piece in enumerate(pieces)
    )


def _is_short_ascii(values: pa.Array) -> pa.BooleanArray:
    long = pc.match_substring_regex(values, rf"[0-9A-Za-z]{{{LONGEST_WORD + 1}}}")
    return pc.and_not(pc.string_is_ascii(values), long)


def _is_short(values: pa.Array) -> pa.BooleanArray:
    return pc.less_equal(pc.binary_length(values), _LONGEST_TERM)


_WORDS = {
    "default": Word("[^0-9A-Za-z]", r"[0-9A-Za-z]|[^\x00-\x7f]", _folded, growing=r"\x{130}"),
    "whitespace": Word(r"[\t\n\f\r ]", r"[^\t\n\f\r ]", literal),
}
_SURE: Mapping[str, Sure] = {"default": _is_short_ascii, "whitespace": _is_short}
