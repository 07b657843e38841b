"""SQL texts for Spark Connect: tables of ours become relations that travel with the text.

Spark parses the text on the server. Here sqlglot finds the tables in it, and the conditions on them; a table that sqlglot
does not find is one that the server has to know. Conditions of WHERE and ON that are on one table filter its relation. The
searches of its rows, and `score()`, become columns of the relation, and `SELECT *` leaves them out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias
from uuid import uuid4

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from indextables.errors import PredicateError, StatementError
from indextables.predicate import parse
from indextables.predicate.dialect import Dialect
from indextables.redaction import redacted
from indextables.spark.connect.protocol import (
    Relation,
    column_names,
    filtered,
    is_ours,
    kind_of,
    named,
    node_of,
    relations_in,
    selected,
    with_column,
)
from indextables.spark.connect.remote_search import has_searches, left_to_server, rules_by_name
from indextables.spark.options import VIEW
from indextables.spark.planner.null_rows import rejects_nulls
from indextables.spark.source.search_function import FUNCTIONS, INDEXQUERY, SCORE, evaluated, refusal, score_refusal
from indextables.statements import rewrite_statement
from indextables.statements.command_values import TableAt
from indextables.statements.search_calls import SearchCall, conditions_in, score_calls, search_calls

FindTable: TypeAlias = Callable[
    [Sequence[str]], Relation | None
]  # by the parts of a name: a view, a table of the catalog
FindPath: TypeAlias = Callable[[TableAt], Relation]
_USE_FRAMES = "use indextables.functions.score in a frame"
_KNOWN = "a table of indextables, by its path, its name or a view that this client has created"


@dataclass(frozen=True, slots=True)
class SqlPlan:
    """A text for Spark, the relations that it names, and a sentence for each search in it that the server evaluates."""

    text: str
    relations: Sequence[Relation] = ()
    evaluated: Sequence[str] = ()


def plan_sql(text: str, find_path: FindPath, find_table: FindTable) -> SqlPlan | None:
    """The text with relations for our tables; None where it names none of them."""
    prefix = f"{VIEW}{uuid4().hex}_"
    statement = rewrite_statement(text, prefix=prefix)
    rewritten = statement.text
    calls = search_calls(rewritten)
    tree = _parsed(rewritten)
    paths = {table.name: table for table in statement.tables}
    if tree is None:
        if paths:
            raise _unreadable(text)
        return _left_to_server(text, rewritten, calls)
    if not _has_query(tree) and rewritten == text:
        return None
    if isinstance(tree, exp.Create) and tree.kind == "VIEW":
        if paths:
            raise _unreadable(text)
        return _left_to_server(text, rewritten, calls)  # it outlives the relations of a statement
    references = list(_references(tree, paths, find_path, find_table, prefix))
    if not references and not paths:
        return _left_to_server(text, rewritten, calls)
    if not paths.keys() <= {reference.node.parts[0].name for reference in references}:
        raise _unreadable(text)
    planned = _Statement(rewritten, tree, references, is_piped="|>" in rewritten)
    planned.push_conditions()
    planned.replace_searches(calls)
    planned.replace_scores(score_calls(rewritten) if references else [])
    planned.hide_columns()
    relations = [named(reference.relation, reference.name) for reference in references]
    return SqlPlan(planned.edited(), relations, planned.evaluated)


def _left_to_server(text: str, rewritten: str, calls: Sequence[SearchCall]) -> SqlPlan | None:
    """A text in which no table of ours is found; the server evaluates the searches in it, which are functions by now."""
    searches = [evaluated(call.query, f"it does not stand in a query of {_KNOWN}") for call in calls]
    return None if rewritten == text and not searches else SqlPlan(rewritten, evaluated=searches)


def _parsed(text: str) -> exp.Expr | None:
    try:
        return parse_one(text, dialect=Dialect)
    except (SqlglotError, RecursionError):
        return None


def _refuse_unsupported(table: exp.Table, tree: exp.Expr) -> None:
    """What cannot be said of a table that gets another name in the text."""
    name = table.name.lower()
    twice = [one for one in tree.find_all(exp.Column) if one.args.get("db") and one.table.lower() == name]
    reason = None
    if twice:
        reason = f"{twice[0].sql(dialect=Dialect)} is qualified by more than the name or alias of its table"
    elif table.args.get("version") or table.args.get("when"):
        reason = f"{name} is read at another version; name it by its path: indextables.`path` VERSION AS OF 3"
    elif table.args.get("sample") or isinstance(table.parent, exp.TableSample):
        reason = f"{name} is sampled; name it by its path, or use DataFrame.sample"
    if reason is not None:
        text = f"the statement cannot be run over Spark Connect: {reason}"
        raise StatementError(text, statement=tree.sql(dialect=Dialect), reason=reason, position=0)


def _has_query(tree: exp.Expr) -> bool:
    """Whether a statement reads tables, and does not only name them."""
    return isinstance(tree, exp.Query) or (
        isinstance(tree, exp.Insert | exp.Create) and tree.find(exp.Query) is not None
    )


def _unreadable(text: str) -> StatementError:
    reason = "the client of Spark Connect cannot find the tables of indextables in it"
    return StatementError(
        f"the statement {redacted(text)!r} cannot be run over Spark Connect: {reason}; read the table with spark.read, and "
        "query the frame or a view of it",
        statement=redacted(text),
        reason=reason,
        position=0,
    )


@dataclass(slots=True)
class _Reference:
    """A table of ours in a statement; `name` is that of its relation, `alias` the one that columns are qualified with.

    `columns` are those of the table, in lower case, where they are known. The relation has further ones for the functions
    that are `added`.
    """

    node: exp.Table
    name: str
    alias: str
    relation: Relation
    columns: frozenset[str]
    added: dict[str, str] = field(default_factory=dict)

    @property
    def select(self) -> exp.Expr | None:
        return self.node.find_ancestor(exp.Select)

    @property
    def is_special(self) -> bool:
        """Whether the rows or columns that a query sees are not those of the table: PIVOT, TABLESAMPLE, `t(a, b)`."""
        alias, parts = self.node.args.get("alias"), self.node.args
        names_columns = alias is not None and bool(alias.args.get("columns"))
        return bool(
            names_columns or parts.get("pivots") or parts.get("sample") or isinstance(self.node.parent, exp.TableSample)
        )


def _columns(relation: Relation) -> frozenset[str]:
    """The columns of a table or of a view that filters one, in lower case; none where they are not known."""
    while kind_of(relation) in {"filter", "sort", "limit", "subquery_alias"}:
        relation = node_of(relation).input
    return frozenset(map(str.lower, column_names(relation))) if is_ours(relation) else frozenset()


def _references(
    tree: exp.Expr, paths: Mapping[str, TableAt], find_path: FindPath, find_table: FindTable, prefix: str
) -> Iterator[_Reference]:
    """The tables of ours, each with a relation of its own, also where one is named twice.

    Spark makes a temporary view of each relation while it runs a text, so that their names must be nobody else's.
    """
    known: dict[tuple[str, ...], Relation] = {}
    numbers, hidden = count(), {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for node in tree.find_all(exp.Table):
        if isinstance(tree, exp.Insert | exp.Create) and node.find_ancestor(exp.Query) is None:
            continue  # what is written to
        parts = tuple(part.name for part in node.parts)
        key = tuple(part.lower() for part in parts)
        if not parts[-1] or (len(parts) == 1 and key[0] in hidden) or not isinstance(node.this, exp.Identifier):
            continue
        if key not in known:
            found = find_path(paths[parts[0]]) if parts[0] in paths else find_table(parts)
            if found is None:
                continue
            if parts[0] not in paths:
                _refuse_unsupported(node, tree)
            known[key] = found
        name, alias = f"{prefix}named_{next(numbers)}", node.alias or parts[-1]
        yield _Reference(node, name, alias, known[key], _columns(known[key]))


@dataclass
class _Statement:
    """A statement while it is planned: edits of its text, and what its relations have to give."""

    text: str
    tree: exp.Expr
    references: list[_Reference]
    is_piped: bool  # sqlglot makes one SELECT of all steps of a pipe
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    evaluated: list[str] = field(default_factory=list)  # a sentence for each search that the server evaluates

    def __post_init__(self) -> None:
        self._calls = {node.meta.get("start"): node for node in self.tree.find_all(exp.Anonymous)}
        for reference in self.references:
            alias = "" if reference.node.alias else f" AS `{reference.alias}`"
            first, last = reference.node.parts[0].meta["start"], reference.node.parts[-1].meta["end"]
            self.edits.append((first, last + 1, f"{reference.name}{alias}"))

    def push_conditions(self) -> None:
        """Gives each relation the rows and columns alone that the statement asks for."""
        names = _names(self.tree)
        for reference in self.references:
            if self.is_piped or reference.is_special:
                continue
            if names is not None and is_ours(reference.relation):
                listed = [name for name in column_names(reference.relation) if name.lower() in names]
                reference.relation = selected(reference.relation, listed) if listed else reference.relation
            for term, is_preserved in self._terms(reference):
                text = _plain(term, self._is_resolved(reference), is_preserved=is_preserved)
                if text is not None:
                    reference.relation = filtered(reference.relation, text)

    def _terms(self, reference: _Reference) -> Iterator[tuple[exp.Expr, bool]]:
        """The terms of WHERE and ON, and whether they see no row in which an outer join has left out those of the table."""
        select = reference.select
        if select is None:
            return
        joins = _joins(select)
        is_inner = all(not join.side and join.kind in {"", "INNER", "CROSS"} for join in joins)
        if (where := select.args.get("where")) is not None:
            yield from ((term, _is_preserved(reference, select)) for term in conditions_in(where.this))
        for join in joins:
            is_own = join.this is reference.node and join.side in {"", "LEFT"} and join.parent is select
            if (on := join.args.get("on")) is not None and (is_inner or is_own):
                yield from ((term, True) for term in conditions_in(on))

    def _is_resolved(self, reference: _Reference) -> Callable[[exp.Expr], bool]:
        """Whether a column, or a search of all columns, is of a table."""
        select, joins = reference.select, _joins(reference.select)
        is_alone = select is not None and not joins and not select.args.get("laterals") and select.parent is None
        shared = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
        others = [one.columns for one in self.references if one.select is select and one is not reference]
        is_known = all(others) and not any(join.method == "NATURAL" for join in joins)
        own = reference.columns.difference(shared, *others) if is_known else frozenset()

        def is_resolved(node: exp.Expr) -> bool:
            if isinstance(node, exp.Column):
                qualifier, name = node.table.lower(), node.name.lower()
                return qualifier == reference.alias.lower() if qualifier else is_alone or name in own
            return not others or not _searches_all(node)

        return is_resolved

    def replace_searches(self, calls: Sequence[SearchCall]) -> None:
        rules = rules_by_name(one for reference in self.references for one in relations_in(reference.relation))
        for call in calls:
            node = self._calls.get(call.start)
            if node is not None and (reference := self._searched(node)) is not None:
                column = self._column(reference, node.transform(_unqualified).sql(dialect=Dialect))
                text = f"coalesce({column}, false)" if any(join.side for join in _joins(reference.select)) else column
                text += (
                    f" AS `{INDEXQUERY}({call.column}, {call.query})`" if isinstance(node.parent, exp.Select) else ""
                )
            else:
                refused = refusal(call.query, f"it does not stand in a query of {_KNOWN}")
                text = left_to_server(call, self.text, rules, refused)
                self.evaluated.append(evaluated(call.query, refused.reason))
            self.edits.append((call.start, call.end, text))

    def _searched(self, node: exp.Expr) -> _Reference | None:
        """The table whose rows a call searches: one of the SELECT around it, or of one further out."""
        nodes = list(node.find_all(exp.Column, exp.Anonymous))
        select = node.find_ancestor(exp.Select) if _is_of_rows(node) and not self.is_piped else None
        while select is not None:
            found = [one for one in self.references if one.select is select and not one.is_special]
            found = [one for one in found if all(map(self._is_resolved(one), nodes))]
            if len(found) == 1:
                return found[0]
            is_qualified = all(column.table for column in nodes if isinstance(column, exp.Column))
            select = select.find_ancestor(exp.Select) if is_qualified and not found else None
        return None

    def replace_scores(self, places: Sequence[tuple[int, int]]) -> None:
        """Puts columns in the places of `score()`; the relations are filtered by then."""
        for start, end in places:
            node = self._calls.get(start)
            if node is None or self.is_piped:
                raise score_refusal(f"it stands where the client of Spark Connect does not find it; {_USE_FRAMES}")
            column = self._column(self._scored(node), f"{SCORE}()")
            is_item = isinstance(node.parent, exp.Select)
            self.edits.append((start, end, f"{column} AS `{SCORE}()`" if is_item else column))

    def _scored(self, node: exp.Expr) -> _Reference:
        """The table of the SELECT around a call whose rows all satisfy a search."""
        select = node.find_ancestor(exp.Select)
        references = [one for one in self.references if select is not None and one.select is select]
        found = [one for one in references if has_searches(one.relation)] if len(references) > 1 else references
        if not references:
            raise score_refusal(f"over Spark Connect, it stands in the SELECT that searches a table; {_USE_FRAMES}")
        if len(found) != 1:
            raise score_refusal(f"{len(found)} tables of a join are searched by conditions, and it is the score of one")
        return found[0]

    def _column(self, reference: _Reference, call: str) -> str:
        """A column of a relation that has the result of a function."""
        if call not in reference.added:
            reference.added[call] = f"{reference.name}_{len(reference.added)}"
            reference.relation = with_column(reference.relation, reference.added[call], call)
        return f"`{reference.alias}`.`{reference.added[call]}`"

    def hide_columns(self) -> None:
        """Takes the columns that relations have been given out of the stars of the queries that read them."""
        hidden: dict[tuple[int, bool], list[str]] = {}
        for reference in self.references:
            for star in _stars(reference) if reference.added else ():
                left_out = star.args.get("except_") or ()
                last = left_out[-1].this if left_out else star
                names = [f"`{name}`" for name in reference.added.values()]
                hidden.setdefault((last.meta["end"] + 1, bool(left_out)), []).extend(names)
        for (end, is_more), names in hidden.items():
            listed = ", ".join(names)
            self.edits.append((end, end, f", {listed}" if is_more else f" EXCEPT ({listed})"))

    def edited(self) -> str:
        text = self.text
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def _is_of_rows(node: exp.Expr) -> bool:
    """Whether a call stands where a query has the columns of its tables, and not only those that it groups by."""
    around = node.find_ancestor(exp.AggFunc, exp.Where, exp.Join, exp.Having, exp.Select)
    if isinstance(around, exp.AggFunc | exp.Where | exp.Join):
        return True
    select = node.find_ancestor(exp.Select)
    group = None if select is None else select.args.get("group")
    if group is None:
        return isinstance(around, exp.Select)
    searched = {column.name.lower() for column in node.find_all(exp.Column)}
    grouped = {column.name.lower() for key in group.expressions for column in key.find_all(exp.Column)}
    is_known = bool(group.expressions) and not any(isinstance(key, exp.Literal) for key in group.expressions)
    return node in group.expressions or (isinstance(around, exp.Select) and is_known and not searched & grouped)


def _stars(reference: _Reference) -> Iterator[exp.Star]:
    """The stars in the SELECT around a table that the columns of the table are among."""
    for item in [] if reference.select is None else reference.select.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        qualifier = item.table.lower() if isinstance(item, exp.Column) else ""
        if isinstance(star, exp.Star) and qualifier in {"", reference.alias.lower()}:
            yield star


def _searches_all(call: exp.Expr) -> bool:
    return call.name.lower() in FUNCTIONS and (len(call.expressions) == 1 or isinstance(call.expressions[0], exp.Star))


def _plain(term: exp.Expr, is_resolved: Callable[[exp.Expr], bool], *, is_preserved: bool) -> str | None:
    """A term on the columns of one table, without qualifiers; None for any other.

    None, too, where an outer join may make rows of nulls that satisfy it.
    """
    nodes = list(term.find_all(exp.Column, exp.Anonymous))
    if not nodes or term.find(exp.Query) is not None or not all(map(is_resolved, nodes)):
        return None
    text = term.transform(_unqualified).sql(dialect=Dialect)
    try:
        predicate = parse(text)
    except PredicateError:
        return None
    return text if is_preserved or rejects_nulls(predicate) else None


def _unqualified(node: exp.Expr) -> exp.Expr:
    return exp.Column(this=node.this) if isinstance(node, exp.Column) and not node.is_star else node


def _joins(select: exp.Expr | None) -> list[exp.Join]:
    """The joins of a query, those in parentheses too."""
    found = [] if select is None else select.find_all(exp.Join)
    return [join for join in found if join.find_ancestor(exp.Select) is select]


def _is_preserved(reference: _Reference, select: exp.Expr) -> bool:
    """Whether WHERE sees no row in which an outer join has left out those of the table."""
    joins = _joins(select)
    source = select.args.get("from_") or select.args.get("from")
    is_first = source is not None and source.this is reference.node and all(join.parent is select for join in joins)
    sides = {join.side for join in joins}
    return sides <= {""} or (is_first and sides <= {"", "LEFT"})


def _names(tree: exp.Expr) -> frozenset[str] | None:
    """All names in a statement, in lower case: no column of another name is read. None if a star may mean any."""
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    named = any(node.name.upper() == "IDENTIFIER" for node in tree.find_all(exp.Anonymous))
    if stars or named or any(join.method == "NATURAL" for join in tree.find_all(exp.Join)):
        return None
    return frozenset(identifier.name.lower() for identifier in tree.find_all(exp.Identifier))
