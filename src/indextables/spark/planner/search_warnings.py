"""One warning for a query that searches words in a column of exact values, before the query runs.

How many rows executors will find is not known then. The log says whether the values of a column have several words, and
which splits can match. If there are such splits, the driver reads some values of the first one: it warns if all of them have
several words, or some have the word inside, and none is the word.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import pyarrow as pa

from indextables.errors import IndexTablesError
from indextables.read.scan_plan import ScanPlan
from indextables.read.search_coverage import never_finds, warn_of_exact_words
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.snapshots import scan_of

_SAMPLE = 1000  # rows


def warn_of_missed_words(plan: ScanPlan, options: ReadOptions) -> None:
    """Logs the words that the searches of a scan miss, because a column is indexed by exact values."""
    words = plan.exact_words
    if words and plan.num_tasks:
        rows = _first_rows(plan, options, dict.fromkeys(word.column for word in words))
        words = [word for word in words if rows is not None and never_finds(word, rows)]
    warn_of_exact_words(words, options.path, in_sql=True)


def _first_rows(plan: ScanPlan, options: ReadOptions, columns: Mapping[str, None]) -> pa.Table | None:
    """Some values of columns; None where they cannot be read, which the query will report."""
    spec = replace(plan.scan_spec.without_predicate, columns=tuple(columns), search_results={}, row_address=False)
    scan = scan_of(options, replace(plan, scan_spec=spec), limit=_SAMPLE)
    try:
        return pa.Table.from_batches(chain.from_iterable(scan.rows_of(plan.tasks[:1])), scan.schema)
    except IndexTablesError:
        return None
