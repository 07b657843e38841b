"""DELETE: the rows that satisfy a condition or a search are deleted, wherever they are. The indexes find them."""

from dataclasses import asdict, dataclass

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.errors import InvalidPredicateError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.maintain.row_deletion import (
    RowDeletion,
    deletion_transaction,
    plan_deletion,
    split_changes,
    write_deletion,
)
from indextables.maintain.row_replacement import condition_parameters, condition_spec, find_rows, may_match
from indextables.plural import pluralize
from indextables.read.opener import SplitOpener
from indextables.read.scan_spec import ScanSpec
from indextables.read.search_coverage import exact_words, warn_of_exact_words
from indextables.statements.row_changes import Delete
from indextables.write.uncommitted_files import commit_or_discard


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteResult:
    """What a DELETE did, or in a dry run would do: `rows` are deleted.

    Splits that have no row left are removed, `splits_rewritten` are written again without the rows, and `vectors` got a
    deletion vector. `version` is that of the table afterwards: the same as before where no row matches.
    """

    version: int
    dry_run: bool = False
    rows: int = 0
    splits_removed: int = 0
    splits_rewritten: int = 0
    vectors: int = 0
    copied: int = 0

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else "deleted"
        return f"{pluralize(self.rows, 'row')} {verb} (version {self.version}){split_changes(asdict(self))}"

    _repr_html_ = text_output


def delete_rows(
    log: TransactionLog,
    snapshot: Snapshot,
    config: Config,
    delete: Delete,
    *,
    dry_run: bool = False,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> tuple[Snapshot, DeleteResult]:
    """Deletes the rows that satisfy a condition and a search; gives the table afterwards, and what was done.

    It is planned again where another writer changed the same rows first, so that it deletes what is there then.
    """
    _refuse_no_condition(delete)
    opener = SplitOpener.of(log.store, config)
    planned: list[RowDeletion] = []

    def plan(current: Snapshot) -> tuple[ScanSpec, RowDeletion]:
        spec = condition_spec(delete, current, [], time_zone=time_zone, case_sensitive=case_sensitive)
        found = find_rows(current, spec, opener, parallelism=config.read.parallelism)
        planned.append(plan_deletion(current, found, config, opener))
        return spec, planned[-1]

    def transaction(current: Snapshot) -> Transaction:
        spec, deletion = plan(current)
        removed = write_deletion(log, deletion, config, reads=may_match(spec, current))
        parameters = condition_parameters(delete)
        return deletion_transaction(Operation.DELETE, current, removed, parameters=parameters, metrics=removed.metrics)

    if dry_run:
        plan(snapshot)
    after = snapshot if dry_run else commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    done = planned[-1]
    if not done.rows:
        spec = condition_spec(delete, after, [], time_zone=time_zone, case_sensitive=case_sensitive)
        warn_of_exact_words(exact_words(spec, after.splits), log.table)
    return after, DeleteResult(version=after.version, dry_run=dry_run, rows=done.rows, **done.figures)


def _refuse_no_condition(delete: Delete) -> None:
    """A condition that was forgotten must not delete everything."""
    if delete.where is None and delete.query is None:
        raise InvalidPredicateError(
            'give a condition (where) or a search (query); where="true" means every row',
            predicate="",
            reason="there is none",
        )
