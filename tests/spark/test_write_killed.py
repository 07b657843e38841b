"""A driver that is killed in the middle of a write leaves the table as it was, or fully written; so does a full disk.

Each driver is a process of its own with a JVM of its own. What goes wrong there, and when, is told to its Python processes
by files in a directory, which `sitecustomize` looks for. Whoever stops there says so through a pipe in that directory, and
waits for a lock that the test holds.
"""

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from tests.tiers import slow_after

LONG_ENOUGH = 300  # seconds, for a JVM to start on a busy machine

FAULTS = """
import fcntl, os, resource
from pathlib import Path

from indextables.write import write_job as job

faults = Path(os.environ["FAULTS"])


def stop(point):
    if (faults / f"stop at {point}").exists():
        (faults / "told").write_text("stopped")
        with (faults / "held").open() as held:
            fcntl.flock(held, fcntl.LOCK_SH)
            os._exit(1)


def write_task(*args, original=job.write_task, **options):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if (faults / "full disk").exists():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        result = original(*args, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    stop("written")
    return result


def commit_job(*args, original=job.commit_job, **options):
    stop("commit")
    after = original(*args, **options)
    stop("committed")
    return after


job.write_task, job.commit_job = write_task, commit_job
"""

DRIVER = """
import os, sys
from pathlib import Path

from pyspark.sql import SparkSession

import indextables

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
spark = indextables.enable(builder.getOrCreate())
faults, path = Path(os.environ["FAULTS"]), sys.argv[1]


def append():
    frame = spark.range(20, numPartitions=2).selectExpr("id", "id % 2 AS p")
    frame.write.format("indextables").mode("append").option("optimizeWrite.enabled", "false").save(path)


if (faults / "full disk").exists():
    try:
        append()
    except Exception as error:
        (faults / "error").write_text(str(error))
    (faults / "full disk").rename(faults / "no longer full")
append()
"""


@pytest.fixture
def faults(tmp_path: Path) -> Path:
    place = tmp_path / "faults"
    place.mkdir()
    (place / "sitecustomize.py").write_text(FAULTS)
    os.mkfifo(place / "told")
    return place


@contextmanager
def held(faults: Path) -> Iterator[None]:
    """Inside, who has stopped waits; afterwards, a Python worker that outlives the JVM ends."""
    with (faults / "held").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def driver(faults: Path, table: Path) -> "subprocess.Popen[bytes]":
    searched = os.pathsep.join([str(faults), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "FAULTS": str(faults), "PYTHONPATH": searched, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", DRIVER, str(table)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)


def wait_until_stopped(faults: Path, process: "subprocess.Popen[bytes]") -> None:
    told, ended = os.open(faults / "told", os.O_RDWR), os.pidfd_open(process.pid)
    try:
        happened, _, _ = select.select([told, ended], [], [], LONG_ENOUGH)
        assert happened, "the driver is stuck"
        assert told in happened, "the driver has ended by itself"
    finally:
        os.close(told)
        os.close(ended)


def files(table: Path) -> set[str]:
    return {str(file.relative_to(table)) for file in table.rglob("*.split")}


@pytest.mark.parametrize(
    ("point", "rows"), slow_after(1, [("commit", 2), ("written", 2), ("committed", 22)], "more kills")
)
def test_a_driver_that_is_killed(tmp_path: Path, faults: Path, point: str, rows: int) -> None:
    place = tmp_path / "table"
    IndexTable.create(place, pa.schema({"id": pa.int64(), "p": pa.int64()}), partition_by="p").append(
        {"id": [100, 101], "p": [0, 1]}
    )
    before = files(place)
    full = faults / "full disk"
    if point == "committed":
        full.touch()
    (faults / f"stop at {point}").touch()
    with held(faults), driver(faults, place) as process:
        try:
            wait_until_stopped(faults, process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    table = IndexTable.open(place)
    assert (table.version, table.count()) == (1 if rows == 2 else 2, rows)
    assert before < files(place)  # what the dead driver has written lies there, and is in the table only if committed
    assert table.scan().to_arrow().num_rows == rows
    assert table.append({"id": [7], "p": [0]}) == table.version
    assert IndexTable.open(place).count() == rows + 1
    if point == "committed":
        assert "StorageError" in (faults / "error").read_text()
        assert files(place) == set(table.splits()["path"].to_pylist())  # the full disk has left nothing
