"""The server: every answer is what a scan and plain Python give, and nobody without the token gets one."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables import IndexTable
from tests.serve.app_client import SCHEMA, Client, Row, made_rows, running


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """Four splits that overlap in time, one of them with deleted rows."""
    path = tmp_path_factory.mktemp("served") / "web logs"
    made = IndexTable.create(path, SCHEMA, fields={"message": "text"})
    for first in (0, 40, 30, 200):
        made.append(pa.Table.from_pylist(made_rows(first, 60), SCHEMA))
    made.delete("host = 'web-3' AND status = 200")
    return made


@pytest.fixture(scope="module")
def client(table: IndexTable) -> Iterator[Client]:
    with running(table) as client:
        yield client


class State:
    """A state as the page sends it, and the rows that it means, by plain Python."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters

    def rows(self, table: IndexTable) -> list[Row]:
        given = self.parameters
        at = table if given.get("version") is None else table.at(version=given["version"])
        found = at.scan(query=given.get("q"), where=given.get("where")).to_arrow().to_pylist()
        return [row for row in found if self.keeps(row)]

    def keeps(self, row: Row, *, own: str | None = None) -> bool:
        included: dict[str, list[Any]] = {}
        for column, value in map(json.loads, self.parameters.get("is", [])):
            included.setdefault(column, []).append(value)
        kept = all(row[column] in values for column, values in included.items() if column != own)
        gone = any(row[column] == value for column, value in map(json.loads, self.parameters.get("not", [])))
        return kept and not gone and self.in_time(row)

    def in_time(self, row: Row) -> bool:
        start, end = self.parameters.get("from"), self.parameters.get("to")
        after = start is None or (row["ts"] is not None and row["ts"] >= datetime.fromisoformat(start))
        return after and (end is None or (row["ts"] is not None and row["ts"] < datetime.fromisoformat(end)))


FILTERS = [["level", "ERROR"], ["level", "INFO"], ["level", None], ["host", "web-2"], ["ok", True], ["status", 500]]
STATES = st.fixed_dictionaries(
    {},
    optional={
        "q": st.sampled_from(["disk", "message:disk AND NOT level:INFO", "connection OR fine", "level:WARN"]),
        "where": st.sampled_from(["status >= 404", "price < 20 OR ok", "message IS NULL"]),
        "from": st.sampled_from(["2024-01-31T12:30:00Z", "2024-01-31T14:00:00Z"]),
        "to": st.sampled_from(["2024-01-31T13:00:00Z", "2024-01-31T15:21:00Z"]),
        "is": st.lists(st.sampled_from(FILTERS).map(json.dumps), max_size=2, unique=True),
        "not": st.lists(st.sampled_from(FILTERS).map(json.dumps), max_size=2, unique=True),
        "version": st.sampled_from([0, 2, 4, 5]),
    },
).map(State)


def as_shown(row: Row) -> Row:
    """Some values of a row as the API has them."""
    ratio = row["ratio"]
    return {
        "ts": None if row["ts"] is None else row["ts"].isoformat().replace("+00:00", "Z"),
        "level": row["level"],
        "big": str(row["big"]) if row["big"] > 2**53 else row["big"],
        "price": str(row["price"]),
        "ratio": "NaN" if ratio != ratio else "Infinity" if ratio == float("inf") else ratio,  # noqa: PLR0124
        "raw": row["raw"].hex(),
        "message": row["message"],
    }


