"""Which column of some rows is prose: many different values of several words."""

import pyarrow as pa
import pyarrow.compute as pc

_SAMPLE = 1000  # rows
_WORDS = 3  # on average
_DISTINCT = 0.05  # of the rows


def prose_column(rows: pa.RecordBatch) -> str | None:
    """The column of strings that has most words; None where none looks like prose.

    >>> prose_column(pa.record_batch({"level": ["INFO", "WARN"], "text": ["the disk is full", "all is well"]}))
    'text'
    """
    sample = rows.slice(0, _SAMPLE)
    words = {field.name: _words(sample.column(field.name)) for field in rows.schema if pa.types.is_string(field.type)}
    best = max(words, key=lambda name: words[name], default=None)
    return best if best is not None and words[best] >= _WORDS else None


def _words(texts: pa.Array) -> float:
    """The average number of words; 0 where few values are repeated, as those of an enumeration are."""
    texts = texts.drop_null()
    if not len(texts) or len(texts.unique()) < max(2, _DISTINCT * len(texts)):
        return 0.0
    spaces = pc.count_substring_regex(pc.utf8_trim_whitespace(texts), r"\s+")
    return float(pc.mean(spaces).as_py() or 0) + 1
