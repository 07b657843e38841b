"""Where the column of a search comes from: the relation whose rows it searches, and the nodes that pass the column on.

`indexquery(message, 'timeout')` may stand anywhere in a plan. The relation that the column comes from can have a further
column, true where the search finds the row, which the nodes between pass on to where the function stands. A score is such a
column too, of the one relation below it of which every row satisfies a search.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from indextables.predicate import Column, Comparison, IndexQuery, NullSafeEqual, Op
from indextables.read.scan_spec import Score, SearchResult
from indextables.spark.planner.plan import (
    Filter,
    Join,
    JoinType,
    Limit,
    Pass,
    Plan,
    Project,
    Relation,
    SetOperation,
    SetOperator,
    children_of,
    relations_of,
)
from indextables.spark.planner.table_relation import TableRelation

_MAKES_LEFT_ROWS = {JoinType.RIGHT_OUTER, JoinType.FULL_OUTER}
_MAKES_RIGHT_ROWS = {JoinType.LEFT_OUTER, JoinType.FULL_OUTER}
_SEMI = {JoinType.LEFT_SEMI, JoinType.LEFT_ANTI}
_Required = tuple[tuple[int, IndexQuery], ...]  # searches that every row satisfies, by the numbers of relations


class NoSourceError(Exception):
    """No scan can have the column of a search or of a score; the message says why."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search that stands in a node, of one column or of all columns of a table; also where there are no `columns`.

    Where it `is_found`, the column is that of an earlier search, whatever the query.
    """

    columns: tuple[int, ...]
    query: str
    is_found: bool = False

    def fits(self, plan: Plan) -> bool:
        return set(self.columns) <= set(plan.columns) if self.columns else bool(relations_of(plan))

    def on(self, sources: Mapping[int, int | None]) -> "Search":
        """The same below a node that has the columns under other numbers."""
        found = [sources[column] for column in self.columns]
        if None in found:
            raise NoSourceError("what it searches is computed, and not a plain column of a table")
        return replace(self, columns=tuple(column for column in found if column is not None))


@dataclass(frozen=True, slots=True)
class Source:
    """A column that a node has or passes on: of a relation, it is the `result`; of other nodes, it comes from `below`.

    A union has one from each of its branches. It `is_nullable` if an outer join makes rows without it.
    """

    node: Plan
    result: SearchResult | None = None
    below: tuple["Source", ...] = ()
    is_nullable: bool = False

    @property
    def scans(self) -> Iterator["Source"]:
        """The relations that have it."""
        if self.result is not None:
            yield self
        for source in self.below:
            yield from source.scans


@dataclass(frozen=True, slots=True)
class SearchSources:
    """Finds sources in the plan of one query.

    `own_searches` are those that the options of a read require; `kind` says what the engine calls the node of a number.
    Where unions do not pass columns on, their rows have no source.
    """

    tables: Mapping[int, TableRelation]
    own_searches: Callable[[Relation], Iterable[IndexQuery]]
    kind: Callable[[int], str]
    passes_unions: bool = True

    def of_search(self, node: Plan, search: Search) -> Source:
        """The source of a search that stands in a node."""
        return self._of_search_in(children_of(node), search)

    def of_score(self, node: Plan) -> Source:
        """The source of a score that stands in a node."""
        return self._of_score_in(children_of(node), tuple(self._required(node)))

    def _of_search_in(self, plans: Iterable[Plan], search: Search) -> Source:
        found = [plan for plan in plans if search.fits(plan)]
        match found:
            case [plan]:
                return self._search_below(plan, search)
            case []:
                raise NoSourceError("no table of indextables has the column that it searches")
        raise NoSourceError("it is not clear which table it searches; name it: t.message, t.* INDEXQUERY '...'")

    def _search_below(self, plan: Plan, search: Search) -> Source:
        match plan:
            case Relation():
                return Source(plan, self._index_query(plan, search))
            case Project():
                known = {item.column: _search_of(item.search) for item in plan.items}
                found = known[search.columns[0]] if search.is_found else None
                search = found or search.on({item.column: item.source for item in plan.items})
            case SetOperation(operator=SetOperator.UNION) if self.passes_unions:
                own = (search.on(dict(zip(plan.columns, one.columns, strict=True))) for one in plan.branches)
                return Source(plan, below=tuple(map(self._search_below, plan.branches, own)))
        return _passed(plan, self._of_search_in(self._outputs(plan), search))

    def _of_score_in(self, plans: tuple[Plan, ...], required: _Required) -> Source:
        if len(plans) == 1:
            return self._score_below(plans[0], required)
        found = []
        for plan in plans:
            with suppress(NoSourceError):
                found.append(self._score_below(plan, required))
        if not found:
            raise NoSourceError("none of the tables of a join has a search that all of its rows satisfy")
        if len(found) > 1:
            many = f"{len(found)} tables of a join are searched"
            raise NoSourceError(f"{many}, so that it must be computed before the join")
        return found[0]

    def _score_below(self, plan: Plan, required: _Required) -> Source:
        if isinstance(plan, Relation):
            filters = [search for relation, search in reversed(required) if relation == plan.number]
            searches = tuple(dict.fromkeys([*self.own_searches(plan), *filters]))
            if not searches:
                raise NoSourceError("there is no search that every row of the table has to satisfy")
            return Source(plan, Score(searches))
        below = (*required, *self._required(plan))
        if isinstance(plan, SetOperation) and plan.operator is SetOperator.UNION and self.passes_unions:
            return Source(plan, below=tuple(self._score_below(branch, below) for branch in plan.branches))
        return _passed(plan, self._of_score_in(self._outputs(plan), below))

    def _outputs(self, plan: Plan) -> tuple[Plan, ...]:
        """The children whose rows and columns a node passes on."""
        match plan:
            case Join(type=kind):
                return (plan.left,) if kind in _SEMI else (plan.left, plan.right)
            case Filter() | Limit() | Project() | Pass(is_distinct=False):
                return (plan.child,)
        name = self.kind(plan.number)
        raise NoSourceError(f"between it and the rows of a table stands {name}")

    def _required(self, plan: Plan) -> Iterator[tuple[int, IndexQuery]]:
        """The searches that every row of a filter or of an inner join satisfies, by the numbers of relations."""
        match plan:
            case Filter(conditions=conditions) | Join(type=JoinType.INNER, conditions=conditions):
                searches = [search for one in conditions if (search := _search_of(one.predicate)) is not None]
            case _:
                return
        for search in searches:
            with suppress(NoSourceError):
                for scan in self.of_search(plan, search).scans:
                    if isinstance(scan.result, IndexQuery):
                        yield scan.node.number, scan.result

    def _index_query(self, relation: Relation, search: Search) -> IndexQuery:
        """The search, on the columns of the table; a column of an earlier search is this search."""
        table = self.tables[relation.table]
        match search:
            case Search((column,), is_found=True):
                if column in table.searches:
                    return table.searches[column]
            case Search((column,), query) if column in table.names:
                return IndexQuery(table.names[column], query)
            case Search(several, query) if not several or set(several) >= table.names.keys():
                return IndexQuery(None, query)
        raise NoSourceError("it names several columns; it takes one, or all of a table")


def _passed(plan: Plan, source: Source) -> Source:
    """The source, passed on by a further node."""
    is_made_up = False
    if isinstance(plan, Join):
        is_left = source.node == plan.left
        is_made_up = plan.type in (_MAKES_LEFT_ROWS if is_left else _MAKES_RIGHT_ROWS)
    return Source(plan, below=(source,), is_nullable=source.is_nullable or is_made_up)


def _search_of(predicate: object) -> Search | None:
    """The search that a condition is; also as the column of one, which is true where it finds the row."""
    match predicate:
        case IndexQuery(None, query):
            return Search((), query)
        case IndexQuery(str(name), query) if name.startswith("#"):
            return Search((int(name[1:]),), query)
        case Comparison(Column(name), Op.EQ, value) | NullSafeEqual(Column(name), value) if value.as_py() is True:
            return Search((int(name[1:]),), "", is_found=True)
    return None
