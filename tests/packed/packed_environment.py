"""The transcript of docs/cluster.md, run: a packed environment, `spark-submit` on a standalone cluster, a table in S3.

`python -m tests.packed.packed_environment` takes the script and the commands from the page, runs them in a new directory,
and compares what they print. It installs packages and starts a cluster of two workers, which takes a minute or two.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.docs.page import ROOT, Block, blocks_of, compare
from tests.packed.standalone_cluster import plain_environment, standalone
from tests.stores.servers import Server, s3_server

PAGE = ROOT / "docs" / "cluster.md"
SCRIPT = "logs.py"
TRANSCRIPTS = ("transcript", "elsewhere", "plain")
_TITLE = "not run by the tests of pages:"
_PROPERTIES = {"spark.ui.enabled": "false", "spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}


def run(directory: Path) -> None:
    """Runs the transcript in a directory; an AssertionError says which command printed something else."""
    (directory / SCRIPT).write_text(shown(f"{_TITLE} {SCRIPT}").text)
    transcripts = [shown(f"{_TITLE} {name}") for name in TRANSCRIPTS]
    with s3_server() as server, standalone(directory / "cluster") as cluster:
        _write_properties(directory / "s3.properties", server)
        known = {
            "SPARK_HOME": str(cluster.home),
            "MASTER": cluster.master,
            "PIP_CONSTRAINT": str(_constraint(directory)),
        }
        for transcript in transcripts:
            for command, expected in commands_of(transcript):
                print(f"$ {command}", flush=True)
                printed, known = _run(command, directory, known)
                print(printed, end="", flush=True)
                assert printed or not expected, (directory / "log").read_text()[-10_000:]
                compare(expected, printed, f"{PAGE.name}:{transcript.line} $ {command}")


def shown(title: str) -> Block:
    """The block of the page with this title."""
    return next(block for block in blocks_of(PAGE) if block.title == title)


def commands_of(transcript: Block) -> list[tuple[str, str]]:
    """Each command, and what it prints; a line that ends with a backslash goes on."""
    parts = transcript.text.removeprefix("$ ").replace("\\\n", "").split("\n$ ")
    return [(command, expected) for command, _, expected in (part.partition("\n") for part in parts)]


def _run(command: str, directory: Path, known: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """What a command prints, and the variables that it leaves behind; what Spark logs goes to the file `log`."""
    with tempfile.NamedTemporaryFile("r", dir=directory) as after, (directory / "log").open("a") as log:
        done = subprocess.run(
            ["bash", "-c", f"{command}\nenv -0 > {after.name}"],
            cwd=directory,
            env={**plain_environment(), **known},
            capture_output=True,
            text=True,
            check=False,
        )
        print(done.stderr, file=log, flush=True)
        assert done.returncode == 0, done.stderr
        variables = dict(pair.split("=", 1) for pair in after.read().split("\0") if pair)
    names = {name for name in variables if name.startswith(("PYSPARK_", "SPARK_", "MASTER", "PIP_"))}
    return done.stdout, {name: variables[name] for name in names}


def _constraint(directory: Path) -> Path:
    """Lets `pip install indextables` take this source tree."""
    wheels = directory / "wheels"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "-w",
        wheels,
        ROOT,
    ]
    subprocess.run(pip, check=True, env={**os.environ, "PYTHONPATH": ""})
    (wheel,) = wheels.glob("*.whl")
    file = directory / "constraints.txt"
    file.write_text(f"indextables @ {wheel.as_uri()}\n")
    return file


def _write_properties(file: Path, server: Server) -> None:
    ours = {f"spark.indextables.{key}": value for key, value in server.options.items()}
    file.write_text("".join(f"{key} {value}\n" for key, value in (_PROPERTIES | ours).items()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="indextables-packed-") as name:
        run(Path(name))
    print("the transcript is true")
