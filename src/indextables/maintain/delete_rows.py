"""DELETE: the rows that satisfy a condition or a search are deleted, wherever they are. The indexes find them."""

from dataclasses import dataclass

from indextables.config import Config
from indextables.display.text_output import text_output
from indextables.errors import InvalidPredicateError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.maintain.changed_rows import find_rows, may_match
from indextables.maintain.row_deletion import RowDeletion, deletion_transaction, plan_deletion, write_deletion
from indextables.maintain.split_changes import split_changes
from indextables.plural import pluralize
from indextables.predicate import Predicate, to_sql
from indextables.read.opener import SplitOpener
from indextables.read.scan_spec import ScanSpec, build_scan_spec
from indextables.write.uncommitted_files import commit_or_discard
from indextables.write.write_plan import current_rules


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
        return f"{pluralize(self.rows, 'row')} {verb} (version {self.version}){split_changes(self)}"

    _repr_html_ = text_output


def delete_rows(
    log: TransactionLog,
    snapshot: Snapshot,
    config: Config,
    *,
    where: str | Predicate | None = None,
    query: str | None = None,
    dry_run: bool = False,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> tuple[Snapshot, DeleteResult]:
    """Deletes the rows that satisfy a condition and a search; gives the table afterwards, and what was done.

    It is planned again where another writer changed the same rows first, so that it deletes what is there then.
    """
    refuse_no_condition(where, query)
    opener = SplitOpener.of(log.store, config)
    planned: list[RowDeletion] = []

    def plan(current: Snapshot) -> tuple[ScanSpec, RowDeletion]:
        spec = build_scan_spec(
            current,
            current_rules(current.metadata),
            where=where,
            query=query,
            columns=[],
            time_zone=time_zone,
            case_sensitive=case_sensitive,
        )
        found = find_rows(current, spec, opener, parallelism=config.read.parallelism)
        planned.append(plan_deletion(current, found, config, opener))
        return spec, planned[-1]

    def transaction(current: Snapshot) -> Transaction:
        spec, deletion = plan(current)
        removed = write_deletion(log, deletion, config, reads=may_match(spec, current))
        parameters = condition_parameters(where, query)
        return deletion_transaction(Operation.DELETE, current, removed, parameters=parameters, metrics=removed.metrics)

    if dry_run:
        return snapshot, _result(plan(snapshot)[1], snapshot.version, dry_run=True)
    after = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    return after, _result(planned[-1], after.version, dry_run=False)


def refuse_no_condition(where: object, query: object) -> None:
    """A condition that was forgotten must not delete everything."""
    if where is None and query is None:
        raise InvalidPredicateError(
            'give a condition (where) or a search (query); where="true" means every row',
            predicate="",
            reason="there is none",
        )


def condition_parameters(where: str | Predicate | None, query: str | None) -> dict[str, str]:
    """The condition, as the history shows it."""
    text = {} if where is None else {"predicate": where if isinstance(where, str) else to_sql(where)}
    return text if query is None else {**text, "query": query}


def _result(deletion: RowDeletion, version: int, *, dry_run: bool) -> DeleteResult:
    return DeleteResult(
        version=version,
        dry_run=dry_run,
        rows=deletion.rows,
        splits_removed=len(deletion.removed),
        splits_rewritten=len(deletion.rewritten),
        vectors=len(deletion.vectors),
        copied=deletion.copied,
    )
