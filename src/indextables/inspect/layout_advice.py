"""Layout advice, with the reasons for it."""

from dataclasses import dataclass

from indextables.display.panels import NUMBER, TIGHT, code, heading, notebook, pairs, table
from indextables.inspect.findings import Finding, findings_panel, format_bytes
from indextables.inspect.recommended_steps import Step, StepFormat
from indextables.layout import Layout

_USE = ("column", "queries", "skipped", "values")
_CANDIDATE = ("layout", "partitions", "size of each", "pruned", "refused because")


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """How queries use a column: the share of queries that filter on it, and the share of the table that they skip by it."""

    column: str
    coverage: float
    distinct: int
    selectivity: float
    equality_only: bool

    @property
    def worth(self) -> float:
        return self.coverage * self.selectivity

    @property
    def cells(self) -> tuple[str, ...]:
        return self.column, f"{self.coverage:.0%}", f"{self.selectivity:.1%}", f"{self.distinct:,}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """The effect of a layout; `pruned` is the share of bytes that queries would skip. `refused` is the reason against it."""

    layout: Layout
    partitions: int
    partition_bytes: int
    split_bytes: int
    pruned: float
    refused: str | None = None

    def __str__(self) -> str:
        name = str(self.layout) or "(none)"
        sizes = f"{format_bytes(self.partition_bytes):>10} each, splits of {format_bytes(self.split_bytes):>10}"
        why = f"   no: {self.refused}" if self.refused else ""
        return f"{name:<44} {self.partitions:>9,} partitions, {sizes}, {self.pruned:>7.2%} pruned{why}"

    @property
    def cells(self) -> tuple[str, ...]:
        numbers = f"{self.partitions:,}", format_bytes(self.partition_bytes), f"{self.pruned:.1%}"
        return str(self.layout) or "none", *numbers, self.refused or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The recommended layout and sort columns for the queries, and how they were chosen.

    `findings` are those about the current layout, as in `health()`. For an expected size, there are none, and `present_rows`
    is the number of rows from which it was estimated.
    """

    layout: Layout
    cluster_by: tuple[str, ...]
    current: Layout
    rows: int
    bytes: int
    queries: int
    uses: tuple[ColumnUse, ...]
    candidates: tuple[Candidate, ...]
    unparsed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    present_rows: int | None = None

    @property
    def size(self) -> str:
        expected = "" if self.present_rows is None else f", as expected from {self.present_rows:,} rows"
        return f"{self.rows:,} rows, {format_bytes(self.bytes)}{expected}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that apply the advice."""
        change = () if self.layout == self.current else (Step("evolve_layout", str(self.layout)),)
        move = {"rewrite_layout": True} if change else {}
        sort = {"cluster_by": self.cluster_by} if self.cluster_by else {}
        return (*change, Step("merge_splits", options={**move, **sort})) if move or sort else change

    def __repr__(self) -> str:
        """In one line; it prints as a report."""
        advised = f"layout={str(self.layout)!r}, cluster_by={list(self.cluster_by)!r}"
        return (
            f"Advice({advised}, current={str(self.current)!r}, queries={self.queries}, findings={len(self.findings)})"
        )

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        partition_by, sort_by = str(self.layout) or "nothing", ", ".join(self.cluster_by) or "nothing"
        steps = {f"step {number}": code(str(step)) for number, step in enumerate(self.steps, 1)}
        return notebook(
            heading("Layout advice", f"on {self.size}"),
            pairs({"partition by": code(partition_by), "sort by": code(sort_by), **steps}),
            findings_panel(self.findings) if self.findings else "",
            table(_USE, [use.cells for use in self.uses], [TIGHT, NUMBER, NUMBER, NUMBER]),
            table(_CANDIDATE, [one.cells for one in self.candidates], [TIGHT, NUMBER, NUMBER, NUMBER]),
        )

    def render(self, format_step: StepFormat = str) -> str:
        found = [self._of(use) for use in self.uses] or ["  no query filters on a column"]
        queries = "query" if self.queries == 1 else "queries"
        return "\n".join(
            [
                f"{self.queries} {queries} on {self.size}",
                "",
                "columns by use (share of queries that filter on it x share of the table that they skip by it)",
                *found,
                "",
                "candidate layouts",
                *(f"{'->' if one is self.candidates[0] else '  '} {one}" for one in self.candidates),
                "",
                *self._of_the_current(format_step),
                f"partition by {str(self.layout) or 'nothing'}"
                + (" (unchanged)" if self.layout == self.current else ""),
                f"sort by {', '.join(self.cluster_by)} within partitions"
                if self.cluster_by
                else "no sort order within partitions",
                *(f"  {format_step(step)}" for step in self.steps),
                *(f"not parsed: {text}" for text in self.unparsed),
            ]
        )

    def _of_the_current(self, format_step: StepFormat) -> list[str]:
        """The findings about the current layout, with the fixes that keep it."""
        lines = [f"current layout: {finding.message}" for finding in self.findings]
        kept = [finding.fix for finding in self.findings if finding.fix and finding.fix.method == "merge_splits"]
        return [*lines, *(f"  to keep the layout: {format_step(step)}" for step in kept), *([""] if lines else [])]

    def _of(self, use: ColumnUse) -> str:
        how = "by value" if use.equality_only else "by range"
        return (
            f"  {use.column:<24} {use.coverage:>5.0%} x {use.selectivity:>6.1%} = {use.worth:>5.2f}   "
            f"{use.distinct:,} values, {how}   {self._becomes(use.column)}"
        )

    def _becomes(self, column: str) -> str:
        terms = [field.term for field in self.layout.fields if field.source == column]
        if terms:
            return f"partition: {terms[0]}"
        return "sort" if column in self.cluster_by else "-"
