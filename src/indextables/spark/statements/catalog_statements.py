"""SQL statements about tables of ours in the catalog: CREATE TABLE, INSERT, and every query that names one.

Spark parses the statement; what it cannot pass on to a Python data source is done here instead. A table that is named in a
query gets its path in Spark's own notation, `FROM t WITH ('path' = '...')`, and Spark does the rest.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from indextables.config import PREFIX, Config, canonical
from indextables.errors import ConfigError, LayoutError, SchemaError, UnsupportedOperatorError
from indextables.layout import Layout
from indextables.log import TransactionLog
from indextables.spark.api.dataframe_writer import TableWriter, partition_term
from indextables.spark.catalog import (
    CatalogTable,
    drop_from_catalog,
    is_format,
    location_text,
    lookup_table,
    qualify,
    quote_name,
    refresh_columns,
    register_table,
    relation_of_view,
    table_exists,
)
from indextables.spark.catalyst.java import Java, frame_over, kind, name_parts, pairs, sequence
from indextables.spark.catalyst.relation import options_of
from indextables.spark.source.options import FORMAT, is_default, settings_in, settings_of
from indextables.spark.source.spark_types import arrow_schema, data_type, refuse_collation, spark_schema
from indextables.spark.statements.alter_table import run_table_statement
from indextables.spark.statements.insert import analyze_insert, quote_string
from indextables.spark.statements.insert_query import over_tables, rows_of, with_inside
from indextables.spark.statements.parameters import bound, formatted
from indextables.table import IndexTable

_REPLACES = {"ReplaceTable", "ReplaceTableAsSelect"}
_CREATES = {"CreateTable", "CreateTableAsSelect", *_REPLACES}
_SCRIPT = "CompoundBody"
_IMMEDIATE = re.compile(r"\s*EXECUTE\s", re.IGNORECASE)
_SEARCH = re.compile(r"\b(?:indexquery(?:all)?|textsearch)\b", re.IGNORECASE)
_OPTIONS = re.compile(r"\s*WITH\s*\(", re.IGNORECASE)


def run(
    original: Callable[..., DataFrame],
    spark: SparkSession,
    sqlQuery: str,  # noqa: N803 - Spark's name
    args: Any = None,
    **names: Any,
) -> DataFrame:
    """`spark.sql`, for which tables of ours in the catalog are like any other."""
    with formatted(spark, sqlQuery, names) as text:
        whole = bound(spark, text, args)
        plan = _parsed(spark, whole)
        if plan is None:
            return original(spark, text, args)
        if kind(plan) == _SCRIPT:
            _refuse_searches(whole)
        answered = run_table_statement(spark, plan)
        if answered is not None:
            return answered
        located = _located(spark, whole, plan)
        plan = with_inside(plan if located == whole else _parsed(spark, located), spark)
        if _writes_to_ours(spark, plan):
            _write(spark, plan)
            return _nothing(spark)
        filled = over_tables(plan, spark)
        if filled is not None:
            return frame_over(filled, spark)
        return original(spark, text, args) if located == whole else original(spark, located)


def immediate(spark: SparkSession, text: str) -> str | None:
    """The text of `EXECUTE IMMEDIATE 'text'`, which is a statement like any other; None for other statements.

    Spark runs the statement of a variable, and one with USING or INTO.
    """
    plan = _parsed(spark, text) if _IMMEDIATE.match(text) else None
    if plan is None or kind(plan) != "UnresolvedExecuteImmediate" or kind(plan.sqlStmtStr()) != "Literal":
        return None
    inner = str(plan.sqlStmtStr().value().toString())
    if plan.args().isEmpty() and plan.targetVariables().isEmpty():
        return inner
    statement = _parsed(spark, inner)
    if _SEARCH.search(inner) or (statement is not None and _writes_to_ours(spark, statement)):
        what = "a search or a write to a table of indextables"
        raise ConfigError(
            f"EXECUTE IMMEDIATE with USING or INTO cannot do {what}; use spark.sql(text, args=[...])",
            key="EXECUTE IMMEDIATE",
            value=inner,
        )
    return None


def _refuse_searches(script: str) -> None:
    if _SEARCH.search(script):
        reason = "Spark runs the statements of a script one after the other, out of reach"
        raise UnsupportedOperatorError(
            f"INDEXQUERY cannot be used in a script (BEGIN ... END): {reason}; run the query on its own",
            predicate=script,
            reason=reason,
            operator="INDEXQUERY",
        )


def _writes_to_ours(spark: SparkSession, plan: Java) -> bool:
    match kind(plan):
        case "InsertIntoStatement":
            return _is_into_ours(spark, plan)
        case "InsertIntoDir":
            return is_format(plan.provider())
        case "Union":  # FROM rows INSERT INTO t SELECT ... INSERT INTO u SELECT ...
            return any(_writes_to_ours(spark, insert) for insert in sequence(plan.children()))
        case command if command in _CREATES:
            return _is_for_us(spark, plan)
        case _:
            return False


def _write(spark: SparkSession, plan: Java) -> None:
    match kind(plan):
        case "InsertIntoStatement" if _is_into_ours(spark, plan):
            _insert(spark, plan)
        case "InsertIntoDir":
            _export(spark, plan)
        case "Union":
            for insert in sequence(plan.children()):
                _write(spark, insert)
        case command if command in _CREATES:
            _create(spark, plan)
        case _:  # one of several, to another table
            frame_over(over_tables(plan, spark) or plan, spark)


def _is_into_ours(spark: SparkSession, plan: Java) -> bool:
    target = plan.table()
    if kind(target) != "UnresolvedRelation":
        return False
    return (
        lookup_table(spark, name_parts(target)) is not None or relation_of_view(spark, name_parts(target)) is not None
    )


def _is_for_us(spark: SparkSession, plan: Java) -> bool:
    """Whether a CREATE TABLE is for our format, by its USING or, without one, by the session's default."""
    spec = plan.tableSpec()
    if spec.provider().isDefined() or spec.serde().isDefined() or _is_hive_by_default(spark):
        return is_format(spec.provider())
    return is_default(spark)


