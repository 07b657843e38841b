"""A Spark standalone cluster on loopback: a master and two workers, from the PySpark that is installed.

Each worker has its own directories: work, shuffle files, temporary files, and so the cache of indexes. Driver and executors
share the table and nothing else. Each has an address of its own too: Spark does not run a task twice on the same host. All
processes end with the one that started them, however that ends.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pyspark

MARK = "INDEXTABLES_TEST_CLUSTER"  # in the environment of every process of a cluster
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compiles quickly instead of well, see tests/quick.py
_SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_UNTIL_STDIN_ENDS = (
    'exec 3<&0; "$@" & served=$!; echo $served; { cat <&3; kill $served; } > /dev/null 2>&1 & wait $served'
)
_MASTER_ADDRESS = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_REGISTERED = re.compile(r"(Successfully registered with master)")
_LONG_ENOUGH = 120  # seconds, for processes to end on a busy machine


@dataclass(frozen=True, slots=True)
class Cluster:
    """The address of the master, the process ids of the workers, and where everything of the cluster is."""

    master: str
    workers: tuple[int, ...]
    directory: Path

    def executors(self) -> list[int]:
        """The process ids of the executors that are alive."""
        return [pid for pid in _pids() if _parent(pid) in self.workers and _is_executor(pid)]


@contextmanager
def standalone_cluster(*, workers: int = 2) -> Iterator[Cluster]:
    """A cluster of workers with one core each. Its directory is deleted at the end; after a failure it is kept."""
    directory = Path(tempfile.mkdtemp(prefix="indextables-cluster-"))
    try:
        with ExitStack() as stack:
            _, master = stack.enter_context(_master(directory / "master"))
            pids = tuple(stack.enter_context(_worker(directory, master, number)) for number in range(workers))
            yield Cluster(master, pids, directory)
        left = _wait_for_end(_processes_of(directory))
        assert not left, f"{len(left)} processes of the cluster were left behind: {left}"
    except BaseException:
        print(f"the logs of the cluster are kept in {directory}", flush=True)
        _kill(_processes_of(directory))
        raise
    shutil.rmtree(directory)


def kill_process(pid: int) -> bool:
    """Kills a process with SIGKILL and waits for its end; whether it was there."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        select.select([descriptor], [], [])
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextmanager
def _master(place: Path) -> Iterator[tuple[int, str]]:
    with _daemon(place, ["master.Master", "--port", "0"], {}, _MASTER_ADDRESS) as started:
        yield started


@contextmanager
def _worker(directory: Path, master: str, number: int) -> Iterator[int]:
    place = directory / f"worker-{number}"
    for part in ("tmp", "local"):
        (place / part).mkdir(parents=True)
    own = {"TMPDIR": str(place / "tmp"), "SPARK_LOCAL_DIRS": str(place / "local")}
    arguments = ["--cores", "1", "--memory", "1g", "--work-dir", str(place / "work"), master]
    host = f"127.0.0.{number + 2}"
    with _daemon(place, ["worker.Worker", *arguments], own, _REGISTERED, host=host) as (pid, _):
        yield pid


@contextmanager
def _daemon(
    place: Path,
    role: Sequence[str],
    environment: Mapping[str, str],
    ready: re.Pattern[str],
    *,
    host: str = "127.0.0.1",
) -> Iterator[tuple[int, str]]:
    """A daemon of Spark: its process id, and what its log says when it is ready."""
    place.mkdir(exist_ok=True)
    name, *arguments = role
    command = [_SPARK_CLASS, f"org.apache.spark.deploy.{name}", "--host", host, "--webui-port", "0", *arguments]
    own = {MARK: str(place.parent), "SPARK_DAEMON_MEMORY": "512m", "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA, **environment}
    with subprocess.Popen(
        ["sh", "-c", _UNTIL_STDIN_ENDS, "sh", *command],
        env={**os.environ, **own},
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        with (place / "log").open("w") as log:
            said = _copy_until(ready, process.stdout, log)
            copier = threading.Thread(target=log.writelines, args=[process.stdout], daemon=True)
            copier.start()
            try:
                yield pid, said
            finally:
                process.stdin.close()
                process.wait(_LONG_ENOUGH)
                copier.join()


def _copy_until(ready: re.Pattern[str], output: TextIO, log: TextIO) -> str:
    for line in output:
        log.write(line)
        log.flush()
        if found := ready.search(line):
            return found[1]
    raise AssertionError(f"a daemon of Spark did not start; see {log.name}")


def _processes_of(directory: Path) -> list[int]:
    mark = f"{MARK}={directory}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and mark in _read(pid, "environ").split(b"\0")]


def _wait_for_end(pids: Iterable[int]) -> list[str]:
    """The command lines of processes that do not end."""
    left = []
    for pid in pids:
        command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            ended, _, _ = select.select([descriptor], [], [], _LONG_ENOUGH)
            os.close(descriptor)
            if not ended:
                left.append(command)
    return left


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        kill_process(pid)


def _is_executor(pid: int) -> bool:
    return b"CoarseGrainedExecutorBackend" in _read(pid, "cmdline")


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _parent(pid: int) -> int | None:
    status = _read(pid, "stat").rpartition(b")")[2].split()
    return int(status[1]) if status and status[0] != b"Z" else None


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
