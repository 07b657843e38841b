"""DROP PARTITIONS: deletes the rows that satisfy a condition on partition columns."""

from dataclasses import dataclass

import pyarrow.compute as pc

from indextables.config import Config
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.maintain.copy_rows import plan_copy
from indextables.maintain.partition_predicate import read_condition
from indextables.maintain.replace_where import plan_rewrite_where
from indextables.maintain.split_rewrite import SplitRewrite
from indextables.predicate import Predicate, to_sql
from indextables.read.opener import SplitOpener
from indextables.write.commit_metrics import copy_metrics
from indextables.write.pipeline import write_rows
from indextables.write.uncommitted_files import commit_or_discard


@dataclass(frozen=True, slots=True)
class DropResult:
    """What a drop deleted, or would delete: whole `splits`, and `rows` in all; `copied` rows of `rewritten` splits stay.

    `version` is that of the table afterwards: the same as before where there was nothing to drop.
    """

    version: int
    dry_run: bool
    splits: int
    rewritten: int
    rows: int
    copied: int
    bytes: int


def drop_partitions(
    log: TransactionLog,
    snapshot: Snapshot,
    where: str | Predicate,
    config: Config,
    *,
    dry_run: bool = False,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> tuple[Snapshot, DropResult]:
    """Deletes the rows that satisfy a condition; gives the table afterwards, and what was done.

    A drop adds no rows of its own, so it is planned again where another writer committed first.
    """
    planned: list[SplitRewrite] = []

    def plan(current: Snapshot) -> SplitRewrite:
        condition = read_condition(
            where, current.metadata, table=log.table, time_zone=time_zone, case_sensitive=case_sensitive
        )
        planned.append(plan_rewrite_where(log, current, condition.predicate, config))
        return planned[-1]

    def transaction(current: Snapshot) -> Transaction:
        return _transaction(log, plan(current), config, text=where if isinstance(where, str) else to_sql(where))

    if dry_run:
        return snapshot, _result(plan(snapshot), snapshot.version, dry_run=True)
    after = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    return after, _result(planned[-1], after.version, dry_run=False)


def _transaction(log: TransactionLog, rewrite: SplitRewrite, config: Config, *, text: str) -> Transaction:
    removes, copies = rewrite.removes, []
    if len(rewrite.rewritten):
        plan = rewrite.copy_plan(plan_copy(rewrite.snapshot, config))
        copies = write_rows(plan, rewrite.rows(SplitOpener.of(log.store, config)), log.store)
    return Transaction(
        operation=Operation.DROP,
        snapshot=rewrite.snapshot,
        adds=copies,
        removes=removes,
        rewritten=rewrite.rewritten_paths,
        reads=rewrite.reads,
        parameters={"predicate": text},
        metrics={**copy_metrics(copies), **rewrite.metrics},
    )


def _result(rewrite: SplitRewrite, version: int, *, dry_run: bool) -> DropResult:
    return DropResult(
        version=version,
        dry_run=dry_run,
        splits=len(rewrite.removed),
        rewritten=len(rewrite.rewritten),
        rows=rewrite.deleted,
        copied=rewrite.copied,
        bytes=pc.sum(rewrite.removed["size"]).as_py() or 0,
    )
