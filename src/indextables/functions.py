"""Functions for Spark's columns: `from indextables.functions import indexquery, score`."""

import indextables.spark.versions  # noqa: F401 - says what to install before PySpark is imported

# isort: split
from pyspark.sql import Column, is_remote
from pyspark.sql.functions import call_function, col, lit

from indextables.spark.source.search_function import INDEXQUERY, SCORE, score_udf, search_udf


def indexquery(column: Column | str | None, query: str) -> Column:
    """True where a search on a column finds the row; on all columns with None.

    `logs.filter(indexquery("message", "timeout AND NOT retry"))` becomes part of the scan, which uses the index. Where no
    scan of a table can take it over, Spark searches the values themselves, and the rows are the same.
    """
    fields = [] if column is None else [col(column) if isinstance(column, str) else column]
    if is_remote():  # the client finds the function by its name
        return call_function(INDEXQUERY, *fields, lit(query))
    found: Column = search_udf(*fields, lit(query))
    return found


def score() -> Column:
    """The BM25 score of each row under the searches that all rows satisfy, as `IndexTable.search` computes it.

    `logs.filter(indexquery("message", "timeout")).select("message", score().alias("score"))`. Without a search that every
    row satisfies, the query fails.
    """
    return call_function(SCORE) if is_remote() else score_udf()
