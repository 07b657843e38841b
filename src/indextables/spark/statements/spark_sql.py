"""SQL text: `indextables.sql(spark, text)`, and `spark.sql(text)` after `enable(spark)`.

Our words in the text become functions and names that Spark's parser knows (`indextables.sql`), Spark analyzes the
text, and what its plan asks of our tables goes to their scans (`absorb`). A text without our words reaches Spark as it is.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import unwrap
from typing import Any, TypeAlias
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from indextables.errors import UnsupportedOperatorError
from indextables.spark.absorb import absorbed
from indextables.spark.answers import known_groups
from indextables.spark.api.dataframe_reader import decided, frame_at
from indextables.spark.api.registration import ensure_registered
from indextables.spark.catalog import resolve_relations
from indextables.spark.source.options import VIEW
from indextables.spark.statements.catalog_statements import immediate
from indextables.spark.statements.catalog_statements import run as run_statement
from indextables.spark.statements.run_command import run
from indextables.statements import TableAt, parse_command, rewrite_statement

Asking: TypeAlias = Callable[..., DataFrame]


def sql(spark: SparkSession, text: str, args: Any = None, **frames: Any) -> DataFrame:
    """The answer to a SQL text, as `spark.sql` gives it after `indextables.enable(spark)`, in a session without that.

    `indextables.sql(spark, "SELECT count(*) FROM indextables.`/data/logs` WHERE message INDEXQUERY :q", {"q": "disk"})`
    """
    if not isinstance(spark, SparkSession):
        reason = "its plans are on the server, out of reach"
        raise UnsupportedOperatorError(
            f"indextables.sql does not work over Spark Connect: {reason}; use spark.read with option('where', ...)",
            predicate=text,
            reason=reason,
            operator="sql",
        )
    return answer(unwrap(SparkSession.sql), spark, text, args, **frames)


def answer(ask_spark: Asking, spark: SparkSession, sqlQuery: str, *args: Any, **options: Any) -> DataFrame:  # noqa: N803
    """What a text asks for; `ask_spark` is Spark's own `SparkSession.sql`, whose names these are."""
    ensure_registered(spark)
    inner = immediate(spark, sqlQuery)
    if inner is not None:
        return answer(ask_spark, spark, inner, *args, **options)
    command = parse_command(sqlQuery)
    if command is not None:
        return run(command, spark)
    statement = rewrite_statement(sqlQuery, prefix=f"{VIEW}{uuid4().hex}_")
    with _views(spark, statement.tables):
        frame = run_statement(ask_spark, spark, statement.text, *args, **options)
    return known_groups(absorbed(resolve_relations(frame)))


@contextmanager
def _views(spark: SparkSession, tables: Sequence[TableAt]) -> Iterator[None]:
    """The tables as views, while Spark looks up what a text names; its plan holds what it found.

    A path that is named several times is seen at one version.
    """
    made, decide = [], cache(lambda given: decided(spark, dict(given)))
    try:
        for table in tables:
            given = {"path": table.path, "versionAsOf": table.version, "timestampAsOf": table.timestamp}
            said = frozenset((key, value) for key, value in given.items() if value is not None)
            frame_at(spark, *decide(said)).createTempView(table.name)
            made.append(table.name)
        yield
    finally:
        for name in made:
            spark.catalog.dropTempView(name)
