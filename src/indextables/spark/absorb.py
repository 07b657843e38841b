"""Conditions of a plan, taken over by the scans below them.

A filter stays where it is and the relation below gets the same condition, as far as it is understood, so that splits are
pruned and searched by it: whatever the scan leaves out, the filter would have left out too. How far down a condition may go,
through joins, unions, views and subqueries, is what Spark's own rules say: they are applied to a copy of the plan, and the
conditions that they leave next to a relation are those that it may know of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from indextables.errors import PredicateError
from indextables.predicate import Literal, Predicate, bind, conjunction, disjunction, distinct_conjunction, to_sql
from indextables.read.casts import proved_terms
from indextables.spark.catalyst.expressions import (
    Conditions,
    NotUnderstoodError,
    TableQuery,
    conjuncts,
    is_timeless,
    simplified,
)
from indextables.spark.catalyst.java import (
    Java,
    UnknownIdsError,
    frame_over,
    inlined,
    jvm_of,
    kind,
    over,
    plan_of,
    replacing,
    sequence,
)
from indextables.spark.catalyst.relation import Relation
from indextables.spark.catalyst.search_columns import has_searches, with_searches
from indextables.spark.source.options import ABSORBED, SITE
from indextables.spark.source.read_options import Asked
from indextables.spark.source.snapshots import settled

_TRUE = Literal(value=True)
_ROUNDS = 10  # Spark's rules move a condition by one or more nodes each time


def absorbed(frame: DataFrame) -> DataFrame:
    """The same rows, of which scans leave out early what filters leave out later; or the frame as it is."""
    spark: Any = frame.sparkSession
    try:
        plan = plan_of(frame)
        answered = with_searches(plan, spark)
        if answered is plan and _is_cached(frame, spark):
            return frame  # to Spark, a relation that knows a condition is not the one that it has in its cache
        taken = narrowed(answered, spark)
        return frame if taken is plan else frame_over(taken, spark)
    except (Py4JError, PySparkException, UnknownIdsError):
        return frame  # a plan that we cannot look into is run as it is


def searched(frame: DataFrame) -> DataFrame:
    """The same rows, with all searches answered; a frame without searches as it is."""
    try:
        return absorbed(frame) if has_searches(plan_of(frame), frame.sparkSession) else frame
    except PySparkException:
        return frame  # a subquery in the making has columns of the query around it, and no plan of its own


def narrowed(plan: Java, spark: Any) -> Java:
    """The plan whose relations know the conditions that stand over them; the very same plan if they know already."""
    return _Narrowing(spark, []).plan(plan)


@dataclass(frozen=True, slots=True)
class _Narrowing:
    """`sites` are the relations at their places in the plan, each marked with the number of its place."""

    spark: Any
    sites: list[Relation]

    def plan(self, plan: Java) -> Java:
        marked = self.marked_in_subqueries(self.marked(plan))
        if not self.sites:
            return plan
        wheres = self.wheres(marked)
        if all(where == site.asked.where for where, site in zip(wheres, self.sites, strict=True)):
            return plan
        pairs = [(site.java, self.settled(site, where)) for site, where in zip(self.sites, wheres, strict=True)]
        return marked.transformWithSubqueries(replacing(pairs, self.spark))

    def marked(self, plan: Java) -> Java:
        relation = Relation.of(plan)
        if relation is not None:
            return self.mark(relation)
        children = sequence(plan.children())
        return over(children, [self.marked(child) for child in children], plan, self.spark)

    def marked_in_subqueries(self, plan: Java) -> Java:
        """Relations in subqueries have places too; those that are equal share one."""
        leaves = [leaf for query in sequence(plan.subqueriesAll()) for leaf in sequence(query.collectLeaves())]
        found = [relation for relation in map(Relation.of, leaves) if relation is not None]
        pairs = [(relation.java, self.mark(relation)) for relation in found if SITE not in relation.options]
        return plan.transformWithSubqueries(replacing(pairs, self.spark)) if pairs else plan

    def mark(self, relation: Relation) -> Java:
        self.sites.append(relation.asking(self.spark, {SITE: str(len(self.sites))}))
        return self.sites[-1].java

    def settled(self, site: Relation, where: str | None) -> Java:
        absorbed = "true" if site.is_filtered_above else None
        return site.asking(self.spark, {SITE: None, "where": where, ABSORBED: absorbed}).java

    def wheres(self, plan: Java) -> list[str | None]:
        """The condition of each place: what it asks for already, and what holds for all rows that anyone wants of it."""
        whole = inlined(plan, self.spark)
        wanted: list[list[Predicate]] = [[] for _ in self.sites]
        for part in [whole, *sequence(whole.subqueriesAll())]:
            for relation, terms in _relations(self.pushed(part)):
                site = int(relation.options().get(SITE))
                wanted[site].append(self.understood(replace(self.sites[site], java=relation), terms))
        return [self.where(site, terms) for site, terms in zip(self.sites, wanted, strict=True)]

    def where(self, site: Relation, wanted: list[Predicate]) -> str | None:
        if not wanted or any(predicate == _TRUE for predicate in wanted):
            return site.asked.where
        try:
            return _together(site.asked, disjunction(*wanted))
        except (NotUnderstoodError, PredicateError):
            return site.asked.where

    def pushed(self, plan: Java) -> Java:
        """The plan with its conditions as far down as Spark knows that they may go."""
        catalyst = jvm_of(self.spark).org.apache.spark.sql.catalyst
        plan = catalyst.expressions.EliminatePipeOperators.apply(catalyst.analysis.EliminateView.apply(plan))
        plan = catalyst.analysis.EliminateSubqueryAliases.apply(plan)
        for _ in range(_ROUNDS):
            before = plan
            plan = catalyst.optimizer.PushDownPredicates.apply(catalyst.optimizer.EliminateOuterJoin.apply(plan))
            if plan.fastEquals(before):
                break
        return plan

    def understood(self, relation: Relation, terms: Sequence[Java]) -> Predicate:
        if not terms:
            return _TRUE
        conditions = Conditions(TableQuery.of(relation))
        return conjunction(*(self.term(term, relation, conditions) for term in terms))

    def term(self, term: Java, relation: Relation, conditions: Conditions) -> Predicate:
        if not is_timeless(term):
            return _TRUE
        logical = jvm_of(self.spark).org.apache.spark.sql.catalyst.plans.logical
        try:
            return conditions.predicate(simplified(logical.Filter(term, relation.java), self.spark).condition())
        except NotUnderstoodError:
            return _TRUE


def _is_cached(frame: DataFrame, spark: Any) -> bool:
    """Whether some of the rows of a frame are in Spark's cache."""
    if spark._jsparkSession.sharedState().cacheManager().isEmpty():  # noqa: SLF001
        return False
    leaves = frame._jdf.queryExecution().withCachedData().collectLeaves()  # noqa: SLF001
    return any(kind(leaf) == "InMemoryRelation" for leaf in sequence(leaves))


def _relations(plan: Java, over_it: tuple[Java, ...] = ()) -> Iterator[tuple[Java, list[Java]]]:
    """The marked relations of a plan, each with the terms of the filters that stand right over it."""
    match kind(plan):
        case "DataSourceV2Relation" if plan.options().containsKey(SITE):
            yield plan, [term for condition in over_it for term in conjuncts(condition)]
        case "Filter" if plan.condition().deterministic():
            yield from _relations(plan.child(), (*over_it, plan.condition()))
        case _:
            for child in sequence(plan.children()):
                yield from _relations(child)


def _together(asked: Asked, wanted: Predicate) -> str:
    """What the scan asks for already and what is wanted, as text, if it is understood when it is read again."""
    snapshot = settled(asked)
    before = replace(asked, query=None).scan_spec(snapshot).predicate
    bound = bind(wanted, snapshot.metadata.arrow_schema(), time_zone=asked.time_zone)
    whole = distinct_conjunction(before, proved_terms(bound, snapshot, where=before))
    text = to_sql(whole)
    again = replace(asked, where=text, query=None).scan_spec(snapshot)
    if repr(again.predicate) != repr(whole):
        raise NotUnderstoodError
    return text
