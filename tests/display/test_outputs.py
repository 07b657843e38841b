"""What notebooks show: HTML in which text from a table is text, and which costs next to nothing."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell

import indextables
from indextables import IndexTable

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&<em>disk</em>"
SCHEMA = {"day": pa.string(), ATTACK: pa.string(), "message": pa.string(), "n": pa.int64()}
ALLOWED = {
    *("div", "style", "span", "b", "p", "code", "pre", "mark", "br", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "path", "text", "title"),
}


class Seen(HTMLParser):
    """The elements, their attributes and the texts of a page; the text of style elements is left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.texts, self.marked = set[str](), set[str](), list[str](), list[str]()
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open += [tag] if tag != "br" else []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.texts.append(data)
        if "mark" in self._open:
            self.marked.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@pytest.fixture(scope="module")
def table() -> IndexTable:
    """Two days of rows that attack the page, in splits of their own, and a past."""
    made = IndexTable.create(
        f"memory://{uuid4().hex}/attacked",
        SCHEMA,
        partition_by="day",
        fields={"message": "text", ATTACK: "text"},
        properties={"owner": ATTACK},
    )
    for day in ("mon", ATTACK):
        made.append([{"day": day, ATTACK: ATTACK, "message": f"disk {n} is full", "n": n} for n in range(15)])
    made.overwrite(made.scan().to_arrow())
    made.delete("n = 3")
    return made


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """A shell as in a kernel: what it displays has HTML."""
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    indextables.load_ipython_extension(shell)
    yield shell
    InteractiveShell.clear_instance()


def shown(table: IndexTable) -> dict[str, Any]:
    return {
        "table": table,
        "scan": table.scan(query="disk", where="n >= 0"),
        "ordered scan": table.scan(order_by="n desc"),
        "explanation": table.scan(where=f"day <> 'mon' AND `{ATTACK}` <> 'a'").explain(),
        "health": table.health(),
        "report": table.report(),
        "advice": table.advise([f"`{ATTACK}` = 'a'", "n > 3", "day = 'mon'"]),
        "check": table.check(),
        "erasure": table.erasure(),
        "merge": table.merge_splits(dry_run=True),
        "purge": table.purge(dry_run=True),
        "delete": table.delete("n = 99"),
        "update": table.update({"n": "n"}, "n = 99"),
        "restore": table.restore_plan(version=1),
        "damaged": IndexTable(table._log, table._snapshot),
    }


def test_text_of_a_table_is_text_wherever_it_is_shown(table: IndexTable, shell: InteractiveShell) -> None:
    objects = {**shown(table), "search": table.search("disk"), "history": table.history(), "splits": table.splits()}
    objects |= {"partitions": table.partitions(), "names": table.partition_names()}
    pages = {name: shell.display_formatter.format(one)[0]["text/html"] for name, one in objects.items()}
    for name, page in pages.items():
        seen = Seen(page)
        assert seen.tags <= ALLOWED, name
        assert not {attribute for attribute in seen.attributes if attribute.startswith("on")} | (
            seen.attributes & {"src", "href", "style"}
        ), name
    assert all(
        ATTACK in Seen(pages[name]).text for name in ("table", "search", "scan", "report", "partitions", "advice")
    )


def test_a_table_is_described(table: IndexTable) -> None:
    text = Seen(table._repr_html_()).text
    for words in (
        "attacked",
        "rows28",
        "partitioned by day",
        "messagestringwords text",
        "daystringexact values string",
    ):
        assert words in text
    assert [finding.message for finding in table.health().findings if finding.message not in text] == []


def test_hits_are_a_grid_with_scores_and_marked_words(table: IndexTable, shell: InteractiveShell) -> None:
    hits = table.search("message:disk AND message:7", limit=3)
    assert isinstance(hits, pa.Table)
    seen = Seen(shell.display_formatter.format(hits)[0]["text/html"])
    assert seen.marked == ["disk", "7"] * len(hits)
    assert "_score" in seen.texts
    ordered = table.search("message:disk", limit=2, order_by="n desc", columns=["message"])
    assert Seen(shell.display_formatter.format(ordered)[0]["text/html"]).marked == ["disk"] * 2


