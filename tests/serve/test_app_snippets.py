"""The code that the search page offers gives the rows that the page shows."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from indextables import IndexTable
from indextables.cli.app import app
from tests.serve.app_client import SCHEMA, Client, made_rows, running

COLUMNS = ["big", "odd, `name`", "message"]
STATES: list[dict[str, Any]] = [
    {},
    {"sort": "-time", "size": 7},
    {"q": "disk", "sort": "score", "size": 500},
    {"q": "disk", "sort": '["host","desc"]', "size": 60},
    {"sort": '["odd, `name`"]', "offset": 50, "size": 30},
    {"q": "-connection", "is": '["level","ERROR"]', "offset": 3, "size": 4},
    {"q": 'message:"disk full" OR level:WARN', "where": "status >= 404 AND price < 20"},
    {"is": ['["level",null]', '["level","INFO"]'], "not": '["host","web-2"]', "version": 2},
    {"is": """["odd, `name`","it's \\\\ 100% \\"odd\\""]"""},
    {"from": "2024-01-31T12:30:00Z", "to": "2024-01-31T13:00:00Z", "not": '["ok",null]', "sort": "score"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Rows with a time each, so that there is one order."""
    schema = pa.schema([field for field in SCHEMA if field.name != "ratio"]).append(
        pa.field("odd, `name`", pa.string())
    )
    own = IndexTable.create(tmp_path_factory.mktemp("snippets") / "it's `logs`", schema, fields={"message": "text"})
    for first in (0, 60, 120):
        rows = [{**row, "ts": row["ts"] and row["ts"].replace(second=n)} for n, row in enumerate(made_rows(first, 60))]
        odd = ['it\'s \\ 100% "odd"', None, "plain"]
        own.append(pa.Table.from_pylist([{**row, "odd, `name`": odd[n % 3]} for n, row in enumerate(rows)], schema))
    own.delete("ts IS NULL")
    with running(own) as client:
        yield client


def shown(client: Client, state: dict[str, Any]) -> list[list[str]]:
    """What the view shows from its first row to the last one of the page."""
    size = int(state.get("size", 50)) + int(state.get("offset", 0))
    rows = client.get("/view.json", **{**state, "offset": 0, "size": size, "columns": json.dumps(COLUMNS)})
    return in_any_order([[str(row[name]) for name in COLUMNS] for row in rows], state)


def in_any_order(rows: list[list[str]], state: dict[str, Any]) -> list[list[str]]:
    """Spark orders rows of equal scores as it likes."""
    return sorted(rows) if state.get("sort") == "score" else rows


def code(client: Client, state: dict[str, Any], kind: str) -> str:
    return str(client.get("/api/snippets", **{"columns": json.dumps(COLUMNS), **state})[kind])


@pytest.mark.parametrize("state", STATES, ids=str)
def test_python_gives_the_rows_of_the_view(client: Client, state: dict[str, Any]) -> None:
    names: dict[str, Any] = {}
    exec(code(client, state, "python"), names)
    rows = names["rows"].select(COLUMNS).to_pylist()
    assert in_any_order([[str(row[name]) for name in COLUMNS] for row in rows], state) == shown(client, state)
    assert rows


@pytest.mark.parametrize("state", STATES, ids=str)
def test_a_command_gives_the_rows_of_the_view(client: Client, state: dict[str, Any]) -> None:
    program, *words = shlex.split(code(client, {**state, "columns": None}, "cli"))
    assert program == "indextables"
    result = CliRunner().invoke(app, [words[0], "--json", *words[1:]])
    assert result.exit_code == 0, result.output
    rows = [[str(row[name]) for name in COLUMNS] for row in json.loads(result.output)]
    assert in_any_order(rows, state) == shown(client, state)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_sql_gives_the_rows_of_the_view(client: Client, spark: Any, state: dict[str, Any]) -> None:
    from indextables import enable  # noqa: PLC0415 - the tests without a JVM run without PySpark

    rows = enable(spark).sql(code(client, state, "sql")).collect()
    assert in_any_order([[str(value) for value in row] for row in rows], state) == shown(client, state)


def test_a_path_stays_as_it_is(tmp_path: Path) -> None:
    own = IndexTable.create(tmp_path / "t", {"n": pa.int64()})
    with running(own) as client:
        assert f"IndexTable.open({own.path!r})" in code(client, {"columns": None}, "python")
