"""Another search for one without hits: a word that is spelt otherwise, a beginning, a whole day, words at punctuation."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from indextables.nearest import edits, nearest
from indextables.read.scan_spec import ScanSpec
from indextables.read.search_coverage import NearMiss, near_miss, positive_leaves
from indextables.search.analysis import FOLDING
from indextables.search.field_queries import wildcard_literal
from indextables.search.field_rules import DEFAULT_TOKENIZER, STRING, TEXT
from indextables.search.queries import Leaf, Phrase, Prefix, Query, Range, Term, Wildcard, conjunction
from indextables.search.to_lucene import as_word, to_text
from indextables.search.wildcards import PIECE
from indextables.values import encode

_DAY = 86_400_000_000  # microseconds
_NOT_IN_WORDS = r"[^\pL\pN]+"
_MOST_WORDS = 20_000
_SHORTEST = 3  # characters of a word that is taken for misspelt
_SHORT = 5  # characters; a longer word may differ by two


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A search to try, and why the given one finds nothing; without a reason, a word is misspelt."""

    query: str
    reason: str = ""

    def __str__(self) -> str:
        return f"did you mean {self.query}?{' ' if self.reason else ''}{self.reason}"


def suggest(spec: ScanSpec, sample: Callable[[Sequence[str]], pa.Table]) -> Suggestion | NearMiss | None:
    """What to search for in place of a search without hits; `sample` gives some rows of columns."""
    leaves = [(leaf, search.query) for search, query in spec.queries.items() for leaf in positive_leaves(query)]
    if (found := next(_from_the_query_alone(spec, leaves), None)) is not None:
        return found
    miss = near_miss(spec, sample)
    if miss is not None and miss.is_whole:
        return miss
    searched = dict.fromkeys(leaf.field for leaf, _ in leaves if isinstance(leaf, Term | Prefix | Wildcard))
    rows = sample(list(searched)) if searched else pa.table({})
    values = {
        name: _values_of(rows[name], spec.rules[name].type) for name in rows.column_names if _has_values(spec, name)
    }
    return next(_beginnings(spec, leaves, values), None) or miss or next(_misspelt(leaves, values), None)


def _has_values(spec: ScanSpec, name: str) -> bool:
    """Whether the words or values of a column are those of a sample of its rows."""
    rule = spec.rules[name]
    return rule.type == STRING or (rule.type == TEXT and rule.tokenizer == DEFAULT_TOKENIZER)


def _values_of(column: pa.ChunkedArray, kind: str) -> pa.Array:
    """The most frequent exact values of a column, or its words in lower case."""
    values = column.drop_null()
    if kind == TEXT:
        values = pc.list_flatten(pc.split_pattern_regex(pc.utf8_lower(values), _NOT_IN_WORDS))
    counted = pc.value_counts(values.combine_chunks())
    order = pc.sort_indices(counted.field("counts"), sort_keys=[("", "descending")])
    return counted.field("values").take(order[:_MOST_WORDS])


def _from_the_query_alone(spec: ScanSpec, leaves: Sequence[tuple[Leaf, str]]) -> Iterator[Suggestion]:
    for leaf, text in leaves:
        match leaf:
            case Range(field, lower, upper, True, True) if lower is not None and lower == upper:
                yield from _whole_day(field, lower, text)
            case Prefix() | Wildcard() if spec.rules[leaf.field].tokenizer in FOLDING:
                yield from _split_at_punctuation(leaf, text)


def _whole_day(field: str, time: pa.Scalar, text: str) -> Iterator[Suggestion]:
    """For a date that is searched in a column of timestamps, where it is its midnight."""
    if not pa.types.is_timestamp(time.type) or time.value % _DAY:
        return
    day = time.value // _DAY
    first, next_day = encode(pa.array([day, day + 1], pa.int32()).cast(pa.date32())).to_pylist()
    if re.search(rf"{re.escape(first)}(?![T\d])", text):
        yield Suggestion(f"{as_word(field)}:[{first} TO {next_day}}}", f"{first} alone is its midnight")


