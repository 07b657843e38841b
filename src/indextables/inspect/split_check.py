"""The check of one split: its bytes, and what the log and its indexes say of its rows.

Columns are read one after the other, whole, so that the checksums of all pages are verified.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import DamagedSplitError, IndexTablesError, NotFoundError, StorageError, UnsupportedSplitError
from indextables.inspect.check_findings import CheckFinding, Problem, finding
from indextables.inspect.word_check import WordCheck
from indextables.kernels import cast_to, flat
from indextables.layout import PartitionField, Void
from indextables.log.actions import Metadata
from indextables.log.column_ids import renamed_columns
from indextables.log.split_bounds import partition_text
from indextables.log.splits import partition_terms, statistic
from indextables.predicate import ColumnBounds
from indextables.search.field_rules import STRING, TEXT, FieldRule
from indextables.search.term_filter import TermFilters, hashes_of_columns
from indextables.split import SplitReader
from indextables.split.block_bounds import Blocks
from indextables.split.exact_index import DictionaryIndex, ExactIndex, HashIndex, Kind, build
from indextables.split.statistics import ColumnStatistics
from indextables.values import encode, in_table_type

_SAMPLED_ROWS = 64
_SHOWN = 3
_NONSENSE = (IndexTablesError, pa.ArrowException, ValueError, LookupError, OverflowError)


@dataclass(frozen=True, slots=True)
class CheckedSplit:
    rows: int
    findings: list[CheckFinding]


def check_split(reader: SplitReader, split: pa.Table, metadata: Metadata, *, all_words: bool) -> CheckedSplit:
    """Checks one split against its row in the log's table of splits; `all_words`: the words of all rows are counted."""
    path = split["path"][0].as_py()
    try:
        footer = reader.footer
    except (DamagedSplitError, UnsupportedSplitError, NotFoundError, StorageError) as error:
        return CheckedSplit(0, [_unreadable(path, error)])
    check = _SplitCheck(reader, split, metadata, path, all_words=all_words)
    check.guarded(check.run)
    return CheckedSplit(footer.num_rows, check.findings)