def _is_hive_by_default(spark: SparkSession) -> bool:
    return spark.conf.get("spark.sql.legacy.createHiveTableByDefault", "false") == "true"


def _parsed(spark: Any, text: str) -> Java | None:
    """The statement as Spark reads it; None where it cannot: whoever runs it says why."""
    try:
        return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001
    except ParseException:
        return None


def _located(spark: SparkSession, text: str, plan: Java) -> str:
    """The statement with a path at every table of ours, except where Spark takes none: `INSERT INTO t TABLE u`."""
    places = sorted(_places(spark, plan), key=lambda place: -place[0])
    session = _settings_of_script(spark) if kind(plan) == _SCRIPT else {}
    found = text
    for end, entry in places:
        found = _with_options(found, end, {**session, "path": entry.location})
    if found == text or _parsed(spark, found) is not None:
        return found
    found = text
    for end, entry in places:
        one_more = _with_options(found, end, {**session, "path": entry.location})
        found = found if _parsed(spark, one_more) is None else one_more
    return found


def _settings_of_script(spark: SparkSession) -> dict[str, str]:
    """The settings of the session for statements that Spark runs by itself. It refuses its own dynamic mode there."""
    return {f"{PREFIX}partitionOverwriteMode": "static", **canonical(settings_of(spark))}


def _with_options(text: str, end: int, given: Mapping[str, str]) -> str:
    """The text with options for the table whose name ends there."""
    written = ", ".join(f"{quote_string(key)} = {quote_string(value)}" for key, value in given.items())
    options = _OPTIONS.match(text, end)
    if options:
        return f"{text[: options.end()]}{written}, {text[options.end() :]}"
    return f"{text[:end]} WITH ({written}){text[end:]}"


