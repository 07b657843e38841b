"""Rows for a table of the catalog, in its columns: Spark's own rules of INSERT decide which value goes where."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from indextables.errors import ConfigError
from indextables.predicate import to_sql
from indextables.spark.catalog import Entry
from indextables.spark.catalyst import Conditions, NotUnderstoodError, simplified, understood
from indextables.spark.fills import rows_of
from indextables.spark.frames import load
from indextables.spark.java import Java, frame_over, jvm_of, kind, pairs, plan_of, seq, sequence
from indextables.spark.relation import options_of


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
    where = _replaced(spark, plan)
    if where is not None:
        insert = analyzed_insert(spark, _without_criteria(spark, plan))
        return Insert(insert.frame, "overwrite", {**insert.options, "replaceWhere": where})
    jvm, state = jvm_of(spark), spark._jsparkSession.sessionState()  # noqa: SLF001 - Spark's plans are in its JVM
    skip = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    command = state.executePlan(plan, skip).analyzed()
    mode = {"AppendData": "append", "OverwriteByExpression": "overwrite"}.get(kind(command))
    if mode is None:
        raise _unsupported(kind(command), "use df.write.format('indextables').save(path)")
    given: dict[str, str] = {**command.table().options().asCaseSensitiveMap(), **dict(pairs(command.writeOptions()))}
    return Insert(rows_of(command.query(), spark), mode, given)


def insert_of_frame(frame: DataFrame, entry: Entry, *, overwrite: bool) -> Insert:
    """The rows of a frame, by the positions of its columns, as `insertInto` takes them."""
    spark: Any = frame.sparkSession
    verb = "OVERWRITE" if overwrite else "INTO"
    text = f"INSERT {verb} {entry.name} WITH ('path' = {literal(entry.location)}) SELECT 1"
    parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001
    rows = seq([frame._jdf.queryExecution().analyzed()], spark)  # noqa: SLF001
    return analyzed_insert(spark, parsed.withNewChildren(rows))


def _replaced(spark: Any, plan: Java) -> str | None:
    """The condition of REPLACE WHERE, if there is one, as Spark resolves it on the table's columns."""
    if not plan.replaceCriteriaOpt().isDefined():
        return None
    criteria, target = plan.replaceCriteriaOpt().get(), plan.table()
    if kind(criteria) != "InsertReplaceWhere":
        raise _unsupported("REPLACE ON or USING", "use REPLACE WHERE, with a condition on partition columns")
    rows = load(spark, options_of(target)).alias(str(sequence(target.multipartIdentifier())[-1]))
    filters = jvm_of(spark).org.apache.spark.sql.catalyst.plans.logical.Filter
    chosen = simplified(plan_of(frame_over(filters(criteria.cond(), plan_of(rows)), spark)), spark)
    try:
        return to_sql(Conditions(understood(chosen.child())).predicate(chosen.condition()))
    except NotUnderstoodError:
        instead = "compare partition columns with values of their types that do not depend on the time"
        raise _unsupported(f"REPLACE WHERE {criteria.cond().sql()}", instead) from None


def _without_criteria(spark: Any, plan: Java) -> Java:
    """The same INSERT as a plain one: Spark refuses to analyze more for a Python data source."""
    nothing = jvm_of(spark).scala.Option.empty()
    names = [str(plan.productElementName(i)) for i in range(plan.productArity())]
    return plan.copy(
        *(nothing if name == "replaceCriteriaOpt" else plan.productElement(i) for i, name in enumerate(names))
    )


def literal(text: str) -> str:
    r"""A text in Spark's SQL.

    >>> print(literal("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unsupported(clause: str, instead: str) -> ConfigError:
    message = f"INSERT with {clause} is not possible for tables of indextables; {instead}"
    return ConfigError(message, key="INSERT", value=clause)
