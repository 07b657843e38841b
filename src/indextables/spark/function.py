"""`indexquery` as Spark sees it: a function that only a scan can answer."""

from typing import Any

from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from indextables.errors import UnsupportedOperatorError

INDEXQUERY = "indexquery"


def indexquery(*asked: Any) -> bool:
    """What happens where Spark would have to evaluate the function row by row."""
    query = str(asked[-1])
    reason = "only a scan of a table can answer it, and this one stands where no scan takes it over"
    raise UnsupportedOperatorError(
        f"indexquery({query!r}) cannot be evaluated by Spark: {reason}; use it, alone or beside other conditions, "
        'in filter() of a frame of the table after indextables.enable(spark), or in option("where", ...)',
        predicate=query,
        reason=reason,
        operator=INDEXQUERY,
    )


unanswered = udf(indexquery, BooleanType(), useArrow=False)  # Arrow would want pandas
