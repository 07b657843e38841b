"""Searches in a plan of Spark Connect, each resolved to a column of the scan that has the rows, or left to Spark.

The relation that is searched gets a further column, true where the search finds the row. The nodes between pass it on by its
name, which no other column has, and where the function stood, the column is read. On the way up it is dropped again.

`score()` becomes a column in the same way, of the one relation below of which every row satisfies a search.

Where no relation has the rows, the server evaluates the function on the values, by the field rule of the column if only one
column of our tables has its name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

import msgspec
from pyspark.sql.connect.proto import relations_pb2
from pyspark.sql.types import StructType

from indextables.errors import UnsupportedOperatorError
from indextables.predicate import IndexQuery, parse_condition
from indextables.predicate.sql_text import quoted
from indextables.read.scan_spec import Score, required_searches, searches_of
from indextables.schema import normalize
from indextables.spark.connect.protocol import (
    Expression,
    Relation,
    aliased,
    attribute,
    called,
    column_names,
    drop_columns,
    expressions_in,
    expressions_of,
    inputs_of,
    is_ours,
    kind_of,
    never_null,
    node_of,
    options_of,
    relations_in,
    set_options,
    text_of,
)
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.options import RULES, SEARCHES
from indextables.spark.planner.read_options import ReadOptions, as_option, search_name
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.search_function import (
    FUNCTIONS,
    INDEXQUERY,
    INDEXQUERYALL,
    SCORE,
    evaluated,
    refusal,
    score_refusal,
)
from indextables.spark.source.search_values import SearchedColumns
from indextables.spark.source.spark_types import to_arrow_utc
from indextables.statements import rewrite_statement
from indextables.statements.search_calls import SearchCall, replace_calls, required_columns, score_calls, search_calls

# Nodes that pass on all columns of their input, under the same names.
_PASSING = frozenset(
    """filter sort limit offset tail sample repartition repartition_by_expression hint collect_metrics""".split()  # noqa: SIM905
)
_MADE_OF_EXPRESSIONS = frozenset({"project", "aggregate"})  # their output does not grow with that of their input
_WORDS = re.compile(r"\b(?:indexquery|textsearch)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Search:
    """A search of a column, as a frame names it; of all columns of a table where `column` is None."""

    qualifier: str | None
    column: str | None
    query: str

    def is_of(self, name: str) -> bool:
        return self.column is not None and self.column.lower() == name.lower()

    def refusal(self, reason: str) -> UnsupportedOperatorError:
        return refusal(self.query, reason)

    def below(self, relation: Relation) -> "Search":
        """The search as the input of a node names it."""
        traced = _TRACED.get(kind_of(relation))
        return self if traced is None else traced(self, relation)

    def of(self, relation: Relation, read: ReadOptions) -> IndexQuery:
        own = [name for name in column_names(relation) if name not in read.search_columns]
        if self.qualifier is not None or (self.column is not None and not any(map(self.is_of, own))):
            raise self.refusal(f"a table with the columns {', '.join(own)} has no such column")
        return IndexQuery(self.column, self.query)


@dataclass(frozen=True, slots=True)
class ScoreCall:
    """A call of `score()`; `satisfied` are the columns of searches that are true in every row where it stands."""

    satisfied: frozenset[str] = frozenset()

    def refusal(self, reason: str) -> UnsupportedOperatorError:
        return score_refusal(reason)

    def below(self, relation: Relation) -> "ScoreCall":
        """The same below a node, which may be a filter, or may have given columns other names."""
        sources = _sources(relation)
        names = (sources.get(name.lower(), name) for name in self.satisfied)
        return ScoreCall(frozenset(name for name in names if name is not None) | satisfied_by(relation))

    def of(self, relation: Relation, read: ReadOptions) -> Score:
        """The score of the searches of the read itself and of those that filters look for, in this order."""
        own = _own_searches(relation, read)
        results = [result for name, result in read.search_columns.items() if name in self.satisfied]
        searches = tuple(dict.fromkeys([*own, *searches_of(results)]))
        if not searches:
            raise self.refusal("there is no search that every row of the table has to satisfy")
        return Score(searches)


Wanted: TypeAlias = Search | ScoreCall


class SearchResolver:
    """Gives every search column of a query a name of its own.

    `evaluated` has a sentence for each search that is left to the server.
    """

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count()
        self.evaluated: list[str] = []

    def resolve(self, relation: Relation) -> None:
        """Resolves the searches in a plan that a scan can evaluate; the server evaluates the others."""
        for below in inputs_of(relation):
            self.resolve(below)
        flags: list[str] = []
        for expression in expressions_of(relation):
            flags.extend(flag for call in _calls_in(expression) for flag in self._replace(call, relation))
            flags.extend(self._replace_in_texts(expression, relation))
        flags.extend(self._replace_scores(relation))
        if flags and (kind_of(relation) not in _MADE_OF_EXPRESSIONS or _has_star(relation)):
            drop_columns(relation, flags)

    def provide(self, wanted: Wanted, relation: Relation) -> tuple[str, bool]:
        """Adds the column that is wanted to a relation: its name, and whether an outer join may have made it null."""
        kind = kind_of(relation)
        if is_ours(relation):
            return self._of_table(wanted, relation), False
        if kind == "join":
            return self._of_join(wanted.below(relation), _output_sides(relation))
        if kind == "with_relations":
            return self.provide(wanted, relation.with_relations.root)
        if kind not in _PASSING and kind not in _TRACED:
            raise wanted.refusal(f"between it and the rows of a table stands {kind.replace('_', ' ')}")
        name, is_nullable = self.provide(wanted.below(relation), node_of(relation).input)
        if kind == "project" and not _has_star(relation) and attribute(name) not in relation.project.expressions:
            relation.project.expressions.add().CopyFrom(attribute(name))
        if kind == "drop" and name in relation.drop.column_names:  # the same search stands below too
            relation.drop.column_names.remove(name)
        return name, is_nullable

    def _of_table(self, wanted: Wanted, relation: Relation) -> str:
        options = options_of(relation)
        read = ReadOptions.of(options)
        result = wanted.of(relation, read)
        known = next((name for name, other in read.search_columns.items() if other == result), None)
        if known is not None:
            return known
        columns = msgspec.json.decode(relation.read.data_source.schema)
        name = search_name(result, next(self._numbers))
        while any(field["name"].lower() == name for field in columns["fields"]):
            name = search_name(result, next(self._numbers))
        is_score = isinstance(result, Score)
        kind = "float" if is_score else "boolean"
        columns["fields"].append({"name": name, "type": kind, "nullable": is_score, "metadata": {}})
        set_options(relation, {**options, SEARCHES: as_option({**read.search_columns, name: result})})
        relation.read.data_source.schema = msgspec.json.encode(columns).decode()
        return name

    def _of_join(self, wanted: Wanted, sides: Sequence[Relation]) -> tuple[str, bool]:
        """The column of the one side of a join that has what is searched."""
        if len(sides) == 1 and isinstance(wanted, ScoreCall):
            return self.provide(wanted, sides[0])
        found = [side for side in sides if self.is_provided(wanted, side)]
        if len(found) != 1:
            raise refused_join(wanted, len(found))
        return self.provide(wanted, found[0])[0], True

    def leave(self, refused: UnsupportedOperatorError) -> None:
        """Notes that the server evaluates a search, and why."""
        self.evaluated.append(evaluated(refused.predicate, refused.reason))

    def is_provided(self, wanted: Wanted, relation: Relation) -> bool:
        """Whether a relation can have the column that is wanted."""
        copy = type(relation)()
        copy.CopyFrom(relation)
        try:
            SearchResolver().provide(wanted, copy)
        except UnsupportedOperatorError:
            return False
        return True

    def _replace(self, call: Expression, relation: Relation) -> Iterator[str]:
        try:
            name, is_nullable = self._below(_search_in(call), relation)
        except UnsupportedOperatorError as error:
            _leave_to_server(call, relation, error)
            self.leave(error)
            return
        call.CopyFrom(never_null(attribute(name)) if is_nullable else attribute(name))
        yield name

    def _replace_in_texts(self, expression: Expression, relation: Relation) -> Iterator[str]:
        """Searches in conditions that are texts: `filter("message INDEXQUERY 'disk'")`."""
        for one in expressions_in(expression):
            if one.WhichOneof("expr_type") != "expression_string" or not _WORDS.search(
                one.expression_string.expression
            ):
                continue
            text = rewrite_statement(one.expression_string.expression, prefix="").text
            names: dict[SearchCall, str] = {}
            for call in search_calls(text):
                try:
                    name, is_nullable = self._below(Search(call.qualifier, call.column, call.query), relation)
                except UnsupportedOperatorError as error:
                    names[call] = left_to_server(call, text, rules_by_name(relations_in(relation)), error)
                    self.leave(error)
                    continue
                names[call] = f"coalesce(`{name}`, false)" if is_nullable else f"`{name}`"
                yield name
            one.expression_string.expression = replace_calls(text, names)

    def _replace_scores(self, relation: Relation) -> Iterator[str]:
        """Calls of `score()` in this node, whose searches are columns by now."""
        wanted = ScoreCall(satisfied_by(relation))
        for expression in expressions_of(relation):
            for call in [one for one in expressions_in(expression) if _is_score(one)]:
                name, _ = self._below(wanted, relation)
                column = attribute(name)
                is_item = call is expression and kind_of(relation) == "project"
                call.CopyFrom(aliased(column, f"{SCORE}()") if is_item else column)
                yield name
            for text in [one.expression_string for one in expressions_in(expression) if _is_text(one)]:
                for start, end in reversed(score_calls(text.expression)):
                    name, _ = self._below(wanted, relation)
                    text.expression = f"{text.expression[:start]}`{name}`{text.expression[end:]}"
                    yield name

    def _below(self, wanted: Wanted, relation: Relation) -> tuple[str, bool]:
        """The column that is wanted in this node: its rows come from below."""
        below = inputs_of(relation)
        if kind_of(relation) == "join":
            return self._of_join(wanted, below)
        if len(below) != 1:
            raise wanted.refusal(f"it stands in {kind_of(relation).replace('_', ' ')}")
        return self.provide(wanted, below[0])


def _leave_to_server(call: Expression, relation: Relation, refused: UnsupportedOperatorError) -> None:
    """Makes a call one that the server evaluates, with the rule of its column where it is known."""
    *columns, query = getattr(call, call.WhichOneof("expr_type")).arguments
    if not columns or _function_of(call) == INDEXQUERYALL:
        raise refused
    if len(columns) == 1 and columns[0].WhichOneof("expr_type") == "unresolved_attribute":
        column = _qualified(columns[0].unresolved_attribute.unparsed_identifier)[1]
        if (rule := rules_by_name(relations_in(relation)).get(column.lower())) is not None:
            known = SearchedColumns({column: rule}, column).as_text()
            query.CopyFrom(called("named_struct", text_of("query"), query, text_of("searched"), text_of(known)))


def left_to_server(call: SearchCall, text: str, rules: Mapping[str, str], refused: UnsupportedOperatorError) -> str:
    """The text of a call that the server evaluates, with the rule of its column where it is known."""
    if call.column is None:
        raise refused
    rule = rules.get(call.column.lower())
    if rule is None:
        return text[call.start : call.end]
    known = SearchedColumns({call.column: rule}, call.column).as_text()
    query = f"named_struct('query', {quoted(call.query)}, 'searched', {quoted(known)})"
    column = quote_name([part for part in (call.qualifier, call.column) if part is not None])
    return f"{INDEXQUERY}({column}, {query})"


def rules_by_name(relations: Iterable[Relation]) -> dict[str, str]:
    """The field rules of the columns of our tables by their names in lower case; without those on which tables differ."""
    found: dict[str, set[str]] = {}
    for relation in relations:
        rules = msgspec.json.decode(options_of(relation).get(RULES, "{}")) if is_ours(relation) else {}
        for name, rule in rules.items():
            found.setdefault(name.lower(), set()).add(rule)
    return {name: next(iter(some)) for name, some in found.items() if len(some) == 1}


def refused_join(wanted: Wanted, sides: int) -> UnsupportedOperatorError:
    if isinstance(wanted, ScoreCall):
        none = "none of the tables of a join has a search that all of its rows satisfy"
        return wanted.refusal(
            f"{sides} tables of a join are searched, so that it must be computed before the join" if sides else none
        )
    reason = "it is not clear which side of a join it searches" if sides else "no side of a join has its column"
    return wanted.refusal(f"{reason}; search before the join, or name the frame: a.message")


def satisfied_by(relation: Relation) -> frozenset[str]:
    """The names of the columns that are true in every row of a filter or an inner join; columns of searches among them."""
    if kind_of(relation) == "filter":
        return frozenset(_terms(relation.filter.condition))
    if kind_of(relation) == "join" and relation.join.join_type == relations_pb2.Join.JOIN_TYPE_INNER:
        return frozenset(_terms(relation.join.join_condition))
    return frozenset()


def _sources(relation: Relation) -> dict[str, str | None]:
    """The columns that outputs of a projection are, by the names of the outputs in lower case; None for computed ones."""
    if kind_of(relation) == "project":
        items = [_plain_item(item) for item in relation.project.expressions]
    elif kind_of(relation) == "with_columns":
        items = [(item.name[0], _plain_item(item.expr)[1]) for item in relation.with_columns.aliases]
    else:
        return {}
    return {name.lower(): None if source is None else identifier_parts(source)[-1] for name, source in items if name}


def _terms(condition: Expression) -> Iterator[str]:
    """The plain columns among the terms of a condition; `coalesce(column, false)` is one, too."""
    kind = condition.WhichOneof("expr_type")
    if kind == "unresolved_attribute":
        yield identifier_parts(condition.unresolved_attribute.unparsed_identifier)[-1]
    elif kind == "expression_string":
        yield from required_columns(condition.expression_string.expression)
    elif kind == "unresolved_function" and condition.unresolved_function.function_name in {"and", "coalesce"}:
        function = condition.unresolved_function
        is_default = function.function_name == "coalesce"
        if not is_default or function.arguments[1:] == [
            never_null(function.arguments[0]).unresolved_function.arguments[1]
        ]:
            for term in function.arguments[:1] if is_default else function.arguments:
                yield from _terms(term)


def _own_searches(relation: Relation, read: ReadOptions) -> tuple[IndexQuery, ...]:
    """The searches that the options of a read require."""
    found = () if read.query is None else (IndexQuery(None, read.query),)
    if read.where is None:
        return found
    fields = msgspec.json.decode(relation.read.data_source.schema)["fields"]
    own = [field for field in fields if field["name"] not in read.search_columns]
    schema = normalize(to_arrow_utc(StructType.fromJson({"type": "struct", "fields": own})))
    where = parse_condition(read.where, schema, time_zone=read.time_zone, case_sensitive=read.case_sensitive)
    return (*required_searches(where), *found)


def _is_score(expression: Expression) -> bool:
    """Whether a call is of our function: one of the user's may have the same name."""
    if _function_of(expression) != SCORE:
        return False
    return not getattr(expression, expression.WhichOneof("expr_type")).arguments


