"""Parts of the production code, each switched off in turn: a simulation that is worth something finds every one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from msgspec import structs

from indextables.errors import AlreadyExistsError, ConflictError
from indextables.log import TransactionLog, cleanup, commit, conflict, log
from indextables.log.actions import CommitInfo
from indextables.log.conflict import Rebase
from indextables.log.snapshot import Snapshot
from indextables.log.transaction import Transaction
from indextables.log.version_file import Version
from indextables.maintain import compact, vacuum
from indextables.write import uncommitted_files
from tests.simulation.catalog import by_chance, small
from tests.simulation.explore import Failure, Simulation
from tests.simulation.scheduler import SimulatedStore

_OFF = lambda *_, **__: None


@dataclass(frozen=True)
class Mutation:
    """What is switched off, and the scenarios that are the first to look for it."""

    name: str
    patches: tuple[Callable[[], AbstractContextManager[Any]], ...]
    scenarios: tuple[str, ...]

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        with ExitStack() as patched:
            for one in self.patches:
                patched.enter_context(one())
            yield


@dataclass(frozen=True, slots=True)
class Found:
    """How many schedules it took to find a mutation, and what was found; nothing if there is no failure."""

    mutation: str
    schedules: int
    failure: Failure | None


def _replaced(target: object, name: str, by: object) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(target, name, by)


def _always_rebase(transaction: Transaction, winner: Version) -> Rebase:
    snapshot = transaction.snapshot
    return Rebase(transaction if snapshot is None else replace(transaction, snapshot=snapshot.advanced([winner])))


def _anonymous(
    store: Any, number: int, snapshot: Snapshot | None, *, winners: Any = commit._winners
) -> Iterator[Version]:
    for version in winners(store, number, snapshot):
        info = structs.replace(version.info, txn_id="0100" + "f" * 28)
        yield Version(version.number, [info, *(a for a in version.actions if not isinstance(a, CommitInfo))], 0)


def _live_only(_: TransactionLog, snapshot: Snapshot, __: object) -> set[str]:
    return set(snapshot.splits["path"].to_pylist())


def _newest_first(*given: Any, expired: Any = cleanup.expired_files, **more: Any) -> list[str]:
    return list(reversed(expired(*given, **more)))


def _one_too_many(files: Any, *_: Any, expired: Any = cleanup.expired_files, **more: Any) -> list[str]:
    found: list[str] = expired(files, *_, **more)
    beyond = [entry.key for number, entry in sorted(files.checkpoints.items())]
    return [*found, *beyond] if found else found


def _without_checkpoint(files: Any, records: Any, *, now: Any, retention: timedelta, **_: Any) -> list[str]:
    limit = (now - retention).timestamp() * 1000
    return [files.commits[m.version].key for m in records if m.timestamp <= limit][:-1]


def _in_far_future(_: TransactionLog, **__: Any) -> datetime:
    return datetime(2200, 1, 1, tzinfo=UTC)


def _lossy_checkpoint(store: Any, snapshot: Snapshot, *, write: Any = log.write_checkpoint, **more: Any) -> int:
    rows = replace(snapshot.rows, splits=snapshot.splits.slice(1))
    size: int = write(store, replace(snapshot, base=rows, pending={}), **more)
    return size


def _lost_is_conflict(store: Any, number: int, content: bytes, *, put: Any = commit._put) -> Any:
    reason = put(store, number, content)
    if reason is None or isinstance(reason, AlreadyExistsError):
        return reason
    raise ConflictError(str(reason), table="t", version=number, operation="", reason="", paths=())


MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "put-if-absent overwrites",
        (_replaced(SimulatedStore, "put_if_absent", SimulatedStore.put),),
        ("Append | Append",),
    ),
    Mutation("every conflict is a rebase", (_replaced(commit, "resolve", _always_rebase),), ("Append | Overwrite",)),
    Mutation("rows that were not seen", (_replaced(conflict, "_unseen_rows", _OFF),), ("Append | ReplaceRegion",)),
    Mutation("splits that others removed", (_replaced(conflict, "_lost_splits", _OFF),), ("Merge | Merge",)),
    Mutation("rows that others deleted", (_replaced(conflict, "_deleted_rows", _OFF),), ("Delete | Delete",)),
    Mutation("vectors beside a merge", (_replaced(conflict, "_deleted_rows", _OFF),), ("Delete | Merge",)),
    Mutation(
        "removes are not carried over to merged splits",
        (_replaced(conflict, "_substitute", lambda removes, _: list(removes)),),
        ("Merge | ReplaceRegion",),
    ),
    Mutation("changes of metadata", (_replaced(conflict, "_metadata", _OFF),), ("SetProperty | SetProperty",)),
    Mutation("a drop is not planned again", (_replaced(conflict, "_without_input", _OFF),), ("Append | Drop",)),
    Mutation(
        "batches that were committed",
        (
            _replaced(conflict, "_application", _OFF),
            _replaced(commit, "_nothing_to_do", lambda transaction, _: not transaction.changes_anything),
        ),
        ("Batch | Batch",),
    ),
    Mutation("own commit is not recognised", (_replaced(commit, "_winners", _anonymous),), ("append, lost answers",)),
    Mutation("a lost answer is a conflict", (_replaced(commit, "_put", _lost_is_conflict),), ("append, lost answers",)),
    Mutation(
        "the table is not verified",
        (_replaced(commit, "verify_table", _OFF), _replaced(log, "verify_log", _OFF)),
        ("Read, Append | Recreate",),
    ),
    Mutation(
        "versions of other tables", (_replaced(Version, "belongs_to", lambda *_: True),), ("Read, Append | Recreate",)
    ),
    Mutation("vacuum: only the newest version", (_replaced(vacuum, "_needed", _live_only),), ("Overwrite | Vacuum",)),
    Mutation("vacuum: nothing is needed", (_replaced(vacuum, "_needed", lambda *_: set()),), ("Append | Vacuum",)),
    Mutation("vacuum: no retention", (_replaced(TransactionLog, "store_now", _in_far_future),), ("Append | Vacuum",)),
    Mutation(
        "clean-up: newest first", (_replaced(log, "expired_files", _newest_first),), ("OpenAt, Append | CleanUp",)
    ),
    Mutation(
        "clean-up: checkpoints too",
        (_replaced(log, "expired_files", _one_too_many),),
        ("Read | Checkpoint, CleanUp",),
    ),
    Mutation(
        "clean-up: without a checkpoint", (_replaced(log, "expired_files", _without_checkpoint),), ("Read | CleanUp",)
    ),
    Mutation(
        "clean-up during a read",
        (_replaced(TransactionLog, "_of_files", lambda self, made_of: made_of(self._files())),),
        ("Read | Checkpoint, CleanUp",),
    ),
    Mutation("clean-up during a commit", (_replaced(commit, "confirm_put", _OFF),), ("OpenAt, Append | CleanUp",)),
    Mutation(
        "files of all failed commits are deleted",
        (_replaced(uncommitted_files, "NOT_COMMITTED", (Exception,)),),
        ("append, two faults",),
    ),
    Mutation(
        "a failed look means a failed commit",
        (_replaced(commit._Doubt, "prevails", lambda _: nullcontext()),),
        ("append, two faults",),
    ),
    Mutation(
        "files of merges in doubt are deleted",
        (_replaced(compact, "sweep", lambda job, log, keep, sweep=compact.sweep: sweep(job, log)),),
        ("merge, two faults",),
    ),
    Mutation(
        "a checkpoint lacks a split", (_replaced(log, "write_checkpoint", _lossy_checkpoint),), ("Read | Checkpoint",)
    ),
)


def hunt(mutation: Mutation, *, seeds: int) -> Found:
    """Looks for a mutation: all schedules of its scenarios, then random ones. Tables are set up without it."""
    named = small()
    schedules = 0
    for simulation in [Simulation.of(named[name]) for name in mutation.scenarios]:
        with mutation.switched_off():
            done = simulation.explore()
        schedules += done.schedules
        if done.failure is not None:
            return Found(mutation.name, schedules, done.failure)
    for seed in range(seeds):
        simulation = Simulation.of(by_chance(seed))
        with mutation.switched_off():
            failure = simulation.at_random(seed)
        schedules += 1
        if failure is not None:
            return Found(mutation.name, schedules, failure)
    return Found(mutation.name, schedules, None)
