"""The search functions and `score()` as Spark sees them.

The planner answers a search by the index where it can. Everywhere else, Spark evaluates the function on the values. A score
is known to a scan alone.
"""

import logging
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType, FloatType

from indextables.errors import UnsupportedOperatorError
from indextables.spark.source.search_values import indexquery

logger = logging.getLogger(__name__)
INDEXQUERY, TEXTSEARCH, INDEXQUERYALL = FUNCTIONS = ("indexquery", "textsearch", "indexqueryall")
SCORE = "score"


def refusal(query: str, reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        f"indexquery({query!r}) cannot be evaluated by Spark: {reason}; use it on a plain column of a table, in filter() "
        'of a frame or in SQL after indextables.enable(spark), or in option("where", ...)',
        predicate=query,
        reason=reason,
        operator=INDEXQUERY,
    )


def evaluated(query: str, reason: str) -> str:
    """What the log and `explain` say of a search that no scan answers."""
    return f"the search {query} is evaluated on the values of each row, without the index: {reason}"


def score() -> float:
    """What happens where Spark would have to compute the score by itself."""
    raise score_refusal("only a scan of a table can compute it, and no scan does so here")


def score_refusal(reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        f"score() cannot be computed: {reason}; it is the score of a search that every row satisfies: use it after "
        "filter(indexquery(...)), beside INDEXQUERY in WHERE (not under OR or NOT), or over a read with "
        'option("query", ...), in a session with indextables.enable(spark)',
        predicate=f"{SCORE}()",
        reason=reason,
        operator=SCORE,
    )


search_udf: Any = arrow_udf(indexquery, BooleanType())  # type: ignore[call-overload] # it has any number of columns
score_udf = udf(score, FloatType(), useArrow=False)  # Arrow would want pandas


def register_functions(spark: SparkSession) -> None:
    """Registers the functions for SQL. A function of the user's is replaced, except one that is named `score`."""
    for name in FUNCTIONS:
        spark.udf.register(name, search_udf)
    if not spark.catalog.functionExists(SCORE):
        spark.udf.register(SCORE, score_udf)
        return
    logger.warning(
        "the session has a function %s() of its own, which SQL keeps; indextables.functions.score gives the score "
        "of a search",
        SCORE,
    )
