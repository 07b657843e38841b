"""The terms of a split that go into its term filter, collected while its rows are written.

Words come first, then strings, then integers, and columns with few values before others. A column of which not all terms
fit is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from indextables.kernels import cast_to
from indextables.search.field_rules import NONE, STRING, TEXT, FieldRule
from indextables.search.term_filter import build, capacity
from indextables.values import table_type

_ROWS_PER_TERM = 4
"""A split of more rows for each term that fits has too many words: they are not even listed."""
_MAX_TEXT = 2**20  # bytes of the distinct values of a column: a hash reads them all


class SplitTerms:
    """The distinct values of the columns of one split that have strings and integers, as long as they are few."""

    def __init__(self, schema: pa.Schema, rules: Mapping[str, FieldRule], *, max_bytes: int) -> None:
        self._columns = list(rules)
        self._max_bytes = max_bytes
        self._capacity = capacity(max_bytes, columns=len(rules))
        self._texts = [name for name in schema.names if rules[name].type == TEXT]
        exact = [field for field in schema if _is_exact(field, rules[field.name])] if self._capacity else []
        self._values = {field.name: pa.array([], table_type(field.type)) for field in exact}
        self._rows = 0

    def observe(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Collects the values of some batches."""
        for batch in batches:
            self._rows += batch.num_rows
            for name, known in list(self._values.items()):
                values = _distinct(known, batch[name])
                if self._fits(values):
                    self._values[name] = values
                else:
                    del self._values[name]

    def term_filter(self, words: Callable[[str], pa.Array]) -> bytes | None:
        """The filter of the split; `words` gives the distinct words of a text column."""
        chosen: dict[str, pa.Array] = {}
        left = self._capacity
        for name, terms in self._candidates(words):
            if len(terms) <= left and self._fits(terms):
                chosen[name] = terms
                left -= len(terms)
        return build(chosen, columns=self._columns, max_bytes=self._max_bytes)

    def _candidates(self, words: Callable[[str], pa.Array]) -> Iterator[tuple[str, pa.Array]]:
        if self._rows <= _ROWS_PER_TERM * self._capacity:
            yield from ((name, words(name)) for name in self._texts)
        for name, values in sorted(self._values.items(), key=_strings_and_small_columns_first):
            yield name, values.cast(pa.string())

    def _fits(self, values: pa.Array) -> bool:
        return len(values) <= self._capacity and values.nbytes <= _MAX_TEXT


def _is_exact(field: pa.Field, rule: FieldRule) -> bool:
    return rule.type == STRING or (pa.types.is_integer(field.type) and rule.type != NONE)


def _strings_and_small_columns_first(column: tuple[str, pa.Array]) -> tuple[bool, int]:
    _, values = column
    return pa.types.is_integer(values.type), len(values)


def _distinct(known: pa.Array, more: pa.Array) -> pa.Array:
    values = pc.unique(cast_to(more, known.type)).drop_null()
    return pc.unique(pa.concat_arrays([known, values])) if len(known) else values
