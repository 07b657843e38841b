"""Drivers as processes of their own: started, listened to, stopped or killed with everything that they have started."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread

import msgspec

from tests.streams.stream_driver import Event, Orders

ROOT = Path(__file__).parents[2]
LONG_ENOUGH = 300  # seconds, for whatever a driver does on a busy machine
_NOTHING_MORE = 20  # seconds without an event, after which none is expected


class DriverFailedError(AssertionError):
    """A driver ended by itself, or is stuck."""


class Driver:
    """A running driver, and the events that it has told of so far."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process, self._log = process, log
        self._events: list[Event] = []
        self._changed = Condition()
        self._ended = False
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def events(self) -> list[Event]:
        with self._changed:
            return list(self._events)

    def progress(self, query: str | None = None) -> list[Event]:
        """The batches so far; of one query, or of all."""
        return [e for e in self.events if e.kind == "progress" and query in (None, e.query)]

    def log(self) -> str:
        """What the driver and its processes have printed."""
        return self._log.read_text(errors="replace")

    def wait_for(self, kind: str) -> None:
        self.wait_until(lambda events: any(event.kind == kind for event in events), what=kind)

    def wait_until(self, done: Callable[[list[Event]], bool], *, what: str) -> None:
        """Returns when the events are such; a driver that ends before is a failure."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or done(self._events), LONG_ENOUGH)
            if not done(self._events):
                raise self._failure(f"the driver {'ended' if self._ended else 'is stuck'} before it told of {what}")

    def stop(self) -> None:
        """Stops its queries, and waits for the end."""
        self._order("stop")

    def drain(self) -> None:
        """Stops its queries when they have read all that there is, and waits for the end."""
        self._order("drain")

    def finish(self) -> list[Event]:
        """Waits until its queries have ended by themselves; gives all events."""
        with self._changed:
            while not self._ended:
                if not self._changed.wait(LONG_ENOUGH):
                    raise self._failure("the driver is stuck")
        code = self._process.wait()
        if code:
            raise self._failure(f"the driver failed with exit code {code}")
        return self.events

    def pause(self) -> None:
        """Stops all of its processes where they are, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def failed(self) -> bool:
        """Whether it fails by itself; not if nothing happens for some time."""
        with self._changed:
            while not self._ended:
                if not self._changed.wait(_NOTHING_MORE):
                    return False
        return self._process.wait() != 0

    def kill(self) -> bool:
        """Kills it with SIGKILL, with its JVM and all Python processes; whether it was still running."""
        running = self._process.poll() is None
        while self._signal(signal.SIGKILL):
            time.sleep(0.01)
        self._process.wait()
        self._listener.join()
        return running

    def _signal(self, number: signal.Signals) -> bool:
        """Whether there was a process to send it to."""
        pids = processes_of(self._process.pid)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return bool(pids)

    def _order(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        self.finish()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._events.append(msgspec.json.decode(line, type=Event))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _failure(self, text: str) -> DriverFailedError:
        return DriverFailedError(f"{text}; its last lines:\n{self.log()[-6000:]}")


@contextmanager
def driver(orders: Orders, directory: Path, *, log_level: str = "INFO") -> Iterator[Driver]:
    """A driver with a new scratch directory, which is deleted at the end; what is left of the driver then is killed."""
    number = len(list(directory.glob("driver-*.log")))
    log, scratch = directory / f"driver-{number}.log", directory / f"scratch-{number}"
    scratch.mkdir()
    path = os.pathsep.join(map(str, (ROOT, ROOT / "src")))
    own = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(scratch)}
    environment = {**os.environ, **own, "SPARK_LOCAL_DIRS": str(scratch), "INDEXTABLES_LOG": log_level}
    environment.pop("PYSPARK_SUBMIT_ARGS", None)
    with log.open("w") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.streams.stream_driver"],
            cwd=scratch,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            text=True,
            start_new_session=True,
        )
    started = Driver(process, log)
    try:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(orders).decode() + "\n")
        process.stdin.flush()
        yield started
    finally:
        started.kill()
        with suppress(BrokenPipeError):
            process.stdin.close()  # type: ignore[union-attr] # it is a pipe
        process.stdout.close()  # type: ignore[union-attr] # it is a pipe
        shutil.rmtree(scratch, ignore_errors=True)


def processes_of(session: int) -> list[int]:
    """The processes that are alive in a session of the operating system: those of a driver, whatever their group."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        state, _, _, session, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(session)
