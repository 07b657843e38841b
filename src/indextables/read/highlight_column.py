"""The column `_highlight` of search results: texts as HTML, with the words that were found."""

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.read.scan_spec import ScanSpec
from indextables.search.match_spans import MatchSpans, highlighted

HIGHLIGHT = "_highlight"


def with_highlights(rows: pa.Table, spec: ScanSpec) -> pa.Table:
    """Rows of a search with a struct that has a field for each text column of the output that the search looks in.

    A field is null where the search has not found a word in the column, so also where the column is null.
    """
    searched = spec.search_columns
    columns = [name for name in spec.columns if name in searched and pa.types.is_string(spec.schema.field(name).type)]
    texts = [_highlighted(rows[name], name, spec.match_spans) for name in columns]
    if not texts:
        return rows.append_column(HIGHLIGHT, pa.nulls(len(rows), pa.struct([])))
    return rows.append_column(HIGHLIGHT, pa.StructArray.from_arrays(texts, names=columns))


def refuse_highlight_column(spec: ScanSpec) -> None:
    """Raises a SchemaError where a column of the output has the name of the struct."""
    if HIGHLIGHT in spec.columns:
        raise SchemaError(
            f"the column {HIGHLIGHT!r} has the name of the column with highlights; select other columns",
            column=HIGHLIGHT,
        )


def _highlighted(values: pa.ChunkedArray, column: str, spans: MatchSpans) -> pa.Array:
    found = [(value, spans.in_value(column, value) if value else []) for value in values.to_pylist()]
    return pa.array([highlighted(value, places) if places else None for value, places in found], pa.string())