def _split_at_punctuation(leaf: Prefix | Wildcard, text: str) -> Iterator[Suggestion]:
    """For a pattern with punctuation, which no word has."""
    pattern = _pattern(leaf, text)
    pieces = [piece for piece in re.split(r"[^\w*?]+|_", pattern) if piece.strip("*?")]
    if "\\" in pattern or not pieces or pieces == [pattern]:
        return
    found: list[Query] = []
    for is_pattern, run in groupby(pieces, lambda piece: "*" in piece or "?" in piece):
        some = list(run)
        if is_pattern:
            found += [Wildcard(leaf.field, piece) for piece in some]
        else:
            found.append(Phrase(leaf.field, tuple(some)) if len(some) > 1 else Term(leaf.field, some[0]))
    yield Suggestion(_as_searched(conjunction(found), leaf.field, text), "words are split at punctuation")


def _pattern(leaf: Prefix | Wildcard, text: str) -> str:
    """The pattern of a leaf, in the letter case of the search if it is there."""
    pattern = leaf.pattern if isinstance(leaf, Wildcard) else wildcard_literal(leaf.text) + "*"
    return _as_written(pattern, text)


def _as_searched(query: Query, field: str, text: str) -> str:
    """A query on a field as text, without the field if the search has not named it."""
    written, name = to_text(query), f"{as_word(field)}:"
    return written if name.lower() in text.lower() else written.replace(name, "")


def _as_written(part: str, text: str) -> str:
    found = re.search(re.escape(part), text, re.IGNORECASE)
    return found[0] if found else part


def _beginnings(
    spec: ScanSpec, leaves: Sequence[tuple[Leaf, str]], values: Mapping[str, pa.Array]
) -> Iterator[Suggestion]:
    """Words that are the beginning of others, and patterns that values have in other letter case."""
    for leaf, text in _without_found(leaves, values):
        match leaf:
            case Term(field, word) if spec.rules[field].type == TEXT and len(word) > 1:
                longer = values[field].filter(pc.starts_with(values[field], word))
                if len(longer):
                    beginning = Prefix(field, _as_written(word, text))
                    reason = f"it finds words that begin with {beginning.text!r}"
                    yield Suggestion(_as_searched(beginning, field, text), reason)
            case Prefix(field) | Wildcard(field) if spec.rules[field].type == STRING:
                yield from _in_other_case(leaf, text, values[field])


def _in_other_case(leaf: Prefix | Wildcard, text: str, values: pa.Array) -> Iterator[Suggestion]:
    pieces = list(PIECE.finditer(_pattern(leaf, text)))
    signs = {"*": ".*", "?": "."}
    parts = [signs.get(piece["wild"] or "") or re.escape(piece["escaped"] or piece["plain"]) for piece in pieces]
    pattern = f"(?is)^{''.join(f'({part})' for part in parts)}$"
    same = values.filter(pc.match_substring_regex(values, pattern))
    found = re.match(pattern, same[0].as_py()) if len(same) else None
    if found is not None:
        literals = (
            piece["wild"] or wildcard_literal(group) for piece, group in zip(pieces, found.groups(), strict=True)
        )
        other = Wildcard(leaf.field, "".join(literals))
        yield Suggestion(_as_searched(other, leaf.field, text), "exact values are case-sensitive")


def _misspelt(leaves: Sequence[tuple[Leaf, str]], values: Mapping[str, pa.Array]) -> Iterator[Suggestion]:
    for leaf, text in _without_found(leaves, values):
        if not isinstance(leaf, Term) or len(leaf.text) < _SHORTEST:
            continue
        known, word = values[leaf.field], leaf.text
        most = 1 if len(word) <= _SHORT else 2
        near = known.filter(pc.less_equal(pc.abs(pc.subtract(pc.utf8_length(known), len(word))), most))
        numbers = pc.equal(pc.replace_substring_regex(near, r"\PN", ""), re.sub(r"\D", "", word))
        meant = nearest(word, near.filter(numbers).to_pylist())
        if meant is not None and edits(word.lower(), meant.lower()) <= most:
            yield Suggestion(_as_searched(Term(leaf.field, meant), leaf.field, text))


def _without_found(leaves: Sequence[tuple[Leaf, str]], values: Mapping[str, pa.Array]) -> list[tuple[Leaf, str]]:
    """The leaves on known values, without words that some column has."""
    known = [
        (leaf, text) for leaf, text in leaves if isinstance(leaf, Term | Prefix | Wildcard) and leaf.field in values
    ]
    has = {
        leaf.text
        for leaf, _ in known
        if isinstance(leaf, Term) and pc.is_in(pa.scalar(leaf.text), values[leaf.field]).as_py()
    }
    return [(leaf, text) for leaf, text in known if not (isinstance(leaf, Term) and leaf.text in has)]
