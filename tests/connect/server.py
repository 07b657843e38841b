"""A Spark Connect server on loopback, in a process of its own, as it is beside any client."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.class_archive import java_flags

CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(r"Spark Connect server started at: .*?:(\d+)")
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def connect_server(*, master: str = "local[2]", **settings: str) -> Iterator[str]:
    """The address of a server, `sc://127.0.0.1:<port>`, which ends with the block."""
    import pyspark  # noqa: PLC0415 - the tests without a JVM run without PySpark

    home = Path(pyspark.__file__).parent
    with tempfile.TemporaryDirectory(prefix="indextables-connect-") as place:
        given = {**SETTINGS, "spark.sql.warehouse.dir": f"{place}/warehouse", **settings}
        arguments = [part for key, value in given.items() for part in ("--conf", f"{key}={value}")]
        java = ["--driver-java-options", java_flags()]
        command = [
            home / "bin" / "spark-submit",
            "--master",
            master,
            *java,
            *arguments,
            "--class",
            CLASS,
            "spark-internal",
        ]
        environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
        environment.pop("PYSPARK_SUBMIT_ARGS", None)
        with (
            (Path(place) / "log").open("w+") as log,
            subprocess.Popen(
                command, env=environment, cwd=place, stdout=log, stderr=subprocess.PIPE, text=True
            ) as server,
        ):
            try:
                yield f"sc://127.0.0.1:{_port(server)}"
            finally:
                server.kill()


def _port(server: "subprocess.Popen[str]") -> int:
    """The port that the server says it has; its error if it ends before."""
    said = []
    for line in server.stderr or ():
        said.append(line)
        if (found := STARTED.search(line)) is not None:
            _drain(server)
            return int(found[1])
    raise RuntimeError("the Spark Connect server did not start:\n" + "".join(said))


def _drain(server: "subprocess.Popen[str]") -> None:
    """Reads on what the server says, so that it never waits for a reader."""
    import threading  # noqa: PLC0415

    threading.Thread(target=lambda: [None for _ in server.stderr or ()], daemon=True).start()
