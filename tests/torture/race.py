"""Many processes on one table: nothing is lost, and the outcome is that of some serial order."""

import multiprocessing
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConflictError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.log_files import list_log
from indextables.log.splits import removes_for
from indextables.log.transaction import everything, nothing
from indextables.log.version_file import read_versions
from tests.log.samples import add, append, created, paths

REGIONS = ("eu", "us", "asia")
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.torture.race", "tests.torture.crash"])


def in_parallel(work: Callable[..., None], arguments: list[tuple[Any, ...]]) -> None:
    """Runs the work in one process each; all start at the same moment, and none may fail."""
    start = processes.Barrier(len(arguments))
    workers = [processes.Process(target=_when_all_are_ready, args=(start, work, given)) for given in arguments]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    failed = [worker.exitcode for worker in workers if worker.exitcode]
    if failed:
        raise AssertionError(f"{len(failed)} of {len(workers)} processes failed")


def _when_all_are_ready(start: Any, work: Callable[..., None], given: tuple[Any, ...]) -> None:
    start.wait()
    work(*given)


def append_from_many_processes(table: Path, workers: int, appends: int) -> int:
    """The number of versions after the first, once every one of them has been checked."""
    log = TransactionLog.open(table)
    created(log)
    in_parallel(_append, [(table, worker, appends) for worker in range(workers)])
    files, expected = list_log(log.store), workers * appends
    assert sorted(files.commits) == list(range(expected + 1))
    versions = read_versions(log.store, files, 1, expected)
    assert all(len(version.adds) == 1 and version.info.txn_id for version in versions)
    assert len({version.info.txn_id for version in versions}) == expected
    wanted = {f"{worker}-{number}.split" for worker in range(workers) for number in range(appends)}
    assert paths(TransactionLog.open(table).snapshot()) == wanted
    return expected


def _append(table: Path, worker: int, appends: int) -> None:
    log = TransactionLog.open(table)
    for number in range(appends):
        append(log, add(f"{worker}-{number}.split"))


def mix_operations(table: Path, workers: int, operations: int) -> dict[str, int]:
    """How many operations of each kind were committed, once the outcome equals their serial execution."""
    log = TransactionLog.open(table)
    created(log)
    in_parallel(_operate, [(table, worker, operations) for worker in range(workers)])
    files = list_log(log.store)
    assert sorted(files.commits) == list(range(workers * operations + 1))
    live: dict[str, str] = {}
    done: dict[str, int] = {}
    for version in read_versions(log.store, files, 1, files.latest):
        _apply_serially(live, version.info.operation_parameters, {a.path: a.partition_values for a in version.adds})
        assert paths(log.snapshot(version.number)) == live.keys(), f"version {version.number} is not serial"
        done[version.info.operation] = done.get(version.info.operation, 0) + 1
    assert paths(TransactionLog.open(table).snapshot()) == live.keys()
    return done


def _apply_serially(live: dict[str, str], intent: Any, added: Any) -> None:
    """What the operation means, done on a plain dict of path to region."""
    gone = {"append": (), "overwrite": REGIONS, "replace": (intent["region"],)}[intent["kind"]]
    for path in [path for path, region in live.items() if region in gone]:
        del live[path]
    live.update({path: values["region"] for path, values in added.items()})


def _operate(table: Path, worker: int, operations: int) -> None:
    log, dice = TransactionLog.open(table), random.Random(worker)
    for number in range(operations):
        kind, region = dice.choices(["append", "replace", "overwrite"], [6, 3, 1])[0], dice.choice(REGIONS)
        while True:
            try:
                log.commit(_planned(log.snapshot(), kind, region, f"{worker}-{number}-{kind}.split"))
                break
            except ConflictError:
                continue


def _planned(snapshot: Snapshot, kind: str, region: str, path: str) -> Transaction:
    regions = pc.struct_field(snapshot.splits["partition"], ["region", "value"])
    doomed = {
        "append": snapshot.splits.slice(0, 0),
        "overwrite": snapshot.splits,
        "replace": snapshot.splits.filter(pc.equal(regions, region)),
    }[kind]

    def in_region(splits: pa.Table) -> bool:
        return region in pc.struct_field(splits["partition"], ["region", "value"]).to_pylist()

    return Transaction(
        operation={
            "append": Operation.APPEND,
            "overwrite": Operation.OVERWRITE,
            "replace": Operation.REPLACE_WHERE,
        }[kind],
        snapshot=snapshot,
        reads={"append": nothing, "overwrite": everything, "replace": in_region}[kind],
        removes=removes_for(doomed, snapshot.metadata, deletion_timestamp=snapshot.timestamp + 1),
        adds=[add(path, region=region)],
        parameters={"kind": kind, "region": region},
    )
