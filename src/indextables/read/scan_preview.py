"""What a notebook shows of a scan: its first rows, of as few splits as can be read in no time, and what is pruned."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile

import pyarrow as pa

from indextables.display.grid import grid, no_rows
from indextables.display.markup import element
from indextables.display.panels import notebook
from indextables.plural import pluralize
from indextables.read.scan_plan import Explanation, SplitTask, columns_and_values
from indextables.search.match_spans import MatchSpans

ROWS = 10
_MAX_BYTES = 64 * 1024**2
_MAX_SPLITS = 8


def preview_tasks(tasks: Sequence[SplitTask], *, ordered: bool) -> Sequence[SplitTask]:
    """The first splits, as far as they are small, but at least one; all of them or none where rows have an order."""
    if ordered:
        return tasks if sum(task.split.size for task in tasks) <= _MAX_BYTES else ()
    sizes = accumulate(task.split.size for task in tasks[:_MAX_SPLITS])
    return tasks[: max(1, sum(1 for _ in takewhile(lambda size: size <= _MAX_BYTES, sizes)))]


def first_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int) -> pa.Table:
    """At most so many rows; no batch is asked for that is not needed."""
    taken: list[pa.RecordBatch] = []
    left = most
    for batch in batches if most else ():
        taken.append(batch.slice(0, left))
        left -= taken[-1].num_rows
        if not left:
            break
    return pa.Table.from_batches(taken, schema)


def preview_output(rows: pa.Table, read: int, plan: Explanation, spans: MatchSpans) -> str:
    """The output of a cell: rows of the first `read` splits, and how many splits the plan leaves out."""
    pruned = f"{plan.never:,} of {pluralize(plan.total, 'split')} pruned: {plan.reasons}"
    bytes_left = f"{plan.bytes:,} of {plan.bytes_total:,} bytes to read"
    return notebook(
        grid(rows, spans=spans, note=_note(rows, read, plan)), element("div", f"{pruned}; {bytes_left}", class_="dim")
    )


def _note(rows: pa.Table, read: int, plan: Explanation) -> str:
    if len(rows) >= ROWS:
        return f"the first {len(rows)} rows; to_arrow() reads them all"
    if read >= plan.opened and not len(rows):
        return no_rows(columns_and_values(plan.search_columns))
    if read >= plan.opened:
        return pluralize(len(rows), "row")
    if not read:
        return "no rows are shown: to find the first ones in this order, many splits have to be read"
    return f"{pluralize(len(rows), 'row')} in the first {read} of {plan.opened:,} splits; to_arrow() reads them all"
