"""Split pruning by term filters: a split that lacks the words or values that every match has is not opened.

A filter covers columns by their number in the split's doc mapping. What it does not cover may match. A column that a
complete mapping does not have is null in all rows of the split, so nothing matches there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import DocMapping, Metadata
from indextables.log.column_ids import stored_name
from indextables.log.snapshot import Snapshot
from indextables.predicate import (
    And,
    Column,
    Comparison,
    In,
    IndexQuery,
    Literal,
    NullSafeEqual,
    Op,
    Or,
    Predicate,
    Verdict,
    push_negations,
)
from indextables.predicate.file_flags import Flag, all_of, any_of
from indextables.read.prune import SplitVerdicts, verdicts_of_splits
from indextables.read.scan_spec import ScanSpec
from indextables.search import queries
from indextables.search.field_rules import STRING, TEXT, FieldRule
from indextables.search.term_filter import Flags, Numbers, TermFilters, term_hashes

_MAX_VALUES = 100
"""Of a list of more values, some are taken for present in every third split: the filter is not worth its time."""
_INTEGERS = ("byte", "short", "integer", "long")  # which can become wider, and have the same terms
_INTEGER = "integer"
_UNKNOWN, _NULL = -1, -2


MayContain: TypeAlias = Callable[[str, str], Flag]
"""False where a split does not have a term of a column: a word, the value of a string, or the digits of an integer."""


def prune_by_terms(split_verdicts: SplitVerdicts, scan_spec: ScanSpec, snapshot: Snapshot) -> SplitVerdicts:
    """The verdicts, with NEVER where it was SOMETIMES and the term filters show that no row matches."""
    undecided = pc.equal(split_verdicts.part_verdicts, int(Verdict.SOMETIMES))
    if not pc.any(undecided).as_py():
        return split_verdicts
    possible = _TermFold(snapshot.splits, snapshot.metadata, scan_spec).may_match(push_negations(scan_spec.predicate))
    if possible is True:
        return split_verdicts
    of_parts = False if possible is False else possible.take(split_verdicts.parts.split)
    never = pa.scalar(int(Verdict.NEVER), pa.uint8())
    verdicts = pc.if_else(pc.and_(undecided, pc.invert(of_parts)), never, split_verdicts.part_verdicts)
    of_splits = verdicts_of_splits(verdicts, split_verdicts.parts, split_verdicts.splits)
    return replace(split_verdicts, verdicts=of_splits, part_verdicts=verdicts)


@dataclass(frozen=True)
class _TermFold:
    """Folds the predicate of a scan into whether a row of each split may satisfy it, going by terms alone."""

    splits: pa.Table
    metadata: Metadata
    scan_spec: ScanSpec

    def may_match(self, predicate: Predicate) -> Flag:  # noqa: PLR0911 - one for each kind
        """False where no row of a split satisfies a predicate, whose negations are at the leaves."""
        match predicate:
            case And(terms):
                return all_of(map(self.may_match, terms))
            case Or(terms):
                return any_of(map(self.may_match, terms))
            case Literal(value):
                return bool(value)
            case IndexQuery():
                return may_match(self.scan_spec.queries[predicate], self.may_contain)
            case Comparison(Column(name), Op.EQ, value) | NullSafeEqual(Column(name), value) if value.is_valid:
                return self.may_have_value(name, [value])
            case In(Column(name), values):
                return self.may_have_value(name, [value for value in values if value.is_valid])
            case _:
                return True

    def may_have_value(self, column: str, values: Sequence[pa.Scalar]) -> Flag:
        """False where no row has one of the values in a column."""
        is_term = _VALUE_TYPES.get(_kind(self.scan_spec.rules[column]) or "")
        if is_term is None or len(values) > _MAX_VALUES or not all(is_term(value.type) for value in values):
            return True
        return self.may_contain(column, *(str(value.as_py()) for value in values))

    def may_contain(self, column: str, *texts: str) -> Flag:
        """False where a split has none of some terms of a column."""
        kind = _kind(self.scan_spec.rules[column])
        mappings = self.metadata.doc_mappings
        names = [stored_name(column, mapping, self.metadata) for mapping in mappings]
        numbers = [_number(name, kind, mapping) for name, mapping in zip(names, mappings, strict=True)]
        if self._filters is None and _NULL not in numbers:
            return True
        covered, is_null = self._coverage(numbers)
        found = ~is_null
        if self._filters is not None and covered.any():
            stored = {name for name in names if name is not None}
            for name in stored:
                among = covered
                if len(stored) > 1:
                    among = covered & (_per_split([other == name for other in names], self._mapping, 0) == 1)
                found &= self._filters.may_contain(term_hashes(name, texts), among=among)
        return pa.array(found)

    @cached_property
    def _filters(self) -> TermFilters | None:
        column = self.splits["term_filter"]
        return None if column.null_count == len(column) else TermFilters.of(column)

    def _coverage(self, numbers: Sequence[int]) -> tuple[Flags, Flags]:
        """Where the filter of a split has the terms of a column, and where the split does not have the column.

        `numbers` are those of the column in each of the doc mappings.
        """
        number = _per_split(numbers, self._mapping, _UNKNOWN)
        columns = _per_split([len(mapping.fields) for mapping in self.metadata.doc_mappings], self._mapping, 0)
        none = np.zeros(len(self.splits), np.bool_)
        return none if self._filters is None else self._filters.covers(number, columns=columns), number == _NULL

    @cached_property
    def _mapping(self) -> Numbers:
        """The place of the doc mapping of each split among those of the table; -1 where it has none."""
        known = pa.array([mapping.doc_mapping_id for mapping in self.metadata.doc_mappings], pa.int32())
        places = pc.fill_null(pc.index_in(self.splits["doc_mapping_id"], value_set=known), -1)
        return np.asarray(places, np.int64)


def may_match(query: queries.Query, may_contain: MayContain) -> Flag:  # noqa: PLR0911 - one for each kind
    """False where no row of a split matches. Whatever needs more than terms may match.

    >>> may_contain = lambda column, text: text != "absent"
    >>> absent, present = queries.Term("message", "absent"), queries.Term("message", "present")
    >>> may_match(queries.And((absent, present)), may_contain), may_match(queries.Or((absent, present)), may_contain)
    (False, True)
    """
    match query:
        case queries.MatchNone():
            return False
        case queries.Term(column, text):
            return may_contain(column, text)
        case queries.Phrase(column, words):
            return all_of(may_contain(column, word) for word in words)
        case queries.Range(column, lower, upper, True, True) if lower == upper and lower is not None:
            return may_contain(column, str(lower.as_py())) if pa.types.is_integer(lower.type) else True
        case queries.And(terms):
            return all_of(may_match(term, may_contain) for term in terms)
        case queries.Or(terms):
            return any_of(may_match(term, may_contain) for term in terms)
        case queries.Prefer(term) | queries.Boost(term):
            return may_match(term, may_contain)
        case _:
            return True


def _per_split(values: Sequence[int], mapping: Numbers, otherwise: int) -> Numbers:
    return np.array([*values, otherwise], np.int64)[mapping]  # -1 is the last


def _number(name: str | None, kind: str | None, mapping: DocMapping) -> int:
    """The number of a column in a mapping that lists it under a name, if it has the same kind of terms there."""
    if not mapping.complete:
        return _UNKNOWN
    if name is None:
        return _NULL
    field = mapping.fields[name]
    same = kind is not None and _kind(FieldRule(field.type, field.tokenizer)) == kind
    return sorted(mapping.fields).index(name) if same else _UNKNOWN


def _kind(rule: FieldRule) -> str | None:
    """What the terms of a column are: the words of a tokenizer, strings, integers, or None where it has none in filters."""
    if rule.type == TEXT:
        return str(rule)
    return _INTEGER if rule.type in _INTEGERS else STRING if rule.type == STRING else None


_VALUE_TYPES = {STRING: pa.types.is_string, _INTEGER: pa.types.is_integer}