def _is_text(expression: Expression) -> bool:
    return bool(expression.WhichOneof("expr_type") == "expression_string")


def _calls_in(expression: Expression) -> list[Expression]:
    return [one for one in expressions_in(expression) if _function_of(one) in FUNCTIONS]


def _function_of(expression: Expression) -> str | None:
    kind = expression.WhichOneof("expr_type")
    if kind in {"unresolved_function", "call_function", "common_inline_user_defined_function"}:
        return str(getattr(expression, kind).function_name).lower()
    return None


def _search_in(call: Expression) -> Search:
    *columns, query = getattr(call, call.WhichOneof("expr_type")).arguments
    if query.WhichOneof("expr_type") != "literal" or not query.literal.HasField("string"):
        raise refusal(str(query).strip(), "the query is not a text that is known beforehand")
    words = query.literal.string
    match [column.WhichOneof("expr_type") for column in columns]:
        case [] | ["unresolved_star"]:
            return Search(None, None, words)
        case ["unresolved_attribute"] if _function_of(call) != INDEXQUERYALL:
            return Search(*_qualified(columns[0].unresolved_attribute.unparsed_identifier), words)
    raise refusal(words, "what it searches is not a plain column of a table")


def _qualified(identifier: str) -> tuple[str | None, str]:
    *qualifiers, name = identifier_parts(identifier)
    return (qualifiers[-1] if qualifiers else None), name


