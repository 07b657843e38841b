"""Scan planning: which splits a scan opens, decided from the transaction log alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

import pyarrow as pa

from indextables.kernels import sum_of
from indextables.log.actions import Metadata
from indextables.log.column_ids import renamed_columns
from indextables.log.snapshot import Snapshot
from indextables.log.splits import deletion_vectors_of, live_rows
from indextables.plural import pluralize
from indextables.predicate import Verdict, to_sql
from indextables.read.opener import SplitRef
from indextables.read.prune import SplitVerdicts, judge_splits
from indextables.read.scan_spec import ScanSpec, with_predicate
from indextables.read.search_coverage import ExactWord, exact_words
from indextables.read.term_pruning import prune_by_terms
from indextables.storage import Traffic

TASK_COLUMNS = (
    "path",
    "size",
    "num_records",
    "footer_start_offset",
    "footer_end_offset",
    "doc_mapping_id",
    "deletion_vector",
)


@dataclass(frozen=True, slots=True)
class SplitTask:
    """A split to read. `all_rows_match`: its statistics prove that every row satisfies the predicate."""

    split: SplitRef
    all_rows_match: bool


@dataclass(frozen=True, eq=False)
class ScanPlan:
    snapshot: Snapshot
    scan_spec: ScanSpec
    split_verdicts: SplitVerdicts

    @cached_property
    def tasks(self) -> list[SplitTask]:
        """The splits that may hold a matching row."""
        kept = self.split_verdicts.possible
        splits = self.split_verdicts.splits.select(TASK_COLUMNS)
        verdicts = self.split_verdicts.verdicts.filter(kept)
        return list(tasks_for(splits.filter(kept), verdicts, self.snapshot.metadata))

    @property
    def num_tasks(self) -> int:
        return len(self.split_verdicts.splits) - self.split_verdicts.count(Verdict.NEVER)

    @property
    def bytes(self) -> int:
        """The bytes of the splits that may hold a matching row."""
        return sum_of(self.split_verdicts.splits["size"].filter(self.split_verdicts.possible))

    @property
    def exact_words(self) -> list[ExactWord]:
        """Words that the searches most likely miss."""
        return exact_words(self.scan_spec, self.snapshot.splits)

    def with_output(self, scan_spec: ScanSpec) -> "ScanPlan":
        """The plan of a scan with the same predicate, and the output of another one."""
        spec = with_predicate(scan_spec, self.scan_spec.predicate)
        return ScanPlan(self.snapshot, spec, self.split_verdicts)


def plan_scan(snapshot: Snapshot, scan_spec: ScanSpec) -> ScanPlan:
    split_verdicts = judge_splits(scan_spec.predicate, snapshot)
    return ScanPlan(snapshot, scan_spec, prune_by_terms(split_verdicts, scan_spec, snapshot))


def may_match(scan_spec: ScanSpec, snapshot: Snapshot) -> pa.BooleanArray:
    """Whether each split of a snapshot may hold a matching row."""
    return plan_scan(snapshot, scan_spec).split_verdicts.possible


def tasks_for(splits: pa.Table, verdicts: pa.Array, metadata: Metadata) -> Iterator[SplitTask]:
    """The tasks of splits, of which TASK_COLUMNS are needed: to filter all columns of many splits takes longer."""
    columns = [splits[name].to_pylist() for name in TASK_COLUMNS if name not in {"deletion_vector", "doc_mapping_id"}]
    vectors, renamed = deletion_vectors_of(splits), renamed_columns(metadata)
    names_of = {number: tuple(names.items()) for number, names in renamed.items()}
    mappings = splits["doc_mapping_id"].to_pylist() if renamed else repeat(None, len(splits))
    facts = zip(*columns, vectors, mappings, verdicts.to_pylist(), strict=True)
    for path, size, rows, start, end, vector, mapping, verdict in facts:
        footer = None if start is None or end is None else (start, end)
        split = SplitRef(path, size, rows, footer, vector, names_of.get(mapping, ()))
        yield SplitTask(split, verdict == Verdict.ALWAYS)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a scan. Splits by verdict: `never`, `sometimes`, `always`; the last two are `opened`.

    `metadata_rows` are the rows of the ALWAYS splits: a count takes them from the log and opens only the SOMETIMES splits.
    `search_columns` are the columns that a search reads, with how each is indexed: by its words or by exact values. The
    `exact_words` are searched in columns of exact values that have several words, so that a search most likely misses them.
    `traffic` counts the requests of the table's handle so far: the cost of planning, if nothing has been read yet.
    """

    predicate: str
    columns: tuple[str, ...]
    total: int
    never: int
    sometimes: int
    always: int
    pruned_by_layout: int
    pruned_by_statistics: int
    pruned_by_terms: int
    opened: int
    bytes_total: int
    bytes: int
    metadata_rows: int
    traffic: Traffic | None = None
    search_columns: Mapping[str, str] = field(default_factory=dict)
    exact_words: Sequence[ExactWord] = ()

    @property
    def reasons(self) -> str:
        """Why splits are pruned, with their numbers."""
        by_layout, by_statistics = self.pruned_by_layout, self.pruned_by_statistics
        return f"{by_layout:,} by layout, {by_statistics:,} by statistics, {self.pruned_by_terms:,} by term filters"

    def __repr__(self) -> str:
        """In one line; it prints as a report."""
        counts = f"splits={self.total}, pruned={self.never}, opened={self.opened}, bytes={self.bytes}"
        return f"Explanation({shortened(self.predicate)!r}, {counts})"

    def __str__(self) -> str:
        share = f" ({self.never / self.total:.1%})" if self.total else ""
        return "\n".join(
            [
                f"scan of {', '.join(self.columns)} where {self.predicate}",
                f"  splits            {self.total:,}",
                f"  pruned            {self.never:,}{share}: {self.reasons}",
                f"  all rows match    {self.always:,} with {pluralize(self.metadata_rows, 'row')} (counted from the log)",
                f"  some rows match   {self.sometimes:,}",
                f"  bytes to read     {self.bytes:,} of {self.bytes_total:,}",
                *([f"  search columns    {columns_and_values(self.search_columns)}"] if self.search_columns else []),
                *([f"  note              {self._note}"] if self.exact_words else []),
                *([] if self.traffic is None else [f"  requests so far   {self.traffic}"]),
            ]
        )

    @property
    def _note(self) -> str:
        how = "ALTER TABLE ... SET INDEXING and REINDEX TABLE, or set_indexing and reindex in Python"
        return f"{'; '.join(map(str, self.exact_words))}; to search by words: {how}"

    def _repr_html_(self) -> str:
        from indextables.display.panels import code, funnel, heading, notebook, pairs  # noqa: PLC0415 - for notebooks

        facts: dict[str, object] = {
            "condition": code(self.predicate),
            "bytes to read": f"{self.bytes:,} of {self.bytes_total:,}",
            **({"search columns": columns_and_values(self.search_columns)} if self.search_columns else {}),
            **({"note": self._note} if self.exact_words else {}),
            **({} if self.traffic is None else {"so far": str(self.traffic)}),
        }
        return notebook(
            heading("Scan", f"of {', '.join(self.columns)}"), funnel(self._stages(), "splits"), pairs(facts)
        )

    def _stages(self) -> list[tuple[str, int, str]]:
        """The splits that are left after each step of pruning, and how many of them are wholly in the result."""
        steps = {
            "after partition pruning": self.pruned_by_layout,
            "after statistics": self.pruned_by_statistics,
            "after term filters": self.pruned_by_terms,
        }
        stages = [("splits of the table", self.total, "")]
        for name, pruned in steps.items():
            stages.append((name, stages[-1][1] - pruned, f"{pruned:,} pruned"))
        whole = f"all of their {self.metadata_rows:,} rows match" if self.always else ""
        return [*stages, ("of these, counted from the log", self.always, whole)]