def shuffled(rows: list[Row]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


@settings(deadline=None, max_examples=60)
@given(state=STATES, sort=st.sampled_from(["time", "-time", "score"]), size=st.sampled_from([1, 7, 500]))
def test_every_answer_is_that_of_a_scan(client: Client, table: IndexTable, state: State, sort: str, size: int) -> None:
    rows = state.rows(table)
    columns = json.dumps(["ts", "level", "big", "price", "ratio", "raw", "message"])
    pages = [
        client.get("/api/hits", **state.parameters, sort=sort, size=size, offset=offset, columns=columns)
        for offset in range(0, max(1, min(len(rows), 5 * size)), size)
    ]
    hits = [hit["values"] for page in pages for hit in page["rows"]]
    wanted = len(rows) if size == 500 else min(len(rows), 5 * size)
    assert len(hits) == wanted
    assert not shuffled(hits) - shuffled([as_shown(row) for row in rows])
    if sort != "score" or "q" not in state.parameters:
        times = [datetime.min.replace(tzinfo=UTC) if row["ts"] is None else row["ts"] for row in rows]
        expected = sorted(times, reverse=sort != "-time")[:wanted]
        shown = [datetime.fromisoformat(hit["ts"]) if hit["ts"] else datetime.min.replace(tzinfo=UTC) for hit in hits]
        assert shown == expected
    else:
        scores = [hit["score"] for page in pages for hit in page["rows"]]
        assert scores == sorted(scores, reverse=True)
    assert [page["more"] for page in pages] == [(n + 1) * size < len(rows) for n in range(len(pages))]
    assert all(page["total"] in (None, len(rows)) for page in pages)
    assert client.get("/api/count", **state.parameters)["total"] == len(rows)
    by = "status" if size == 7 else "level"
    check_histogram(client.get("/api/histogram", **state.parameters, buckets=20, by=by), rows, by)
    for facet in client.get("/api/facets", **state.parameters)["facets"]:
        check_facet(facet, state, table)


def check_histogram(histogram: Any, rows: list[Row], by: str) -> None:
    timed = [row for row in rows if row["ts"] is not None]
    buckets = histogram["buckets"]
    starts = [datetime.fromisoformat(bucket["start"]) for bucket in buckets]
    ends = [*starts[1:], datetime.fromisoformat(histogram["to"])] if buckets else []
    inside = [[row for row in timed if start <= row["ts"] < end] for start, end in zip(starts, ends, strict=True)]
    assert [bucket["count"] for bucket in buckets] == [len(rows) for rows in inside]
    assert sum(bucket["count"] for bucket in buckets) == len(timed)
    for number, rows_of_bucket in enumerate(inside):
        counts = {series["value"]: series["counts"][number] for series in histogram["series"]}
        assert Counter(counts) == Counter(row[by] for row in rows_of_bucket)
    assert len(buckets) <= 21


def check_facet(facet: Any, state: State, table: IndexTable) -> None:
    column = facet["column"]
    given = state.parameters
    at = table if given.get("version") is None else table.at(version=given["version"])
    found = at.scan(query=given.get("q"), where=given.get("where")).to_arrow().to_pylist()
    counts = Counter(row[column] for row in found if state.keeps(row, own=column))
    missing = counts.pop(None, 0)
    shown = {value["value"]: value["count"] for value in facet["values"]}
    assert shown == {value: counts[value] for value in shown}
    assert sorted(shown.values(), reverse=True) == sorted(counts.values(), reverse=True)[:10]
    assert (facet["missing"], facet["other"]) == (missing, sum(counts.values()) - sum(shown.values()))


def test_a_table_is_described(client: Client, table: IndexTable) -> None:
    assert client.get("/api/tables") == [{"id": "web-logs", "name": "web logs", "path": table.path}]
    shown = client.get("/api/table", table="web-logs")
    assert (shown["version"], shown["latest"], shown["rows"]) == (5, 5, table.count())
    assert [version["operation"] for version in shown["versions"]] == ["CREATE TABLE", *["APPEND"] * 4, "DELETE"]
    assert (shown["timeColumn"], shown["levelColumn"], shown["textColumns"]) == ("ts", "level", ["message"])
    assert shown["timeRange"] == ["2024-01-31T12:00:00Z", "2024-01-31T16:18:00Z"]
    assert shown["facetColumns"] == ["level", "host", "ok", "status", "message"]  # six messages
    assert shown["columns"][0] == {"name": "ts", "type": "timestamp", "indexed": "exact"}
    assert shown["columns"][-1] == {"name": "message", "type": "string", "indexed": "words"}
    assert client.get("/api/table", version=1)["rows"] == 60


def test_new_versions_are_seen(tmp_path: Path) -> None:
    own = IndexTable.create(tmp_path / "t", {"message": pa.string()}, fields={"message": "text"})
    with running(own) as client:
        assert client.get("/api/hits")["rows"] == []
        IndexTable.open(tmp_path / "t").append([{"message": "disk full"}])
        assert client.get("/api/table")["latest"] == 1
        hits = client.get("/api/hits", q="full")
        assert (hits["version"], hits["rows"][0]["highlights"]) == (1, {"message": [[5, 9]]})
        assert client.get("/api/histogram")["buckets"] == []


def test_a_time_column_may_have_another_name_in_other_versions(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "logs", pa.schema({"at": pa.date32(), "ts": pa.timestamp("us", "UTC")}))
    table.append(pa.table([[date(2024, 1, 1)], [datetime(2024, 1, 2, tzinfo=UTC)]], schema=table.schema))
    with running(table, time="at") as client:
        assert client.get("/api/table")["timeColumn"] == "at"
        IndexTable.open(table.path).rename_column("at", "day")
        assert client.get("/api/table")["timeColumn"] == "ts"
        assert client.get("/api/table", version=1)["timeColumn"] == "at"
        assert [client.get("/api/count", version=version)["total"] for version in range(3)] == [0, 1, 1]


def test_places_are_counted_as_javascript_does(client: Client) -> None:
    hit = client.get("/api/hits", q="fine", size=1)["rows"][0]
    assert hit["values"]["message"] == "😀 disk is fine"
    assert hit["highlights"] == {"message": [[11, 15]]}
    status, error = client.error("/api/check", q="😀 levle:x")
    assert (status, error["position"], error["parameter"]) == (400, [3, 8], "q")
    assert "did you mean 'level'?" in error["message"]
    assert client.get("/api/check", q="level:x") == {"ok": True}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("me", ["message:"]),
        ("disk AND lev", ["level:"]),
        ("level:", ["INFO", "ERROR", "WARN"]),
        ("level:in", ["INFO"]),
        ("a" * 60_000, []),
        ("a" * 50_000 + " level:in", ["INFO"]),
        ('(a OR host:"web-3', ["web-3"]),
        ("message:di", ["disk"]),
        ("message:", []),
        ('"me', []),
        ("disk AN", ["AND "]),
        ("", ["ts:", "level:", "host:", "ok:", "status:", "big:", "price:", "ratio:", "message:", "NOT "]),
    ],
)
def test_completion(client: Client, text: str, items: list[str]) -> None:
    found = client.get("/api/complete", text=text, cursor=len(text))
    assert [item["text"] for item in found["items"]] == items
    assert found["to"] == len(text)


