"""Processes killed with SIGKILL in the middle of commits, checkpoints and clean-ups."""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import indextables
from indextables.config import Config, MaintenanceConfig
from indextables.log import TransactionLog
from indextables.log.log_files import list_log
from indextables.log.snapshot import initial
from indextables.log.version_file import read_versions
from tests.log.samples import add, append, created, overwriting, paths
from tests.torture.race import processes

COMMITS = 5
_OURS = [str(Path(next(iter(indextables.__path__)), part)) for part in ("storage", "log")]
_CONFIG = Config(maintenance=MaintenanceConfig(checkpoint_interval=2))


class _Countdown:
    """Counts every line of ours that runs; at line number `fatal` the process kills itself."""

    def __init__(self, fatal: int | None) -> None:
        self.lines = 0
        self.fatal = fatal

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not any(frame.f_code.co_filename.startswith(part) for part in _OURS):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def _commit_and_report(table: Path, report: Any, fatal: int | None) -> None:
    """Makes some versions and tells of each when it is done; finally tells how many lines of ours that took."""
    log = TransactionLog.open(table, _CONFIG)
    countdown = _Countdown(fatal)
    threading.settrace(countdown)
    sys.settrace(countdown)
    created(log)
    report.send(0)
    for number in range(1, COMMITS + 1):
        if number == COMMITS - 1:
            report.send(log.commit(overwriting(log.snapshot(), add(f"{number}.split"))).version)
        else:
            report.send(append(log, add(f"{number}.split")).version)
    log.clean_up(retention=timedelta(0))
    sys.settrace(None)
    report.send(("lines", countdown.lines))


def _expected(version: int) -> set[str]:
    """What is live after a version."""
    overwritten = COMMITS - 1 if version >= COMMITS - 1 else 1
    return {f"{number}.split" for number in range(overwritten, version + 1)}


def _verify(table: Path, reported: int, verdict: Any) -> None:
    """The table holds what was reported or one version more, reads the same every way, and can be written."""
    log = TransactionLog.open(table, _CONFIG)
    if not log.exists():
        assert reported == -1, f"version {reported} was reported and there is no table"
        created(log)
        verdict.send("unborn")
        return
    snapshot = log.snapshot()
    assert snapshot.version in {reported, reported + 1}, f"{reported} was reported, {snapshot.version} is there"
    assert paths(snapshot) == _expected(snapshot.version)
    files = list_log(log.store)
    if 0 in files.commits:
        replayed = initial(log.table, read_versions(log.store, files, 0, snapshot.version))
        assert paths(replayed) == paths(snapshot)
    for version in range(files.earliest, files.latest + 1):
        assert paths(log.snapshot(version)) == _expected(version)
    append(log, add("after.split"))
    assert paths(TransactionLog.open(table).snapshot()) == paths(snapshot) | {"after.split"}
    verdict.send("one more" if snapshot.version == reported + 1 else "as reported")


def _run_until_death(table: Path, fatal: int | None, patience: float | None) -> tuple[int, int | None, bool]:
    """The last version that the victim reported, its count of lines if it got to the end, and whether it was killed."""
    reports, report = processes.Pipe(duplex=False)
    victim = processes.Process(target=_commit_and_report, args=(table, report, fatal))
    victim.start()
    report.close()
    if patience is not None:
        reports.poll(None)  # its first version: from here on it is busy committing
        time.sleep(patience)
        victim.kill()
    victim.join()
    version, lines = -1, None
    for message in _messages(reports):
        if isinstance(message, int):
            version = message
        else:
            lines = message[1]
    if victim.exitcode not in {0, -signal.SIGKILL}:
        raise AssertionError(f"the victim died of something else: {victim.exitcode}")
    return version, lines, victim.exitcode != 0


def _messages(reports: Any) -> Iterator[Any]:
    while True:
        try:
            yield reports.recv()
        except EOFError:
            return


def _verdict(table: Path, reported: int) -> str:
    verdicts, verdict = processes.Pipe(duplex=False)
    judge = processes.Process(target=_verify, args=(table, reported, verdict))
    judge.start()
    verdict.close()
    judge.join()
    if judge.exitcode:
        raise AssertionError(f"{table} is not as it should be after version {reported} was reported")
    return str(verdicts.recv())


def kill_at_every_step(directory: Path, kills: int) -> dict[str, int]:
    """Kills a writer at evenly spread lines of our own code; counts how the table was found."""
    _, lines, _ = _run_until_death(directory / "whole", None, None)
    assert lines is not None
    steps = sorted({1 + round(i * (lines - 1) / (kills - 1)) for i in range(kills)})
    found = {"lines of code": lines, "kills": 0}
    for step in steps:
        table = directory / f"line-{step}"
        reported, _, killed = _run_until_death(table, step, None)
        _count(found, _verdict(table, reported), killed=killed)
    return found


def kill_at_any_moment(directory: Path, kills: int) -> dict[str, int]:
    """Kills a writer from outside, at random moments, so that it may be anywhere, even inside a system call."""
    found = {"kills": 0}
    dice = random.Random(0)
    for number in range(kills):
        table = directory / f"moment-{number}"
        reported, _, killed = _run_until_death(table, None, dice.uniform(0, 0.05))
        _count(found, _verdict(table, reported), killed=killed)
    return found


def _count(found: dict[str, int], verdict: str, *, killed: bool) -> None:
    found["kills"] += killed
    found[verdict] = found.get(verdict, 0) + 1
