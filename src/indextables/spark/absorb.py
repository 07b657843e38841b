"""Filters of a frame, taken over by the scan below them.

A filter stays where it is and the relation below gets the same condition, as far as it is understood, so that splits are
pruned and searched by it: whatever the scan leaves out, the filter would have left out too. Only searches leave the filter,
because Spark cannot evaluate them. Each relation made here is of its own, with the same columns (to Spark) as the old one.
"""

from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from indextables.errors import PredicateError
from indextables.predicate import And, Literal, Predicate, bind, conjunction, index_queries, to_sql
from indextables.predicate.written import as_written
from indextables.spark.asked import Asked
from indextables.spark.catalyst import (
    Conditions,
    Java,
    NotUnderstoodError,
    TableQuery,
    asked_of,
    conjuncts,
    is_timeless,
    kind,
    options_of,
    sequence,
    simplified,
)
from indextables.spark.relations import asking, framed
from indextables.spark.snapshots import settled

_TRANSPARENT = {"Filter", "Project", "SubqueryAlias", "View"}


def absorbed(frame: DataFrame) -> DataFrame:
    """The same rows, of which scans leave out early what filters leave out later; or the frame as it is."""
    spark: Any = frame.sparkSession
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - see catalyst
    try:
        taken = _taken(plan, spark)
    except Py4JError:
        return frame  # a plan that we cannot look into is run as it is
    if taken is plan:
        return frame
    return framed(spark, taken)


def _taken(plan: Java, spark: Any) -> Java:
    """The plan with all filters that stand over our relations taken over; the very same plan if there are none."""
    children = sequence(plan.children())
    new = [_taken(child, spark) for child in children]
    if any(one is not other for one, other in zip(children, new, strict=True)):
        plan = plan.withNewChildren(spark._jvm.PythonUtils.toSeq(new))  # noqa: SLF001
    if kind(plan) != "Filter" or (relation := _relation_below(plan)) is None:
        return plan
    try:
        return _Absorbing(spark, relation).plan(plan)
    except (NotUnderstoodError, PredicateError):
        return plan


def _relation_below(plan: Java) -> Java | None:
    """The relation under nodes that do not mind if rows which a filter above leaves out are left out below."""
    while kind(plan) in _TRANSPARENT:
        if not all(expression.deterministic() for expression in sequence(plan.expressions())):
            return None  # such as a number for each row
        plan = plan.child()
    return plan if asked_of(plan) is not None else None


@dataclass(frozen=True, slots=True)
class _Absorbing:
    spark: Any
    relation: Java

    def plan(self, plan: Java) -> Java:
        terms = [(term, self.understood(term, plan.child())) for term in conjuncts(plan.condition())]
        understood = [predicate for _, predicate in terms if predicate is not None]
        where = _together(self.asked, understood)
        kept = [term for term, predicate in terms if predicate is None or not index_queries(predicate)]
        if where == self.asked.where and len(kept) == len(terms):
            return plan
        return self.filtered(kept, self.with_relation(plan.child(), self.asking(where)))

    def understood(self, term: Java, below: Java) -> Predicate | None:
        if not is_timeless(term):
            return None
        names = {a.exprId().id(): a.name() for a in sequence(self.relation.output())}
        simple = simplified(self.filtered([term], below), self.spark).condition()
        try:
            return Conditions(TableQuery(self.asked, Literal(value=True), names)).predicate(simple)
        except NotUnderstoodError:
            return None

    @property
    def asked(self) -> Asked:
        asked = asked_of(self.relation)
        if asked is None:
            raise AssertionError("the relation was found to be ours")
        return asked

    def asking(self, where: str) -> Java:
        """The relation, which asks for this condition."""
        given = options_of(self.relation)
        options = {**{key: value for key, value in given.items() if key.lower() != "where"}, "where": where}
        return asking(self.spark, self.relation, options)

    def with_relation(self, plan: Java, relation: Java) -> Java:
        if kind(plan) not in _TRANSPARENT:
            return relation
        children = self.spark._jvm.PythonUtils.toSeq([self.with_relation(plan.child(), relation)])  # noqa: SLF001
        return plan.withNewChildren(children)

    def filtered(self, terms: list[Java], below: Java) -> Java:
        catalyst = self.spark._jvm.org.apache.spark.sql.catalyst  # noqa: SLF001
        for term in terms:
            below = catalyst.plans.logical.Filter(term, below)
        return below


def _together(asked: Asked, terms: list[Predicate]) -> str:
    """What the scan asks for already and the terms, as text, if it is understood when it is read again.

    A search that cannot be read is an error here and now.
    """
    snapshot = settled(asked)
    before = replace(asked, query=None).question(snapshot).predicate
    bound = [bind(term, snapshot.metadata.arrow_schema(), time_zone=asked.time_zone) for term in terms]
    flat = conjunction(before, *bound)
    distinct = {repr(term): term for term in (flat.terms if isinstance(flat, And) else (flat,))}
    whole = conjunction(*(term for term in distinct.values() if term != Literal(value=True)))
    text = to_sql(as_written(whole))
    again = replace(asked, where=text, query=None).question(snapshot)
    if repr(again.predicate) != repr(whole):
        raise NotUnderstoodError
    return text
