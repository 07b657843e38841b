import gc
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import slowest
from tests.connect.selection import BREADTH, is_of_connect, runs_over_connect, why_not_over_connect
from tests.connect.server import connect_server
from tests.quick import compile_java_once, keep_bytecode, keep_freed_memory, place_for_files
from tests.resume import Resumed
from tests.stores.servers import SECRET, Server, azure_oauth_server, azure_server, missing, s3_server
from tests.stores.token_server import TokenServer
from tests.tiers import Tiers, slow

slow_is_fine = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", max_examples=100, **slow_is_fine)
settings.register_profile("first tier", max_examples=30, **slow_is_fine)
settings.register_profile("few", max_examples=5, **slow_is_fine)
settings.register_profile("full", max_examples=20_000, **slow_is_fine)
# Spark's other manager of checkpoints starts a process, `readlink`, for each file that it looks at.
CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"  # where disks rename
)
# A sixth of the CPU time of tests is Java that Spark generates and compiles for queries that run once. The tests over Spark
# Connect, and all of `make test-all`, run with it.
WITHOUT_CODEGEN = {"spark.sql.codegen.wholeStage": "false"}

LONGEST = ("tests/cluster/", "tests/streams/", "tests/spark/test_stream_")  # each of them takes minutes

keep_bytecode()
keep_freed_memory()
compile_java_once()
if place := place_for_files():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", place)  # where tmp_path is


def pytest_collection_finish() -> None:
    """What has been imported and collected stays until the end: Python need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """At the end it may look again: DuckDB tells of all that is left."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    """Nothing that a run prints, logs or reports may have the secret of the S3 tables in it."""
    report = yield
    if SECRET in "\n".join([report.longreprtext, *(text for _, text in report.sections)]):
        report.outcome, report.sections = "failed", []
        report.longrepr = "a secret was shown; run the test alone with -s and --tb=native, and look for it"
    return report


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is cached or spilled during a run, by child processes too, goes where pytest cleans up."""
    get_temp_dir()  # what multiprocessing keeps until Python ends is not ours to clean up
    os.environ["TMPDIR"] = tempfile.tempdir = str(tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="session")
def s3() -> Iterator[Server]:
    """The one S3 of a test run; tables get their own names in it."""
    if why := missing("s3"):
        pytest.skip(why)
    with s3_server() as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[Server]:
    if why := missing("azure"):
        pytest.skip(why)
    with azure_server() as server:
        yield server


@pytest.fixture(scope="session")
def azure_oauth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, TokenServer]]:
    """Azure storage that a service principal may use, and the server that issues its tokens."""
    if why := missing("azure"):
        pytest.skip(why)
    with azure_oauth_server(tmp_path_factory.mktemp("certificates")) as servers:
        yield servers


@pytest.fixture(params=["s3", "azure"])
def cloud(request: pytest.FixtureRequest) -> Server:
    """Each object store in turn."""
    server: Server = request.getfixturevalue(request.param)
    return server


def pytest_configure(config: pytest.Config) -> None:
    tiers = Tiers(config)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default" if tiers.runs_all else "first tier"))
    config.pluginmanager.register(tiers)
    if config.getoption("--resume"):
        config.pluginmanager.register(Resumed(config))
    slowest.register(config, "connect" if config.getoption("--connect") else "classic")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--connect", action="store_true", help="run the tests of Spark Connect, and no others")
    parser.addoption("--all", action="store_true", help="run the slow tests too")
    parser.addoption("--resume", action="store_true", help="leave out what has passed on the same code")
    parser.addoption("--shuffle", metavar="SEED", help="run the modules of tests in a random order")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A process has classic sessions or those of Spark Connect, and the tests of each kind."""
    if collection_path.is_dir() or collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    applies = (
        runs_over_connect(collection_path) if config.getoption("--connect") else not is_of_connect(collection_path)
    )
    return None if applies else True


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that use the Spark session are marked so. The longest come first: no process waits for them."""
    if config.getoption("--connect"):
        items[:] = [item for item in items if why_not_over_connect(item.nodeid) is None]
        for item in items:
            if BREADTH in item.nodeid:
                item.add_marker(slow("random queries over Spark Connect"))
    else:
        items[:] = [item for item in items if "docs/connect.md" not in item.nodeid]
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    if seed := config.getoption("--shuffle"):
        files = sorted({item.nodeid.partition("::")[0] for item in items})
        place = dict(zip(files, random.Random(seed).sample(range(len(files)), len(files)), strict=True))
        items.sort(key=lambda item: place[item.nodeid.partition("::")[0]])
    else:
        items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one Spark session of a test run; whoever changes a setting sets it back."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need what the tests have
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the tests without a JVM run without PySpark

    if request.config.getoption("--connect"):
        with connect_server() as address:
            session = SparkSession.builder.remote(address).getOrCreate()
            yield session
            session.stop()  # while there is a server: PySpark would look for it until Python ends
        return
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("indextables tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.checkpointFileManagerClass", CHECKPOINT_FILES)
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.python.task.killTimeout", "300ms")  # an aborted write waits for it
        .config("spark.log.level", "ERROR")
    )
    if not request.config.getoption("--all"):
        builder = builder.config(map=WITHOUT_CODEGEN)
    session = builder.getOrCreate()
    yield session
    session.stop()


def tidied(session: Any) -> None:
    """Takes back the views and tables that tests have put into the catalog of the one session."""
    for table in session.catalog.listTables():
        if table.isTemporary:
            session.catalog.dropTempView(table.name)
        else:
            session.sql(f"DROP {'VIEW' if table.tableType == 'VIEW' else 'TABLE'} `{table.name}`")
