"""Spark's plans and expressions as Python holds them: trees of objects in the JVM, reached through py4j.

Rewriting needs no code in the JVM: a Scala map is a partial function, so that Spark's own `transform` methods take one.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from py4j.java_gateway import JavaClass, JavaPackage
from pyspark import SparkContext
from pyspark.sql import DataFrame

from indextables.spark.versions import CURRENT

Java: TypeAlias = Any
_ID = re.compile(r"#(\d+)[A-Za-z]?(?:-T\d+ms)?$")
_SEPARATOR = "\0"


class UnknownIdsError(Exception):
    """A plan whose columns cannot be identified; never shown to a user."""


class Names:
    """Packages, classes and static methods of the JVM by their names, each looked up once: py4j asks the JVM every time."""

    def __init__(self, named: Any) -> None:
        self._named = named

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._named, name)
        kept = Names(found) if isinstance(found, (JavaPackage, JavaClass)) else found
        setattr(self, name, kept)
        return kept

    def __call__(self, *args: Any) -> Java:
        return self._named(*args)


def jvm_of(spark: Any) -> Any:
    """What `spark._jvm` gives, without asking again for what is known."""
    return _names(spark._jvm)


@lru_cache(2)
def _names(view: Any) -> Names:
    return Names(view)


def kind(node: Java) -> str:
    """The class of a node of a plan or of an expression."""
    return str(node.nodeName())


def strings(table: Java) -> dict[str, str]:
    """A Java map of texts, in one call: py4j ends a loop over it with an exception, which PySpark looks into for 30 ms."""
    return cast("dict[str, str]", json.loads(_mapper(SparkContext._jvm).writeValueAsString(table)))


@lru_cache(2)
def _mapper(view: Any) -> Java:
    return view.com.fasterxml.jackson.databind.ObjectMapper()


def sequence(items: Java) -> list[Java]:
    return [items.apply(i) for i in range(items.size())]


def name_parts(reference: Java) -> list[str]:
    """The parts of the name under which a parsed statement knows a table: the database, if it says one, and the table."""
    return [str(part) for part in sequence(reference.multipartIdentifier())]


def ids_of(node: Java) -> tuple[int, ...]:
    """Spark's ids of the columns of a node, in their order."""
    return ids(node.output())


def ids(attributes: Java) -> tuple[int, ...]:
    return tuple(number for number, _ in labels(attributes))


def labels(attributes: Java) -> list[tuple[int, str]]:
    """Spark's ids of columns and their names, in their order; one call for all of them."""
    count = attributes.size()
    if count == 0:
        return []
    texts = attributes.mkString(_SEPARATOR).split(_SEPARATOR)
    found = [(text, _ID.search(text)) for text in texts]
    if len(found) != count or not all(match for _, match in found):
        raise UnknownIdsError
    return [(int(match[1]), text[: match.start()]) for text, match in found if match]


def references_of(node: Java) -> frozenset[int]:
    """Spark's ids of the columns that a node or an expression reads."""
    return frozenset(ids(node.references().toSeq()))


def pairs(items: Java) -> list[tuple[Java, Java]]:
    """The first two of each, of a Scala map or a sequence of tuples."""
    return [(item._1(), item._2()) for item in sequence(items.toSeq())]


def has(node: Java, pattern: str, spark: Any) -> bool:
    """Whether a plan or an expression has such a part anywhere, in subqueries too: `PYTHON_UDF`, `CTE`."""
    return bool(node.containsPattern(_pattern(jvm_of(spark), pattern)))


@lru_cache(32)
def _pattern(jvm: Any, name: str) -> Java:
    return getattr(jvm.org.apache.spark.sql.catalyst.trees.TreePattern, name)()


def nothing(spark: Any) -> Java:
    """Scala's None."""
    return _none(jvm_of(spark))


@lru_cache(2)
def _none(jvm: Any) -> Java:
    return jvm.scala.Option.empty()


def java_map(items: Mapping[str, str]) -> Java:
    """A Java map of texts, in one call: py4j would make one for each of them."""
    view = SparkContext._jvm
    return _mapper(view).readValue(json.dumps(dict(items)), _map_class(view))


@lru_cache(2)
def _map_class(view: Any) -> Java:
    return view.java.lang.Class.forName("java.util.HashMap")


def over(children: list[Java], new: list[Java], plan: Java, spark: Any) -> Java:
    """The plan over new children; the very same plan if they are the very same."""
    if all(one is other for one, other in zip(children, new, strict=True)):
        return plan
    return plan.withNewChildren(seq(new, spark))


def seq(items: Sequence[Java], spark: Any) -> Java:
    return jvm_of(spark).PythonUtils.toSeq(list(items))


def named_as(expression: Java, attribute: Java, spark: Any) -> Java:
    """An expression under the name and id of a column: to the rest of a plan, it is that column."""
    jvm = jvm_of(spark)
    name, id_, qualifier = attribute.name(), attribute.exprId(), attribute.qualifier()
    alias = jvm.org.apache.spark.sql.catalyst.expressions.Alias
    return alias(expression, name, id_, qualifier, nothing(spark), seq([], spark))


def replacing(pairs: Iterable[tuple[Java, Java]], spark: Any) -> Java:
    """A partial function in the JVM that gives the second node of a pair for the first."""
    table = jvm_of(spark).java.util.HashMap()
    for old, new in pairs:
        table.put(old, new)
    return jvm_of(spark).PythonUtils.toScalaMap(table)


def inlined(plan: Java, spark: Any) -> Java:
    """The plan with common table expressions in their places, except those that Spark evaluates once for several places."""
    if not has(plan, "CTE", spark):
        return plan
    flags = [False] * CURRENT.inline_cte_flags
    return jvm_of(spark).org.apache.spark.sql.catalyst.optimizer.InlineCTE(*flags).apply(plan)


_RULES = ("ReplaceExpressions", "RewriteWithExpression", "ConstantFolding", "SimplifyCasts")


def simplified(plan: Java, spark: Any) -> Java:
    """The plan with constants computed and shorthands spelled out, by Spark's own rules; the time of now is one of them."""
    optimizer = jvm_of(spark).org.apache.spark.sql.catalyst.optimizer
    if has(plan, "CURRENT_LIKE", spark):
        plan = optimizer.ComputeCurrentTime.apply(plan)
    for rule in _RULES:
        plan = getattr(optimizer, rule).apply(plan)
    return plan


def plan_of(frame: DataFrame) -> Java:
    """The analyzed plan of a frame; of a command, which has run by now, only its result: it must not run again."""
    return frame._jdf.queryExecution().commandExecuted()


def frame_over(plan: Java, spark: Any) -> DataFrame:
    classic = jvm_of(spark).org.apache.spark.sql.classic
    return DataFrame(classic.Dataset.ofRows(spark._jsparkSession, plan), spark)
