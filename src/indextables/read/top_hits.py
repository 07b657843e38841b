"""The best matches of a search, over all splits, and their texts with the words that were found (`_highlight`)."""

import logging
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.predicate import IndexQuery, terms_of
from indextables.read.ordered_scan import as_written, top_n
from indextables.read.scan import Scan, refuse_limit
from indextables.read.scan_plan import SplitTask, columns_and_values
from indextables.read.scan_spec import SCORE, ScanSpec
from indextables.read.sort_order import Order
from indextables.read.split_scan import best_rows, conform, fetch_numbered, is_search_only, ranked
from indextables.search.lexer import syntax_error
from indextables.search.match_spans import MatchSpans, highlighted
from indextables.split.fetched_rows import FetchedRows, decode_rows

logger = logging.getLogger(__name__)
_NO_ROWS, _NO_SCORES = np.array([], np.int64), np.array([], np.float32)
_HITS = pa.schema({"task": pa.int64(), "row": pa.int64(), SCORE: pa.float32()})


def search_top(scan: Scan, limit: int, *, offset: int = 0) -> pa.Table:
    """At most `limit` rows, best first, with their BM25 score, computed in each split from its own statistics.

    Rows of the same score are in the order in which they were written.
    """
    scan = scan.with_columns(scan.scan_spec.columns)  # the score is there, whether it is named or not
    schema = _scored_schema(scan, limit, offset)
    last, scan_spec = offset + limit, scan.scan_spec
    if limit < 1:
        return schema.empty_table()
    tasks = scan.logged(as_written(scan.plan))
    if is_search_only(scan_spec):
        best = _rank_then_read(scan, tasks, last)
        found = [] if best is None else [best]
    else:
        found = list(scan.over(tasks, lambda task: best_rows(scan.open(task), scan_spec, last)))
    rows = pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in found)])
    _log_no_match(scan, rows)
    return rows.take(pc.sort_indices(rows, sort_keys=[(SCORE, "descending")]).slice(offset, limit))


def search_sorted(scan: Scan, order: Order, limit: int, *, offset: int = 0) -> pa.Table:
    """At most `limit` rows in an order of columns, with their BM25 score."""
    scan = scan.with_columns(scan.scan_spec.columns)
    schema = _scored_schema(scan, limit, offset)
    if limit < 1:
        return schema.empty_table()
    rows = top_n(scan, order, limit, offset=offset, scored=True)
    if not offset:
        _log_no_match(scan, rows)
    return rows


def _scored_schema(scan: Scan, limit: int, offset: int) -> pa.Schema:
    """The columns of the result; an error for what is not a search."""
    refuse_limit(limit)
    refuse_limit(offset, key="offset")
    if not any(isinstance(term, IndexQuery) for term in terms_of(scan.scan_spec.predicate)):
        raise syntax_error("", "there is none; *:* means every row")
    if SCORE in scan.scan_spec.columns:
        raise SchemaError(f"the column {SCORE!r} has the name of the score column; select other columns", column=SCORE)
    return scan.scan_spec.output_schema.append(pa.field(SCORE, pa.float32()))


def _log_no_match(scan: Scan, rows: pa.Table) -> None:
    if not len(rows):
        columns = columns_and_values(scan.scan_spec.search_columns)
        logger.info("no row of %s matches; search columns: %s", scan.table, columns)
        scan.warn_of_missed_words()


def _rank_then_read(scan: Scan, tasks: Sequence[SplitTask], limit: int) -> pa.Table | None:
    """The indexes rank the hits of all splits; then only the rows of the best hits are read."""
    hits = list(scan.over(tasks, lambda task: ranked(scan.open(task), scan.scan_spec, limit)))
    best = pa.table(
        [
            pa.array(np.repeat(np.arange(len(hits)), [len(rows) for rows, _ in hits])),
            pa.array(np.concatenate([_NO_ROWS, *(rows for rows, _ in hits)]), pa.int64()),
            pa.array(np.concatenate([_NO_SCORES, *(scores for _, scores in hits)]), pa.float32()),
        ],
        schema=_HITS,
    )
    best = best.take(pc.sort_indices(best, sort_keys=[(SCORE, "descending")]).slice(0, limit))
    by_task = best.sort_by([("task", "ascending"), ("row", "ascending")])
    numbers = by_task["task"].unique().to_pylist()
    chosen = {tasks[number].split: by_task.filter(pc.equal(by_task["task"], number)) for number in numbers}

    def fetch(task: SplitTask) -> FetchedRows:
        return fetch_numbered(scan.open(task), scan.scan_spec, chosen[task.split]["row"])

    fetched = list(scan.over([tasks[number] for number in numbers], fetch))
    rows = [conform(rows, scan.scan_spec) for rows in decode_rows(fetched, threads=scan.threads)]
    return pa.concat_tables(rows).append_column(SCORE, by_task[SCORE]) if rows else None


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
