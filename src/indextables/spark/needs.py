"""What a query needs of its tables, told by Spark's optimizer.

An optimized plan gives the rows of the analyzed one, and Spark has pushed its filters down and pruned its columns. It is not
what is run here, but it says what may be left out of a relation: a column that it names nowhere changes no row, whatever is
in it; nor does a row that the filter right above the relation leaves out. Columns are told apart by Spark's ids of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from indextables.spark.catalyst.java import Java, UnknownIdsError, ids, ids_of, kind, sequence

_PASSING = {  # they need of a child what they name, and what is needed above them
    *(
        "Project",
        "Filter",
        "Aggregate",
        "Sort",
        "GlobalLimit",
        "LocalLimit",
        "Offset",
        "Tail",
        "Join",
        "Window",
        "Sample",
    ),
    *("Repartition", "RepartitionByExpression", "SubqueryAlias", "ReturnAnswer", "ResolvedHint"),
}
_JUDGING = {"Filter", "Join"}
_ONE_BY_ONE = {"LocalLimit", "Project", "Filter"}


@dataclass(frozen=True, slots=True)
class Needs:
    """The ids of columns that matter, and what stands right above the relations, by the ids of their columns.

    `judged` are the columns by which rows are left out or joined. `first` is the relation of which the query only wants so
    many rows, and nothing else.
    """

    columns: frozenset[int]
    judged: frozenset[int]
    above: Mapping[tuple[int, ...], "Above"]
    first: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Above:
    """The conditions of the filter right above a relation, and the limit right above that."""

    conditions: tuple[Java, ...]
    limit: int | None


_NOTHING = Above((), None)


def needs(analyzed: Java, optimized: Java) -> Needs:
    """What the optimized plan needs of the relations in the analyzed one, or UnknownIdsError."""
    roots = [optimized, *sequence(optimized.subqueriesAll())]
    before = [analyzed, *sequence(analyzed.subqueriesAll())]
    known = {ids_of(leaf) for root in before for leaf in _relations(root)}
    leaves = [ids_of(leaf) for root in roots for leaf in _relations(root)]
    if not known.issuperset(leaves):
        raise UnknownIdsError  # Spark made other columns of some; which ones they were is not told
    once = {ids for ids in leaves if leaves.count(ids) == 1}
    above = {ids: found for root in roots for ids, found in _above(root, (), None) if ids in once}
    used = [found for root in roots for found in _used(root)]
    used += [("Filter", ids) for ids in known.difference(leaves)]  # another relation may stand for it: nothing is known
    columns = frozenset(number for _, numbers in used for number in numbers)
    judged = frozenset(number for name, numbers in used if name in _JUDGING for number in numbers)
    return Needs(columns, judged, above, _first(analyzed, optimized, above))


def _relations(root: Java) -> Iterator[Java]:
    return filter(_is_relation, sequence(root.collectLeaves()))


def _is_relation(node: Java) -> bool:
    return kind(node).startswith("DataSourceV2")


def _used(root: Java) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The columns that matter, with the kinds of the nodes that they matter to."""
    yield "", ids_of(root)
    nodes = [root]
    while nodes:
        node = nodes.pop()
        children, name = sequence(node.children()), kind(node)
        if not children:
            continue
        yield name, ids(node.references().toSeq())
        if name not in _PASSING:
            for child in children:
                yield name, ids_of(child)
        nodes += children


def _above(node: Java, conditions: tuple[Java, ...], limit: int | None) -> Iterator[tuple[tuple[int, ...], Above]]:
    children = sequence(node.children())
    match kind(node):
        case "Filter":
            return (yield from _above(children[0], (*conditions, node.condition()), limit))
        case "LocalLimit" if not conditions:
            return (yield from _above(children[0], (), _limit(node)))
        case "Project" if not conditions and _is_plain(node):
            return (yield from _above(children[0], (), limit))
    if _is_relation(node):
        yield ids_of(node), Above(conditions, limit)
    for child in children:
        yield from _above(child, (), None)


def _first(analyzed: Java, optimized: Java, above: Mapping[tuple[int, ...], Above]) -> tuple[int, ...] | None:
    if kind(analyzed) != "GlobalLimit" or kind(optimized) != "GlobalLimit":
        return None
    node = optimized.child()
    while kind(node) in _ONE_BY_ONE:
        node = node.child()
    if not _is_relation(node):
        return None  # a union or a join, whose columns may be those of one of its relations
    limits = {_limit(analyzed), _limit(optimized), above.get(ids_of(node), _NOTHING).limit}
    return ids_of(node) if len(limits) == 1 and None not in limits else None


def _limit(node: Java) -> int | None:
    limit = node.limitExpr()
    return int(limit.value()) if kind(limit) == "Literal" else None


def _is_plain(project: Java) -> bool:
    """Whether each row gives a row, and nothing counts them."""
    return all(expression.deterministic() for expression in sequence(project.projectList()))