def _has_star(relation: Relation) -> bool:
    return any(one.WhichOneof("expr_type") == "unresolved_star" for one in expressions_of(relation))


def _below_project(search: Search, relation: Relation) -> Search:
    """The search on the column below a projection that one of its outputs simply is."""
    if search.column is None and not _has_star(relation):
        raise refusal(search.query, "it searches all columns of a table, and a projection stands in between")
    for item in relation.project.expressions:
        name, source = _plain_item(item)
        if source is not None and search.is_of(name):
            qualifier, column = _qualified(source)
            return replace(search, qualifier=qualifier, column=column)
    if _has_star(relation):
        return search
    raise refusal(search.query, f"{search.column!r} is not a plain column of a table")


def _plain_item(item: Expression) -> tuple[str, str | None]:
    """The name of an output column, and the identifier of the column that it is; None where it is computed."""
    kind = item.WhichOneof("expr_type")
    if kind == "unresolved_attribute":
        identifier = item.unresolved_attribute.unparsed_identifier
        return _qualified(identifier)[1], identifier
    if kind == "alias" and len(item.alias.name) == 1:
        return item.alias.name[0], _plain_item(item.alias.expr)[1]
    return "", None


def _below_alias(search: Search, relation: Relation) -> Search:
    alias = relation.subquery_alias.alias
    if search.qualifier is not None and search.qualifier.lower() != alias.lower():
        raise refusal(search.query, f"it searches {search.qualifier}, and the rows are those of {alias}")
    return replace(search, qualifier=None)


