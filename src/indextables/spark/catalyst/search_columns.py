"""Searches and scores in Spark's plans: columns of the scans that have the rows, or left to Spark.

The planner finds the relation (`spark/planner/search_sources`). It gets a further column, which
projections and unions on the way up list, and where the function stood, the column is read. To the rest of the plan nothing
has changed.

Where no relation has the rows (a computed column, other formats, above an aggregate), Spark evaluates the function on the
values, by the field rule of the column if it is one of a table.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from pyspark.sql.functions import lit

from indextables.errors import UnsupportedOperatorError
from indextables.predicate import Column, Comparison, IndexQuery, Op, Predicate
from indextables.predicate.translation import UntranslatableError
from indextables.read.scan_spec import ScanSpec, SearchResult, required_searches
from indextables.search import fields, parse
from indextables.spark.catalyst.expressions import text
from indextables.spark.catalyst.java import (
    Java,
    has,
    ids_of,
    inlined,
    jvm_of,
    kind,
    replacing,
    seq,
    sequence,
)
from indextables.spark.catalyst.plan_reader import PlanReader
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.relation import STREAM, RelationNode, distinct_relations
from indextables.spark.catalyst.session_state import column_expression
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Function,
    Item,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    children_of,
    relations_of,
    walk,
)
from indextables.spark.planner.search_sources import NoSourceError, Search, SearchSources, Source
from indextables.spark.planner.snapshots import snapshot_of
from indextables.spark.source.search_function import FUNCTIONS, INDEXQUERYALL, SCORE, evaluated, refusal, score_refusal
from indextables.spark.source.search_values import SearchedColumns

_SCORE_CALL = re.compile(rf"\b{SCORE}\(\)#\d+")
_SUBQUERY = "org.apache.spark.sql.catalyst.expressions.SubqueryExpression"
_MADE_OF_EXPRESSIONS = frozenset({"Project", "Aggregate"})  # their output does not grow with that of their child
_WIDENING = frozenset({"Generate", "LateralJoin"})  # further columns, after those of the child


def with_searches(plan: Java, spark: Any) -> Java:
    """The plan with all searches resolved that a scan can evaluate; the very same plan if there are none."""
    if Capability.SEARCH_COLUMNS not in capabilities(spark):
        _refuse_scores(plan)
        return plan
    if not has(plan, "PYTHON_UDF", spark):
        return plan
    resolved = _Searching(inlined(plan, spark), spark, {}).resolved()
    return plan if resolved is None else resolved


def evaluated_searches(plan: Java, spark: Any) -> list[str]:
    """A sentence for each search in a plan, after `with_searches`, that Spark evaluates."""
    found = [call for part in (plan, *sequence(plan.subqueriesAll())) for call in _calls_left_to_spark(part, spark)]
    return list(dict.fromkeys(map(_sentence, found)))


def _calls_left_to_spark(plan: Java, spark: Any) -> Iterator[Java]:
    if not has(plan, "PYTHON_UDF", spark):
        return
    for expression in sequence(plan.expressions()):
        yield from filter(_is_left_to_spark, _calls(expression, spark))
    for child in sequence(plan.children()):
        yield from _calls_left_to_spark(child, spark)


def _refuse_scores(plan: Java) -> None:
    """For a Spark in which calls cannot be found but by the text of the plan."""
    if _SCORE_CALL.search(str(plan.toString())):
        raise score_refusal("this version of Spark lacks what searches need, as a warning in the log says")


class _Reader(PlanReader):
    """Reads where columns come from; of conditions, those that are a search or the column of one."""

    def read(self, node: Java) -> Plan:
        if kind(node) not in _WIDENING:
            return super().read(node)
        number = len(self.nodes)
        self.nodes[number] = node
        child = self.read(node.child())
        return Pass(number, frozenset(), tuple(one for one in ids_of(node) if one not in child.columns), child)

    def _condition(self, term: Java) -> Condition:
        return Condition(frozenset(), _search_predicate(term))

    def _item(self, column: int, item: Java) -> Item:
        search = _search_predicate(item.child()) if kind(item) == "Alias" else None
        if isinstance(search, IndexQuery):
            return Item(column, frozenset(), search=search)
        return super()._item(column, item)


class _Searching:
    """The searches of a plan; `origins` are the columns of tables that columns of the query are, by Spark's ids."""

    def __init__(self, root: Java, spark: Any, origins: dict[int, "_Origin"]) -> None:
        self.spark, self.origins = spark, origins
        self.reader = _Reader(dict(enumerate(distinct_relations(root))), spark)
        self.plan = self.reader.read(root)
        self.sources = SearchSources(self.reader.tables, self.own_searches, self.kind)
        self.relations = {one.number: self.reader.relations[one.table] for one in relations_of(self.plan)}
        self.nodes = dict(self.reader.nodes)  # without what happens below them
        self.changed: set[int] = set()
        self.sites: set[int] = set()
        self.passed: dict[int, list[tuple[Java, ...]]] = defaultdict(list)  # by nodes; a union has one of each branch
        self.find_origins(root)

    def resolved(self) -> Java | None:
        """The plan, with the same output, in which no search is left; None if there are none."""
        for node in reversed(list(self.searching(self.plan))):
            self.replace_in(node)
        return self.assembled(self.plan)

    def searching(self, plan: Plan) -> Iterator[Plan]:
        if has(self.nodes[plan.number], "PYTHON_UDF", self.spark):
            yield plan
            for child in children_of(plan):
                yield from self.searching(child)

    def replace_in(self, node: Plan) -> None:
        """Puts columns in the places of the calls in a node; those of scores after those of searches."""
        java = self.nodes[node.number]
        replaced = [] if java.subqueries().isEmpty() else list(self.subqueries(java))
        calls = [call for one in sequence(java.expressions()) for call in _calls(one, self.spark)]
        for call in sorted(calls, key=lambda call: bool(call.name() == SCORE)):
            if not _is_left_to_spark(call):
                replaced.append((call, self.score(node) if call.name() == SCORE else self.searched(call, node)))
                self.sites.add(node.number)
        if replaced:
            self.nodes[node.number] = java.transformExpressions(replacing(replaced, self.spark))
            self.changed.add(node.number)

    def searched(self, call: Java, node: Plan) -> Java:
        """The column in the place of a search; else the call for Spark to evaluate."""
        try:
            search = _search(call)
            try:
                source = self.sources.of_search(node, search)
                column = self.column(source)
            except NoSourceError as error:
                raise refusal(search.query, str(error)) from None
        except UnsupportedOperatorError as error:
            return self.evaluated(call, node, error)
        return self.false_by_default(column) if source.is_nullable else column

    def score(self, node: Plan) -> Java:
        try:
            return self.column(self.sources.of_score(node))
        except NoSourceError as error:
            raise score_refusal(str(error)) from None

    def column(self, source: Source) -> Java:
        """The column of a source, which the nodes below have from now on."""
        number = source.node.number
        if source.result is not None:
            return self.column_of_relation(number, source.result)
        columns = tuple(map(self.column, source.below))
        if columns[0].exprId().id() not in {one[0].exprId().id() for one in self.passed[number]}:
            self.passed[number].append(columns)
            self.changed.add(number)
        return columns[0].withNullability(True) if source.is_nullable else columns[0]

    def column_of_relation(self, number: int, result: SearchResult) -> Java:
        """The column of a relation, which may have it already."""
        relation = self.relations[number]
        known = next((id_ for id_, other in relation.table.search_results.items() if other == result), None)
        if known is not None:
            return relation.java.output().apply(ids_of(relation.java).index(known))
        if (name := relation.search_name(result)) in relation.table.names.values():
            raise NoSourceError(f"the table has a column {name}, which is the name of the search column")
        wide = self.relations[number] = relation.with_search_column(self.spark, result)
        wide.read.scan_spec(snapshot_of(wide.read))  # a search that cannot be read is an error here and now
        self.nodes[number] = wide.java
        self.changed.add(number)
        return sequence(wide.java.output())[-1]

    def assembled(self, plan: Plan) -> Java | None:
        """The plan with the changed nodes, with the same output and what is passed on; None where nothing has changed."""
        below, java = children_of(plan), self.nodes[plan.number]
        new = [self.assembled(child) for child in below]
        if plan.number not in self.changed and new.count(None) == len(new):
            return None
        children = [self.nodes[old.number] if child is None else child for old, child in zip(below, new, strict=True)]
        passed = self.passed[plan.number]
        if isinstance(plan, SetOperation) and passed:
            branches = enumerate(zip(below, children, strict=True))
            children = [
                self.project([*self.output(old), *(columns[place] for columns in passed)], child)
                for place, (old, child) in branches
            ]
        java = java.withNewChildren(seq(children, self.spark)) if children else java
        added = [columns[0] for columns in passed]
        if kind(java) == "Project":
            return self.project([*sequence(java.projectList()), *added], java.child()) if added else java
        is_wider = plan.number in self.sites and kind(java) != "Aggregate"
        return self.project([*self.output(plan), *added], java) if is_wider else java

    def project(self, output: list[Java], plan: Java) -> Java:
        logical = jvm_of(self.spark).org.apache.spark.sql.catalyst.plans.logical
        return logical.Project(seq(output, self.spark), plan)

    def output(self, plan: Plan) -> list[Java]:
        """What a node has given before there were columns of searches."""
        return sequence(self.reader.nodes[plan.number].output())

    def false_by_default(self, attribute: Java) -> Java:
        """A row that an outer join made up is found by no search."""
        expressions = jvm_of(self.spark).org.apache.spark.sql.catalyst.expressions
        return expressions.Coalesce(seq([attribute, expressions.Literal.FalseLiteral()], self.spark))

    def own_searches(self, relation: Relation) -> tuple[IndexQuery, ...]:
        read = self.reader.relations[relation.table].read
        return required_searches(read.scan_spec(snapshot_of(read)).predicate)

    def kind(self, number: int) -> str:
        name = kind(self.reader.nodes[number])
        return 'a stream, whose option("query", ...) uses the index' if name == STREAM else name

    def subqueries(self, plan: Java) -> Iterator[tuple[Java, Java]]:
        """The subqueries in which something changes, each before and after."""
        for expression in sequence(plan.expressions()):
            for query in self.subqueries_in(expression):
                resolved = _Searching(query.plan(), self.spark, self.origins).resolved()
                if resolved is not None:
                    yield query, query.withNewPlan(resolved)

    def subqueries_in(self, expression: Java) -> Iterator[Java]:
        if is_instance_of(self.spark._sc._gateway, expression, _SUBQUERY):
            if has(expression.plan(), "PYTHON_UDF", self.spark):
                yield expression
            return
        for child in sequence(expression.children()):
            yield from self.subqueries_in(child)

    def find_origins(self, root: Java) -> None:
        for leaf in sequence(root.collectLeaves()):
            if (stream := RelationNode.of_stream(leaf)) is not None:
                self.origins.update({id_: _Origin(stream, name) for id_, name in stream.table.names.items()})
        for node in reversed(list(walk(self.plan))):
            match node:
                case Relation():
                    relation = self.reader.relations[node.table]
                    found = {id_: _Origin(relation, name) for id_, name in relation.table.names.items()}
                    self.origins.update(found)
                case Project():
                    self.add_origins({item.column: item.source for item in node.items})
                case Aggregate():
                    keys = (output for output in node.outputs if output.function is Function.KEY)
                    self.add_origins({key.column: key.argument for key in keys})

    def add_origins(self, sources: Mapping[int, int | None]) -> None:
        for column, source in sources.items():
            if source in self.origins:
                self.origins.setdefault(column, self.origins[source])

    def evaluated(self, call: Java, node: Plan, refused: UnsupportedOperatorError) -> Java:
        """The call for Spark to evaluate, with the field rules of the table that its column comes from, if it does."""
        *columns, query = sequence(call.children())
        if not columns or call.name() == INDEXQUERYALL:
            raise refused
        found: dict[str, Java] = {}
        rules: dict[str, str] = {}
        origins = [self.origins.get(_id_of(column)) for column in columns]
        for column, origin in zip(columns, origins, strict=True):
            name = "value" if origin is None else origin.name
            while name in found:
                name += "_"  # of a column with the same name in another table
            found[name], rules[name] = column, "" if origin is None else origin.rule_of(origin.name)
        default = next(iter(found)) if len(columns) == 1 else None
        if default is not None and origins[0] is not None:
            others = origins[0].other_fields(query)
            found |= self.columns_of(origins[0].relation, others, node)
            if missing := others - found.keys():
                raise refusal(str(query.toString()), f"it searches {', '.join(missing)} too, which is not there")
            rules |= {other: origins[0].rule_of(other) for other in others}
        value = self.struct(found) if len(found) > 1 else columns[0]
        known_rules = SearchedColumns({name: rules[name] for name in found}, default, refused.reason)
        searched = self.literal(known_rules.as_text())
        known = self.struct({"query": query, "searched": searched})
        python_udf = jvm_of(self.spark).org.apache.spark.sql.catalyst.expressions.PythonUDF
        return python_udf(
            call.name(),
            call.func(),
            call.dataType(),
            seq([value, known], self.spark),
            call.evalType(),
            call.udfDeterministic(),
            call.resultId(),
        )

    def columns_of(self, relation: RelationNode, names: set[str], node: Plan) -> dict[str, Java]:
        """Columns of a relation as they come out of what is below a node, as far as they do."""
        wanted = {id_: name for id_, name in relation.table.names.items() if name in names}
        outputs = [attribute for child in children_of(node) for attribute in self.output(child)]
        return {wanted[id_]: one for one in outputs if (id_ := int(one.exprId().id())) in wanted}

    def struct(self, columns: Mapping[str, Java]) -> Java:
        members = [part for name, column in columns.items() for part in (self.literal(name), column)]
        return jvm_of(self.spark).org.apache.spark.sql.catalyst.expressions.CreateNamedStruct(seq(members, self.spark))

    def literal(self, text: str) -> Java:
        return column_expression(self.spark, lit(text))


