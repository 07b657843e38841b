"""Which columns of strings are text: those whose values have several words, by a sample of rows.

A column is chosen if its values have three words on average, most of them with letters, and are not a few that repeat. A
name such as `message` or `title` decides close calls: one and a half words are enough then, numbers among them, and values
may repeat.

>>> rows = pa.table({
...     "level": ["INFO", "WARN"],
...     "error": ["no such file or directory", "the disk is not there at all"],
...     "message": ["read failed", "write failed"],
... })
>>> text_columns_of(rows)
['message', 'error']
"""

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

SAMPLE_ROWS = 1000
"""How many rows are enough to see which columns are text."""
_WORDS, _WORDS_IF_NAMED = 3.0, 1.5  # on average
_DISTINCT = 0.05  # of the values, at least
_MAX_CHARACTERS = 2000
_WORD, _TOKEN = r"\S*\pL\S*", r"\S+"
_NAMES = re.compile(
    "(abstract|answer|body|caption|comment|content|desc|description|detail|feedback|headline|log|message|msg|note|prompt|"
    "question|reason|remark|reply|review|subject|summary|text|title|transcript)s?"
)


@dataclass(frozen=True, slots=True, order=True)
class _Likelihood:
    """How likely a column is text; the greatest is the most likely."""

    is_text: bool
    is_named: bool
    words: float


def text_columns_of(rows: pa.Table | pa.RecordBatch) -> list[str]:
    """The columns of some rows that are text, the most likely first."""
    found = _likelihoods(rows)
    return [name for name in _ranked(found) if found[name].is_text]


def ranked_as_text(rows: pa.Table | pa.RecordBatch) -> list[str]:
    """The columns of strings, the most likely text first; by their names alone where there are no rows.

    >>> ranked_as_text(pa.schema({"n": pa.int64(), "message_id": pa.string(), "logMessage": pa.string()}).empty_table())
    ['logMessage', 'message_id']
    """
    return _ranked(_likelihoods(rows))


def named_as_text(name: str) -> bool:
    """Whether a column has a name of texts.

    >>> [named_as_text(name) for name in ("error_message", "userComments", "BODY", "message_id", "")]
    [True, True, True, False, False]
    """
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    return bool(words) and _NAMES.fullmatch(words[-1]) is not None


def _ranked(found: dict[str, _Likelihood]) -> list[str]:
    return sorted(found, key=lambda name: found[name], reverse=True)


def _likelihoods(rows: pa.Table | pa.RecordBatch) -> dict[str, _Likelihood]:
    return {
        name: _likelihood(name, column.cast(pa.string()))
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
        if _is_string(column.type)
    }


def _likelihood(name: str, column: pa.Array | pa.ChunkedArray) -> _Likelihood:
    values = pc.utf8_slice_codeunits(column.drop_null(), 0, _MAX_CHARACTERS)
    is_named = named_as_text(name)
    if not len(values):
        return _Likelihood(is_text=False, is_named=is_named, words=0.0)
    words, tokens = (_mean(pc.count_substring_regex(values, pattern)) for pattern in (_WORD, _TOKEN))
    if is_named:
        is_text = words >= 1 and tokens >= _WORDS_IF_NAMED
    else:
        differ = pc.count_distinct(values).as_py() >= max(2, _DISTINCT * len(values))
        is_text = words >= _WORDS and 2 * words > tokens and differ
    return _Likelihood(is_text, is_named, words)


def _mean(counts: pa.Array | pa.ChunkedArray) -> float:
    return float(pc.mean(counts).as_py())


def _is_string(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_string(kind.value_type)
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
