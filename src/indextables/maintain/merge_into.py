"""MERGE INTO: rows of a source update, delete and insert rows of a table, in one commit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.errors import MergeError
from indextables.expressions import Evaluator, Expression, Relation, Scope
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Metadata
from indextables.maintain.bound_clauses import (
    SOURCE,
    TARGET,
    BoundClause,
    bind_clauses,
    new_columns,
    refuse_clauses,
)
from indextables.maintain.merge_join import MergeJoin
from indextables.maintain.merge_source import MergeSource, source_rows, target_predicate
from indextables.maintain.row_deletion import split_changes
from indextables.maintain.row_replacement import RowReplacement, may_match, replace_rows
from indextables.plural import pluralize
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_spec import ScanSpec, build_scan_spec, with_predicate
from indextables.statements.row_changes import Action, Clause, Merge, When, assignments_of
from indextables.write.uncommitted_files import commit_or_discard
from indextables.write.write_plan import current_rules, with_columns_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeIntoResult:
    """What a MERGE did.

    Splits that have no row left are removed, `splits_rewritten` are written again without the rows that were changed or
    deleted, and `vectors` got a deletion vector. Updated and inserted rows are in `splits_added`. `version` is that of the
    table afterwards: the same as before where nothing changed.
    """

    version: int
    rows_updated: int = 0
    rows_deleted: int = 0
    rows_inserted: int = 0
    source_rows: int = 0
    rows_matched_updated: int = 0
    rows_matched_deleted: int = 0
    rows_not_matched_by_source_updated: int = 0
    rows_not_matched_by_source_deleted: int = 0
    splits_removed: int = 0
    splits_rewritten: int = 0
    vectors: int = 0
    copied: int = 0
    splits_added: int = 0

    def __str__(self) -> str:
        updated = pluralize(self.rows_updated, "row")
        rows = f"{updated} updated, {self.rows_deleted:,} deleted, {self.rows_inserted:,} inserted"
        return f"{rows} (version {self.version}){split_changes(asdict(self))}"

    _repr_html_ = text_output


@dataclass(frozen=True, slots=True, eq=False)
class MergeBuilder:
    """A MERGE that is being written: each method gives another builder with one more clause. `execute` runs it.

    Of the clauses for matched rows, for rows of the source without a match and for rows of the table without a match, the
    first applies whose predicate is true. Expressions and predicates are SQL; names of columns may have an alias before
    them.
    """

    merge: Merge
    run: Callable[[Merge], MergeIntoResult]

    def when_matched_update(self, updates: Mapping[str, str], predicate: str | None = None) -> "MergeBuilder":
        """Gives columns of a row that a row of the source matches new values."""
        return self._with(Clause(When.MATCHED, Action.UPDATE, predicate, assignments_of(updates)))

    def when_matched_update_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> "MergeBuilder":
        """Gives all columns the values of the source's columns with their names."""
        return self._with(Clause(When.MATCHED, Action.UPDATE, predicate, excepted=_names(except_cols)))

    def when_matched_delete(self, predicate: str | None = None) -> "MergeBuilder":
        """Deletes a row that a row of the source matches."""
        return self._with(Clause(When.MATCHED, Action.DELETE, predicate))

    def when_not_matched_insert(self, updates: Mapping[str, str], predicate: str | None = None) -> "MergeBuilder":
        """Inserts a row of the source that matches no row; columns that are not among the `updates` are null."""
        return self._with(Clause(When.NOT_MATCHED, Action.INSERT, predicate, assignments_of(updates)))

    def when_not_matched_insert_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> "MergeBuilder":
        """Inserts a row of the source that matches no row, by names of columns."""
        return self._with(Clause(When.NOT_MATCHED, Action.INSERT, predicate, excepted=_names(except_cols)))

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> "MergeBuilder":
        """Gives columns of a row that no row of the source matches new values; all rows of the table are read."""
        return self._with(Clause(When.NOT_MATCHED_BY_SOURCE, Action.UPDATE, predicate, assignments_of(updates)))

    def when_not_matched_by_source_delete(self, predicate: str | None = None) -> "MergeBuilder":
        """Deletes a row that no row of the source matches; all rows of the table are read."""
        return self._with(Clause(When.NOT_MATCHED_BY_SOURCE, Action.DELETE, predicate))

    def execute(self) -> MergeIntoResult:
        """Runs the merge in one commit. A source that can be read once (a reader, an iterator) can be merged once."""
        return self.run(self.merge)

    def _with(self, clause: Clause) -> "MergeBuilder":
        return replace(self, merge=replace(self.merge, clauses=(*self.merge.clauses, clause)))


