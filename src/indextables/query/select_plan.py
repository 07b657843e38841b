"""A query as DuckDB runs it: the text with our tables and searches replaced, and a scan for each table.

Each table becomes a relation of its own. Conditions of WHERE that all rows of the result satisfy are pushed down to its
scan, and so are the searches among them. Any other search is a boolean column of the relation. The rest of the text
is unchanged.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokenizer_core import Token

from indextables.predicate import IndexQuery, Predicate, conjunction
from indextables.predicate.translation import UntranslatableError
from indextables.query.duckdb_conditions import ConditionReader, ReadInstant
from indextables.query.duckdb_dialect import invalid, query_tree, tokens_of_query
from indextables.query.query_searches import Search, searches_in
from indextables.query.query_table import Relation, TableReference
from indextables.read.scan import Scan
from indextables.schema import available_columns_hint

FindTable = Callable[[TableReference], Scan | pa.Table]
"""Opens a table: a scan of all its rows, or data in memory."""
_RELATION, _FLAG = "indextables_", "_indextables_search_"
_INNER = frozenset({"", "INNER", "CROSS"})


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """A text for DuckDB, and the relations that it names."""

    text: str
    relations: Sequence[Relation]


def plan_select(
    text: str, find_table: FindTable, names: Collection[str] = (), *, read_instant: ReadInstant
) -> SelectPlan:
    """Plans a query; `names` are the tables that it may name without a path."""
    tree = query_tree(text)
    _refuse_score(text, tree)
    references = list(_references(text, tree, find_table, {name.lower() for name in names}))
    return _Planner(text, tree, tokens_of_query(text), references, read_instant).plan()


def _refuse_score(text: str, tree: exp.Query) -> None:
    """DuckDB has no function `score`, and would suggest another one that is spelt alike."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.lower() == "score":
            reason = (
                "score() needs Spark; without it, `indextables search TABLE 'disk'` and IndexTable.search give hits with "
                "their _score, and IndexTable.sql can query them: tables={'hits': table.search('disk', limit=1000)}"
            )
            raise invalid(text, reason, call.meta.get("start"))


@dataclass(slots=True)
class _Reference:
    """A table of ours in the query, and what is pushed down to its scan."""

    name: str
    node: exp.Table
    table: Scan | pa.Table
    predicates: list[Predicate] = field(default_factory=list)
    flags: dict[IndexQuery, str] = field(default_factory=dict)

    @property
    def alias(self) -> str:
        return str(self.node.alias or _base_name(self.node.name))

    @property
    def select(self) -> exp.Select | None:
        """The SELECT whose FROM or JOIN has the table, unless its rows or columns are changed on the way."""
        alias = self.node.args.get("alias")
        changed = {name for name, value in self.node.args.items() if value} - {"this", "alias", "version"}
        clause = self.node.parent
        if changed or (alias is not None and alias.args.get("columns")) or not isinstance(clause, exp.From | exp.Join):
            return None
        return clause.parent if isinstance(clause.parent, exp.Select) else None

    def column(self, name: str) -> pa.Field | None:
        same = (one for one in self.table.schema if _folded(one.name) == _folded(name))
        return next(same, None)


def _references(text: str, tree: exp.Query, find_table: FindTable, names: set[str]) -> Iterator[_Reference]:
    in_with = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for name in names & in_with:
        raise invalid(text, f"WITH and a table are both called {name!r}; rename one of them")
    for number, node in enumerate(tree.find_all(exp.Table)):
        if not isinstance(node.this, exp.Identifier) or node.args.get("db") or node.name.lower() in in_with:
            continue  # a function, a table of DuckDB's catalog, or a part of WITH
        is_path = text[node.this.meta["start"]] == "'"
        reference = TableReference(node.name, is_path, *_version(text, node))
        yield _Reference(f"{_RELATION}{number}", node, find_table(reference))


def _version(text: str, node: exp.Table) -> tuple[int | None, str | None]:
    version = node.args.get("version")
    if node.args.get("when"):
        raise invalid(text, "AT (...) is not supported; write VERSION AS OF 3 or TIMESTAMP AS OF '2024-01-31'")
    if version is None:
        return None, None
    value = version.expression
    if version.args.get("kind") != "AS OF" or not isinstance(value, exp.Literal):
        raise invalid(text, "a number or a string is expected after AS OF")
    if version.name == "VERSION" and value.name.isdecimal():
        return int(value.name), None
    if version.name == "TIMESTAMP" and value.is_string:
        return None, value.name
    raise invalid(text, "VERSION AS OF takes a number, and TIMESTAMP AS OF a string")


