"""The command `indextables serve`, and queries that end."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from indextables import IndexTable
from indextables.cli.app import app
from indextables.serve import server
from indextables.serve.query_threads import Cancellation, QueryEndedError, QueryThreads, TooManyQueriesError
from tests.serve.app_client import running

COMMAND = [sys.executable, "-c", "from indextables.cli.app import main; main()", "serve", "--no-open"]


def make_table(path: Path) -> str:
    IndexTable.create(path, {"at": pa.date32(), "n": pa.int64()})
    return str(path)


def test_the_command_prints_an_address_that_answers_until_ctrl_c(tmp_path: Path) -> None:
    paths = [make_table(tmp_path / "a" / "logs"), make_table(tmp_path / "b" / "logs")]
    with subprocess.Popen(
        [*COMMAND, "--json", *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["address"].startswith("http://127.0.0.1:")
        assert said["address"].endswith(f"/?token={said['token']}")
        api = said["address"].partition("/?")[0] + "/api/tables"
        with urlopen(Request(api, headers={"Authorization": f"Bearer {said['token']}"})) as answer:
            assert [table["id"] for table in json.load(answer)] == ["logs", "logs-2"]
        with pytest.raises(HTTPError, match="401"):
            urlopen(api)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{missing}"], "no table"),
        (["{table}", "{missing}"], "no table"),
        (["{table}", "--time", "n"], "--time n is a column of type long; name a timestamp or a date"),
        (["{table}", "--time", "when"], "there is no column 'when'"),
        (["{table}", "--host", "host.invalid"], "give another --host or --port"),
    ],
)
def test_what_cannot_be_served_is_refused_first(tmp_path: Path, arguments: list[str], message: str) -> None:
    names = {"table": make_table(tmp_path / "t"), "missing": str(tmp_path / "missing")}
    result = CliRunner().invoke(app, ["serve", "--no-open", *(word.format(**names) for word in arguments)])
    assert result.exit_code == 1
    assert message in result.output
    assert "http://" not in result.output


def test_a_table_that_is_given_twice_has_two_ids(tmp_path: Path) -> None:
    table = IndexTable.open(make_table(tmp_path / "t"))
    with running(table, table) as client:
        assert client.get("/api/table", table="t-2")["timeColumn"] == "at"


def test_the_usual_port_is_left_to_a_server_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = IndexTable.open(make_table(tmp_path / "t"))
    with running(table, port=0) as other:
        usual = other.bound.access.port  # any other: tests of another process may have the real one
        monkeypatch.setattr(server, "USUAL_PORT", usual)
        with running(table) as second:
            assert second.bound.access.port != usual
    with running(table) as alone:
        assert alone.bound.access.port == usual


def test_a_query_ends_when_its_client_goes() -> None:
    threads, began = QueryThreads(threads=1, waiting=1), Event()

    def endless(query: Cancellation) -> None:
        began.set()
        while True:
            query.check()

    async def run() -> None:
        async def soon() -> None:
            await asyncio.to_thread(began.wait)

        with pytest.raises(QueryEndedError, match="cancelled"):
            await threads.run(endless, soon)

    asyncio.run(run())
    threads.close()


def test_a_query_that_takes_too_long_ends() -> None:
    with pytest.raises(QueryEndedError, match="took longer than .* seconds; narrow it"):
        Cancellation(-1).check()


def test_only_so_many_queries_wait() -> None:
    threads, end = QueryThreads(threads=1, waiting=1), Event()

    async def never() -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        first, second = (asyncio.create_task(threads.run(lambda _: end.wait(), never)) for _ in range(2))
        await asyncio.sleep(0)
        with pytest.raises(TooManyQueriesError):
            await threads.run(lambda _: None, never)
        end.set()
        assert await asyncio.gather(first, second) == [True, True]
        assert await threads.run(lambda _: "again", never) == "again"

    asyncio.run(run())
    threads.close()