def explain(plan: ScanPlan, traffic: Traffic | None = None) -> Explanation:
    split_verdicts = plan.split_verdicts
    never, always = split_verdicts.count(Verdict.NEVER), split_verdicts.count(Verdict.ALWAYS)
    by_layout, by_bounds = (
        judge_splits(plan.scan_spec.predicate, plan.snapshot, statistics=given).count(Verdict.NEVER)
        for given in (False, True)
    )
    return Explanation(
        predicate=to_sql(plan.scan_spec.predicate),
        columns=plan.scan_spec.columns,
        total=len(split_verdicts.splits),
        never=never,
        sometimes=split_verdicts.count(Verdict.SOMETIMES),
        always=always,
        pruned_by_layout=by_layout,
        pruned_by_statistics=by_bounds - by_layout,
        pruned_by_terms=never - by_bounds,
        opened=plan.num_tasks,
        bytes_total=sum_of(split_verdicts.splits["size"]),
        bytes=plan.bytes,
        metadata_rows=sum_of(live_rows(split_verdicts.having(Verdict.ALWAYS))),
        traffic=traffic,
        search_columns=plan.scan_spec.search_columns,
        exact_words=plan.exact_words,
    )


def shortened(text: str, most: int = 120) -> str:
    """The beginning of a long text.

    >>> shortened("a = 1 OR b = 2", most=9)
    'a = 1 ...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def columns_and_values(search_columns: Mapping[str, str]) -> str:
    """Search columns, each with how it is indexed.

    >>> columns_and_values({"message": "words", "level": "exact values"})
    'message (words), level (exact values)'
    """
    return ", ".join(f"{column} ({values})" for column, values in search_columns.items())