@dataclass
class _Planner:
    text: str
    tree: exp.Query
    tokens: Sequence[Token]
    references: Sequence[_Reference]
    read_instant: ReadInstant

    def plan(self) -> SelectPlan:
        for reference in self.references:
            self._push_down(reference)
        edits = [*self._table_edits(), *self._search_edits()]
        edits += self._star_edits()  # after the searches: they say which columns a star leaves out
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return SelectPlan(text, [self._relation(reference) for reference in self.references])

    @cached_property
    def searches(self) -> dict[int, Search]:
        """The searches by the identity of their nodes."""
        return {id(search.node): search for search in searches_in(self.text, self.tree, self.tokens)}

    @cached_property
    def targets(self) -> dict[int, tuple[_Reference, IndexQuery]]:
        """The table of each search."""
        return {key: self._target(search) for key, search in self.searches.items()}

    @cached_property
    def enforced(self) -> set[int]:
        """The searches that the scans evaluate for all rows: those that are terms of a pushed conjunction."""
        return set()

    def _relation(self, reference: _Reference) -> Relation:
        flags = {name: query for query, name in reference.flags.items()}
        return Relation(
            reference.name, reference.table, conjunction(*reference.predicates), self._columns(reference), flags
        )

    def _columns(self, reference: _Reference) -> tuple[str, ...]:
        """The columns that the query may read: those whose name is anywhere in it."""
        names = reference.table.schema.names
        if reference.select is None or self._reads_whole_rows:
            return tuple(names)
        searched = [(search.start, search.end) for search in self.searches.values()]
        used = {
            _folded(token.text)
            for token in self.tokens
            if not any(start <= token.start < end for start, end in searched)
        }
        return tuple(name for name in names if _folded(name) in used)

    @cached_property
    def _reads_whole_rows(self) -> bool:
        whole = self.tree.find(exp.Columns, exp.Pivot) is not None or bool(list(self._stars()))
        natural = any(join.method == "NATURAL" for join in self.tree.find_all(exp.Join))
        return whole or natural or any(self._is_row(column) for column in self.tree.find_all(exp.Column))

    def _is_row(self, column: exp.Column) -> bool:
        """Whether a name may be that of a table: `SELECT l FROM 'logs' AS l` is a struct of all columns."""
        name = _folded(column.name)
        return not column.table and any(name == _folded(reference.alias) for reference in self.references)

    def _stars(self) -> Iterator[exp.Star]:
        searched = {id(part) for search in self.searches.values() for part in search.node.walk()}
        for star in self.tree.find_all(exp.Star):
            if not isinstance(star.parent, exp.Count) and id(star) not in searched:
                yield star

    # Pushdown

    def _push_down(self, reference: _Reference) -> None:
        select = reference.select
        where = None if select is None or not isinstance(reference.table, Scan) else select.args.get("where")
        if select is None or where is None or not _filters_before_joins(select, reference.node):
            return
        translator = ConditionReader(
            self.text,
            lambda column: self._column(reference, select, column),
            lambda node: self._search_on(reference, node),
            self.read_instant,
        ).translator
        for term in translator.conjuncts(where.this):
            try:
                reference.predicates.append(translator.predicate(term))
            except UntranslatableError:
                continue
            search = id(term.unnest())
            if search in self.searches and not self.searches[search].negated:
                self.enforced.add(search)

    def _search_on(self, reference: _Reference, node: exp.Expr) -> IndexQuery | None:
        target, query = self.targets.get(id(node), (None, None))
        return query if target is reference else None

    def _column(self, reference: _Reference, select: exp.Select, column: exp.Column) -> pa.Field | None:
        """The column of this table that a name means for certain."""
        if column.args.get("db") or not isinstance(column.this, exp.Identifier):
            return None
        if column.table:
            is_ours = self._named(select, column.table) is reference
            may_be_field = any(one.column(column.table) for one in self._tables(select))
            return reference.column(column.name) if is_ours and not may_be_field else None
        if len(self._tables(select)) < len(_sources(select)):
            return None
        owners = [one for one in self._tables(select) if one.column(column.name)]
        return reference.column(column.name) if owners == [reference] else None

    def _tables(self, select: exp.Select) -> list[_Reference]:
        return [reference for reference in self.references if reference.select is select]

    def _named(self, select: exp.Select, alias: str) -> _Reference | None:
        """The table with this alias, if nothing else in the FROM clause has it."""
        own = [one for one in self._tables(select) if _folded(one.alias) == _folded(alias)]
        nodes = {id(one.node) for one in self._tables(select)}
        others = [one for one in _sources(select) if id(one) not in nodes]
        taken = any(_folded(one.alias_or_name) == _folded(alias) for one in others)
        return own[0] if len(own) == 1 and not taken else None

    # Searches

    def _target(self, search: Search) -> tuple[_Reference, IndexQuery]:
        select = search.node.find_ancestor(exp.Select)
        tables = [] if select is None else self._tables(select)
        if select is None or not tables:
            raise invalid(self.text, "a search is on a table that its own SELECT reads", search.start)
        reference = self._searched(search, select, tables)
        if not isinstance(reference.table, Scan):
            raise invalid(self.text, f"{reference.alias!r} is data in memory, and a search is on a table", search.start)
        if search.column is None:
            return reference, IndexQuery(None, search.query)
        column = reference.column(search.column)
        if column is None:
            hint = available_columns_hint(search.column, reference.table.schema.names)
            raise invalid(self.text, f"there is no column {search.column!r}; {hint}", search.start)
        return reference, IndexQuery(column.name, search.query)

    def _searched(self, search: Search, select: exp.Select, tables: Sequence[_Reference]) -> _Reference:
        if search.qualifier is not None:
            found = self._named(select, search.qualifier)
            if found is None:
                reason = f"{search.qualifier!r} is no table of this SELECT; a search is on a table as it is stored"
                raise invalid(self.text, reason, search.start)
            return found
        if len(_sources(select)) == 1:
            return tables[0]
        owners = [one for one in tables if search.column is not None and one.column(search.column)]
        if len(owners) == 1 and len(tables) == len(_sources(select)):
            return owners[0]
        raise invalid(self.text, "the search may be on several tables; write the alias of one before it", search.start)

    # Edits of the text

    def _table_edits(self) -> Iterator[tuple[int, int, str]]:
        for reference in self.references:
            node, name = reference.node, reference.node.this
            alias = "" if node.alias else f" AS {_quoted(reference.alias)}"
            version = node.args.get("version")
            end = (name if version is None else version.expression).meta["end"] + 1
            yield name.meta["start"], end, f"{_quoted(reference.name)}{alias}"

    def _search_edits(self) -> Iterator[tuple[int, int, str]]:
        for key, search in self.searches.items():
            reference, query = self.targets[key]
            if key in self.enforced:
                yield search.start, search.end, "true"
                continue
            flag = reference.flags.setdefault(query, f"{_FLAG}{len(reference.flags)}")
            value = (
                f"coalesce({_quoted(reference.alias)}.{_quoted(flag)}, false)"  # null where an outer join added rows
            )
            label = _quoted(self.text[search.start : search.end]) if isinstance(search.node.parent, exp.Select) else ""
            yield (
                search.start,
                search.end,
                f"({'NOT ' if search.negated else ''}{value}){label and f' AS {label}'}",
            )

    def _star_edits(self) -> Iterator[tuple[int, int, str]]:
        """A star is of the columns of the table: those of searches are left out."""
        for select in {id(one.select): one.select for one in self.references if one.flags}.values():
            assert select is not None  # noqa: S101 - searches are on such tables only
            self._refuse_rows(select)
            for star in (star for star in self._stars() if star.find_ancestor(exp.Select) is select):
                qualifier = star.parent.table if isinstance(star.parent, exp.Column) else None
                flags = self._flags(select, qualifier)
                if flags:
                    yield self._excluding(star, flags)

    def _flags(self, select: exp.Select, qualifier: str | None) -> str:
        among = [one for one in self._tables(select) if qualifier is None or _folded(one.alias) == _folded(qualifier)]
        return ", ".join(_quoted(flag) for one in among for flag in one.flags.values())

    def _refuse_rows(self, select: exp.Select) -> None:
        own = [node for node in select.find_all(exp.Columns, exp.Column) if node.find_ancestor(exp.Select) is select]
        for node in own:
            is_column = any(one.column(node.name) for one in self._tables(select))  # which a table's name gives way to
            if not isinstance(node, exp.Column) or (self._is_row(node) and not is_column):
                raise invalid(self.text, "COLUMNS(...) and whole rows do not go with this search; name the columns")

    def _excluding(self, star: exp.Star, flags: str) -> tuple[int, int, str]:
        if self.text[star.meta.get("start", 0)] != "*":  # FROM without SELECT has a star that is not in the text
            raise invalid(self.text, "this search needs SELECT before FROM: SELECT * FROM ...")
        after = [token for token in self.tokens if token.start > star.meta["end"]][:2]
        words = [token.text.upper() for token in after]
        if words[:1] not in (["EXCLUDE"], ["EXCEPT"]) or not star.args.get("except_"):
            return star.meta["end"] + 1, star.meta["end"] + 1, f" EXCLUDE ({flags})"
        if words[1:] != ["("]:
            raise invalid(self.text, "write parentheses around the columns that are excluded", star.meta["start"])
        return after[1].end + 1, after[1].end + 1, f"{flags}, "


def _filters_before_joins(select: exp.Select, table: exp.Table) -> bool:
    """Whether rows of the table that do not satisfy WHERE can go before the joins: none of them adds rows of nulls."""
    is_first = isinstance(table.parent, exp.From)
    plain = all(_keeps_rows(join, is_first=is_first) for join in select.args.get("joins") or ())
    others = [name for name in ("sample", "laterals", "pivots") if select.args.get(name)]
    return plain and not others


def _keeps_rows(join: exp.Join, *, is_first: bool) -> bool:
    """Whether an inner join, or a left join whose left side has the table."""
    if join.method:
        return False
    return (not join.side and join.kind in _INNER) or (is_first and join.side == "LEFT" and join.kind in ("", "OUTER"))


def _sources(select: exp.Select) -> list[exp.Expr]:
    """What the FROM clause reads."""
    first = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or ()]
    return [*([] if first is None else [first.this]), *joined, *(select.args.get("laterals") or ())]


def _folded(name: str) -> str:
    """A name as DuckDB compares it: only letters of ASCII have two cases."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _base_name(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2] or path


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
