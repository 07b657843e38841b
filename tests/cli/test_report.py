"""The page about a table, looked at in a browser where there is one."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.report import html
from tests.cli.shell import found, run

SCRIPT = "<script>document.title = 'taken over'</script>"
NAMES = [SCRIPT, 'a "quoted" & b', "${table}", "plain", None]
SCHEMA = pa.schema({"tenant": pa.string(), SCRIPT: pa.int64(), "message": pa.string(), "raw": pa.binary()})


def rows(tenant: str | None, count: int) -> list[dict[str, object]]:
    return [{"tenant": tenant, SCRIPT: number, "message": "disk full"} for number in range(count)]


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Partitions of 1, 2, ... rows, whose names are no names for a page."""
    made = IndexTable.create(
        tmp_path / "a <b> table",
        SCHEMA,
        partition_by="tenant",
        fields={"message": "text:en_stem"},
        properties={"owner": SCRIPT},
    )
    made.append([row for count, name in enumerate(NAMES, 1) for row in rows(name, count)])
    made.append(rows("plain", 10))
    return made


@pytest.fixture
def page(table: IndexTable, tmp_path: Path) -> Path:
    run("report", table.path, "--output", tmp_path / "report.html")
    return tmp_path / "report.html"


class _Seen(HTMLParser):
    """The tags of a page, the rows of its tables as texts, and the names of what it refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [value or "" for name, value in attrs if name in {"src", "href", "srcset", "action"}]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def test_the_facts_are_those_of_the_table(table: IndexTable) -> None:
    facts = found("report", table.path)
    assert (facts["table"], facts["version"], facts["layout"]) == (table.path, 2, "tenant")
    assert [tuple(column.values()) for column in facts["columns"]] == [
        ("tenant", "string", "string"),
        (SCRIPT, "long", "long"),
        ("message", "string", "text:en_stem"),
        ("raw", "binary", "none"),
    ]
    assert {part["values"]["tenant"]: part["rows"] for part in facts["partitions"]} == {
        **{name: count for count, name in enumerate(NAMES, 1)},
        "plain": 14,
    }
    assert facts["partitions"][0]["values"] == {"tenant": "plain"}
    assert sum(size["splits"] for size in facts["split_sizes"]) == len(table.splits())
    assert [version["operation"] for version in facts["history"]] == ["APPEND", "APPEND", "CREATE TABLE"]
    assert facts["health"]["rows"] == table.count()


def test_a_report_of_the_past_knows_nothing_of_what_came_later(table: IndexTable) -> None:
    past = table.at(version=1).report()
    assert (past.version, past.health.rows, [fact.version for fact in past.history]) == (1, 15, [1, 0])


def test_the_page_says_what_the_table_is_and_holds_nothing_but_text_of_it(page: Path, table: IndexTable) -> None:
    seen = _Seen(page.read_text())
    assert {"script", "b", "img", "iframe", "link"} & seen.tags == {"b"}, "only findings are bold"
    assert seen.references == []
    assert {SCRIPT, "${table}", 'a "quoted" & b', "null", table.path, "text:en_stem"} <= set(seen.texts)


@pytest.mark.parametrize("layout", ["", "tenant"])
def test_an_empty_table_has_a_page(tmp_path: Path, layout: str) -> None:
    IndexTable.create(tmp_path / "table", SCHEMA, partition_by=layout)
    run("report", tmp_path / "table", "--output", tmp_path / "report.html")
    assert "There are no splits yet." in (tmp_path / "report.html").read_text()


def test_partitions_of_several_layouts_are_told(table: IndexTable) -> None:
    table.evolve_layout("")
    table.append(rows("late", 3))
    labels = [partition.label for partition in table.report().partitions]
    assert sorted(labels) == sorted(["null" if name is None else name for name in NAMES] + ["the whole table"])


def test_axes_have_values_and_partitions_have_readable_labels(tmp_path: Path) -> None:
    hours = [datetime(2024, 5, day, hour, tzinfo=UTC) for day in (1, 2) for hour in (9, 10, 11)]
    made = IndexTable.create(
        tmp_path / "t", {"at": pa.timestamp("us", "UTC"), "n": pa.int64()}, partition_by="hour(at), n"
    )
    made.append([{"at": hour, "n": n} for hour in hours for n in (7, 8) for _ in range(100 * (hour.hour - 8))])
    partitions = made.report().partitions
    assert partitions[0].label == "hour(at) = 2024-05-01 11:00, n = 7"
    assert partitions[0].values == {"at_hour": "2024-05-01-11", "n": "7"}
    chart = re.search('<svg class="chart".*?</svg>', html(made.report()), re.DOTALL)
    assert chart is not None
    texts = re.findall(r"<text[^>]*>(.*?)</text>", chart[0])
    days = [f"2024-05-0{day} {hour}:00" for day in (1, 2) for hour in ("09", "10", "11")]
    assert texts == ["rows", "0", "100", "200", "300", *days, "hour(at), n"]


def test_no_split_is_opened(table: IndexTable) -> None:
    for split in table.splits()["path"].to_pylist():
        Path(table.path, split).unlink()
    assert found("report", table.path)["health"]["rows"] == table.count()


def test_a_file_that_is_there_is_replaced_by_force_only(page: Path, table: IndexTable) -> None:
    page.write_text("mine")
    assert "exists; choose another --output" in run("report", table.path, "--output", page, code=1).stderr
    assert page.read_text() == "mine"
    run("report", table.path, "--output", page, "--force")
    assert page.read_text() != "mine"


def test_without_a_name_the_page_is_here(table: IndexTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("report", table.path).stdout == "written: report.html\n"
    assert Path("report.html").read_text().startswith("<!doctype html>")


def test_a_place_that_cannot_be_written_to_is_named(table: IndexTable, tmp_path: Path) -> None:
    assert "cannot be written" in run("report", table.path, "--output", tmp_path / "no" / "page", code=1).stderr


def in_browser(page: Path, *flags: str) -> str:
    """What a browser makes of a page, with a profile of its own that goes with the test."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("there is no chromium; `make setup` installs it for root where apt-get is")
    alone: Sequence[str] = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = f"--user-data-dir={page.parent / 'profile'}"
    words = [browser, "--headless", "--disable-gpu", profile, *alone, *flags, page.as_uri()]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout


def test_a_browser_shows_the_page_and_runs_nothing_in_it(page: Path) -> None:
    shown = in_browser(page, "--dump-dom")
    title = re.search("<title>(.*?)</title>", shown)
    assert title is not None
    assert title[1] == "a &lt;b&gt; table"
    assert _Seen(shown).tags == _Seen(page.read_text()).tags | {"html", "head", "body", "tbody"}
    assert shown.count("<rect") == page.read_text().count("<rect")


def test_a_browser_draws_the_page(page: Path) -> None:
    pictures = [page.with_name(f"{name}.png") for name in ("light", "dark")]
    in_browser(page, f"--screenshot={pictures[0]}")
    in_browser(page, f"--screenshot={pictures[1]}", "--force-dark-mode")
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert pictures[0].read_bytes() != pictures[1].read_bytes()
