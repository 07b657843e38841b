"""SQL texts for Spark Connect: tables of ours become relations that travel with the text.

Spark parses the text on the server. Here sqlglot finds the tables in it, and the searches and conditions on them; a table
that sqlglot does not find is one that the server has to know. A search becomes a column of the relation of its table, and
`SELECT *` leaves it out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias
from uuid import uuid4

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from indextables.errors import PredicateError, StatementError, UnsupportedOperatorError
from indextables.predicate import parse
from indextables.predicate.dialect import Dialect
from indextables.redaction import redacted
from indextables.spark.connect.protocol import (
    Relation,
    column_names,
    filtered,
    is_ours,
    named,
    relations_in,
    selected,
)
from indextables.spark.connect.remote_search import (
    ScoreCall,
    Search,
    SearchResolver,
    left_to_server,
    refused_join,
    rules_by_name,
)
from indextables.spark.options import VIEW
from indextables.spark.source.search_function import SCORE, evaluated, refusal, score_refusal
from indextables.statements import rewrite_statement
from indextables.statements.command_values import TableAt
from indextables.statements.search_calls import SearchCall, conditions_in, score_calls, search_calls

FindTable: TypeAlias = Callable[
    [Sequence[str]], Relation | None
]  # by the parts of a name: a view, a table of the catalog
FindPath: TypeAlias = Callable[[TableAt], Relation]
_USE_FRAMES = "use indextables.functions.score in a frame"
_KNOWN = "a table of indextables, by its path, its name or a view that this client has created"
_FLAG = "search column"  # the key under which sqlglot's node of a search has its column and the alias of its table


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
    if not paths.keys() <= {reference.name for reference in references}:
        raise _unreadable(text)
    planned = _Statement(rewritten, tree, references, is_piped="|>" in rewritten)
    planned.replace_searches(calls)
    planned.replace_scores(score_calls(rewritten) if references else [])
    planned.hide_columns()
    relations = [named(relation, name) for name, relation in planned.relations()]
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


@dataclass(frozen=True, slots=True)
class _Reference:
    """A table of ours in a statement; `name` is that of its relation, `alias` the one that columns are qualified with."""

    node: exp.Table
    name: str
    alias: str
    relation: Relation

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


def _references(
    tree: exp.Expr, paths: Mapping[str, TableAt], find_path: FindPath, find_table: FindTable, prefix: str
) -> Iterator[_Reference]:
    """The tables of ours, each with a relation; one that is named twice has one relation.

    Spark makes a temporary view of each relation while it runs a text, so that their names must be nobody else's.
    """
    known: dict[tuple[str, ...], tuple[str, Relation]] = {}
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
            known[key] = (parts[0] if parts[0] in paths else f"{prefix}named_{next(numbers)}", found)
        name, relation = known[key]
        yield _Reference(node, name, node.alias or parts[-1], relation)


@dataclass
class _Statement:
    """A statement while it is planned: edits of its text, and searches added to its relations."""

    text: str
    tree: exp.Expr
    references: list[_Reference]
    is_piped: bool  # sqlglot makes one SELECT of all steps of a pipe
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._resolver = SearchResolver()
        self._flags: dict[str, set[str]] = {}  # the columns of searches by the names of the relations
        for reference in self.references:
            if reference.node.name != reference.name:
                alias = "" if reference.node.alias else f" AS `{reference.alias}`"
                first, last = reference.node.parts[0].meta["start"], reference.node.parts[-1].meta["end"]
                self.edits.append((first, last + 1, f"{reference.name}{alias}"))

    @property
    def evaluated(self) -> list[str]:
        """A sentence for each search that the server evaluates."""
        return self._resolver.evaluated

    def relations(self) -> Iterator[tuple[str, Relation]]:
        """The relations by their names; one that is read once has only the rows and columns that the statement asks for."""
        columns = _names(self.tree)
        for name in dict.fromkeys(reference.name for reference in self.references):
            first, *others = [reference for reference in self.references if reference.name == name]
            yield name, first.relation if others else self._narrowed(first, columns)

    def _narrowed(self, reference: _Reference, columns: frozenset[str] | None) -> Relation:
        narrowed = reference.relation
        if self.is_piped or reference.is_special:
            return narrowed
        if columns is not None and is_ours(narrowed):
            flags = self._flags.get(reference.name, set())
            listed = [name for name in column_names(narrowed) if name.lower() in columns or name in flags]
            narrowed = selected(narrowed, listed) if listed else narrowed
        for condition in self._conditions(reference):
            narrowed = filtered(narrowed, condition)
        return narrowed

    def replace_searches(self, calls: Sequence[SearchCall]) -> None:
        nodes = {node.meta.get("start"): node for node in self.tree.find_all(exp.Anonymous)}
        for call in calls:
            node = nodes.get(call.start)
            try:
                if node is None:
                    raise refusal(call.query, "sqlglot does not find it")
                reference = self._searched(call, node)
                flag, _ = self._resolver.provide(Search(None, call.column, call.query), reference.relation)
            except UnsupportedOperatorError as error:
                left = left_to_server(call, self.text, self._rules(), error)
                self.edits.append((call.start, call.end, left))
                self._resolver.leave(error)
                continue
            self._flags.setdefault(reference.name, set()).add(flag)
            node.meta[_FLAG] = (flag, reference.alias)
            column = f"`{reference.alias}`.`{flag}`"
            text = f"coalesce({column}, false)" if any(join.side for join in _joins(reference.select)) else column
            self.edits.append((call.start, call.end, text))

    def _rules(self) -> dict[str, str]:
        return rules_by_name(one for reference in self.references for one in relations_in(reference.relation))

    def replace_scores(self, places: Sequence[tuple[int, int]]) -> None:
        """Puts columns in the places of `score()`, after those of searches."""
        nodes = {node.meta.get("start"): node for node in self.tree.find_all(exp.Anonymous)}
        for start, end in places:
            node = nodes.get(start)
            if node is None or self.is_piped:
                raise score_refusal(f"it stands where the client of Spark Connect does not find it; {_USE_FRAMES}")
            reference, wanted = self._scored(node)
            name, _ = self._resolver.provide(wanted, reference.relation)
            self._flags.setdefault(reference.name, set()).add(name)
            column = f"`{reference.alias}`.`{name}`"
            is_item = isinstance(node.parent, exp.Select)
            self.edits.append((start, end, f"{column} AS `{SCORE}()`" if is_item else column))

    def _scored(self, node: exp.Expr) -> tuple[_Reference, ScoreCall]:
        """The table of the SELECT around a call whose rows all satisfy a search."""
        select = node.find_ancestor(exp.Select)
        references = [one for one in self.references if select is not None and one.select is select]
        if not references:
            raise score_refusal(f"over Spark Connect, it stands in the SELECT that searches a table; {_USE_FRAMES}")
        for reference in references:
            self._resolver.resolve(reference.relation)  # a view may have searches of its own
        wanted = [(one, ScoreCall(frozenset(_satisfied(one)))) for one in references]
        if len(wanted) == 1:
            return wanted[0]
        found = [(one, call) for one, call in wanted if self._resolver.is_provided(call, one.relation)]
        if len(found) != 1:
            raise refused_join(ScoreCall(), len(found))
        return found[0]

    def _searched(self, call: SearchCall, node: exp.Expr) -> _Reference:
        """The table whose rows a call searches: one of the SELECT around it, or of one further out."""
        having = node.find_ancestor(exp.Having)
        if node.find_ancestor(exp.Having, exp.AggFunc, exp.Select) is having is not None and not _is_key(node, having):
            raise refusal(call.query, "it stands in HAVING, above the groups")
        select = node.find_ancestor(exp.Select)
        while select is not None:
            found = [one for one in self.references if one.select is select and _fits(call, one)]
            if len(found) == 1:
                return found[0]
            if len(found) > 1:
                raise refusal(call.query, "its column belongs to several tables; name one of them: t.message")
            select = select.find_ancestor(exp.Select)
        raise refusal(call.query, f"it does not stand in a query of {_KNOWN}")

    def hide_columns(self) -> None:
        """Takes the columns of searches out of the stars of the queries that read their relations."""
        hidden: dict[int, list[str]] = {}
        for reference in self.references:
            flags = sorted(self._flags.get(reference.name, ()))
            for item in reference.select.expressions if flags and reference.select is not None else []:
                star = item if isinstance(item, exp.Star) else item.this if isinstance(item, exp.Column) else None
                qualifier = item.table if isinstance(item, exp.Column) else ""
                if not isinstance(star, exp.Star) or (qualifier and qualifier.lower() != reference.alias.lower()):
                    continue
                if star.args.get("except_") or star.args.get("except"):
                    raise refusal(flags[0], "SELECT * EXCEPT cannot be combined with it; name the columns")
                is_read_twice = sum(other.name == reference.name for other in self.references) > 1
                prefix = f"`{reference.alias}`." if is_read_twice and not qualifier else ""
                hidden.setdefault(star.meta["end"] + 1, []).extend(f"{prefix}`{flag}`" for flag in flags)
        self.edits.extend((end, end, f" EXCEPT ({', '.join(names)})") for end, names in hidden.items())

    def _conditions(self, reference: _Reference) -> Iterator[str]:
        """The terms of WHERE that are on this table alone and that a scan understands, without its qualifier."""
        select = reference.select
        where = None if select is None else select.args.get("where")
        if select is None or where is None or not _is_preserved(reference, select):
            return
        qualifiers = {reference.alias.lower()}
        if not _joins(select) and not select.args.get("laterals") and select.parent is None:
            qualifiers.add("")  # in a subquery, a name may be a column of the query around it
        for term in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
            text = _plain(term, reference.alias, qualifiers)
            if text is not None:
                yield text

    def edited(self) -> str:
        text = self.text
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def _satisfied(reference: _Reference) -> Iterator[str]:
    """The columns of searches of a table that are true in every row of its SELECT."""
    select = reference.select
    where = None if select is None else select.args.get("where")
    inner = [join.args.get("on") for join in _joins(select) if not join.side and join.kind in {"", "INNER"}]
    for condition in (None if where is None else where.this, *inner):
        for term in [] if condition is None else conditions_in(condition):
            flag, alias = term.meta.get(_FLAG, (None, None))
            if flag is not None and alias == reference.alias:
                yield flag


def _is_key(node: exp.Expr, having: exp.Expr) -> bool:
    """Whether a query groups by an expression."""
    select = having.find_ancestor(exp.Select)
    group = None if select is None else select.args.get("group")
    return group is not None and node in group.expressions


def _fits(call: SearchCall, reference: _Reference) -> bool:
    if call.qualifier is not None:
        return call.qualifier.lower() == reference.alias.lower()
    if call.column is None or not is_ours(reference.relation):
        return True
    return call.column.lower() in map(str.lower, column_names(reference.relation))


def _plain(term: exp.Expr, alias: str, qualifiers: set[str]) -> str | None:
    """A term on the columns of one table, without qualifiers and with the columns of searches; None for any other."""

    def simplified(node: exp.Expr) -> exp.Expr:
        if _FLAG in node.meta:
            return exp.column(node.meta[_FLAG][0], quoted=True)
        return exp.Column(this=node.this) if isinstance(node, exp.Column) else node

    searched = {node.meta[_FLAG][1] for node in term.find_all(exp.Anonymous) if _FLAG in node.meta}
    columns = [column for column in term.find_all(exp.Column) if _FLAG not in getattr(column.parent, "meta", {})]
    if term.find(exp.Query) is not None or not searched <= {alias}:
        return None
    if not (columns or searched) or any(column.table.lower() not in qualifiers for column in columns):
        return None
    text = term.transform(simplified).sql(dialect=Dialect)
    try:
        parse(text)
    except PredicateError:
        return None
    return text


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