def _below_columns(search: Search, relation: Relation) -> Search:
    added = {alias.name[0].lower() for alias in relation.with_columns.aliases}
    if any(search.is_of(name) for name in added):
        raise refusal(search.query, f"{search.column!r} is computed, and not a plain column of a table")
    return search


def _below_renames(search: Search, relation: Relation) -> Search:
    renames = relation.with_columns_renamed.renames
    old = next((one.col_name for one in renames if search.is_of(one.new_col_name)), None)
    if old is None and any(search.is_of(one.col_name) for one in renames):
        raise refusal(search.query, f"{search.column!r} has another name there")
    return search if old is None else replace(search, column=old)


def _below_drop(search: Search, relation: Relation) -> Search:
    if any(search.is_of(name) for name in relation.drop.column_names):
        raise refusal(search.query, f"{search.column!r} is dropped below")
    return search


_TRACED: dict[str, Callable[[Search, Relation], Search]] = {  # the search below a node of this kind
    "subquery_alias": _below_alias,
    "project": _below_project,
    "with_columns": _below_columns,
    "with_columns_renamed": _below_renames,
    "drop": _below_drop,
}


def _output_sides(join: Relation) -> list[Relation]:
    """The sides of a join whose columns are in its output."""
    is_left_only = join.join.join_type in {
        relations_pb2.Join.JOIN_TYPE_LEFT_SEMI,
        relations_pb2.Join.JOIN_TYPE_LEFT_ANTI,
    }
    return [join.join.left] if is_left_only else [join.join.left, join.join.right]
