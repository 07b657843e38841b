"""Drivers killed or paused at any moment while a stream writes; the next one goes on with the same checkpoint."""

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, islice
from pathlib import Path

import msgspec

from indextables.config import Config
from indextables.log import TransactionLog
from indextables.log.log_files import list_log
from indextables.storage import open_store
from tests.cluster.driver import Place
from tests.streams.checkpoint_files import batches_begun, batches_finished, query_id
from tests.streams.driver_process import Driver, driver
from tests.streams.json_input import SCHEMA, JsonInput
from tests.streams.stream_driver import Orders, StreamJob
from tests.streams.table_checks import TableFigures, check_table

_FILES_PER_START = 8
_KILLS_PER_CASE = 8
_AFTER_BATCH = 1.5  # seconds after the first batch of a driver, at most
_AFTER_START = 4.0  # seconds after its session is there: during the first batch


class Moment(StrEnum):
    """What a killed driver leaves to the next one."""

    NOTHING = "between batches"
    UNCOMMITTED = "in a batch, before its commit"
    COMMITTED = "in a batch, after its commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class KillCase:
    """How a stream writes while its drivers are killed."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True


_SMALL_FILES = {"partitionBy": "p", "streaming.collectSize": "0", "targetRecordsPerSplit": "10"}
_MERGING = {"mergeOnWrite.minSplits": "3"}
CASES = (
    KillCase(name="plain", enabled=False),
    KillCase(name="partitioned, small splits", options=_SMALL_FILES),
    KillCase(name="merged in the background", options=_MERGING),
    KillCase(name="partitioned and merged", options={"partitionBy": "p", **_MERGING}, enabled=False),
)


@dataclass(frozen=True, slots=True)
class KillFigures:
    kills: int
    moments: Mapping[Moment, int]
    table: TableFigures

    def __str__(self) -> str:
        moments = ", ".join(f"{count} {moment}" for moment, count in self.moments.items())
        return f"{self.kills} drivers ({moments}): {self.table}"


def planned(kills: int) -> Iterator[tuple[KillCase, int]]:
    """Cases with their shares of so many kills; every case at least once, if there are enough."""
    rounds = max(1, -(-kills // _KILLS_PER_CASE))
    chosen = list(islice(cycle(CASES), rounds))
    for number, case in enumerate(chosen):
        yield case, kills // rounds + (number < kills % rounds)


def kill_streams(directory: Path, place: Place, case: KillCase, *, kills: int, seed: int = 0) -> KillFigures:
    """Kills so many drivers of one stream, lets the last one finish, and checks the table."""
    directory.mkdir(parents=True)
    dice, rows = random.Random(f"{seed} {place.name} {case.name}"), JsonInput(directory)
    job = _job(directory, rows, place, case)
    moments: Counter[Moment] = Counter()
    while moments.total() < kills:
        rows.add_files(_FILES_PER_START)
        with driver(Orders(jobs=(job,), enabled=case.enabled), directory) as running:
            if dice.random() < 0.3:
                _wait_in_first_batch(running, dice)
            else:
                _wait_in_later_batch(running, job, place, dice)
            assert running.kill(), f"the driver ended by itself:\n{running.log()[-6000:]}"
        moments[moment_of(job, place.options)] += 1
    _finish(directory, job, case)
    return KillFigures(kills, dict(moments), check_table(job.table, place.options, rows.ids))


def _wait_in_first_batch(running: Driver, dice: random.Random) -> None:
    running.wait_for("session")
    time.sleep(dice.uniform(0, _AFTER_START))


def _wait_in_later_batch(running: Driver, job: StreamJob, place: Place, dice: random.Random) -> None:
    """Until some time after the first batch; every other time right after a commit of the table, before Spark's."""
    running.wait_for("progress")
    time.sleep(dice.uniform(0, _AFTER_BATCH))
    if dice.random() < 0.5:
        store = open_store(job.table, Config.resolve(place.options))
        before, until = list_log(store).latest, time.monotonic() + _AFTER_START
        while list_log(store).latest == before and time.monotonic() < until:
            time.sleep(0.001)


def pause_streams(directory: Path, *, pauses: int, seed: int = 0) -> KillFigures:
    """Pauses so many drivers, lets another one take over and finish, and wakes the first one: it is too late."""
    directory.mkdir(parents=True)
    place, case = Place("local", str(directory)), KillCase(name="paused", options=_SMALL_FILES)
    dice, rows = random.Random(seed), JsonInput(directory)
    job = _job(directory, rows, place, case)
    moments: Counter[Moment] = Counter()
    while moments.total() < pauses:
        rows.add_files(_FILES_PER_START)
        with driver(Orders(jobs=(job,)), directory) as paused:
            _wait_in_later_batch(paused, job, place, dice)
            paused.pause()
            moments[moment_of(job, place.options)] += 1
            rows.add_files(_FILES_PER_START)
            _finish(directory, job, case)
            paused.resume()
            assert paused.failed(), "two drivers of one query run at the same time, and none of them fails"
    return KillFigures(pauses, dict(moments), check_table(job.table, place.options, rows.ids))


def _job(directory: Path, rows: JsonInput, place: Place, case: KillCase) -> StreamJob:
    return StreamJob(
        name="killed",
        source="json",
        source_options={"maxFilesPerTrigger": "1"},
        path=str(rows.path),
        schema=SCHEMA,
        table=place.new_table(),
        options={**place.options, "indexing.typemap.message": "text", **case.options},
        checkpoint=str(directory / "checkpoint"),
    )


def _finish(directory: Path, job: StreamJob, case: KillCase) -> None:
    """Another driver, which reads all that there is."""
    quicker = {**job.source_options, "maxFilesPerTrigger": "4"}
    last = msgspec.structs.replace(job, source_options=quicker, trigger={"availableNow": True})
    with driver(Orders(jobs=(last,), enabled=case.enabled), directory) as running:
        running.finish()


def moment_of(job: StreamJob, options: Mapping[str, str]) -> Moment:
    """Where in a batch the driver was, by Spark's checkpoint and the log of the table."""
    begun = max(batches_begun(job.checkpoint), default=-1)
    if begun == max(batches_finished(job.checkpoint), default=-1):
        return Moment.NOTHING
    return Moment.COMMITTED if last_batch(job, options) == begun else Moment.UNCOMMITTED


def last_batch(job: StreamJob, options: Mapping[str, str]) -> int | None:
    """The last batch of the query that the table has."""
    log = TransactionLog.open(job.table, Config.resolve(options))
    txn = log.snapshot().txns.get(query_id(job.checkpoint) or "") if log.exists() else None
    return txn.version if txn else None
