"""Executors that are lost during a write: Spark computes parts of the input again, and every row is written once.

The driver is a process of its own with a cluster of two executors. A task of the write that sees that the other executor has
finished one kills that executor. The files of the finished task stay, but the rows that the executor kept for the tasks to
come are gone. Spark computes them again from an input that was shuffled, so that they come in another order.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark
LONG_ENOUGH = 600  # seconds, for a cluster to start and to recover on a busy machine

KILLER = """
import os, signal
from pathlib import Path

faults = Path(os.environ["FAULTS"])


def executor():
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def write_task(*args, original, **options):
    own, finished = executor(), {int(found.name) for found in faults.glob("finished/*")}
    result = original(*args, **options)
    (faults / "finished" / str(own)).touch()
    for other in finished - {own}:
        try:
            (faults / "killed").touch(exist_ok=False)
        except FileExistsError:
            break
        os.kill(other, signal.SIGKILL)
    return result


if (faults / "finished").exists():
    from functools import partial

    from indextables.write import write_job as job

    job.write_task = partial(write_task, original=job.write_task)
"""

DRIVER = """
import json, os, sys
from pathlib import Path

from pyspark.sql import SparkSession

import indextables

faults, table = Path(os.environ["FAULTS"]), sys.argv[1]
environment = {f"spark.executorEnv.{name}": os.environ[name] for name in ("FAULTS", "PYTHONPATH")}
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=environment)
builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
builder = builder.config("spark.sql.adaptive.enabled", "false").config("spark.sql.shuffle.partitions", "4")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
spark = indextables.enable(builder.getOrCreate())
rows = spark.range(300000, numPartitions=8).selectExpr("id", "concat('line ', id) AS message")
shuffled = rows.repartition(6, "message").selectExpr("*", "IF(id < 250000, 'hot', 'cold') AS p")
(faults / "finished").mkdir()


def write(checksums, layout, persisted):
    for key in ("enabled", "enableFullRetryOnMismatch"):
        spark.conf.set(f"spark.sql.shuffle.orderIndependentChecksum.{key}", checksums)
    writer = shuffled.write.format("indextables").option("targetRecordsPerSplit", 30000)
    path = f"{table}-{layout}-{persisted}"
    writer.option("partitionBy", layout).option("optimizeWrite.persistInput", persisted).save(path)
    found = indextables.IndexTable.open(path).scan(columns=["id"]).to_arrow()["id"]
    (faults / "killed").unlink()
    for marker in (faults / "finished").iterdir():
        marker.unlink()
    return [len(found), len(found.unique())]


print(json.dumps([write("false", "", "auto"), write("true", "p", "never")]))
"""


def test_every_row_is_written_once_when_an_executor_is_lost(tmp_path: Path) -> None:
    """With Spark's checksums of shuffles and without: then, nobody would notice. Rows kept on its disk are lost too."""
    (tmp_path / "sitecustomize.py").write_text(KILLER)
    searched = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "FAULTS": str(tmp_path), "PYTHONPATH": searched, "PYSPARK_PYTHON": sys.executable}
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path / "table")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [[300_000, 300_000]] * 2
