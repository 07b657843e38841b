"""Values for the markers `:name` and `?` of a statement, as Spark binds them."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from indextables.spark.catalyst.java import Java, jvm_of, seq
from indextables.spark.catalyst.session_state import column_expression

Args: TypeAlias = Mapping[str, Any] | Sequence[Any] | None


def bind_parameters(spark: Any, text: str, args: Args) -> str:
    """The text with literals in the places of its markers; raises what Spark raises for wrong ones."""
    if not args or not isinstance(args, dict | list):
        return text
    handler = jvm_of(spark).org.apache.spark.sql.catalyst.parser.ParameterHandler
    if isinstance(args, dict):
        found = handler.substituteNamedParameters(text, _literals(spark, args))
    else:
        names = [f"_{place}" for place in range(len(args))]
        literals = _literals(spark, dict(zip(names, args, strict=True)))
        found = handler.substitutePositionalParameters(text, seq([literals.apply(name) for name in names], spark))
    return str(found._1())


def _literals(spark: Any, values: Mapping[str, Any]) -> Java:
    """The values as literals; Spark evaluates those that are expressions, such as `F.array(...)`."""
    jvm = jvm_of(spark)
    expressions = jvm.java.util.HashMap()
    for name, value in values.items():
        expressions.put(name, column_expression(spark, F.lit(value)))
    return spark._jsparkSession.resolveAndValidateParameters(jvm.PythonUtils.toScalaMap(expressions))
