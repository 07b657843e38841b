"""Rows for a table of the catalog, in its columns: Spark's own rules of INSERT decide which value goes where."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from indextables.config import PREFIX, canonical
from indextables.errors import ConfigError
from indextables.predicate import CastMode, casts, to_sql
from indextables.spark.api.dataframe_reader import load
from indextables.spark.catalog import CatalogTable, quote_name, relation_of_view
from indextables.spark.catalyst.expressions import Conditions, NotUnderstoodError, simplified, understood
from indextables.spark.catalyst.java import Java, frame_over, jvm_of, kind, name_parts, pairs, plan_of, seq, strings
from indextables.spark.catalyst.relation import options_of
from indextables.spark.source.options import VIEW, path_in, settings_in
from indextables.spark.source.spark_types import is_char
from indextables.spark.statements.insert_query import rows_of


@dataclass(frozen=True, slots=True)
class Insert:
    """What an INSERT writes: rows that fit the table, after the casts that Spark's rules ask for."""

    frame: DataFrame
    mode: str
    options: Mapping[str, str]


def analyze_insert(spark: Any, plan: Java) -> Insert:
    """What a parsed INSERT means; its target has a path. Nothing is run."""
    if plan.partitionSpec().size():
        raise _unsupported("PARTITION (...)", "give the partition columns as columns of the query")
    target = plan.table()
    named = _options_of_path(spark, target)
    where = _replaced(spark, plan, options_of(target) if named is None else named)
    overwrites = where is not None or bool(plan.overwrite())
    jvm, state = jvm_of(spark), spark._jsparkSession.sessionState()  # noqa: SLF001 - Spark's plans are in its JVM
    skip = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    command = state.executePlan(_as_append(spark, plan), skip).analyzed()
    if kind(command) != "AppendData":
        raise _unsupported(kind(command), "use df.write.format('indextables').save(path)")
    given = strings(command.table().options().asCaseSensitiveMap()) if named is None else named
    given |= {str(key): str(value) for key, value in pairs(command.writeOptions())}
    if where is not None:
        _refuse_two_conditions(given)
        given["replaceWhere"] = where
    rows = _as_strings(rows_of(command.query(), spark))
    return Insert(rows, "overwrite" if overwrites else "append", given)


def _as_strings(rows: DataFrame) -> DataFrame:
    """The rows for the columns of a table, which are STRING even where the query has CHAR(n)."""
    chars = {field.name: F.col(quote_name([field.name])).cast("string") for field in rows.schema if is_char(field)}
    return rows.withColumns(chars) if chars else rows


def insert_by_position(frame: DataFrame, entry: CatalogTable, *, overwrite: bool) -> Insert:
    """The rows of a frame, by the positions of its columns, as `insertInto` takes them."""
    spark: Any = frame.sparkSession
    verb = "OVERWRITE" if overwrite else "INTO"
    text = f"INSERT {verb} {entry.name} WITH ('path' = {quote_string(entry.location)}) SELECT 1"
    parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001
    rows = seq([frame._jdf.queryExecution().analyzed()], spark)  # noqa: SLF001
    return analyze_insert(spark, parsed.withNewChildren(rows))


def _options_of_path(spark: Any, target: Java) -> dict[str, str] | None:
    """The options of a target that is named by its path, which is a view while the statement runs; None for other names.

    A view that a user made shows one version of a table, maybe an old one, and is no place to write to.
    """
    name = name_parts(target)
    shown = relation_of_view(spark, name)
    if shown is None:
        return None
    path = path_in(options_of(shown))
    if not name[-1].startswith(VIEW):
        raise _unsupported("a view as its target", f"insert into the table that it shows: indextables.`{path}`")
    return {**options_of(target), "path": path}


def _replaced(spark: Any, plan: Java, options: Mapping[str, str]) -> str | None:
    """The condition of REPLACE WHERE, if there is one, as Spark resolves it on the table's columns."""
    if not plan.replaceCriteriaOpt().isDefined():
        return None
    criteria, target = plan.replaceCriteriaOpt().get(), plan.table()
    if kind(criteria) != "InsertReplaceWhere":
        raise _unsupported("REPLACE ON or USING", "use REPLACE WHERE, with a condition on partition columns")
    name = name_parts(target)[-1]
    return replace_where_text(spark, criteria.cond(), options, alias=name)


def replace_where_text(spark: Any, condition: Java, options: Mapping[str, str], *, alias: str) -> str:
    """A condition on the table that the options name, as Spark resolves it on the table's columns."""
    rows = load(spark, options).alias(alias)
    filters = jvm_of(spark).org.apache.spark.sql.catalyst.plans.logical.Filter
    chosen = simplified(plan_of(frame_over(filters(condition, plan_of(rows)), spark)), spark)
    instead = "compare partition columns with values of their types that do not depend on the time"
    refusal = _unsupported(f"REPLACE WHERE {condition.sql()}", instead)
    try:
        predicate = Conditions(understood(chosen.child())).predicate(chosen.condition())
    except NotUnderstoodError:
        raise refusal from None
    if any(cast.mode is CastMode.LEGACY for cast in casts(predicate)):
        raise refusal  # a text that is no number is null to Spark, and an error to us
    return to_sql(predicate)


def _as_append(spark: Any, plan: Java) -> Java:
    """The same rows as a plain append: of a Python data source, Spark refuses to analyze overwrites of a part."""
    other = {"replaceCriteriaOpt": jvm_of(spark).scala.Option.empty(), "overwrite": False}
    names = [str(plan.productElementName(i)) for i in range(plan.productArity())]
    return plan.copy(*(other.get(name, plan.productElement(i)) for i, name in enumerate(names)))


def _refuse_two_conditions(options: Mapping[str, str]) -> None:
    where = canonical(settings_in(options)).get(f"{PREFIX}replaceWhere")
    if where is not None:
        raise ConfigError(
            "REPLACE WHERE says what is replaced, and so does the option replaceWhere; give one of them",
            key="replaceWhere",
            value=where,
        )


def quote_string(text: str) -> str:
    r"""A text in Spark's SQL.

    >>> print(quote_string("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unsupported(clause: str, instead: str) -> ConfigError:
    message = f"INSERT with {clause} is not possible for tables of indextables; {instead}"
    return ConfigError(message, key="INSERT", value=clause)
