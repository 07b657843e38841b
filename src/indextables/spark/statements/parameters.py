"""Parameters of `spark.sql`: frames and values in braces, and values of the markers `:name` and `?`, put into the text.

Spark does the same before it parses a statement. Here it is done first, so that a statement with parameters is the same
statement without them to whoever looks for tables of ours in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.sql_formatter import SQLStringFormatter

from indextables.spark.catalyst.java import Java, jvm_of, seq

Args: TypeAlias = Mapping[str, Any] | Sequence[Any] | None


@contextmanager
def formatted(spark: SparkSession, text: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The text with `{name}` replaced; a frame is a temporary view, for as long as the context lasts."""
    if not values:
        yield text
        return
    formatter = SQLStringFormatter(spark)
    try:
        yield formatter.format(text, **values)
    finally:
        formatter.clear()


def bound(spark: Any, text: str, args: Args) -> str:
    """The text with literals in the places of its markers; an error of Spark's where it would raise one."""
    if not args or not isinstance(args, dict | list):
        return text
    handler = jvm_of(spark).org.apache.spark.sql.catalyst.parser.ParameterHandler
    if isinstance(args, dict):
        found = handler.substituteNamedParameters(text, _literals(spark, args))
    else:
        names = [f"_{place}" for place in range(len(args))]
        literals = _literals(spark, dict(zip(names, args, strict=True)))
        found = handler.substitutePositionalParameters(text, seq([literals.apply(name) for name in names], spark))
    return str(found._1())  # noqa: SLF001 - Scala's name


def _literals(spark: Any, values: Mapping[str, Any]) -> Java:
    """The values as literals; Spark evaluates those that are expressions, such as `F.array(...)`."""
    session, expressions = spark._jsparkSession, jvm_of(spark).java.util.HashMap()  # noqa: SLF001
    for name, value in values.items():
        expressions.put(name, session.expression(F.lit(value)._jc))  # noqa: SLF001
    return session.resolveAndValidateParameters(jvm_of(spark).PythonUtils.toScalaMap(expressions))
