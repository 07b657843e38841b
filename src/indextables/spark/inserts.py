"""Rows for a table of the catalog, in its columns: Spark's own rules of INSERT decide which value goes where."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from indextables.errors import ConfigError
from indextables.spark.catalog import Entry, settled
from indextables.spark.java import Java, frame_over, kind, pairs

_PRIVILEGES = "__required_write_privileges__"  # Spark marks the target of a write with it


@dataclass(frozen=True, slots=True)
class Insert:
    """What an INSERT writes: rows that fit the table, after the casts that Spark's rules ask for."""

    frame: DataFrame
    mode: str
    options: Mapping[str, str]


def analyzed_insert(spark: Any, plan: Java) -> Insert:
    """What a parsed INSERT means; its target has a path. Nothing is run."""
    if plan.partitionSpec().size():
        raise _unsupported("PARTITION (...)", "give the partition columns as columns of the query")
    if plan.replaceCriteriaOpt().isDefined():
        raise _unsupported("REPLACE", 'use df.write.mode("overwrite").option("replaceWhere", ...).save(path)')
    jvm, state = spark._jvm, spark._jsparkSession.sessionState()  # noqa: SLF001 - Spark's plans are in its JVM
    skip = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    command = state.executePlan(plan, skip).analyzed()
    mode = {"AppendData": "append", "OverwriteByExpression": "overwrite"}.get(kind(command))
    if mode is None:
        raise _unsupported(kind(command), "use df.write.format('indextables').save(path)")
    given: dict[str, str] = {**command.table().options().asCaseSensitiveMap(), **dict(pairs(command.writeOptions()))}
    given.pop(_PRIVILEGES, None)
    return Insert(settled(frame_over(command.query(), spark)), mode, given)


def insert_of_frame(frame: DataFrame, entry: Entry, *, overwrite: bool) -> Insert:
    """The rows of a frame, by the positions of its columns, as `insertInto` takes them."""
    spark: Any = frame.sparkSession
    verb = "OVERWRITE" if overwrite else "INTO"
    text = f"INSERT {verb} {entry.name} WITH ('path' = {literal(entry.location)}) SELECT 1"
    parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001
    rows = spark._jvm.PythonUtils.toSeq([frame._jdf.queryExecution().analyzed()])  # noqa: SLF001
    return analyzed_insert(spark, parsed.withNewChildren(rows))


def literal(text: str) -> str:
    r"""A text in Spark's SQL.

    >>> print(literal("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unsupported(clause: str, instead: str) -> ConfigError:
    message = f"INSERT with {clause} is not possible for tables of indextables; {instead}"
    return ConfigError(message, key="INSERT", value=clause)