@dataclass(slots=True)
class _SplitCheck:
    reader: SplitReader
    split: pa.Table
    metadata: Metadata
    path: str
    all_words: bool
    findings: list[CheckFinding] = field(default_factory=list)
    partitions: dict[str, pa.Array] = field(default_factory=dict)

    def guarded(self, check: Callable[..., None], *given: Any) -> None:
        """Runs a check. What it cannot read, or make sense of, is damage, and does not keep other checks from running."""
        place = f"column {given[0]}" if given else ""
        try:
            check(*given)
        except StorageError as error:
            self.findings.append(_unreadable(self.path, error, place=place))
        except _NONSENSE as error:
            message = f"it cannot be checked: {type(error).__name__}: {error}"
            self.findings.append(finding(Problem.DAMAGED_SPLIT, self.path, message, place=place))

    def run(self) -> None:
        self._offsets()
        self._doc_mapping()
        for name in self.reader.schema.names:
            with_column = self._read(name)
            if with_column is not None:
                self._column(name, with_column)
        self._columns_of_table()
        self._partition_values()

    def _report(self, kind: Problem, message: str, column: str = "") -> None:
        place = f"column {column}" if column else ""
        self.findings.append(finding(kind, self.path, message, place=place))

    def _fact(self, name: str) -> Any:
        return self.split[name][0].as_py()

    def _statistic(self, name: str, column: str) -> pa.Scalar | None:
        """What the log says of a column; None where it says nothing."""
        known = statistic(self.split, name, column)
        return known[0] if known is not None and known[0].is_valid else None

    def _offsets(self) -> None:
        section, size = self.reader.footer.index, self._fact("size")
        expected = {
            "footer_start_offset": section.end,
            "footer_end_offset": size,
            "index_start_offset": section.offset,
            "index_end_offset": section.end,
        }
        wrong = [name for name, value in expected.items() if self._fact(name) not in (None, value)]
        if wrong:
            self._report(Problem.WRONG_OFFSETS, f"the log says other places in the file: {', '.join(wrong)}")

    def _doc_mapping(self) -> None:
        number = self._fact("doc_mapping_id")
        if number is None:
            return
        mapping = next((m for m in self.metadata.doc_mappings if m.doc_mapping_id == number), None)
        if mapping is None:
            self._report(Problem.WRONG_DOC_MAPPING, f"the table has no doc mapping {number}, which the log says it has")
            return
        renamed = renamed_columns(self.metadata).get(number, {})
        fields = {renamed.get(name, name): rule for name, rule in mapping.fields.items()}
        given = {name: FieldRule(rule.type, rule.tokenizer) for name, rule in fields.items()}
        rules = self.reader.rules
        wrong = [name for name, rule in given.items() if rules.get(name) != rule]
        wrong += [name for name in rules if name not in given] if mapping.complete else []
        for name in wrong:
            indexed, mapped = (of.get(name, "nothing") for of in (rules, given))
            message = f"it is indexed as {indexed}, and as {mapped} by doc mapping {number}"
            self._report(Problem.WRONG_DOC_MAPPING, message, name)

    def _read(self, name: str) -> pa.ChunkedArray | None:
        kind = self.reader.schema.field(name).type
        try:
            return pa.chunked_array([batch.column(0) for batch in self.reader.read([name])], kind)
        except StorageError as error:
            self.findings.append(_unreadable(self.path, error, place=f"column {name}"))
            return None

    def _column(self, name: str, values: pa.ChunkedArray) -> None:
        """All checks of a column, each on its own: damage that one of them meets does not keep the others from running."""
        for check in (self._page_index, self._exact_index, self._words):
            self.guarded(check, name, values)
        if name in self.metadata.arrow_schema().names:
            kind = self.metadata.arrow_schema().field(name).type
            try:
                in_table = cast_to(values, kind)
            except pa.ArrowException:
                self._report(Problem.WRONG_SCHEMA, f"it is of type {values.type} here, and {kind} in the table", name)
                return
            self.guarded(self._statistics, name, in_table)
            self.guarded(self._transform, name, in_table)

    def _statistics(self, name: str, values: pa.ChunkedArray) -> None:
        nulls = self._statistic("null_count", name)
        if nulls is not None and nulls.as_py() != values.null_count:
            message = f"it has {values.null_count:,} nulls where the log says {nulls.as_py():,}"
            self._report(Problem.WRONG_STATISTICS, message, name)
        extremes = ColumnStatistics.of(values).extremes
        if not len(extremes):
            return
        is_exact = not (pa.types.is_string(values.type) or pa.types.is_floating(values.type))
        for end, actual, holds in (("min", extremes[0], pc.less_equal), ("max", extremes[1], pc.greater_equal)):
            bound = self._statistic(end, name)
            if bound is None:
                continue
            if not holds(bound, actual).as_py():
                self._report(
                    Problem.WRONG_STATISTICS,
                    f"its {end} is {_text(actual)}, beyond the bound in the log, {_text(bound)}",
                    name,
                )
            elif is_exact and not bound.equals(actual):
                self._report(
                    Problem.WRONG_STATISTICS, f"its {end} is {_text(actual)}, not {_text(bound)} as in the log", name
                )

    def _columns_of_table(self) -> None:
        """Columns that the split does not have are null in all of its rows."""
        have, rows = set(self.reader.schema.names), self.reader.num_rows
        for name in self.metadata.arrow_schema().names:
            if name in have:
                continue
            nulls = self._statistic("null_count", name)
            if nulls is not None and nulls.as_py() != rows:
                self._report(Problem.WRONG_STATISTICS, f"it is not in the split, and the log says {nulls} nulls", name)
            for field_ in self._partition_fields():
                if field_.source == name:
                    kind = self.metadata.arrow_schema().field(name).type
                    self.partitions[field_.name] = field_.transform.apply(pa.nulls(rows, kind))

    def _page_index(self, name: str, values: pa.ChunkedArray) -> None:
        """Rows that are read by page must be the rows of the scan, and the bounds of pages must hold."""
        rows = _sample(len(values), _SAMPLED_ROWS)
        by_page = self.reader.take(rows, [name])[name]
        if not _bits(by_page).equals(_bits(values.take(pa.array(rows)))):
            self._report(Problem.WRONG_PAGE_INDEX, "rows that are read by page are not those of a scan", name)
        blocks = self.reader.blocks([name])
        for bounds in blocks.bounds.facts(name):
            wrong = isinstance(bounds, ColumnBounds) and _first_wrong_block(values, blocks, bounds)
            if wrong:
                message = f"the bounds of rows {wrong.start:,} to {wrong.stop - 1:,} do not hold"
                self._report(Problem.WRONG_PAGE_INDEX, message, name)

    def _exact_index(self, name: str, values: pa.ChunkedArray) -> None:
        index = self.reader.exact_index(name)
        if index is None:
            return
        written_as = self.reader.footer.index.exact[name].kind
        if written_as != index.kind:
            self._report(
                Problem.WRONG_EXACT_INDEX, f"it is a {index.kind} index where the footer says {written_as}", name
            )
        expected = build(values, Kind(index.kind))
        if expected is None or not _same_index(index, expected):
            self._report(Problem.WRONG_EXACT_INDEX, "its values do not lead to the rows that have them", name)

    def _words(self, name: str, values: pa.ChunkedArray) -> None:
        terms = _values_as_terms(values, self.reader.rules[name])
        if self.reader.words.covers(name):
            words = WordCheck(
                self.reader, name, values, rows=_sample(len(values), _SAMPLED_ROWS), all_rows=self.all_words
            )
            for message in words.problems():
                self._report(Problem.WRONG_WORD_INDEX, message, name)
            terms = words.indexed_words()
        if terms is not None:
            self._term_filter(name, terms)

    def _term_filter(self, name: str, terms: pa.Array) -> None:
        if self.split["term_filter"].null_count or not len(terms):
            return
        stored = self.reader.footer.stored  # the filter has the names of the file
        filters, columns = TermFilters.of(self.split["term_filter"]), sorted(map(stored, self.reader.rules))
        if not filters.covers(np.array([columns.index(stored(name))]), columns=np.array([len(columns)]))[0]:
            return
        found = filters.may_contain_each(hashes_of_columns({stored(name): terms}))
        if not found.all():
            lost = terms.filter(pa.array(~found))
            message = f"the filter in the log lacks {len(lost):,} of its {len(terms):,} terms: {_shown(lost)}"
            self._report(Problem.WRONG_TERM_FILTER, message, name)

    def _partition_fields(self) -> Iterator[PartitionField]:
        """The fields of the split's layout that have a value."""
        layout = self.metadata.layouts.get(self._fact("spec_id"))
        for field_ in layout.fields if layout else ():
            if not isinstance(field_.transform, Void) and field_.term in partition_terms(self.metadata):
                yield field_

    def _transform(self, name: str, values: pa.ChunkedArray) -> None:
        for field_ in self._partition_fields():
            if field_.source == name:
                self.partitions[field_.name] = field_.transform.apply(values)

    def _partition_values(self) -> None:
        if self._fact("spec_id") not in self.metadata.layouts:
            self._report(
                Problem.WRONG_PARTITION, f"the table has no layout {self._fact('spec_id')}, which the log says it has"
            )
            return
        texts = {}
        for field_ in self._partition_fields():
            if field_.name not in self.partitions:
                continue  # the column is damaged
            texts[field_.name] = field_.transform.to_text(self.partitions[field_.name])
            self._partition_value(field_, texts[field_.name])
        logical = self._fact("logical_partitions")
        if logical is not None:
            self._logical_partitions(logical, texts)

    def _partition_value(self, field_: PartitionField, texts: pa.Array) -> None:
        given, known = partition_text(self.split, field_)
        is_given = pc.struct_field(self.split["partition"], [field_.term])[0].is_valid
        if not is_given:
            return  # another layout's, or one that is coalesced
        distinct = texts.unique().to_pylist()
        value = given[0].as_py()
        if not known[0].as_py():
            self._report(
                Problem.WRONG_PARTITION, f"{field_} is {value!r} in the log, which is not of its type", field_.source
            )
        elif len(texts) and distinct != [value]:
            shown = ", ".join(map(repr, distinct[:_SHOWN]))
            self._report(
                Problem.WRONG_PARTITION, f"{field_} is {value!r} in the log, and {shown} in rows", field_.source
            )

    def _logical_partitions(self, logical: Mapping[str, Any], texts: Mapping[str, pa.Array]) -> None:
        columns, tuples, counts = (logical[name] or [] for name in ("columns", "tuples", "counts"))
        if any(name not in texts for name in columns) or not columns:
            if not any(f.kind is Problem.DAMAGED_SPLIT for f in self.findings):
                self._report(Problem.WRONG_PARTITION, f"the logical columns {columns} are not of its layout")
            return
        names = [str(number) for number in range(len(columns))]
        rows = pa.table([texts[name] for name in columns], names=names)
        grouped = rows.group_by(names, use_threads=False).aggregate([([], "count_all")])
        keys = zip(*(grouped[name].to_pylist() for name in names), strict=True)
        actual = dict(zip(keys, grouped["count_all"].to_pylist(), strict=True))
        listed = [tuple(values) for values in tuples]
        absent = [values for values in listed if values not in actual]
        unlisted = [values for values in actual if values not in listed] if logical["complete"] else []
        miscounted = [
            v for v, n in zip(listed, counts, strict=False) if v in actual and n is not None and actual[v] != n
        ]
        for what, wrong in (("lists", absent), ("does not list", unlisted), ("has other row counts of", miscounted)):
            if wrong:
                shown = ", ".join(map(str, wrong[:_SHOWN]))
                self._report(
                    Problem.WRONG_PARTITION, f"the log {what} {len(wrong)} of its logical partitions wrongly: {shown}"
                )