def _places(spark: SparkSession, plan: Java) -> Iterator[tuple[int, CatalogTable]]:
    """Where the name of a table of ours ends, and which one it is."""
    for reference in _references(plan):
        if kind(reference) == "RelationTimeTravel":
            _refuse_time_travel(spark, reference.relation())
            continue
        given = options_of(reference)
        options = {key.lower() for key in given}
        if not options.isdisjoint({"versionasof", "timestampasof"}):
            _refuse_time_travel(spark, reference)
        if "path" not in options and not reference.isStreaming() and reference.origin().stopIndex().isDefined():
            entry = refresh_columns(spark, name_parts(reference), given)
            if entry is not None:
                yield reference.origin().stopIndex().get() + 1, entry


def _refuse_time_travel(spark: SparkSession, reference: Java) -> None:
    parts = name_parts(reference)
    if lookup_table(spark, parts) is not None:
        name = ".".join(parts)
        raise ConfigError(
            f"Spark's SQL knows no past of tables of Python data sources; make a view of it: "
            f'spark.read.option("versionAsOf", 3).table("{name}").createTempView("before")',
            key="versionAsOf",
            value=None,
        )


def _references(plan: Java) -> Iterator[Java]:
    """The tables that a parsed statement names, in subqueries too."""
    beside: list[Java] = []
    match kind(plan):
        case "UnresolvedRelation" | "RelationTimeTravel":
            yield plan
        case "InsertIntoStatement":
            beside = [plan.table()]
        case "SingleStatement":  # of a script; its children are those of the statement
            return (yield from _references(plan.parsedPlan()))
        case "ExplainCommand":
            beside = [plan.logicalPlan()]
        case "UnresolvedWith":
            beside = [query for _, query in pairs(plan.cteRelations())]
    for inner in (*beside, *sequence(plan.children()), *sequence(plan.subqueries())):
        yield from _references(inner)


def _insert(spark: SparkSession, plan: Java) -> None:
    insert = analyze_insert(spark, plan)
    TableWriter(insert.frame).format(FORMAT).mode(insert.mode).options(**insert.options).save()


def _export(spark: SparkSession, plan: Java) -> None:
    """INSERT OVERWRITE DIRECTORY: an overwrite of the table at a path."""
    storage = plan.storage()
    location = storage.locationUri()
    given = {str(key): str(value) for key, value in pairs(storage.properties())}
    if location.isDefined():
        given["path"] = location_text(spark, location.get())
    TableWriter(rows_of(plan.child(), spark)).format(FORMAT).mode("overwrite").options(**given).save()


def _create(spark: SparkSession, plan: Java) -> None:
    parts = [str(part) for part in sequence(plan.name().nameParts())]
    if kind(plan) in _REPLACES:
        raise _refused("OR REPLACE", "drop the table first, or INSERT OVERWRITE it")
    collation = plan.tableSpec().collation()
    if collation.isDefined() and str(collation.get()).upper() != "UTF8_BINARY":
        refuse_collation(str(collation.get()), column=None)
    if plan.tableSpec().constraints().size():
        raise _refused("a constraint", "check the rows in the query that writes them")
    if plan.tableSpec().external() and not plan.tableSpec().location().isDefined():
        raise _refused("EXTERNAL and no LOCATION", "leave EXTERNAL out, or say where the table is")
    if plan.ignoreIfExists() and table_exists(spark, parts):
        return
    if kind(plan) == "CreateTable":
        _declared(spark, plan, parts)
    else:
        writer = TableWriter(rows_of(plan.query(), spark)).format(FORMAT)
        writer.options(**_given(plan)).partitionBy(*_terms(plan)).with_properties(_properties(plan))
        writer.saveAsTable(quote_name(parts))
    _comment_on_table(spark, parts, plan.tableSpec().comment())


def _comment_on_table(spark: Any, parts: list[str], comment: Java) -> None:
    if comment.isDefined():
        name = quote_name(qualify(spark, parts))
        spark._jsparkSession.sql(f"COMMENT ON TABLE {name} IS {quote_string(comment.get())}")  # noqa: SLF001


