"""Partitions dropped: the rows that satisfy a condition leave the table, and nothing comes in their place."""

from dataclasses import dataclass

import pyarrow.compute as pc

from indextables.config import Config
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.maintain.copy_rows import plan_copy
from indextables.maintain.partition_predicate import read_condition
from indextables.maintain.replace_where import take_out_where
from indextables.maintain.split_rewrite import TakeOut
from indextables.predicate import Predicate, to_sql
from indextables.read.opener import SplitOpener
from indextables.write.modes import commit_or_discard, figures
from indextables.write.pipeline import write_rows


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a drop did, or would do: `splits` and `rows` go; so do `rewritten` splits, of which `copied` rows stay.

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
) -> tuple[Snapshot, Dropped]:
    """Takes the rows that satisfy a condition out of the table; gives the table afterwards, and what was done.

    A drop has no rows of its own, so it is decided again where another writer was first.
    """
    decisions: list[TakeOut] = []

    def decide(current: Snapshot) -> TakeOut:
        condition = read_condition(
            where, current.metadata, table=log.table, time_zone=time_zone, case_sensitive=case_sensitive
        )
        decisions.append(take_out_where(log, current, condition.predicate, config))
        return decisions[-1]

    def transaction(current: Snapshot) -> Transaction:
        return _transaction(log, decide(current), config, text=where if isinstance(where, str) else to_sql(where))

    if dry_run:
        return snapshot, _result(decide(snapshot), snapshot.version, dry_run=True)
    after = commit_or_discard(log, transaction(snapshot), replan=transaction).snapshot
    return after, _result(decisions[-1], after.version, dry_run=False)


def _transaction(log: TransactionLog, taken: TakeOut, config: Config, *, text: str) -> Transaction:
    removes, opener = taken.removes, SplitOpener.of(log.store, config)
    rows = taken.rows(opener)
    copies = write_rows(taken.copying(plan_copy(taken.snapshot, config)), rows, log.store) if len(taken.shared) else []
    written = {key: figure for key, figure in figures(copies).items() if key != "numAddedRows"}
    return Transaction(
        operation=Operation.DROP,
        snapshot=taken.snapshot,
        adds=copies,
        removes=removes,
        rewritten=taken.rewritten,
        reads=taken.reads,
        parameters={"predicate": text},
        metrics={**written, **taken.metrics},
    )


def _result(taken: TakeOut, version: int, *, dry_run: bool) -> Dropped:
    return Dropped(
        version=version,
        dry_run=dry_run,
        splits=len(taken.whole),
        rewritten=len(taken.shared),
        rows=taken.deleted,
        copied=taken.copied,
        bytes=pc.sum(taken.whole["size"]).as_py() or 0,
    )
