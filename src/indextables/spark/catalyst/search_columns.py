"""Searches in a plan, each resolved to a column of the scan that has the rows, or left to Spark.

`indexquery(message, 'timeout')` may stand anywhere in a plan: in a filter, in the condition of a join, in a CASE, in a
subquery. The relation that the column comes from gets a further column, true where the search finds the row; the nodes
between pass it on, and where the function stood, the column is read. To the rest of the plan nothing has changed.

Where no relation has the rows (a computed column, other formats, above an aggregate), Spark evaluates the function on the
values, by the field rule of the column if it is one of a table.

`score()` becomes a column in the same way. It belongs to the relation below it of which every row satisfies a search: by
then, the searches of the filters in between are columns of that relation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from py4j.java_gateway import is_instance_of
from pyspark.sql.functions import lit

from indextables.errors import UnsupportedOperatorError
from indextables.predicate import IndexQuery
from indextables.predicate.translation import UntranslatableError
from indextables.read.scan_spec import ScanSpec, Score, required_searches
from indextables.search import fields, parse
from indextables.spark.catalyst.expressions import conjuncts, plain_column, text
from indextables.spark.catalyst.java import Java, has, ids_of, inlined, jvm_of, kind, over, replacing, seq, sequence
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.catalyst.relation import RelationNode, relation_leaves
from indextables.spark.catalyst.session_state import column_expression
from indextables.spark.planner.snapshots import snapshot_of
from indextables.spark.source.search_function import FUNCTIONS, INDEXQUERYALL, SCORE, evaluated, refusal, score_refusal
from indextables.spark.source.search_values import SearchedColumns

# Nodes whose rows are rows of a child, with all of its columns; of some joins only one child's.
_PASSING = frozenset(
    """Filter Sort SubqueryAlias View GlobalLimit LocalLimit Offset Tail Join LateralJoin Window Generate Sample
    ResolvedHint Repartition RepartitionByExpression PipeOperator""".split()  # noqa: SIM905
)
_SCORE_CALL = re.compile(rf"\b{SCORE}\(\)#\d+")
_SUBQUERY = "org.apache.spark.sql.catalyst.expressions.SubqueryExpression"


def with_searches(plan: Java, spark: Any) -> Java:
    """The plan with all searches resolved that a scan can evaluate; the very same plan if there are none."""
    if Capability.SEARCH_COLUMNS not in capabilities(spark):
        _refuse_scores(plan)
        return plan
    if not has(plan, "PYTHON_UDF", spark):
        return plan
    whole = inlined(plan, spark)
    resolved = _Searching(spark, whole).resolved(whole)
    return plan if resolved is whole else resolved


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


@dataclass(frozen=True, slots=True)
class _Search:
    """A call of the function; `columns` are Spark's ids, and none of them means all of the table's columns."""

    columns: tuple[int, ...]
    query: str

    def on(self, columns: Sequence[int]) -> "_Search":
        return _Search(tuple(columns), self.query)

    def refusal(self, reason: str) -> UnsupportedOperatorError:
        return refusal(self.query, reason)

    def within(self, _: Java) -> "_Search":
        return self

    def below_project(self, listed: Mapping[int, Java]) -> "_Search":
        return self.on([_source(listed[id_], self) for id_ in self.columns])

    def below_union(self, sources: Mapping[int, int]) -> "_Search":
        return self.on([sources[id_] for id_ in self.columns])

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
class _Score:
    """A call of `score()`; `satisfied` are the columns, by Spark's ids, that are true in every row where it stands."""

    satisfied: frozenset[int] = frozenset()

    def refusal(self, reason: str) -> UnsupportedOperatorError:
        return score_refusal(reason)

    def within(self, plan: Java) -> "_Score":
        """The same below a node, which may be a filter."""
        return _Score(self.satisfied.union(_satisfied_by(plan)))

    def below_project(self, listed: Mapping[int, Java]) -> "_Score":
        sources = (plain_column(listed[id_]) for id_ in self.satisfied if id_ in listed)
        return _Score(frozenset(source for source in sources if source is not None))

    def below_union(self, sources: Mapping[int, int]) -> "_Score":
        return _Score(frozenset(sources[id_] for id_ in self.satisfied if id_ in sources))

    def of(self, relation: RelationNode) -> Score:
        """The score of the searches of the read itself and of those that filters look for, in this order."""
        own = required_searches(relation.read.scan_spec(snapshot_of(relation.read)).predicate)
        filters = [search for id_, search in relation.table.searches.items() if id_ in self.satisfied]
        if not own and not filters:
            raise self.refusal("there is no search that every row of the table has to satisfy")
        return Score(tuple(dict.fromkeys([*own, *filters])))


_Wanted: TypeAlias = _Search | _Score


