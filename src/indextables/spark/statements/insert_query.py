"""Commands of Spark that take rows from tables of ours: INSERT INTO a table of any format, CREATE TABLE ... AS SELECT.

Spark runs a command as soon as it has analyzed it, when it is too late to look into its query. So the query is analyzed
first and made ready as that of any frame, and the command gets it as it then is.
"""

from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from indextables.spark.absorb import absorbed
from indextables.spark.catalog import resolve_relations
from indextables.spark.catalyst.java import Java, frame_over, kind, plan_of, seq, sequence
from indextables.spark.prepared import is_over_tables, prepared

_WITH_A_QUERY = {"InsertIntoStatement", "InsertIntoDir", "CreateTableAsSelect", "ReplaceTableAsSelect"}


def rows_of(query: Java, spark: Any) -> DataFrame:
    """The rows that a query of a command asks for, with its searches answered, read as those of a frame."""
    return _ready(resolve_relations(frame_over(query, spark)))


def with_inside(command: Java, spark: Any) -> Java:
    """`WITH x AS (...) INSERT INTO t SELECT ...` as `INSERT INTO t WITH x AS (...) SELECT ...`; others as they are."""
    if kind(command) != "UnresolvedWith":
        return command
    inner = command.child()
    if kind(inner) == "Union" and all(kind(insert) in _WITH_A_QUERY for insert in sequence(inner.children())):
        inserts = [command.withNewChildren(seq([insert], spark)) for insert in sequence(inner.children())]
        return inner.withNewChildren(seq([with_inside(insert, spark) for insert in inserts], spark))
    if kind(inner) not in _WITH_A_QUERY:
        return command
    *target, query = sequence(inner.children())
    return inner.withNewChildren(seq([*target, command.withNewChildren(seq([query], spark))], spark))


def over_tables(command: Java, spark: Any) -> Java | None:
    """The parsed command, its query made ready; None if it is another command, or takes nothing from tables of ours."""
    if kind(command) not in _WITH_A_QUERY:
        return None
    *target, query = sequence(command.children())
    try:
        asked = resolve_relations(frame_over(query, spark))
        if not is_over_tables(asked):
            return None
    except (Py4JError, PySparkException):
        return None  # not understood without its command; whoever runs that says why
    return command.withNewChildren(seq([*target, plan_of(_ready(asked))], spark))


def _ready(frame: DataFrame) -> DataFrame:
    return prepared(absorbed(frame))
