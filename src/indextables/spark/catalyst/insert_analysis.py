"""An INSERT as Spark analyzes it: which value goes to which column of the table, with which cast."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from indextables.predicate import CastMode, Predicate, casts
from indextables.spark.catalyst.handles import Expression, LogicalPlan
from indextables.spark.catalyst.java import Java, frame_over, jvm_of, kind, pairs, plan_of, seq, strings
from indextables.spark.catalyst.parsed_statement import InsertInto
from indextables.spark.catalyst.query_planning import filter_predicate
from indextables.spark.catalyst.relation import options_of
from indextables.spark.catalyst.session_state import parse_plan, session_state
from indextables.spark.versions import CURRENT

_OVERWRITE = "OverwriteByExpression"  # REPLACE WHERE, before Spark 4.3


class Replaces(Enum):
    """What the rows of an INSERT replace."""

    NOTHING = auto()
    ALL = auto()
    WHERE = auto()
    ON_OR_USING = auto()


@dataclass(frozen=True, slots=True)
class InsertClauses:
    options: Mapping[str, str]
    has_partition_spec: bool
    replaces: Replaces
    condition: Expression | None = field(repr=False)  # of REPLACE WHERE


@dataclass(frozen=True, slots=True)
class AnalyzedInsert:
    """`query` has the columns of the table; `options` are those of the statement and of the table in the catalog."""

    query: LogicalPlan = field(repr=False)
    table_options: Mapping[str, str]
    write_options: Mapping[str, str]


class NotAnAppendError(Exception):
    """Spark has made another command of an INSERT; the message is its name."""


def insert_clauses(insert: InsertInto) -> InsertClauses:
    plan: Java = insert.plan
    if kind(plan) == _OVERWRITE:
        return InsertClauses(options_of(plan.table()), False, Replaces.WHERE, plan.deleteExpr())
    criteria = _criteria(plan)
    has_condition = criteria is not None and kind(criteria) == "InsertReplaceWhere"
    if criteria is None:
        replaces = Replaces.ALL if plan.overwrite() else Replaces.NOTHING
    else:
        replaces = Replaces.WHERE if has_condition else Replaces.ON_OR_USING
    return InsertClauses(
        options=options_of(plan.table()),
        has_partition_spec=plan.partitionSpec().size() > 0,
        replaces=replaces,
        condition=criteria.cond() if criteria is not None and has_condition else None,
    )


def analyze_insert(spark: SparkSession, insert: InsertInto) -> AnalyzedInsert:
    """Nothing is run. The INSERT is analyzed as an append: Spark refuses to overwrite parts by a Python data source."""
    skip = jvm_of(spark).org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    command = session_state(spark).executePlan(_as_append(spark, insert.plan), skip).analyzed()
    if kind(command) != "AppendData":
        raise NotAnAppendError(kind(command))
    return AnalyzedInsert(
        query=command.query(),
        table_options=strings(command.table().options().asCaseSensitiveMap()),
        write_options={str(key): str(value) for key, value in pairs(command.writeOptions())},
    )


def insert_of_frame(frame: DataFrame, statement: str) -> InsertInto:
    """A parsed INSERT over the rows of a frame instead of its own."""
    spark = frame.sparkSession
    parsed: Java = parse_plan(spark, statement)
    rows = frame._jdf.queryExecution().analyzed()
    return InsertInto(None, parsed.withNewChildren(seq([rows], spark)))


def resolve_condition(frame: DataFrame, condition: Expression) -> Predicate | None:
    """A condition as Spark resolves it on the columns of a table's frame; None if it cannot be a predicate of ours."""
    spark: Any = frame.sparkSession
    filters = jvm_of(spark).org.apache.spark.sql.catalyst.plans.logical.Filter
    predicate = filter_predicate(plan_of(frame_over(filters(condition, plan_of(frame)), spark)), spark)
    # A string that is not a number is null to Spark without ANSI mode, and an error to us.
    return None if predicate is None or any(cast.mode is CastMode.LEGACY for cast in casts(predicate)) else predicate


def _criteria(plan: Java) -> Java | None:
    """What an INSERT replaces, where it says so."""
    found = plan.replaceCriteriaOpt() if CURRENT.has_insert_criteria else None
    return found.get() if found is not None and found.isDefined() else None


def _as_append(spark: Any, plan: Java) -> Java:
    if kind(plan) == _OVERWRITE:
        insert = parse_plan(spark, "INSERT INTO t SELECT 1")
        return _with_fields(insert, {"table": plan.table(), "query": plan.query(), "byName": plan.isByName()})
    return _with_fields(plan, {"replaceCriteriaOpt": jvm_of(spark).scala.Option.empty(), "overwrite": False})


def _with_fields(plan: Java, fields: Mapping[str, Any]) -> Java:
    """The node with other values in some of its fields; versions of Spark differ in which fields there are."""
    names = [str(plan.productElementName(i)) for i in range(plan.productArity())]
    return plan.copy(*(fields.get(name, plan.productElement(i)) for i, name in enumerate(names)))
