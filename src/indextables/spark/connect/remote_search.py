"""Searches in a plan of Spark Connect, each resolved to a column of the scan that has the rows.

The relation that is searched gets a further column, true where the search finds the row. The nodes between pass it on by its
name, which no other column has, and where the function stood, the column is read. On the way up it is dropped again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import msgspec
from pyspark.sql.connect.proto import relations_pb2

from indextables.errors import UnsupportedOperatorError
from indextables.predicate import IndexQuery
from indextables.spark.api.search_function import FUNCTIONS, INDEXQUERYALL, refusal
from indextables.spark.connect.protocol import (
    Expression,
    Relation,
    attribute,
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
    set_options,
)
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.source.options import SEARCHES
from indextables.spark.source.read_options import ReadOptions, as_option, search_name
from indextables.statements import rewrite_statement
from indextables.statements.search_calls import SearchCall, replace_calls, search_calls

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


class SearchResolver:
    """Gives every search column of a query a name of its own."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count()

    def resolve(self, relation: Relation) -> None:
        """Resolves all searches in a plan, or raises an UnsupportedOperatorError."""
        for below in inputs_of(relation):
            self.resolve(below)
        flags: list[str] = []
        for expression in expressions_of(relation):
            flags.extend(self._replace(call, relation) for call in _calls_in(expression))
            flags.extend(self._replace_in_texts(expression, relation))
        if flags and (kind_of(relation) not in _MADE_OF_EXPRESSIONS or _has_star(relation)):
            drop_columns(relation, flags)

    def provide(self, search: Search, relation: Relation) -> tuple[str, bool]:
        """Adds the column of a search to a relation: its name, and whether an outer join may have made it null."""
        kind = kind_of(relation)
        if is_ours(relation):
            return self._of_table(search, relation), False
        if kind == "subquery_alias":
            alias = relation.subquery_alias.alias
            if search.qualifier is not None and search.qualifier.lower() != alias.lower():
                raise refusal(search.query, f"it searches {search.qualifier}, and the rows are those of {alias}")
            return self.provide(replace(search, qualifier=None), relation.subquery_alias.input)
        if kind in _PASSING:
            return self.provide(search, node_of(relation).input)
        if kind == "join":
            return self._of_join(search, _output_sides(relation))
        if kind == "with_relations":
            return self.provide(search, relation.with_relations.root)
        if kind not in _TRACED:
            raise refusal(search.query, f"between it and the rows of a table stands {kind.replace('_', ' ')}")
        name, is_nullable = self.provide(_TRACED[kind](search, relation), node_of(relation).input)
        if kind == "project" and not _has_star(relation):
            relation.project.expressions.add().CopyFrom(attribute(name))
        if kind == "drop" and name in relation.drop.column_names:  # the same search stands below too
            relation.drop.column_names.remove(name)
        return name, is_nullable

    def _of_table(self, search: Search, relation: Relation) -> str:
        options = options_of(relation)
        read = ReadOptions.of(options)
        own = [name for name in column_names(relation) if name not in read.search_columns]
        if search.qualifier is not None or (search.column is not None and not any(map(search.is_of, own))):
            raise refusal(search.query, f"a table with the columns {', '.join(own)} has no such column")
        wanted = IndexQuery(search.column, search.query)
        known = next((name for name, other in read.search_columns.items() if other == wanted), None)
        if known is not None:
            return known
        columns = msgspec.json.decode(relation.read.data_source.schema)
        name = search_name(wanted, next(self._numbers))
        while any(field["name"].lower() == name for field in columns["fields"]):
            name = search_name(wanted, next(self._numbers))
        columns["fields"].append({"name": name, "type": "boolean", "nullable": False, "metadata": {}})
        set_options(relation, {**options, SEARCHES: as_option({**read.search_columns, name: wanted})})
        relation.read.data_source.schema = msgspec.json.encode(columns).decode()
        return name

    def _of_join(self, search: Search, sides: Sequence[Relation]) -> tuple[str, bool]:
        """The column of the one side of a join that has what is searched."""
        found = [side for side in sides if self._is_provided(search, side)]
        if len(found) != 1:
            reason = "it is not clear which side of a join it searches" if found else "no side of a join has its column"
            raise refusal(search.query, f"{reason}; search before the join, or name the frame: a.message")
        return self.provide(search, found[0])[0], True

    def _is_provided(self, search: Search, relation: Relation) -> bool:
        copy = type(relation)()
        copy.CopyFrom(relation)
        try:
            SearchResolver().provide(search, copy)
        except UnsupportedOperatorError:
            return False
        return True

    def _replace(self, call: Expression, relation: Relation) -> str:
        search = _search_in(call)
        name, is_nullable = self._below(search, relation)
        call.CopyFrom(never_null(attribute(name)) if is_nullable else attribute(name))
        return name

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
                name, is_nullable = self._below(Search(call.qualifier, call.column, call.query), relation)
                names[call] = f"coalesce(`{name}`, false)" if is_nullable else f"`{name}`"
                yield name
            one.expression_string.expression = replace_calls(text, names)

    def _below(self, search: Search, relation: Relation) -> tuple[str, bool]:
        """The column of a search that stands in this node: its rows come from below."""
        below = inputs_of(relation)
        if kind_of(relation) == "join":
            return self._of_join(search, below)
        if len(below) != 1:
            raise refusal(search.query, f"it stands in {kind_of(relation).replace('_', ' ')}")
        return self.provide(search, below[0])


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
