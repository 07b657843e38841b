"""The tables that a parsed statement names, with their places in its text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from indextables.spark.catalyst.catalog_tables import text_of
from indextables.spark.catalyst.handles import LogicalPlan
from indextables.spark.catalyst.java import Java, kind, name_parts, pairs, sequence
from indextables.spark.catalyst.relation import options_of


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table as a statement names it, from `start` to `end` in the text, time travel included.

    `timestamp` is the expression after TIMESTAMP AS OF, in SQL.
    """

    name: tuple[str, ...]
    options: Mapping[str, str]
    start: int
    end: int
    is_streaming: bool
    version: str | None = None
    timestamp: str | None = None

    @property
    def is_time_travel(self) -> bool:
        return self.version is not None or self.timestamp is not None


def table_references(plan: LogicalPlan) -> list[TableReference]:
    """Those in subqueries too; without references that have no place in the text."""
    found = (_reference(node) for node in _relations(plan))
    return [reference for reference in found if reference is not None]


def _reference(node: Java) -> TableReference | None:
    is_past = kind(node) == "RelationTimeTravel"
    relation = node.relation() if is_past else node
    start, end = relation.origin().startIndex(), node.origin().stopIndex()
    if not (start.isDefined() and end.isDefined() and kind(relation) == "UnresolvedRelation"):
        return None
    timestamp = node.timestamp() if is_past else None
    return TableReference(
        name=tuple(name_parts(relation)),
        options=options_of(relation),
        start=int(start.get()),
        end=int(end.get()) + 1,
        is_streaming=bool(relation.isStreaming()),
        version=text_of(node.version()) if is_past else None,
        timestamp=str(timestamp.get().sql()) if timestamp is not None and timestamp.isDefined() else None,
    )


def _relations(plan: Java) -> Iterator[Java]:
    others: list[Java] = []
    match kind(plan):
        case "UnresolvedRelation" | "RelationTimeTravel":
            yield plan
        case "InsertIntoStatement" | "OverwriteByExpression":
            others = [plan.table()]
        case "SingleStatement":  # of a script; its children are those of the statement
            return (yield from _relations(plan.parsedPlan()))
        case "ExplainCommand":
            others = [plan.logicalPlan()]
        case "UnresolvedWith":
            others = [query for _, query in pairs(plan.cteRelations())]
    for inner in (*others, *sequence(plan.children()), *sequence(plan.subqueries())):
        yield from _relations(inner)