def _calls(expression: Java, spark: Any) -> Iterator[Java]:
    """The calls of our functions in an expression."""
    if not has(expression, "PYTHON_UDF", spark):
        return
    if kind(expression) == "PythonUDF" and (expression.name() in FUNCTIONS or _is_score(expression)):
        yield expression
        return
    for child in sequence(expression.children()):
        yield from _calls(child, spark)


def _is_left_to_spark(call: Java) -> bool:
    """Whether a call has been seen before, and no scan can evaluate it: its last argument is what `evaluated` made."""
    return not call.children().isEmpty() and kind(call.children().last()) == "CreateNamedStruct"


def _sentence(call: Java) -> str:
    """What is said of a call that is left to Spark."""
    query, searched = (call.children().last().children().apply(place) for place in (1, 3))
    return evaluated(str(query.toString()), SearchedColumns.of_text(str(searched.toString())).reason)


@dataclass(frozen=True)
class _Origin:
    """The column of a table that a column of a plan is."""

    relation: RelationNode
    name: str

    @cached_property
    def spec(self) -> ScanSpec:
        return self.relation.read.scan_spec(snapshot_of(self.relation.read))

    def rule_of(self, column: str) -> str:
        return str(self.spec.rules[column])

    def other_fields(self, query: Java) -> set[str]:
        """The columns besides this one that a query names."""
        try:
            words = text(query)
        except UntranslatableError:
            return set()
        return fields(parse(words, schema=self.spec.schema, rules=self.spec.rules, default_fields=[self.name])) - {
            self.name
        }


