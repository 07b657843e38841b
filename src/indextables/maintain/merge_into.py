"""MERGE INTO: rows of a source update, delete and insert rows of a table, in one commit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.errors import MergeError
from indextables.expressions import Evaluator, Expression, Relation, Scope
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Metadata
from indextables.maintain.changed_rows import may_match
from indextables.maintain.merge_clauses import (
    SOURCE,
    TARGET,
    BoundClause,
    Clause,
    When,
    bind_clauses,
    new_columns,
    refuse_clauses,
)
from indextables.maintain.merge_join import MergeCounts, MergeJoin
from indextables.maintain.merge_pruning import target_predicate
from indextables.maintain.merge_source import MergeSource, source_rows
from indextables.maintain.row_replacement import RowReplacement, replace_rows
from indextables.maintain.split_changes import split_changes
from indextables.plural import pluralize
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_spec import ScanSpec, build_scan_spec, with_predicate
from indextables.write.uncommitted_files import commit_or_discard
from indextables.write.write_plan import current_rules, with_columns_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merge:
    """A MERGE as its author wrote it."""

    source: MergeSource
    on: str
    clauses: Sequence[Clause] = ()
    source_alias: str = "s"
    target_alias: str = "t"
    merge_schema: bool = False
    time_zone: str = "UTC"
    case_sensitive: bool = False


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
        changes = split_changes(self, added=self.splits_added)
        updated = pluralize(self.rows_updated, "row")
        rows = f"{updated} updated, {self.rows_deleted:,} deleted, {self.rows_inserted:,} inserted"
        return f"{rows} (version {self.version}){changes}"

    _repr_html_ = text_output


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundMerge:
    """A merge whose names were found in a version of the table; `metadata` is that of the table afterwards."""

    scope: Scope
    on: Expression
    clauses: Sequence[BoundClause]
    metadata: Metadata


def merge_into(
    log: TransactionLog, snapshot: Snapshot, config: Config, merge: Merge
) -> tuple[Snapshot, MergeIntoResult]:
    """Merges a source into the table; gives the table afterwards, and what was done.

    Everything that can be refused is refused before a row is read. The merge is planned again where another writer changed
    rows first that it may match; the source is kept in memory.
    """
    refuse_clauses(merge.clauses)
    given = source_rows(merge.source, snapshot.metadata.arrow_schema(), all_columns=merge.merge_schema)
    time = datetime.now(UTC)
    with _joined(merge, snapshot, config, given.schema.empty_table(), time):
        pass
    source = given.read()
    written: list[tuple[RowReplacement, MergeCounts]] = []

    def transaction(current: Snapshot) -> Transaction:
        with _joined(merge, current, config, source, time) as (bound, join):
            written.append((_written(log, current, config, merge=merge, bound=bound, join=join), join.counts))
        return written[-1][0].transaction

    after = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    return after, _result(*written[-1], version=after.version, source_rows=len(source))


@contextmanager
def _joined(
    merge: Merge, snapshot: Snapshot, config: Config, source: pa.Table, time: datetime
) -> Iterator[tuple[BoundMerge, MergeJoin]]:
    """The merge, bound and compiled; an error where a name or a type does not fit."""
    bound = bind_merge(merge, snapshot, config, source.schema, time)
    with Evaluator(bound.scope, threads=config.read.parallelism, time_zone=merge.time_zone) as evaluator:
        yield bound, MergeJoin.of(evaluator, bound.on, bound.clauses, source, bound.metadata.arrow_schema())


def bind_merge(merge: Merge, snapshot: Snapshot, config: Config, source: pa.Schema, time: datetime) -> BoundMerge:
    """Finds the names of a merge in both sides; an error says which there are."""
    if merge.source_alias.lower() == merge.target_alias.lower():
        reason = f"source and target have the same alias, {merge.target_alias!r}"
        raise MergeError(f"{reason}; give them different ones", reason=reason)
    schema, metadata = snapshot.metadata.arrow_schema(), snapshot.metadata
    if merge.merge_schema:
        added = new_columns(merge.clauses, schema, source, target_alias=merge.target_alias)
        metadata = with_columns_of(metadata, added, config.write.typemap)
    relations = (Relation(TARGET, merge.target_alias, schema), Relation(SOURCE, merge.source_alias, source))
    scope = Scope(relations, time, merge.case_sensitive)
    clauses = bind_clauses(merge.clauses, scope, metadata.arrow_schema(), merge_schema=merge.merge_schema)
    return BoundMerge(scope=scope, on=scope.expression(merge.on), clauses=clauses, metadata=metadata)


def _written(
    log: TransactionLog, current: Snapshot, config: Config, *, merge: Merge, bound: BoundMerge, join: MergeJoin
) -> RowReplacement:
    spec = _target_spec(merge, current, bound, join)
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
        parameters={"predicate": merge.on, "clauses": [str(clause) for clause in merge.clauses]},
        metrics=lambda _: {**join.counts.metrics, "numSourceRows": len(join.source)},
    )
    if evolves and not done.adds and not done.deletion.rows:
        return replace(done, transaction=replace(done.transaction, metadata=None))
    return done


def _target_spec(merge: Merge, current: Snapshot, bound: BoundMerge, join: MergeJoin) -> ScanSpec:
    """The scan of the rows that the merge may change, with the columns that it needs."""
    schema = current.metadata.arrow_schema()
    needed = join.target_columns
    columns = schema.names if needed is None else [name for name in schema.names if name in needed]
    spec = build_scan_spec(current, current_rules(current.metadata), columns=columns, case_sensitive=True)
    if any(clause.when is When.NOT_MATCHED_BY_SOURCE for clause in merge.clauses):
        return replace(spec, row_address=True)
    predicate = target_predicate(bound.on, join.source, schema, join.evaluator, time_zone=merge.time_zone)
    return replace(with_predicate(spec, predicate), row_address=True)


def _result(done: RowReplacement, counts: MergeCounts, *, version: int, source_rows: int) -> MergeIntoResult:
    deletion = done.deletion
    return MergeIntoResult(
        version=version,
        rows_updated=counts.updated,
        rows_deleted=counts.deleted,
        rows_inserted=counts.inserted,
        source_rows=source_rows,
        rows_matched_updated=counts.matched_updated,
        rows_matched_deleted=counts.matched_deleted,
        rows_not_matched_by_source_updated=counts.by_source_updated,
        rows_not_matched_by_source_deleted=counts.by_source_deleted,
        splits_removed=len(deletion.removed),
        splits_rewritten=len(deletion.rewritten),
        vectors=len(deletion.vectors),
        copied=deletion.copied,
        splits_added=len(done.adds),
    )
