"""The plan language of the planner: the few kinds of nodes that matter to a scan, and `Opaque` for all others.

An adapter reads a plan from Catalyst (`catalyst/plan_reader.py`). Columns are numbers, unique within a query, as Spark's
expression ids are. A condition that the adapter understands is a predicate over columns named `#<number>`; one that it does
not understand has only its references. Nodes carry a `number` by which the adapter finds its own node again.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import pyarrow as pa

from indextables.predicate import IndexQuery, Predicate

ADDED = -1
"""The number of filters that the planner adds: Spark has no node of its own for them."""


@dataclass(frozen=True, slots=True)
class SparkExpression:
    """A condition as Spark has it, by the number under which the adapter finds it again.

    `columns` are its own columns, each with the column that has its values where the condition stands now.
    """

    number: int
    columns: tuple[tuple[int, int], ...]

    def on(self, sources: Mapping[int, int]) -> "SparkExpression":
        """The same below a node that has the columns under other numbers."""
        return replace(self, columns=tuple((own, sources[column]) for own, column in self.columns))


@dataclass(frozen=True, slots=True)
class Condition:
    """One term of a conjunction. `predicate` is None where only Spark can evaluate it.

    `equality` are two columns that it says are equal, so that they have the same value. Without `expression`, Spark can run
    it in its own place only.
    """

    references: frozenset[int]
    predicate: Predicate | None = None
    is_deterministic: bool = True
    equality: tuple[int, int] | None = None
    expression: SparkExpression | None = None

    def equal_columns(self, left: Collection[int], right: Collection[int]) -> tuple[int, int] | None:
        """The columns, one of each side of a join, that it says are equal."""
        if self.equality is None:
            return None
        first, second = self.equality
        if first in left and second in right:
            return first, second
        return (second, first) if second in left and first in right else None


@dataclass(frozen=True, slots=True)
class Item:
    """An output column of a projection: the column `source` under another number, or computed from `references`.

    It may be a `search` that the query looks for; who plans searches has to know of that.
    """

    column: int
    references: frozenset[int]
    source: int | None = None
    is_deterministic: bool = True
    search: IndexQuery | None = None


class Function(Enum):
    """What an aggregate computes. OTHER is left to Spark."""

    KEY = "key"
    COUNT_ROWS = "count(*)"
    COUNT_VALUES = "count"
    MIN = "min"
    MAX = "max"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Output:
    """An output column of an aggregate; `argument` is the column that KEY, COUNT_VALUES, MIN and MAX are of."""

    column: int
    function: Function
    references: frozenset[int]
    argument: int | None = None


class JoinType(Enum):
    INNER = "inner"
    LEFT_OUTER = "left outer"
    RIGHT_OUTER = "right outer"
    FULL_OUTER = "full outer"
    LEFT_SEMI = "left semi"
    LEFT_ANTI = "left anti"


class SetOperator(Enum):
    UNION = "union"
    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of one of our tables. Two relations with the same `table` number are the same scan used twice."""

    number: int
    columns: tuple[int, ...]
    table: int


@dataclass(frozen=True, slots=True)
class Filter:
    number: int
    conditions: tuple[Condition, ...]
    child: "Plan"

    @property
    def columns(self) -> tuple[int, ...]:
        return self.child.columns


@dataclass(frozen=True, slots=True)
class Project:
    number: int
    items: tuple[Item, ...]
    child: "Plan"

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(item.column for item in self.items)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`keys` are the grouping columns; None where one of them is computed."""

    number: int
    keys: tuple[int, ...] | None
    references: frozenset[int]
    outputs: tuple[Output, ...]
    child: "Plan"
    is_deterministic: bool = True

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(output.column for output in self.outputs)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `rows` rows; `is_global` where all partitions together have no more. Rows are None where not constant."""

    number: int
    rows: int | None
    is_global: bool
    child: "Plan"

    @property
    def columns(self) -> tuple[int, ...]:
        return self.child.columns


@dataclass(frozen=True, slots=True)
class Join:
    """`equalities` are the conditions that two columns, left and right, are equal, and have the same value then."""

    number: int
    type: JoinType
    conditions: tuple[Condition, ...]
    equalities: tuple[tuple[int, int], ...]
    left: "Plan"
    right: "Plan"

    @property
    def columns(self) -> tuple[int, ...]:
        if self.type in {JoinType.LEFT_SEMI, JoinType.LEFT_ANTI}:
            return self.left.columns
        return (*self.left.columns, *self.right.columns)


@dataclass(frozen=True, slots=True)
class SetOperation:
    number: int
    operator: SetOperator
    columns: tuple[int, ...]
    branches: tuple["Plan", ...]


@dataclass(frozen=True, slots=True)
class Pass:
    """A node whose output is the child's: sort, repartition, alias, view, window, generator.

    `added` are columns of its own after those of the child. A predicate moves below it if its columns are among `movable`;
    where that is None, any condition on columns of the child does. It `passes_limit` if it gives each row of the child as it
    comes. One that `is_distinct` has no two equal rows of one child, which further columns might tell apart.
    `subqueries` are those of expressions in the child.
    """

    number: int
    references: frozenset[int]
    added: tuple[int, ...]
    child: "Plan"
    movable: frozenset[int] | None = None
    passes_limit: bool = False
    is_distinct: bool = False
    subqueries: tuple["Plan", ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        return (*self.child.columns, *self.added)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Any other node: everything that its children have may matter to it. It `is_local` if its rows are on the driver."""

    number: int
    columns: tuple[int, ...]
    children: tuple["Plan", ...] = ()
    is_local: bool = False


class Origin(Enum):
    """Where rows of the driver come from."""

    METADATA = "the transaction log or cached indexes"
    JOIN_SIDE = "the small side of a join, evaluated first"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that the driver has. `rows` has a column named `#<number>` for each column that anything reads."""

    number: int
    columns: tuple[int, ...]
    origin: Origin
    rows: pa.Table = field(compare=False)


Plan = Relation | Rows | Filter | Project | Aggregate | Limit | Join | SetOperation | Pass | Opaque


def children_of(plan: Plan) -> tuple[Plan, ...]:
    match plan:
        case Relation() | Rows():
            return ()
        case Join():
            return (plan.left, plan.right)
        case SetOperation():
            return plan.branches
        case Opaque():
            return plan.children
        case Pass():
            return (plan.child, *plan.subqueries)
        case _:
            return (plan.child,)


def with_children(plan: Plan, children: tuple[Plan, ...]) -> Plan:
    """The node over other children, which have the same columns."""
    match plan:
        case Relation() | Rows():
            return plan
        case Join():
            return replace(plan, left=children[0], right=children[1])
        case SetOperation():
            return replace(plan, branches=children)
        case Opaque():
            return replace(plan, children=children)
        case Pass():
            return replace(plan, child=children[0], subqueries=children[1:])
        case _:
            return replace(plan, child=children[0])


def walk(plan: Plan) -> Iterator[Plan]:
    """Every node, from the top down."""
    yield plan
    for child in children_of(plan):
        yield from walk(child)


def relations_of(plan: Plan) -> list[Relation]:
    return [node for node in walk(plan) if isinstance(node, Relation)]
