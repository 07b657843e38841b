"""INSERT INTO tables of ours, and the queries of all statements that write.

Spark's own rules decide which value of an INSERT goes to which column. Spark runs a command as soon as it is analyzed. So
the query of an INSERT or a CREATE TABLE ... AS SELECT is analyzed and planned first, like that of any frame, and the
command is run over the planned query.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from indextables.config import PREFIX, canonical
from indextables.errors import ConfigError
from indextables.predicate import to_sql
from indextables.spark.catalyst.handles import SPARK_ERRORS, Expression, LogicalPlan
from indextables.spark.catalyst.insert_analysis import (
    InsertClauses,
    NotAnAppendError,
    Replaces,
    analyze_insert,
    insert_clauses,
    insert_of_frame,
    resolve_condition,
)
from indextables.spark.catalyst.parsed_statement import InsertInto, WriteStatement, has_query, query_of, with_query
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.query_planning import planned_frame, reads_our_tables
from indextables.spark.catalyst.session_state import expression_sql, plan_of_frame, run_plan
from indextables.spark.frames.catalog import CatalogTable, relation_of_view, resolve_relations
from indextables.spark.frames.dataframe_reader import load
from indextables.spark.options import VIEW, path_in, settings_in
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.spark.source.spark_types import is_char


@dataclass(frozen=True, slots=True)
class Insert:
    """The write that an INSERT means: rows with the columns of the table, and the mode and options of the writer."""

    frame: DataFrame
    mode: str
    options: Mapping[str, str]


def resolve_insert(spark: SparkSession, insert: InsertInto) -> Insert:
    """Analyzes a parsed INSERT whose target has a path. Nothing is run."""
    if Capability.INSERT_ANALYSIS not in capabilities(spark):
        raise _unsupported("this version of Spark", "use df.write.format('indextables').save(path)")
    clauses = insert_clauses(insert)
    if clauses.has_partition_spec:
        raise _unsupported("PARTITION (...)", "give the partition columns as columns of the query")
    by_path = None if insert.target is None else _options_of_path(spark, insert.target, clauses.options)
    where = _replace_where(spark, insert, clauses, clauses.options if by_path is None else by_path)
    try:
        analyzed = analyze_insert(spark, insert)
    except NotAnAppendError as error:
        raise _unsupported(str(error), "use df.write.format('indextables').save(path)") from None
    options = {**(analyzed.table_options if by_path is None else by_path), **analyzed.write_options}
    if where is not None:
        _refuse_two_conditions(options)
        options["replaceWhere"] = where
    rows = _char_as_string(query_rows(spark, analyzed.query))
    return Insert(rows, "append" if clauses.replaces is Replaces.NOTHING else "overwrite", options)


def query_rows(spark: SparkSession, query: LogicalPlan) -> DataFrame:
    """The rows of a query, for a writer, which plans them."""
    return resolve_relations(run_plan(spark, query))


def plan_query(spark: SparkSession, statement: WriteStatement) -> LogicalPlan | None:
    """The plan of a statement over its planned query; None if the query reads no table of ours."""
    if not has_query(statement):
        return None
    try:
        frame = resolve_relations(run_plan(spark, query_of(statement)))
        if not reads_our_tables(frame):
            return None
    except SPARK_ERRORS:
        return None  # not valid without its command; Spark reports why when it runs the statement
    return with_query(spark, statement, plan_of_frame(planned_frame(frame)))


def insert_by_position(frame: DataFrame, entry: CatalogTable, *, overwrite: bool) -> Insert:
    """The rows of a frame, by the positions of its columns, as `insertInto` takes them."""
    verb = "OVERWRITE" if overwrite else "INTO"
    text = f"INSERT {verb} {entry.name} WITH ('path' = {quote_string(entry.location)}) SELECT 1"
    return resolve_insert(frame.sparkSession, insert_of_frame(frame, text))


def replace_where_text(spark: SparkSession, condition: Expression, options: Mapping[str, str], *, alias: str) -> str:
    """A condition on the table that the options name, as Spark resolves it on the table's columns."""
    predicate = resolve_condition(load(spark, options).alias(alias), condition)
    if predicate is None:
        instead = "compare partition columns with values of their types that do not depend on the time"
        raise _unsupported(f"REPLACE WHERE {expression_sql(condition)}", instead)
    return to_sql(predicate)


def _char_as_string(rows: DataFrame) -> DataFrame:
    """The rows for a table, whose columns are STRING even if the query has CHAR(n)."""
    chars = {field.name: F.col(quote_name([field.name])).cast("string") for field in rows.schema if is_char(field)}
    return rows.withColumns(chars) if chars else rows


def _options_of_path(spark: SparkSession, target: tuple[str, ...], options: Mapping[str, str]) -> dict[str, str] | None:
    """The options of a target named by its path, which is a view while the statement runs; None for other names.

    A view of a user shows one version of a table, perhaps an old one, and cannot be written to.
    """
    source = relation_of_view(spark, target)
    if source is None:
        return None
    path = path_in(source.options)
    if not target[-1].startswith(VIEW):
        raise _unsupported("a view as its target", f"insert into the table that it shows: indextables.`{path}`")
    return {**options, "path": path}


def _replace_where(
    spark: SparkSession, insert: InsertInto, clauses: InsertClauses, options: Mapping[str, str]
) -> str | None:
    """The condition of REPLACE WHERE, if there is one."""
    if clauses.replaces is Replaces.ON_OR_USING:
        raise _unsupported("REPLACE ON or USING", "use REPLACE WHERE, with a condition on partition columns")
    if clauses.condition is None or insert.target is None:
        return None
    return replace_where_text(spark, clauses.condition, options, alias=insert.target[-1])


def _refuse_two_conditions(options: Mapping[str, str]) -> None:
    where = canonical(settings_in(options)).get(f"{PREFIX}replaceWhere")
    if where is not None:
        raise ConfigError(
            "the statement has both REPLACE WHERE and the option replaceWhere; give one of them",
            key="replaceWhere",
            value=where,
        )


def _unsupported(clause: str, instead: str) -> ConfigError:
    message = f"INSERT with {clause} is not possible for tables of indextables; {instead}"
    return ConfigError(message, key="INSERT", value=clause)
