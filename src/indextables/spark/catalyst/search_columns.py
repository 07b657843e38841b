"""Searches in a plan, each resolved to a column of the scan that has the rows.

`indexquery(message, 'timeout')` may stand anywhere in a plan: in a filter, in the condition of a join, in a CASE, in a
subquery. The relation that the column comes from gets a further column, true where the search finds the row; the nodes
between pass it on, and where the function stood, the column is read. To the rest of the plan nothing has changed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import is_instance_of

from indextables.predicate import IndexQuery
from indextables.spark.api.search_function import FUNCTIONS, INDEXQUERYALL, refusal
from indextables.spark.catalyst.expressions import UntranslatableError, plain_column, text
from indextables.spark.catalyst.java import Java, has, ids_of, inlined, jvm_of, kind, over, replacing, seq, sequence
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.relation import RelationNode
from indextables.spark.source.read_options import search_name
from indextables.spark.source.snapshots import snapshot_of

# Nodes whose rows are rows of a child, with all of its columns; of some joins only one child's.
_PASSING = frozenset(
    """Filter Sort SubqueryAlias View GlobalLimit LocalLimit Offset Tail Join LateralJoin Window Generate Sample
    ResolvedHint Repartition RepartitionByExpression PipeOperator""".split()  # noqa: SIM905
)
_CALL = re.compile(rf"\b(?:{'|'.join(FUNCTIONS)})\((?:[^()]*, )?(.*?)\)#\d+")
_SUBQUERY = "org.apache.spark.sql.catalyst.expressions.SubqueryExpression"


def with_searches(plan: Java, spark: Any) -> Java:
    """The plan with all searches resolved, or an UnsupportedOperatorError; the very same plan if there are none."""
    if Capability.SEARCH_COLUMNS not in capabilities(spark):
        _refuse_searches(plan)
        return plan
    if not has(plan, "PYTHON_UDF", spark):
        return plan
    whole = inlined(plan, spark)
    resolved = _Searching(spark).resolved(whole)
    return plan if resolved is whole else resolved


def _refuse_searches(plan: Java) -> None:
    """For a Spark in which searches cannot be found but by the text of the plan."""
    found = _CALL.search(str(plan.toString()))
    if found is not None:
        raise refusal(found[1], "this version of Spark lacks what searches need, as a warning in the log says")


@dataclass(frozen=True, slots=True)
class _Search:
    """A call of the function; `columns` are Spark's ids, and none of them means all of the table's columns."""

    columns: tuple[int, ...]
    query: str

    def on(self, columns: Sequence[int]) -> "_Search":
        return _Search(tuple(columns), self.query)

    def of(self, relation: RelationNode) -> IndexQuery:
        names = relation.table.names
        if len(self.columns) == 1:
            return IndexQuery(names[self.columns[0]], self.query)  # also where the frame reads no other column
        if self.columns and set(self.columns) - relation.table.address != names.keys():
            raise refusal(self.query, "it names several columns; it takes one, or all of a table")
        return IndexQuery(None, self.query)

    def stands_on(self, plan: Java) -> bool:
        return set(self.columns) <= set(ids_of(plan))


@dataclass(frozen=True, slots=True)
class _Searching:
    spark: Any

    def own_calls(self, plan: Java) -> list[Java]:
        return [call for expression in sequence(plan.expressions()) for call in self.calls(expression)]

    def resolved(self, plan: Java) -> Java:
        """The plan, with the same output, in which no search is left."""
        if not has(plan, "PYTHON_UDF", self.spark):
            return plan
        below = sequence(plan.children())
        children = [self.resolved(child) for child in below]
        plan = self.in_subqueries(over(below, children, plan, self.spark))
        calls = self.own_calls(plan)
        replaced = []
        for call in calls:
            children, column = self.column_for(_search(call), children)
            replaced.append((call, column))
        if not calls:
            return plan
        widened = plan.withNewChildren(seq(children, self.spark)).transformExpressions(replacing(replaced, self.spark))
        return widened if kind(plan) in _MADE_OF_EXPRESSIONS else self.project(sequence(plan.output()), widened)

    def calls(self, expression: Java) -> Iterator[Java]:
        if not has(expression, "PYTHON_UDF", self.spark):
            return
        if kind(expression) == "PythonUDF" and expression.name() in FUNCTIONS:
            yield expression
            return
        for child in sequence(expression.children()):
            yield from self.calls(child)

    def in_subqueries(self, plan: Java) -> Java:
        if plan.subqueries().isEmpty():
            return plan
        found = [query for expression in sequence(plan.expressions()) for query in self.subqueries(expression)]
        pairs = [(query, query.withNewPlan(self.resolved(query.plan()))) for query in found]
        return plan.transformExpressions(replacing(pairs, self.spark)) if pairs else plan

    def subqueries(self, expression: Java) -> Iterator[Java]:
        if is_instance_of(self.spark._sc._gateway, expression, _SUBQUERY):
            if has(expression.plan(), "PYTHON_UDF", self.spark):
                yield expression
            return
        for child in sequence(expression.children()):
            yield from self.subqueries(child)

    def column_for(self, search: _Search, children: list[Java]) -> tuple[list[Java], Java]:
        """The children, one of them with the column of the search, and the expression that reads it."""
        index = _child_for(search, children)
        child, attribute = self.provided(search, children[index])
        return [*children[:index], child, *children[index + 1 :]], self.never_null(attribute)

    def provided(self, search: _Search, plan: Java) -> tuple[Java, Java]:
        """The plan with the column of the search, and this column."""
        relation = RelationNode.of(plan)
        if relation is not None:
            return self.from_relation(search, relation)
        match kind(plan):
            case "Project":
                return self.through_project(search, plan)
            case "Union":
                return self.through_union(search, plan)
            case name if name in _PASSING:
                return self.through(search, plan)
            case name:
                raise refusal(search.query, f"between it and the rows of a table stands {name}")

    def from_relation(self, search: _Search, relation: RelationNode) -> tuple[Java, Java]:
        node = search.of(relation)
        known = next((id_ for id_, other in relation.table.searches.items() if other == node), None)
        if known is not None:
            return relation.java, _column(relation.java, known)
        if (name := search_name(len(relation.read.search_columns))) in relation.table.names.values():
            raise refusal(search.query, f"the table has a column {name}, which is the name of the search column")
        wide = relation.with_search(self.spark, node)
        wide.read.scan_spec(snapshot_of(wide.read))  # a search that cannot be read is an error here and now
        return wide.java, sequence(wide.java.output())[-1]

    def through_project(self, search: _Search, plan: Java) -> tuple[Java, Java]:
        listed = {item.exprId().id(): item for item in sequence(plan.projectList())}
        sources = [_source(listed[id_], search) for id_ in search.columns]
        child, attribute = self.provided(search.on(sources), plan.child())
        return self.project([*listed.values(), attribute], child), attribute

    def through_union(self, search: _Search, plan: Java) -> tuple[Java, Java]:
        """Every branch has a column for its own rows."""
        ids = [attribute.exprId().id() for attribute in sequence(plan.output())]
        places = [ids.index(id_) for id_ in search.columns]
        branches = []
        for branch in sequence(plan.children()):
            output = sequence(branch.output())
            wide, attribute = self.provided(search.on([output[place].exprId().id() for place in places]), branch)
            branches.append(self.project([*output, attribute], wide))
        union = plan.withNewChildren(seq(branches, self.spark))
        return union, sequence(union.output())[-1]

    def through(self, search: _Search, plan: Java) -> tuple[Java, Java]:
        children = sequence(plan.children())
        index = _child_for(search, children)
        children[index], attribute = self.provided(search, children[index])
        wide = plan.withNewChildren(seq(children, self.spark))
        try:
            return wide, _column(wide, attribute.exprId().id())
        except UntranslatableError:
            raise refusal(search.query, f"{kind(plan)} does not pass on the rows of that table") from None

    def project(self, output: list[Java], plan: Java) -> Java:
        logical = jvm_of(self.spark).org.apache.spark.sql.catalyst.plans.logical
        return logical.Project(seq(output, self.spark), plan)

    def never_null(self, attribute: Java) -> Java:
        """A row that an outer join made up is found by no search."""
        if not attribute.nullable():
            return attribute
        expressions = jvm_of(self.spark).org.apache.spark.sql.catalyst.expressions
        return expressions.Coalesce(seq([attribute, expressions.Literal.FalseLiteral()], self.spark))


_MADE_OF_EXPRESSIONS = frozenset({"Project", "Aggregate"})  # their output does not grow with that of their child


def _search(call: Java) -> _Search:
    *columns, query = sequence(call.children())
    try:
        words = text(query)
    except UntranslatableError:
        raise refusal(str(query.toString()), "the query is not a text that is known beforehand") from None
    if not all(kind(column) == "AttributeReference" for column in columns):
        raise refusal(words, "what it searches is not a plain column of a table")
    if columns and call.name() == INDEXQUERYALL:
        raise refusal(words, "indexqueryall takes the query alone")
    return _Search(tuple(column.exprId().id() for column in columns), words)


def _child_for(search: _Search, children: list[Java]) -> int:
    """The child that has the columns; for a search of all columns, the only one over a table."""
    fits = search.stands_on if search.columns else _has_table
    found = [index for index, child in enumerate(children) if fits(child)]
    if len(found) == 1:
        return found[0]
    if search.columns:
        raise refusal(search.query, "its columns belong to several tables, or to a query around this one")
    raise refusal(search.query, "it is not clear which table it searches; write t.* INDEXQUERY '...'")


def _source(item: Java, search: _Search) -> int:
    """The column below a projection that one of its outputs simply is."""
    column = plain_column(item)
    if column is None:
        raise refusal(search.query, f"{item.name()!r} is computed, and not a plain column of a table")
    return column


def _column(plan: Java, id_: int) -> Java:
    known = ids_of(plan)
    if id_ not in known:
        raise UntranslatableError
    return plan.output().apply(known.index(id_))


def _has_table(plan: Java) -> bool:
    return any(RelationNode.of(leaf) is not None for leaf in sequence(plan.collectLeaves()))