def _id_of(column: Java) -> int:
    """The id of a column; none is -1."""
    return int(column.exprId().id()) if kind(column) in {"AttributeReference", "Alias"} else -1


def _search(call: Java) -> Search:
    *columns, query = sequence(call.children())
    try:
        words = text(query)
    except UntranslatableError:
        raise refusal(str(query.toString()), "the query is not a text that is known beforehand") from None
    if not all(kind(column) == "AttributeReference" for column in columns):
        raise refusal(words, "what it searches is not a plain column of a table")
    if columns and call.name() == INDEXQUERYALL:
        raise refusal(words, "indexqueryall takes the query alone")
    return Search(tuple(int(column.exprId().id()) for column in columns), words)


def _is_score(call: Java) -> bool:
    """Whether a Python function is ours: one of the user's may have the same name."""
    return call.name() == SCORE and call.children().isEmpty() and str(call.dataType().typeName()) == "float"


def _search_predicate(term: Java) -> Predicate | None:
    """What a condition says of a search: the search itself, or its column, which may be false by default."""
    if kind(term) == "Coalesce" and term.children().size() == 2:  # noqa: PLR2004
        first, default = sequence(term.children())
        term = first if kind(default) == "Literal" and default.value() is False else term
    if kind(term) == "AttributeReference":
        return Comparison(Column(name_of(_id_of(term))), Op.EQ, pa.scalar(value=True))
    if kind(term) != "PythonUDF" or term.name() not in FUNCTIONS or _is_left_to_spark(term):
        return None
    try:
        search = _search(term)
    except UnsupportedOperatorError:
        return None
    return IndexQuery(name_of(search.columns[0]) if len(search.columns) == 1 else None, search.query)
