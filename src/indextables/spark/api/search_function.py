"""The search functions as Spark sees them: only a scan can evaluate them."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from indextables.errors import UnsupportedOperatorError

INDEXQUERY, TEXTSEARCH, INDEXQUERYALL = FUNCTIONS = ("indexquery", "textsearch", "indexqueryall")


def indexquery(*arguments: Any) -> bool:
    """What happens where Spark would have to evaluate the function row by row."""
    raise refusal(str(arguments[-1]), "only a scan of a table can evaluate it, and no scan does so here")


def refusal(query: str, reason: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(
        f"indexquery({query!r}) cannot be evaluated by Spark: {reason}; use it on a plain column of a table, in filter() "
        'of a frame or in SQL after indextables.enable(spark), or in option("where", ...)',
        predicate=query,
        reason=reason,
        operator=INDEXQUERY,
    )


search_udf = udf(indexquery, BooleanType(), useArrow=False)  # Arrow would want pandas


def register_functions(spark: SparkSession) -> None:
    """Registers the functions for SQL; a function of the user's with such a name is replaced."""
    for name in FUNCTIONS:
        spark.udf.register(name, search_udf)
