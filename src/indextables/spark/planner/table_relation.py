"""A relation of ours as the planner knows it: which table, at which version, under which column numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from indextables.predicate import IndexQuery, Predicate
from indextables.read.scan_plan import ScanPlan
from indextables.read.scan_spec import ADDRESS, SearchResult
from indextables.spark.planner.column_names import name_of, renamed
from indextables.spark.planner.read_options import ReadOptions


@dataclass(frozen=True, eq=False, slots=True)
class PrunedRelation:
    """The plan of a scan of a relation, without columns. It `is_exact` if no condition is left to Spark."""

    plan: ScanPlan
    is_exact: bool


@dataclass(frozen=True)
class TableRelation:
    """`columns` are the names of all columns by their numbers, in the order of the output.

    After the table's own columns come those that say where a row is, and those of searches and scores. `pruned` are the
    plans of the relation in this query, by their conditions (`relation_pruning`).
    """

    options: ReadOptions
    columns: Mapping[int, str]
    pruned: dict[frozenset[frozenset[Predicate]], PrunedRelation] = field(
        default_factory=dict, compare=False, repr=False
    )

    @cached_property
    def searches(self) -> dict[int, IndexQuery]:
        """The searches that have a column, true where they find the row, by the numbers of these columns."""
        return {number: result for number, result in self.search_results.items() if isinstance(result, IndexQuery)}

    @cached_property
    def search_results(self) -> dict[int, SearchResult]:
        """All columns of searches, those of scores too, by their numbers."""
        results = self.options.search_columns
        return {number: results[name] for number, name in self.columns.items() if name in results}

    @cached_property
    def names(self) -> dict[int, str]:
        """The table's own columns."""
        added = self.options.added_columns
        return {number: name for number, name in self.columns.items() if name not in added}

    @cached_property
    def address(self) -> frozenset[int]:
        """The columns that say where a row is; none in a relation that does not have them."""
        wanted = ADDRESS if self.options.row_address else ()
        return frozenset(number for number, name in self.columns.items() if name in wanted)

    @property
    def has_own_condition(self) -> bool:
        """Whether the options of the read choose rows, which the filters of the plan do not repeat."""
        return self.options.where is not None or self.options.query is not None

    def predicate(self, condition: Predicate) -> Predicate:
        """A predicate of the plan, on the columns and searches of the table; not bound to its types yet."""
        names = {name_of(number): name for number, name in self.columns.items() if number not in self.searches}
        return renamed(condition, names, {name_of(number): search for number, search in self.searches.items()})