def test_numbers_have_all_their_digits(shell: InteractiveShell) -> None:
    table = IndexTable.write(f"memory://{uuid4().hex}/t", {"price": [1234567.89], "note": ["paid"]}, text="note")
    seen = Seen(shell.display_formatter.format(table.search("paid"))[0]["text/html"])
    assert "1234567.89" in seen.texts


def test_a_search_without_hits_tells_where_it_looked(table: IndexTable, shell: InteractiveShell) -> None:
    searched = "no rows; searched: day (exact values), message (words)"
    for found in (
        table.search("day:nowhere AND message:nothing"),
        table.scan(query="day:nowhere AND message:nothing").to_arrow(),
    ):
        assert searched in Seen(shell.display_formatter.format(found)[0]["text/html"]).text
    assert searched in Seen(table.scan(query="day:nowhere AND message:nothing")._repr_html_()).text
    assert "searched" not in Seen(table.scan(where="day = 'nowhere'")._repr_html_()).text


def test_the_result_of_a_query_is_a_grid(table: IndexTable, shell: InteractiveShell) -> None:
    found = IndexTable.sql("SELECT count(*) AS lines FROM t", tables={"t": table})
    assert Seen(shell.display_formatter.format(found)[0]["text/html"]).texts[:2] == ["lines", "28"]


def test_an_error_is_shown_with_the_lines_of_the_user_only(
    table: IndexTable, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["attacked"] = table
    shell.run_cell("def find(words):\n    return attacked.search(words)\n\nfind('disk AND')")
    first, *lines, last = capsys.readouterr().out.rstrip().splitlines()
    assert "<module>" in first
    assert [line for line in lines if "site-packages" in line or "src/indextables" in line] == []
    assert "find('disk AND')" in " ".join(lines)
    assert len(lines) < 6
    assert last.startswith("SearchQueryError: the search 'disk AND' cannot be read at position 8, its end")


def test_other_tables_are_shown_as_before(shell: InteractiveShell) -> None:
    assert "text/html" not in shell.display_formatter.format(pa.table({"n": [1]}))[0]


def test_the_mark_is_neither_stored_nor_in_the_way(table: IndexTable, shell: InteractiveShell) -> None:  # noqa: ARG001
    hits = table.search("disk", columns=["message"])
    plain = hits.replace_schema_metadata()
    assert hits.equals(plain)
    assert pa.concat_tables([hits, plain]).num_rows == 2 * len(hits)
    other = IndexTable.create(f"memory://{uuid4().hex}/t", hits.schema)
    other.append(hits)
    assert (other.schema.metadata, pa.table(other.scan()).schema.metadata) == (None, None)


def test_without_a_shell_results_have_no_mark(table: IndexTable) -> None:
    InteractiveShell.clear_instance()
    assert table.search("disk").schema.metadata is None


def test_a_scan_shows_its_first_rows_and_reads_few_splits() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", {"part": pa.int64(), "s": pa.string()}, partition_by="part")
    table.append([{"part": n % 40, "s": f"row {n}"} for n in range(400)])
    before = table.traffic.requests
    many = Seen(table.scan()._repr_html_())
    assert "the first 10 rows; to_arrow() reads them all" in many.text
    assert "0 of 40 splits pruned" in many.text
    none = Seen(table.scan(where="s LIKE '%none%'")._repr_html_())
    assert "0 rows in the first 8 of 40 splits" in none.text
    assert table.traffic.requests - before < 40, "some requests for each of nine splits"
    assert "3 rows" in Seen(table.scan(limit=3)._repr_html_()).text
    assert "no rows are shown" not in Seen(table.scan(order_by="s")._repr_html_()).text


def test_a_funnel_shows_what_each_step_leaves() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", {"part": pa.int64(), "n": pa.int64()}, partition_by="part")
    table.append([{"part": n % 8, "n": n} for n in range(64)])
    texts = Seen(table.scan(where="part < 4 AND n < 2")._repr_html_()).text
    assert "6 of 8 splits pruned: 4 by layout, 2 by statistics, 0 by term filters" in texts
    stages = Seen(table.scan(where="part < 4 AND n < 2").explain()._repr_html_()).text
    assert "splits of the table8after partition pruning44 prunedafter statistics22 pruned" in stages


def test_a_table_that_is_gone_says_so(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", {"n": pa.int64()})
    for file in sorted(Path(table.path).rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert "nlongvalues" in Seen(table._repr_html_()).text.replace(" ", "")
