"""Searches and scores in a plan of Spark Connect: columns of the scans that have the rows, or left to the server.

The planner finds the relation (`spark/planner/search_sources`). It gets a further column, under a name that no other column
has; projections on the way up list it, and the node in which the function stands drops it again.

Where no relation has the rows, the server evaluates the function on the values, by the field rule of the column if only one
column of our tables has its name.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec
from pyspark.sql.types import StructType

from indextables.errors import UnsupportedOperatorError
from indextables.predicate import IndexQuery, parse_condition
from indextables.predicate.sql_text import quoted
from indextables.predicate.translation import UntranslatableError
from indextables.read.scan_spec import Score, SearchResult, required_searches
from indextables.schema import normalize
from indextables.spark.connect.protocol import (
    Expression,
    Relation,
    aliased,
    attribute,
    called,
    drop_columns,
    expressions_in,
    expressions_of,
    is_our_stream,
    is_ours,
    kind_of,
    never_null,
    options_of,
    relations_in,
    set_options,
    text_of,
)
from indextables.spark.connect.remote_expressions import call_of, is_search
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.connect.remote_plan_reader import RemotePlanReader
from indextables.spark.options import RULES, SEARCHES
from indextables.spark.planner.plan import Plan, children_of, relations_of, walk
from indextables.spark.planner.plan import Relation as TableNode
from indextables.spark.planner.read_options import as_option, search_name
from indextables.spark.planner.search_sources import NoSourceError, Search, SearchSources, Source
from indextables.spark.source.quoting import quote_name
from indextables.spark.source.search_function import (
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
from indextables.statements.search_calls import SearchCall, replace_calls, score_calls, search_calls

_MADE_OF_EXPRESSIONS = frozenset({"project", "aggregate"})  # their output does not grow with that of their input
_WORDS = re.compile(rf"\b(?:indexquery|textsearch|{SCORE})", re.IGNORECASE)


def resolve_searches(relation: Relation, reader: RemotePlanReader) -> list[str]:
    """Resolves the searches in a plan, in place. Gives a sentence for each search that the server evaluates."""
    return _Searching(relation, reader).resolved() if has_searches(relation) else []


def has_searches(relation: Relation) -> bool:
    """Whether there may be searches or scores in a plan."""
    every = (one for node in relations_in(relation) for top in expressions_of(node) for one in expressions_in(top))
    return any(is_search(one) or _is_score(one) or _WORDS.search(_text_in(one)) for one in every)


class _Searching:
    def __init__(self, root: Relation, reader: RemotePlanReader) -> None:
        self.root, self.reader, plan = root, reader, reader.read(root)
        self.nodes = {node.number: node for node in walk(plan) if not isinstance(node, TableNode)}
        self.columns = {one.number: dict(reader.tables[one.table].options.search_columns) for one in relations_of(plan)}
        self.sources = SearchSources(reader.tables, self.own_searches, self.kind, passes_unions=False)
        self.used: dict[int, list[str]] = defaultdict(list)  # columns of searches by the nodes in which these stand
        self.passed: dict[int, list[str]] = defaultdict(list)  # by the nodes that pass them on
        self.evaluated: list[str] = []

    def resolved(self) -> list[str]:
        below_first = sorted(self.nodes.values(), key=lambda node: -node.number)
        for node in below_first:
            self.replace_in(node)
        for node in below_first:
            self.drop(node.number)
        return self.evaluated

    def replace_in(self, node: Plan) -> None:
        relation = self.reader.nodes[node.number]
        for expression in expressions_of(relation):
            for one in list(expressions_in(expression)):
                is_item = one is expression and kind_of(relation) == "project"
                if is_search(one):
                    self.replace_search(one, node, is_item=is_item)
                elif _is_score(one):
                    column = self.score(node)
                    one.CopyFrom(aliased(column, f"{SCORE}()") if is_item else column)
                elif _WORDS.search(_text_in(one)):
                    one.expression_string.expression = self.replaced_in_text(_text_in(one), node)

    def replace_search(self, call: Expression, node: Plan, *, is_item: bool) -> None:
        *columns, query = call_of(call).arguments
        try:
            column = self.search(node, self.searched(call, node))
        except UnsupportedOperatorError as error:
            if not columns or call_of(call).name == INDEXQUERYALL:
                raise
            self.evaluated.append(evaluated(error.predicate, error.reason))
            self.leave_to_server(columns, query)
        else:
            name = (
                None if not is_item else f"{INDEXQUERY}({', '.join([*map(_spelling, columns), query.literal.string])})"
            )
            call.CopyFrom(column if name is None else aliased(column, name))

    def searched(self, call: Expression, node: Plan) -> Search:
        name, (*columns, query) = call_of(call)
        if query.WhichOneof("expr_type") != "literal" or not query.literal.HasField("string"):
            raise refusal(str(query).strip(), "the query is not a text that is known beforehand")
        words = query.literal.string
        match [column.WhichOneof("expr_type") for column in columns]:
            case [] | ["unresolved_star"]:
                return Search((), words)
            case ["unresolved_attribute"] if name != INDEXQUERYALL:
                return self.search_of(columns[0], words, node)
        raise refusal(words, "what it searches is not a plain column of a table")

    def search_of(self, column: Expression, words: str, node: Plan) -> Search:
        try:
            return Search((self.reader.expressions_over(*children_of(node)).number(column),), words)
        except UntranslatableError:
            name = column.unresolved_attribute.unparsed_identifier
            raise refusal(words, f"{name} is not known as a plain column of a table") from None

    def search(self, node: Plan, search: Search) -> Expression:
        """The column in the place of a search."""
        try:
            source = self.sources.of_search(node, search)
        except NoSourceError as error:
            raise refusal(search.query, str(error)) from None
        column = self.column(source, node)
        return never_null(column) if source.is_nullable else column

    def score(self, node: Plan) -> Expression:
        try:
            return self.column(self.sources.of_score(node), node)
        except NoSourceError as error:
            raise score_refusal(str(error)) from None

    def replaced_in_text(self, given: str, node: Plan) -> str:
        """A text such as that of `filter("message INDEXQUERY 'disk'")` with columns in the places of calls."""
        text = rewrite_statement(given, prefix="").text
        columns: dict[SearchCall, str] = {}
        for call in search_calls(text):
            try:
                search = Search((), call.query)
                if call.column is not None:
                    search = self.search_of(_named(call), call.query, node)
                columns[call] = _in_text(self.search(node, search))
            except UnsupportedOperatorError as error:
                columns[call] = left_to_server(call, text, self.rules(), error)
                self.evaluated.append(evaluated(error.predicate, error.reason))
        text = replace_calls(text, columns)
        for start, end in reversed(score_calls(text)):
            text = f"{text[:start]}{_in_text(self.score(node))}{text[end:]}"
        return text

    def column(self, source: Source, node: Plan) -> Expression:
        """The column of a source, in a node above it."""
        name = self.passed_on(source)
        self.used[node.number].append(name)
        return attribute(name)

    def passed_on(self, source: Source) -> str:
        """The name of the column, which the nodes below have from now on."""
        number = source.node.number
        if source.result is not None:
            return self.column_of_relation(self.reader.nodes[number], source.result, self.columns[number])
        name, relation = self.passed_on(source.below[0]), self.reader.nodes[number]
        if name not in self.passed[number]:
            self.passed[number].append(name)
            if kind_of(relation) == "project" and not _has_star(relation):
                relation.project.expressions.add().CopyFrom(attribute(name))
        return name

    def column_of_relation(self, relation: Relation, result: SearchResult, known: dict[str, SearchResult]) -> str:
        """The column of a read, which may have it already."""
        for name, other in known.items():
            if other == result:
                return name
        schema = msgspec.json.decode(relation.read.data_source.schema)
        taken = {field["name"].lower() for field in schema["fields"]}
        number = sum(map(len, self.columns.values()))  # to have no other's name in a join
        while (name := search_name(result, number)) in taken:
            number += 1
        known[name] = result
        is_score = isinstance(result, Score)
        kind = "float" if is_score else "boolean"
        schema["fields"].append({"name": name, "type": kind, "nullable": is_score, "metadata": {}})
        set_options(relation, {**options_of(relation), SEARCHES: as_option(known)})
        relation.read.data_source.schema = msgspec.json.encode(schema).decode()
        return name

    def drop(self, number: int) -> None:
        relation = self.reader.nodes[number]
        if kind_of(relation) in _MADE_OF_EXPRESSIONS and not _has_star(relation):
            return
        dropped = [name for name in dict.fromkeys(self.used[number]) if name not in self.passed[number]]
        if dropped:
            drop_columns(relation, dropped)

    def leave_to_server(self, columns: list[Expression], query: Expression) -> None:
        """Gives a call that the server evaluates the rule of its column, where it is known."""
        if len(columns) == 1 and columns[0].WhichOneof("expr_type") == "unresolved_attribute":
            column = identifier_parts(columns[0].unresolved_attribute.unparsed_identifier)[-1]
            if (rule := self.rules().get(column.lower())) is not None:
                known = SearchedColumns({column: rule}, column).as_text()
                query.CopyFrom(called("named_struct", text_of("query"), query, text_of("searched"), text_of(known)))

    def rules(self) -> dict[str, str]:
        return rules_by_name(relations_in(self.root))

    def kind(self, number: int) -> str:
        return kind_of(self.reader.nodes[number]).replace("_", " ")

    def own_searches(self, node: TableNode) -> tuple[IndexQuery, ...]:
        """The searches that the options of a read require."""
        table = self.reader.tables[node.table]
        read = table.options
        found = () if read.query is None else (IndexQuery(None, read.query),)
        if read.where is None:
            return found
        fields = msgspec.json.decode(self.reader.relations[node.table].read.data_source.schema)["fields"]
        own = [field for field in fields if field["name"] in table.names.values()]
        schema = normalize(to_arrow_utc(StructType.fromJson({"type": "struct", "fields": own})))
        where = parse_condition(read.where, schema, time_zone=read.time_zone, case_sensitive=read.case_sensitive)
        return (*required_searches(where), *found)


def left_to_server(call: SearchCall, text: str, rules: Mapping[str, str], refused: UnsupportedOperatorError) -> str:
    """The text of a call that the server evaluates, with the rule of its column where it is known."""
    if call.column is None:
        raise refused
    rule = rules.get(call.column.lower())
    if rule is None:
        return text[call.start : call.end]
    known = SearchedColumns({call.column: rule}, call.column).as_text()
    query = f"named_struct('query', {quoted(call.query)}, 'searched', {quoted(known)})"
    return f"{INDEXQUERY}({_in_text(_named(call))}, {query})"


def rules_by_name(relations: Iterable[Relation]) -> dict[str, str]:
    """The field rules of the columns of our tables by their names in lower case; without those on which tables differ."""
    found: dict[str, set[str]] = {}
    for relation in relations:
        is_table = is_ours(relation) or is_our_stream(relation)
        rules = msgspec.json.decode(options_of(relation).get(RULES, "{}")) if is_table else {}
        for name, rule in rules.items():
            found.setdefault(name.lower(), set()).add(rule)
    return {name: next(iter(some)) for name, some in found.items() if len(some) == 1}


def _named(call: SearchCall) -> Expression:
    """The column that a call in a text searches."""
    column = attribute("")
    parts = [part for part in (call.qualifier, call.column) if part is not None]
    column.unresolved_attribute.unparsed_identifier = quote_name(parts)
    return column


def _in_text(column: Expression) -> str:
    """A column, or one that is false by default, as SQL."""
    if column.WhichOneof("expr_type") == "unresolved_function":
        return f"coalesce({_in_text(column.unresolved_function.arguments[0])}, false)"
    return str(column.unresolved_attribute.unparsed_identifier)


def _spelling(column: Expression) -> str:
    return str(column.unresolved_attribute.unparsed_identifier) or "*"


def _is_score(expression: Expression) -> bool:
    """Whether a call is of our function: one of the user's may have the same name."""
    found = call_of(expression)
    return found.name == SCORE and not found.arguments


def _text_in(expression: Expression) -> str:
    """The SQL of an expression that is a text."""
    return str(expression.expression_string.expression)


def _has_star(relation: Relation) -> bool:
    return any(one.WhichOneof("expr_type") == "unresolved_star" for one in expressions_of(relation))
