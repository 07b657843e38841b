"""UPDATE: rows that satisfy a condition or a search get new values, computed from their old ones."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import pyarrow as pa

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.expressions import Evaluator, Relation, Scope
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.maintain.bound_clauses import TARGET, Projection, bind_assignments
from indextables.maintain.row_deletion import RowDeletion, plan_deletion, split_changes
from indextables.maintain.row_replacement import (
    RowAddresses,
    RowReplacement,
    condition_parameters,
    condition_spec,
    find_rows,
    may_match,
    replace_rows,
)
from indextables.plural import pluralize
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.statements.row_changes import Update
from indextables.write.uncommitted_files import commit_or_discard


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResult:
    """What an UPDATE did, or in a dry run would do: `rows` got new values.

    Splits that have no old row left are removed, `splits_rewritten` are written again without the updated rows, and
    `vectors` got a deletion vector. The updated rows are in `splits_added`. `version` is that of the table afterwards: the
    same as before where no row matches.
    """

    version: int
    dry_run: bool = False
    rows: int = 0
    splits_removed: int = 0
    splits_rewritten: int = 0
    vectors: int = 0
    copied: int = 0
    splits_added: int = 0

    def __str__(self) -> str:
        verb = "would be updated" if self.dry_run else "updated"
        return f"{pluralize(self.rows, 'row')} {verb} (version {self.version}){split_changes(asdict(self))}"

    _repr_html_ = text_output


def update_rows(
    log: TransactionLog,
    snapshot: Snapshot,
    config: Config,
    update: Update,
    *,
    dry_run: bool = False,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> tuple[Snapshot, UpdateResult]:
    """Updates the rows that satisfy a condition and a search, or all; gives the table afterwards, and what was done.

    It is planned again where another writer changed the same rows first.
    """
    scope = _scope(update, snapshot, case_sensitive=case_sensitive)
    opener, written = SplitOpener.of(log.store, config), list[RowReplacement]()

    def checked(current: Snapshot, evaluator: Evaluator, scope: Scope) -> Projection:
        schema = current.metadata.arrow_schema()
        return Projection.of(bind_assignments(update.assignments, schema, scope, alias=update.alias), schema, evaluator)

    parameters = {**condition_parameters(update), "updates": {one.column: one.value for one in update.assignments}}

    def transaction(current: Snapshot) -> Transaction:
        spec = condition_spec(update, current, time_zone=time_zone, case_sensitive=case_sensitive)
        spec = replace(spec, row_address=True)
        now = replace(_scope(update, current, case_sensitive=case_sensitive), time=scope.time)
        with Evaluator(now, threads=config.read.parallelism, time_zone=time_zone) as evaluator:
            projection = checked(current, evaluator, now)
            scan = Scan(current, spec, opener, parallelism=config.read.parallelism)
            written.append(
                replace_rows(
                    log,
                    current,
                    config,
                    lambda addresses: _updated(scan, projection, evaluator, addresses),
                    operation=Operation.UPDATE,
                    reads=may_match(spec, current),
                    parameters=parameters,
                    metrics=_metrics,
                )
            )
        return written[-1].transaction

    if dry_run:
        spec = condition_spec(update, snapshot, [], time_zone=time_zone, case_sensitive=case_sensitive)
        with Evaluator(scope, time_zone=time_zone) as evaluator:
            checked(snapshot, evaluator, scope)
        found = find_rows(snapshot, spec, opener, parallelism=config.read.parallelism)
        plan = plan_deletion(snapshot, found, config, opener)
        return snapshot, UpdateResult(version=snapshot.version, dry_run=True, rows=plan.rows, **plan.figures)
    after = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    done, added = written[-1].deletion, len(written[-1].adds)
    return after, UpdateResult(version=after.version, dry_run=False, rows=done.rows, **done.figures, splits_added=added)


def _scope(update: Update, snapshot: Snapshot, *, case_sensitive: bool) -> Scope:
    table = Relation(TARGET, update.alias or TARGET, snapshot.metadata.arrow_schema())
    return Scope((table,), case_sensitive=case_sensitive)


def _updated(
    scan: Scan, projection: Projection, evaluator: Evaluator, addresses: RowAddresses
) -> Iterator[pa.RecordBatch]:
    for batch in scan.to_batches():
        addresses.add(batch)
        rows = pa.Table.from_batches([batch])
        values = evaluator.project(list(projection.computed.values()), {TARGET: rows})
        yield from projection.assembled(values, rows, len(rows)).to_batches()


def _metrics(deletion: RowDeletion) -> dict[str, int]:
    return {"numUpdatedRows": deletion.rows, "numDeletedRows": 0}