def merge_into(
    log: TransactionLog,
    snapshot: Snapshot,
    config: Config,
    merge: Merge,
    source: MergeSource,
    *,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> tuple[Snapshot, MergeIntoResult]:
    """Merges a source into the table; gives the table afterwards, and what was done.

    Everything that can be refused is refused before a row is read. The merge is planned again where another writer changed
    rows first that it may match; the source is kept in memory.
    """
    refuse_clauses(merge.clauses)
    given = source_rows(source, snapshot.metadata.arrow_schema(), all_columns=merge.merge_schema)
    run = _MergeRun(log, config, merge, datetime.now(UTC), time_zone, case_sensitive)
    with run.joined(snapshot, given.schema.empty_table()):
        pass
    rows = given.read()
    written: list[tuple[RowReplacement, dict[str, int]]] = []

    def transaction(current: Snapshot) -> Transaction:
        with run.joined(current, rows) as (bound, join):
            written.append((run.write(current, bound, join), _figures(join.counts)))
        return written[-1][0].transaction

    after = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    done, figures = written[-1]
    return after, MergeIntoResult(
        version=after.version,
        **{f"rows_{kind}": count for kind, count in figures.items()},
        source_rows=len(rows),
        **done.deletion.figures,
        splits_added=len(done.adds),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BoundMerge:
    """A merge whose names were found in a version of the table; `metadata` is that of the table afterwards."""

    scope: Scope
    on: Expression
    clauses: Sequence[BoundClause]
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class _MergeRun:
    """A merge, and what stays the same where it is planned again: `time` is the current time of its expressions."""

    log: TransactionLog
    config: Config
    merge: Merge
    time: datetime
    time_zone: str
    case_sensitive: bool

    @contextmanager
    def joined(self, snapshot: Snapshot, source: pa.Table) -> Iterator[tuple[_BoundMerge, MergeJoin]]:
        """The merge, bound and compiled; an error where a name or a type does not fit."""
        bound, threads = self.bind(snapshot, source.schema), self.config.read.parallelism
        with Evaluator(bound.scope, threads=threads, time_zone=self.time_zone) as evaluator:
            yield bound, MergeJoin.of(evaluator, bound.on, bound.clauses, source, bound.metadata.arrow_schema())

    def bind(self, snapshot: Snapshot, source: pa.Schema) -> _BoundMerge:
        """Finds the names of the merge in both sides; an error says which there are."""
        merge, schema, metadata = self.merge, snapshot.metadata.arrow_schema(), snapshot.metadata
        alias, source_alias = merge.alias or "target", merge.source_alias or "source"
        if source_alias.lower() == alias.lower():
            reason = f"source and target have the same alias, {alias!r}"
            raise MergeError(f"{reason}; give them different ones", reason=reason)
        if merge.merge_schema:
            added = new_columns(merge.clauses, schema, source, alias=merge.alias)
            config = self.config.for_columns([*schema.names, *added.names])
            metadata = with_columns_of(metadata, added, config.write.field_rules)
        relations = (Relation(TARGET, alias, schema), Relation(SOURCE, source_alias, source))
        scope = Scope(relations, self.time, self.case_sensitive)
        clauses = bind_clauses(merge.clauses, scope, metadata.arrow_schema(), merge_schema=merge.merge_schema)
        return _BoundMerge(scope=scope, on=scope.expression(merge.on), clauses=clauses, metadata=metadata)

    def write(self, current: Snapshot, bound: _BoundMerge, join: MergeJoin) -> RowReplacement:
        log, config, spec = self.log, self.config, self.target_spec(current, bound, join)
        scan = Scan(current, spec, SplitOpener.of(log.store, config), parallelism=config.read.parallelism)
        evolves = bound.metadata is not current.metadata
        done = replace_rows(
            log,
            current,
            config,
            lambda addresses: join.new_rows(scan.to_batches(), addresses),
            operation=Operation.MERGE_INTO,
            reads=may_match(spec, current),
            metadata=bound.metadata if evolves else None,
            parameters={"predicate": self.merge.on, "clauses": [str(clause) for clause in self.merge.clauses]},
            metrics=lambda _: {
                **{f"num{kind.title().replace('_', '')}Rows": count for kind, count in _figures(join.counts).items()},
                "numSourceRows": len(join.source),
            },
        )
        if evolves and not done.adds and not done.deletion.rows:
            return replace(done, transaction=replace(done.transaction, metadata=None))
        return done

    def target_spec(self, current: Snapshot, bound: _BoundMerge, join: MergeJoin) -> ScanSpec:
        """The scan of the rows that the merge may change, with the columns that it needs."""
        schema = current.metadata.arrow_schema()
        needed = join.target_columns
        columns = schema.names if needed is None else [name for name in schema.names if name in needed]
        spec = build_scan_spec(current, current_rules(current.metadata), columns=columns, case_sensitive=True)
        if any(clause.when is When.NOT_MATCHED_BY_SOURCE for clause in self.merge.clauses):
            return replace(spec, row_address=True)
        predicate = target_predicate(bound.on, join.source, schema, join.evaluator, time_zone=self.time_zone)
        return replace(with_predicate(spec, predicate), row_address=True)


def _figures(counts: Mapping[tuple[When, Action], int]) -> dict[str, int]:
    """How many rows were changed in which way, by the names of results; metrics have the same names."""
    kinds = {"updated": Action.UPDATE, "deleted": Action.DELETE, "inserted": Action.INSERT}
    totals = {kind: sum(n for (_, one), n in counts.items() if one is action) for kind, action in kinds.items()}
    sides = {"matched": When.MATCHED, "not_matched_by_source": When.NOT_MATCHED_BY_SOURCE}
    details = {
        f"{side}_{kind}": counts.get((when, kinds[kind]), 0)
        for side, when in sides.items()
        for kind in ("updated", "deleted")
    }
    return {**totals, **details}


def _names(columns: Sequence[str] | None) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns or ())
