"""The best matches of a search, over all splits."""

import logging
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.predicate import IndexQuery, terms_of
from indextables.read.scan import Scan, refuse_limit
from indextables.read.scan_plan import SplitTask, columns_and_values
from indextables.read.split_scan import SCORE, best_rows, is_search_only, ranked, rows_numbered
from indextables.search.lexer import syntax_error

logger = logging.getLogger(__name__)
_HITS = pa.schema({"task": pa.int64(), "row": pa.int64(), SCORE: pa.float32()})


def search_top(scan: Scan, limit: int) -> pa.Table:
    """At most `limit` rows, best first, with their BM25 score, computed in each split from its own statistics."""
    scan_spec = scan.scan_spec
    refuse_limit(limit)
    if not any(isinstance(term, IndexQuery) for term in terms_of(scan_spec.predicate)):
        raise syntax_error("", "there is none; *:* means every row")
    if SCORE in scan_spec.columns:
        raise SchemaError(f"the column {SCORE!r} has the name of the score column; select other columns", column=SCORE)
    schema = scan_spec.output_schema.append(pa.field(SCORE, pa.float32()))
    if limit < 1:
        return schema.empty_table()
    tasks = scan.plan.tasks
    if is_search_only(scan_spec):
        found = _rank_then_read(scan, tasks, limit)
    else:
        found = scan.over(tasks, lambda task: best_rows(scan.open(task), scan_spec, limit))
    rows = pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in found)])
    if not len(rows):
        logger.info(
            "no row of %s matches; search columns: %s", scan.table, columns_and_values(scan_spec.search_columns)
        )
    return rows.take(pc.sort_indices(rows, sort_keys=[(SCORE, "descending")]).slice(0, limit))


def _rank_then_read(scan: Scan, tasks: list[SplitTask], limit: int) -> Iterator[pa.Table]:
    """The indexes rank the hits of all splits; then only the rows of the best hits are read."""
    hits = [
        pa.table({"task": pa.repeat(number, len(rows)), "row": rows, SCORE: scores})
        for number, (rows, scores) in enumerate(
            scan.over(tasks, lambda task: ranked(scan.open(task), scan.scan_spec, limit))
        )
    ]
    best = pa.concat_tables([_HITS.empty_table(), *(table.cast(_HITS) for table in hits)])
    best = best.take(pc.sort_indices(best, sort_keys=[(SCORE, "descending")]).slice(0, limit))
    numbers = best["task"].unique().to_pylist()
    hits_by_task = {number: best.filter(pc.equal(best["task"], number)).sort_by("row") for number in numbers}

    def read(task: SplitTask) -> pa.Table:
        best_hits = hits_by_task[tasks.index(task)]
        rows = rows_numbered(scan.open(task), scan.scan_spec, best_hits["row"].combine_chunks())
        return rows.append_column(SCORE, best_hits[SCORE])

    return scan.over([tasks[number] for number in hits_by_task], read)