def _unreadable(path: str, error: IndexTablesError, *, place: str = "") -> CheckFinding:
    match error:
        case DamagedSplitError():
            return finding(Problem.DAMAGED_SPLIT, path, error.reason, place=place)
        case UnsupportedSplitError():
            return finding(Problem.UNSUPPORTED_SPLIT, path, str(error), place=place)
        case NotFoundError():
            return finding(Problem.MISSING_SPLIT, path, "it is not there", place=place)
        case _:
            return finding(Problem.UNREADABLE_FILE, path, str(error), place=place)


def _sample(rows: int, most: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Some row numbers, ascending: the first, the last, and others by chance."""
    if rows <= most:
        return np.arange(rows)
    return np.unique([0, rows - 1, *random.sample(range(rows), most)])


def _bits(values: pa.ChunkedArray) -> pa.Array:
    """Values that can be compared: NaN is not equal to itself."""
    array = flat(values)
    return array.view(f"int{array.type.bit_width}") if pa.types.is_floating(array.type) else array


def _first_wrong_block(values: pa.ChunkedArray, blocks: Blocks, bounds: ColumnBounds) -> range | None:
    """The rows of a block whose bounds in the page index do not hold."""
    facts = zip(bounds.lower, bounds.upper, pa.array(bounds.may_be_null), strict=True)
    for start, end, (lower, upper, may_be_null) in zip(blocks.starts, blocks.ends, facts, strict=True):
        rows = values.slice(start, end - start)
        extremes = ColumnStatistics.of(rows).extremes
        below = len(extremes) and not _is_unknown(lower) and pc.less(extremes[0], lower).as_py()
        above = len(extremes) and not _is_unknown(upper) and pc.greater(extremes[1], upper).as_py()
        if below or above or (rows.null_count and not may_be_null.as_py()):
            return range(start, end)
    return None


def _is_unknown(bound: pa.Scalar) -> bool:
    return not bound.is_valid or (pa.types.is_floating(bound.type) and bool(pc.is_nan(bound).as_py()))


def _same_index(index: ExactIndex, expected: ExactIndex) -> bool:
    match index, expected:
        case DictionaryIndex(), DictionaryIndex():
            same = index.values.equals(expected.values) and np.array_equal(index.starts, expected.starts)
            return same and np.array_equal(index.rows, expected.rows)
        case HashIndex(), HashIndex():
            return np.array_equal(_ordered(index), _ordered(expected))
        case _:
            return False


def _ordered(index: HashIndex) -> "np.ndarray[Any, Any]":
    """Hashes with their rows; rows of one hash may be in any order."""
    order = np.lexsort((index.rows, index.hashes))
    return np.stack([index.hashes[order].astype(np.int64), index.rows[order].astype(np.int64)])


def _values_as_terms(values: pa.ChunkedArray, rule: FieldRule) -> pa.Array | None:
    """The distinct values that a term filter may have."""
    if rule.type == TEXT or not (rule.type == STRING or pa.types.is_integer(values.type)):
        return None
    return pc.unique(in_table_type(values)).drop_null().cast(pa.string())


def _text(value: pa.Scalar) -> str:
    return str(encode(pa.array([value]))[0].as_py())


def _shown(terms: Iterable[pa.Scalar]) -> str:
    return ", ".join(repr(term.as_py()) for _, term in zip(range(_SHOWN), terms, strict=False))
