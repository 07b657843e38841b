"""What PySpark does not show of a session: its parser, all its settings, and the data sources registered by name."""

from collections.abc import Sequence
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Any

from pyspark import SparkContext
from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.udf import _wrap_function

from indextables.spark.catalyst.handles import Expression, LogicalPlan
from indextables.spark.catalyst.java import Java, frame_over, jvm_of, plan_of, strings
from indextables.spark.versions import CURRENT


def session_state(spark: Any) -> Java:
    """For modules of this package."""
    return spark._jsparkSession.sessionState()


def parse_plan(spark: SparkSession, text: str) -> LogicalPlan | None:
    """The statement as Spark parses it; None if it cannot: Spark reports why when the statement is run."""
    try:
        return LogicalPlan(session_state(spark).sqlParser().parsePlan(text))
    except ParseException:
        return None


def parse_name(spark: SparkSession, name: str) -> list[str]:
    """The parts of a name as Spark reads it: `db.t`, `` `my table` ``."""
    parts = session_state(spark).sqlParser().parseMultipartIdentifier(name)
    return [str(parts.apply(i)) for i in range(parts.size())]


def session_settings(spark: Any) -> dict[str, str]:
    """All settings of the session. `spark.conf.getAll` makes two calls to the JVM for each of them, and one to a server."""
    if not isinstance(spark, SparkSession):
        return {key: value for key, value in spark.conf.getAll.items() if value is not None}
    return strings(spark.conf._jconf.getAllAsJava())


def stop_session(spark: Any) -> None:
    """Stops a session and the JVM that PySpark has started for it, and waits: what the JVM says at its end has been said."""
    gateway = spark._sc._gateway
    spark.stop()
    if (process := getattr(gateway, "proc", None)) is not None:
        gateway.shutdown()
        process.stdin.close()
        with suppress(TimeoutExpired):
            process.wait(30)
        SparkContext._gateway = SparkContext._jvm = None


def run_in_spark(spark: Any, text: str) -> None:
    """Runs a statement by Spark alone, without our hooks; its result is dropped."""
    spark._jsparkSession.sql(text)


def run_plan(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """A frame over a parsed plan. Spark runs a command at once."""
    return frame_over(plan, spark)


def plan_of_frame(frame: DataFrame) -> LogicalPlan:
    return LogicalPlan(plan_of(frame))


def has_data_source(spark: SparkSession, name: str) -> bool:
    return bool(session_state(spark).dataSourceManager().dataSourceExists(name))


def register_data_source(spark: SparkSession, name: str, source: type[DataSource]) -> None:
    """Registers a Python data source in this session.

    `spark.dataSource.register` looks the name up in the session that is active, which may be another one.
    """
    python = jvm_of(spark).org.apache.spark.sql.execution.datasources.v2.python
    function = _wrap_function(spark.sparkContext, source)
    session_state(spark).dataSourceManager().registerDataSource(name, python.UserDefinedPythonDataSource(function))


def allow_in_views(spark: SparkSession, functions: Sequence[str]) -> None:
    """Makes functions of the session built-in ones of it: Spark refuses temporary functions in persistent views."""
    if not CURRENT.has_qualified_functions:
        return
    registry, jvm = session_state(spark).functionRegistry(), jvm_of(spark)
    identifier, some = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier, jvm.scala.Option.apply
    for name in functions:
        own, built_in = (identifier(name, some(schema), some("system")) for schema in ("session", "builtin"))
        info, builder = registry.lookupFunction(own), registry.lookupFunctionBuilder(own)
        registry.registerFunction(built_in, info.get(), builder.get())


def drop_view(spark: SparkSession, name: str) -> None:
    """Drops a temporary view of ours. Spark's own method drops the rows of the same plan from the cache, too."""
    session_state(spark).catalog().dropTempView(name)


def column_expression(spark: Any, column: Column) -> Expression:
    return Expression(spark._jsparkSession.expression(column._jc))


def expression_sql(expression: Expression) -> str:
    java: Java = expression
    return str(java.sql())


def session_of(reader: DataFrameReader) -> SparkSession:
    """The session of `spark.read`."""
    spark: SparkSession = reader._spark
    return spark
