"""The words of a search as Spark sees them: functions that only a scan can answer."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from indextables.errors import UnsupportedOperatorError

INDEXQUERY, TEXTSEARCH, INDEXQUERYALL = FUNCTIONS = ("indexquery", "textsearch", "indexqueryall")


def indexquery(*asked: Any) -> bool:
    """What happens where Spark would have to evaluate the function row by row."""
    raise refusal(
        str(asked[-1]), "only a scan of a table can answer it, and this one stands where no scan takes it over"
    )


def refusal(query: str, reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        f"indexquery({query!r}) cannot be evaluated by Spark: {reason}; use it on a plain column of a table, in filter() "
        'of a frame or in SQL after indextables.enable(spark), or in option("where", ...)',
        predicate=query,
        reason=reason,
        operator=INDEXQUERY,
    )


unanswered = udf(indexquery, BooleanType(), useArrow=False)  # Arrow would want pandas


def register_functions(spark: SparkSession) -> None:
    """Makes SQL know the words; whoever has a function of such a name loses it."""
    for name in FUNCTIONS:
        spark.udf.register(name, unanswered)