def _declared(spark: SparkSession, plan: Java, parts: list[str]) -> None:
    """A table with these columns, new or said to be so; or the one that is at the location."""
    given, columns, session = _given(plan), _columns(plan), canonical(settings_of(spark))
    location = given.pop("path", None)
    if not columns.fields and location is None:
        raise _refused("neither columns nor a location", "give columns, or the LOCATION of a table")
    if location is not None and (not columns.fields or TransactionLog.open(location, Config.resolve(session)).exists()):
        table = IndexTable.open(location, options=session)
        _refuse_differences(table, columns, _layout(plan), given)
        register_table(spark, parts, location, spark_schema(table.schema))
        return
    schema = StructType([StructField(c.name, c.dataType, True, c.metadata) for c in columns])
    entry = register_table(spark, parts, location, schema)
    try:
        settings = canonical(settings_in(given))
        IndexTable.create(
            entry.location,
            arrow_schema(columns, as_declared=True),
            partition_by=_terms(plan),
            options={**session, **settings},
            properties={**_properties(plan), **settings},
        )
    except BaseException:
        drop_from_catalog(spark, entry)
        raise


def _refuse_differences(table: IndexTable, columns: StructType, layout: Layout, settings: Mapping[str, str]) -> None:
    """A statement that describes a table which is there must describe it as it is."""
    if settings:
        raise _refused(f"{min(settings)} for a table that is there already", "settings go with the creation of a table")
    if columns.fields and arrow_schema(columns) != arrow_schema(spark_schema(table.schema)):
        raise SchemaError(
            f"the table at {table.path} has the columns {', '.join(table.schema.names)}, and the statement has others; "
            "leave the columns out",
            column=None,
        )
    if layout.fields and layout.bind(table.schema) != table.layout:
        raise LayoutError(
            f"the table at {table.path} is partitioned by {str(table.layout) or 'nothing'}, not by {layout}; "
            "leave PARTITIONED BY out",
            field=str(layout),
        )


def _given(plan: Java) -> dict[str, str]:
    """The options of a CREATE TABLE, its location as `path`."""
    spec = plan.tableSpec()
    options = {str(key): _constant(value) for key, value in pairs(spec.optionExpression().options())}
    return {**options, **({"path": str(spec.location().get())} if spec.location().isDefined() else {})}


def _properties(plan: Java) -> dict[str, str]:
    return {str(key): str(value) for key, value in pairs(plan.tableSpec().properties())}


def _constant(expression: Java) -> str:
    if kind(expression) != "Literal":
        raise _refused(f"the option {expression.sql()}", "write a constant")
    return str(expression.value().toString() if hasattr(expression.value(), "toString") else expression.value())


def _columns(plan: Java) -> StructType:
    columns = sequence(plan.columns())
    for column in columns:
        computed = (column.defaultValue(), column.generationExpression(), column.identityColumnSpec())
        if any(part.isDefined() for part in computed):
            raise _refused(f"a computed column {column.name()}", "compute it in the query that writes")
    return StructType([_column(column) for column in columns])


def _column(column: Java) -> StructField:
    comment = {"comment": str(column.comment().get())} if column.comment().isDefined() else {}
    return StructField(column.name(), data_type(column.dataType()), bool(column.nullable()), comment)


def _layout(plan: Java) -> Layout:
    return Layout.of(*_terms(plan))


def _terms(plan: Java) -> list[str]:
    """PARTITIONED BY as our layouts are written: `days(ts)` is `day(ts)`."""
    return [_term(transform) for transform in sequence(plan.partitioning())]


def _term(transform: Java) -> str:
    name = str(transform.name())
    if name == "identity":
        return quote_name(transform.references()[0].fieldNames())
    return partition_term(str(transform.toString()))


def _refused(what: str, instead: str) -> ConfigError:
    return ConfigError(f"CREATE TABLE with {what} is not possible for indextables; {instead}", key="CREATE", value=what)


def _nothing(spark: SparkSession) -> DataFrame:
    """What a command gives."""
    return spark.createDataFrame([], StructType())
