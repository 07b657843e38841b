"""A standalone Spark cluster on loopback: a master, and workers with a host, a directory and a cache of their own."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_UNTIL_STDIN_ENDS = 'exec 3<&0; "$@" & served=$!; { cat <&3; kill $served; } > /dev/null 2>&1 & wait $served'
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_PLAIN = ("PATH", "HOME", "JAVA_HOME", "LANG")
HOSTS = ("127.0.0.1", "127.0.0.2")  # two machines, to Spark


@dataclass(frozen=True, slots=True)
class Cluster:
    """`home` is the SPARK_HOME of all its processes; a worker's files are below `directory`, under the name of its host."""

    master: str
    home: Path
    directory: Path

    def temporary_files(self, host: str) -> Path:
        """Where the Python processes of a worker keep caches."""
        return self.directory / host / "tmp"


@contextmanager
def standalone(
    directory: Path, *, hosts: Sequence[str] = HOSTS, cores: int = 1, environment: Mapping[str, str] | None = None
) -> Iterator[Cluster]:
    """A running cluster. Its processes end with the block, or with this process; workers see `environment` and no more."""
    home = spark_home()
    with ExitStack() as stack:
        where = directory / "master"
        command = [_MASTER, "--host", HOSTS[0], "--port", "0", "--webui-port", "0"]
        match = stack.enter_context(_running(home, command, where, r"Starting Spark master at (spark://\S+)", {}))
        cluster = Cluster(match[1], home, directory)
        for host in hosts:
            cluster.temporary_files(host).mkdir(parents=True)
            own = {**(environment or {}), "TMPDIR": str(cluster.temporary_files(host))}
            resources = ["--cores", str(cores), "--memory", "1g", "--webui-port", "0", "--work-dir", f"{where}-{host}"]
            command = [_WORKER, "--host", host, *resources, cluster.master]
            stack.enter_context(_running(home, command, directory / host, "Successfully registered with master", own))
        yield cluster


def spark_home() -> Path:
    """Where pip has put Spark."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def plain_environment() -> dict[str, str]:
    """The environment without what the tests add to it, such as PYTHONPATH."""
    return {name: os.environ[name] for name in _PLAIN if name in os.environ}


@contextmanager
def _running(
    home: Path, command: Sequence[str], where: Path, ready: str, environment: Mapping[str, str]
) -> Iterator[re.Match[str]]:
    """Starts a class of Spark's, and waits for a line of its log."""
    where.mkdir(parents=True, exist_ok=True)
    own = {"SPARK_HOME": str(home), "SPARK_DAEMON_JAVA_OPTS": _FLAGS, "SPARK_DAEMON_MEMORY": "256m"}
    with subprocess.Popen(
        ["sh", "-c", _UNTIL_STDIN_ENDS, "sh", str(home / "bin" / "spark-class"), *command],
        cwd=where,
        env={**plain_environment(), **own, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        match = _found(process, ready)
        drain = threading.Thread(target=process.stdout.read, daemon=True)
        drain.start()
        try:
            yield match
        finally:
            process.stdin.close()
            process.wait()
            drain.join()


def _found(process: "subprocess.Popen[str]", ready: str) -> re.Match[str]:
    lines: list[str] = []
    for line in process.stdout or ():
        lines.append(line)
        if match := re.search(ready, line):
            return match
    raise AssertionError(f"{process.args} did not start:\n{''.join(lines)}")


def main() -> None:
    """Runs a cluster in this directory until stdin ends, for trying things out."""
    with standalone(Path.cwd() / "cluster") as cluster:
        print(cluster.master, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