def test_completion_of_words_of_a_renamed_column(tmp_path: Path) -> None:
    table = IndexTable.write(tmp_path / "t", [{"memo": "crane keel"}], text=["memo"])
    table.rename_column("memo", "note")
    table.prewarm()
    with running(table) as client:
        assert [item["text"] for item in client.get("/api/complete", text="note:cr")["items"]] == ["crane"]


def test_rows_around_a_row(client: Client, table: IndexTable) -> None:
    """Walking from row to row meets every row with a time once, in the order of time."""
    row = client.get("/api/hits", sort="time", size=1)["rows"][0]
    while after := client.get("/api/context", **row["id"], n=30)["after"]:
        row = after[-1]
    seen = [row]
    while before := client.get("/api/context", **row["id"], n=30)["before"]:
        seen = [*before, *seen]
        row = before[0]
        if row["values"]["ts"] is None:
            break
    timed = [hit for hit in seen if hit["values"]["ts"] is not None]
    times = [hit["values"]["ts"] for hit in timed]
    assert times == sorted(times)
    assert len({json.dumps(hit["id"]) for hit in timed}) == len(timed) == table.count("ts IS NOT NULL")
    around = client.get("/api/context", **timed[50]["id"], n=3)
    assert [hit["id"] for hit in (*around["before"], around["row"], *around["after"])] == [
        hit["id"] for hit in timed[47:54]
    ]


def test_long_values_are_cut_in_lists(tmp_path: Path) -> None:
    own = IndexTable.create(tmp_path / "t", {"message": pa.string(), "at": pa.date32()}, fields={"message": "text"})
    own.append([{"message": "x" * 5000, "at": date(2024, 1, 1)}, {"message": "y", "at": date(2024, 3, 1)}])
    with running(own) as client:
        newest, oldest = client.get("/api/hits")["rows"]
        assert (newest["values"]["message"], oldest["cut"]) == ("y", ["message"])
        assert len(oldest["values"]["message"]) == 2000
        assert client.get("/api/row", **oldest["id"])["row"]["values"]["message"] == "x" * 5000
        zoomed = client.get("/api/histogram", from_="2024-01-01T00:00:00Z", to="2024-01-01T00:00:01Z")
        assert (zoomed["column"], [bucket["count"] for bucket in zoomed["buckets"]]) == ("at", [1])


def test_downloads(client: Client, table: IndexTable) -> None:
    rows = client.get("/view.json", q="cmd", columns='["message","big"]', size=1000)
    assert len(rows) == table.count(query="cmd")
    assert {row["message"] for row in rows} == {"=cmd|' /C calc'!A0"}
    status, headers, body = client.fetch("/view.csv?q=cmd&columns=%5B%22message%22%2C%22big%22%5D&size=1000")
    assert (status, headers["Content-Disposition"]) == (200, 'attachment; filename="view.csv"')
    lines = list(csv.DictReader(io.StringIO(body.decode())))
    assert [line["message"] for line in lines] == ["'=cmd|' /C calc'!A0"] * len(rows)
    assert [line["big"] for line in lines] == [str(row["big"]) for row in rows]


