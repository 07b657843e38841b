"""The best matches of a search, over all splits."""

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.read.plan import SplitTask
from indextables.read.rows import SCORE, best_rows
from indextables.read.scan import Scan


def search_top(scan: Scan, limit: int) -> pa.Table:
    """At most `limit` rows, best first, with their score. Scores are BM25, computed in each split by its own statistics."""
    question = scan.question
    if SCORE in question.columns:
        raise SchemaError(f"a column named {SCORE!r} is in the way of the score; choose other columns", column=SCORE)
    if limit < 1:
        return question.answer_schema.append(pa.field(SCORE, pa.float32())).empty_table()
    schema = question.answer_schema.append(pa.field(SCORE, pa.float32()))

    def best_of(task: SplitTask) -> pa.Table:
        return best_rows(scan.open(task), question, limit).cast(schema)

    found = pa.concat_tables([schema.empty_table(), *scan.over(scan.plan.tasks, best_of)])
    order = pc.sort_indices(found, sort_keys=[(SCORE, "descending")])
    return found.take(order.slice(0, limit))
