"""The best matches of a search, over all splits."""

import logging
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.predicate import IndexQuery, terms_of
from indextables.read.rows import SCORE, best_rows, is_only_a_search, ranked, rows_numbered
from indextables.read.scan import Scan, refuse_limit
from indextables.read.scan_plan import SplitTask, columns_and_values
from indextables.search.lexer import unreadable

logger = logging.getLogger(__name__)
_HITS = pa.schema({"task": pa.int64(), "row": pa.int64(), SCORE: pa.float32()})


def search_top(scan: Scan, limit: int) -> pa.Table:
    """At most `limit` rows, best first, with their score. Scores are BM25, computed in each split by its own statistics."""
    question = scan.question
    refuse_limit(limit)
    if not any(isinstance(term, IndexQuery) for term in terms_of(question.predicate)):
        raise unreadable("", "there is none; *:* means every row")
    if SCORE in question.columns:
        raise SchemaError(f"a column named {SCORE!r} is in the way of the score; choose other columns", column=SCORE)
    schema = question.answer_schema.append(pa.field(SCORE, pa.float32()))
    if limit < 1:
        return schema.empty_table()
    tasks = scan.plan.tasks
    if is_only_a_search(question):
        found = _ranked_before_reading(scan, tasks, limit)
    else:
        found = scan.over(tasks, lambda task: best_rows(scan.open(task), question, limit))
    rows = pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in found)])
    if not len(rows):
        logger.info("no row of %s is found; searched: %s", scan.table, columns_and_values(question.searched_columns))
    return rows.take(pc.sort_indices(rows, sort_keys=[(SCORE, "descending")]).slice(0, limit))


def _ranked_before_reading(scan: Scan, tasks: list[SplitTask], limit: int) -> Iterator[pa.Table]:
    """Rows are read only of the best of all splits: the indexes rank them without a look at any row."""
    hits = [
        pa.table({"task": pa.repeat(number, len(rows)), "row": rows, SCORE: scores})
        for number, (rows, scores) in enumerate(
            scan.over(tasks, lambda task: ranked(scan.open(task), scan.question, limit))
        )
    ]
    best = pa.concat_tables([_HITS.empty_table(), *(table.cast(_HITS) for table in hits)])
    best = best.take(pc.sort_indices(best, sort_keys=[(SCORE, "descending")]).slice(0, limit))
    numbers = best["task"].unique().to_pylist()
    chosen = {number: best.filter(pc.equal(best["task"], number)).sort_by("row") for number in numbers}

    def read(task: SplitTask) -> pa.Table:
        mine = chosen[tasks.index(task)]
        return rows_numbered(scan.open(task), scan.question, mine["row"].combine_chunks()).append_column(
            SCORE, mine[SCORE]
        )

    return scan.over([tasks[number] for number in chosen], read)