@pytest.mark.parametrize(
    ("path", "parameters", "status", "message"),
    [
        ("/api/hits", {"table": "../etc"}, 404, "there is no table '../etc' here; there are web-logs"),
        ("/api/hits", {"version": "99"}, 404, "version 99"),
        ("/api/hits", {"version": "x"}, 400, "version is 'x'; it is a whole number"),
        ("/api/hits", {"size": "501"}, 400, "size is '501'; it is a whole number from 1 to 500"),
        ("/api/hits", {"size": "1".zfill(18) + "0000"}, 400, "it is a whole number from 1 to 500"),
        ("/api/hits", {"offset": "9" * 5000}, 400, "it is a whole number from 0 to 100,000"),
        ("/api/hits", {"columns": "[1]"}, 400, "it is a JSON array of names"),
        ("/api/hits", {"columns": '["nope"]'}, 400, "there is no column 'nope'"),
        ("/api/hits", {"is": '["level"]'}, 400, 'write it like ["level", "ERROR"]'),
        ("/api/hits", {"is": '["status", "many"]'}, 400, "'many' is not a value of the column 'status'"),
        ("/api/hits", {"is": '["status", 200.5]'}, 400, "200.5 is not a value of the column 'status'"),
        ("/api/hits", {"is": "["}, 400, "which is not JSON"),
        ("/api/hits", {"from": "yesterday"}, 400, "write an instant like 2024-01-31T12:00:00Z"),
        ("/api/hits", {"sort": "name"}, 400, "it is time, -time, score, or a column like"),
        ("/api/hits", {"sort": '["host", "up"]'}, 400, "it is time, -time, score, or a column like"),
        ("/api/hits", {"sort": '["hots"]'}, 400, "did you mean 'host'?"),
        ("/api/histogram", {"by": "big"}, 400, "hits are not broken down by 'big': its values hardly repeat"),
        ("/api/hits", {"where": "status >"}, 400, "something is missing after '>'"),
        (
            "/api/hits",
            {"where": "statsu > 1"},
            400,
            "there is no column 'statsu'; did you mean 'status'? The table has ts,",
        ),
        ("/api/hits", {"where": "status > 1 ADN ok"}, 400, "'ADN' is not expected here; did you mean AND?"),
        ("/api/facets", {"column": "ratio"}, 400, "the values of 'ratio' cannot be counted"),
        ("/api/row", {"split": "../../etc/passwd", "row": "0"}, 404, "no such split"),
        ("/api/nothing", {}, 404, "there is nothing at this address"),
        ("/page/../server.py", {}, 404, "there is nothing at this address"),
        ("/page/%2e%2e%2fserver.py", {}, 404, "there is nothing at this address"),
        ("/page/..%5cserver.py", {}, 404, "there is nothing at this address"),
    ],
)
def test_what_cannot_be_answered_is_said(
    client: Client, path: str, parameters: dict[str, str], status: int, message: str
) -> None:
    found, error = client.error(path, **parameters)
    assert found == status
    assert message in error["message"]
    assert "Traceback" not in error["message"]


def test_only_those_with_the_token_get_an_answer(client: Client) -> None:
    token, port = client.bound.access.token, client.bound.access.port
    for path in ("/", "/api/tables", "/view.json", "/page/index.html"):
        assert client.fetch(path, token=False)[0] == 401
        assert client.fetch(path, Authorization="Bearer nonsense")[0] == 401
        assert client.fetch(path, token=False, Cookie=f"indextables-{port}=nonsense")[0] == 401
    assert client.fetch(f"/api/tables?token={token}", token=False)[0] == 401
    assert client.fetch("/?token=wrong", token=False)[0] == 401
    status, headers, _ = client.fetch(f"/?q=a%26b&token={token}&is=%5B%22x%22%5D", token=False)
    assert (status, headers["Location"]) == (303, "/?q=a%26b&is=%5B%22x%22%5D")
    cookie = headers["Set-Cookie"]
    assert all(part in cookie.lower() for part in ("httponly", "samesite=strict", "path=/"))
    assert client.fetch("/api/tables", token=False, Cookie=cookie.partition(";")[0])[0] == 200


def test_other_hosts_and_other_sites_are_refused(client: Client) -> None:
    port = client.bound.access.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}", ""):
        assert client.fetch("/api/tables", Host=host)[0] == 421
    assert client.fetch("/api/tables", Host=f"localhost:{port}")[0] == 200
    for headers in (
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        assert client.fetch("/api/tables", **headers)[0] == 403
    assert client.fetch("/api/tables", Origin=f"http://127.0.0.1:{port}", Sec_Fetch_Site="same-origin")[0] == 200


def test_answers_are_locked_down(client: Client) -> None:
    for path in ("/", "/api/tables", "/api/nothing"):
        _, headers, _ = client.fetch(path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
    assert client.fetch("/api/tables")[1]["Cache-Control"] == "no-store"
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert client.fetch("/api/hits", method=method)[0] == 405
    assert client.fetch("/api/hits", method="HEAD")[2] == b""
    assert client.fetch("/api/hits?q=" + "a" * 100_000)[0] == 400