@dataclass(frozen=True, slots=True)
class _Searching:
    spark: Any
    root: Java

    def own_calls(self, plan: Java) -> list[Java]:
        calls = (call for expression in sequence(plan.expressions()) for call in _calls(expression, self.spark))
        return [call for call in calls if not _is_left_to_spark(call)]

    def resolved(self, plan: Java) -> Java:
        """The plan, with the same output, in which no search is left."""
        if not has(plan, "PYTHON_UDF", self.spark):
            return plan
        below = sequence(plan.children())
        children = [self.resolved(child) for child in below]
        plan = self.in_subqueries(over(below, children, plan, self.spark))
        calls = self.own_calls(plan)
        if not calls:
            return plan
        scores = [call for call in calls if call.name() == SCORE]
        widened = self.read_from_columns(plan, [call for call in calls if call.name() != SCORE])
        widened = self.read_from_columns(widened, scores)
        return widened if kind(plan) in _MADE_OF_EXPRESSIONS else self.project(sequence(plan.output()), widened)

    def read_from_columns(self, plan: Java, calls: Sequence[Java]) -> Java:
        """The node, over wider children, with columns in the places of calls; a search that no scan has is left to Spark."""
        children, columns = sequence(plan.children()), []
        for call in calls:
            try:
                wanted = _Score().within(plan) if call.name() == SCORE else _search(call)
                children, column = self.column_for(wanted, children)
            except UnsupportedOperatorError as error:
                if call.name() == SCORE:
                    raise
                column = self.evaluated(call, children, error)
            columns.append((call, column))
        if not calls:
            return plan
        return plan.withNewChildren(seq(children, self.spark)).transformExpressions(replacing(columns, self.spark))

    def evaluated(self, call: Java, children: list[Java], refused: UnsupportedOperatorError) -> Java:
        """The call for Spark to evaluate, with the field rules of the table that its column comes from, if it does."""
        *columns, query = sequence(call.children())
        if not columns or call.name() == INDEXQUERYALL:
            raise refused
        found: dict[str, Java] = {}
        rules: dict[str, str] = {}
        origins = [self.origins().get(_id_of(column)) for column in columns]
        for column, origin in zip(columns, origins, strict=True):
            name = "value" if origin is None else origin.name
            while name in found:
                name += "_"  # of a column with the same name in another table
            found[name], rules[name] = column, "" if origin is None else origin.rule_of(origin.name)
        default = next(iter(found)) if len(columns) == 1 else None
        if default is not None and origins[0] is not None:
            others = origins[0].other_fields(query)
            found |= self.columns_of(origins[0].relation, others, children)
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

    def origins(self) -> dict[int, "_Origin"]:
        """The columns of tables that columns of the plan are, by Spark's ids."""
        relations = [relation for leaf in relation_leaves(self.root) if (relation := RelationNode.of_leaf(leaf))]
        found = {id_: _Origin(relation, name) for relation in relations for id_, name in relation.table.names.items()}
        for project in reversed(list(_projections(self.root))):
            items = project.projectList() if kind(project) == "Project" else project.aggregateExpressions()
            for item in sequence(items):
                source = plain_column(item)
                if source in found:
                    found.setdefault(_id_of(item), found[source])
        return found

    def columns_of(self, relation: RelationNode, names: set[str], children: Sequence[Java]) -> dict[str, Java]:
        """Columns of a relation as they come out of the children of a node, as far as they do."""
        wanted = {id_: name for id_, name in relation.table.names.items() if name in names}
        outputs = [attribute for child in children for attribute in sequence(child.output())]
        return {wanted[id_]: one for one in outputs if (id_ := int(one.exprId().id())) in wanted}

    def struct(self, columns: Mapping[str, Java]) -> Java:
        members = [part for name, column in columns.items() for part in (self.literal(name), column)]
        return jvm_of(self.spark).org.apache.spark.sql.catalyst.expressions.CreateNamedStruct(seq(members, self.spark))

    def literal(self, text: str) -> Java:
        return column_expression(self.spark, lit(text))

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

    def column_for(self, wanted: _Wanted, children: list[Java]) -> tuple[list[Java], Java]:
        """The children, one of them with the column that is wanted, and the expression that reads it."""
        index, child, attribute = self.provided_by_one(wanted, children)
        column = attribute if isinstance(wanted, _Score) else self.never_null(attribute)
        return [*children[:index], child, *children[index + 1 :]], column

    def provided_by_one(self, wanted: _Wanted, children: list[Java]) -> tuple[int, Java, Java]:
        """The child that has the rows: which one it is, the same with the column, and this column."""
        if isinstance(wanted, _Search):
            index = _child_for(wanted, children)
            return (index, *self.provided(wanted, children[index]))
        if len(children) == 1:
            return (0, *self.provided(wanted, children[0]))
        found = [one for index, child in enumerate(children) for one in self.provided_if_any(wanted, index, child)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise wanted.refusal("none of the tables of a join has a search that all of its rows satisfy")
        raise wanted.refusal(f"{len(found)} tables of a join are searched, so that it must be computed before the join")

    def provided_if_any(self, score: _Score, index: int, child: Java) -> Iterator[tuple[int, Java, Java]]:
        try:
            yield (index, *self.provided(score, child))
        except UnsupportedOperatorError:
            return

    def provided(self, wanted: _Wanted, plan: Java) -> tuple[Java, Java]:
        """The plan with the column that is wanted, and this column."""
        relation = RelationNode.of(plan)
        if relation is not None:
            return self.from_relation(wanted, relation)
        match kind(plan):
            case "Project":
                return self.through_project(wanted, plan)
            case "Union":
                return self.through_union(wanted, plan)
            case name if name in _PASSING:
                return self.through(wanted, plan)
            case name:
                raise wanted.refusal(f"between it and the rows of a table stands {name}")

    def from_relation(self, wanted: _Wanted, relation: RelationNode) -> tuple[Java, Java]:
        result = wanted.of(relation)
        known = next((id_ for id_, other in relation.table.search_results.items() if other == result), None)
        if known is not None:
            return relation.java, _column(relation.java, known)
        if (name := relation.search_name(result)) in relation.table.names.values():
            raise wanted.refusal(f"the table has a column {name}, which is the name of the search column")
        wide = relation.with_search_column(self.spark, result)
        wide.read.scan_spec(snapshot_of(wide.read))  # a search that cannot be read is an error here and now
        return wide.java, sequence(wide.java.output())[-1]

    def through_project(self, wanted: _Wanted, plan: Java) -> tuple[Java, Java]:
        listed = {item.exprId().id(): item for item in sequence(plan.projectList())}
        child, attribute = self.provided(wanted.below_project(listed), plan.child())
        return self.project(list({**listed, attribute.exprId().id(): attribute}.values()), child), attribute

    def through_union(self, wanted: _Wanted, plan: Java) -> tuple[Java, Java]:
        """Every branch has a column for its own rows."""
        branches = []
        for branch in sequence(plan.children()):
            own = zip(reversed(ids_of(plan)), reversed(ids_of(branch)), strict=True)  # of equal ids, the first counts
            below = wanted.below_union(dict(own))
            wide, attribute = self.provided(below, branch)
            branches.append(self.project([*sequence(branch.output()), attribute], wide))
        union = plan.withNewChildren(seq(branches, self.spark))
        return union, sequence(union.output())[-1]

    def through(self, wanted: _Wanted, plan: Java) -> tuple[Java, Java]:
        children = sequence(plan.children())
        index, child, attribute = self.provided_by_one(
            wanted.within(plan), children[:1] if _is_semi(plan) else children
        )
        children[index] = child
        wide = plan.withNewChildren(seq(children, self.spark))
        try:
            return wide, _column(wide, attribute.exprId().id())
        except UntranslatableError:
            raise wanted.refusal(f"{kind(plan)} does not pass on the rows of that table") from None

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


def _projections(plan: Java) -> Iterator[Java]:
    """The nodes that give columns other names, from the top down."""
    if kind(plan) in {"Project", "Aggregate"}:
        yield plan
    for child in sequence(plan.children()):
        yield from _projections(child)


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


def _is_score(call: Java) -> bool:
    """Whether a Python function is ours: one of the user's may have the same name."""
    return call.name() == SCORE and call.children().isEmpty() and str(call.dataType().typeName()) == "float"


def _satisfied_by(plan: Java) -> Iterator[int]:
    """The columns that are true in every row of a filter or an inner join."""
    match kind(plan):
        case "Filter":
            condition = plan.condition()
        case "Join" if str(plan.joinType().toString()) in {"Inner", "Cross"} and plan.condition().isDefined():
            condition = plan.condition().get()
        case _:
            return
    for term in conjuncts(condition):
        column = term.children().head() if _is_false_by_default(term) else term
        if kind(column) == "AttributeReference":
            yield int(column.exprId().id())


def _is_false_by_default(term: Java) -> bool:
    """Whether a term is a column, or false where the column is null."""
    if kind(term) != "Coalesce" or term.children().size() != 2:  # noqa: PLR2004
        return False
    default = term.children().last()
    return kind(default) == "Literal" and default.value() is False


def _is_semi(plan: Java) -> bool:
    """Whether the rows of a join are those of its left side."""
    return kind(plan) == "Join" and str(plan.joinType().toString()) in {"LeftSemi", "LeftAnti"}


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
