"""The search page, used and attacked in a browser."""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Route, expect

from indextables import IndexTable
from tests.serve.browser import SearchPage, chromium, new_page, served
from tests.serve.pictures import draw
from tests.serve.shop_logs import lines, number_of, shop_table
from tests.serve.tickets import ticket_table
from tests.tiers import slow

ROWS = 2_400
TAKEN = "window.taken = (window.taken ?? 0) + 1"
ATTACKS = [
    f"<script>{TAKEN}</script>",
    f'<img src=x onerror="{TAKEN}">',
    f'"><svg onload="{TAKEN}">',
    f"javascript:{TAKEN}",
    f"'-{TAKEN}-'",
    "</td></table></script><style>*{{display:none}}</style>",
    "${TAKEN} {{constructor.constructor('alert(1)')()}}",
    "__proto__",
    "constructor",
    "\u202eright to left\u202c \U0001f600 e\u0301",
    "long " * 60,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    return shop_table(tmp_path_factory.mktemp("shop") / "shop", ROWS)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """A table whose name, columns and values are attacks on a page."""
    schema = pa.schema(
        {
            "ts": pa.timestamp("us", "UTC"),
            "level": pa.string(),
            "message": pa.string(),
            **dict.fromkeys(ATTACKS, pa.string()),
        }
    )
    directory = tmp_path_factory.mktemp("hostile") / '<img src=x onerror="1">'
    table = IndexTable.create(directory, schema, fields={"message": "text"})
    start = datetime(2026, 3, 14, tzinfo=UTC)
    table.append(
        [
            {
                "ts": start + timedelta(minutes=number),
                "level": attack,
                "message": f"harmless {attack}",
                **dict.fromkeys(ATTACKS, attack),
            }
            for number, attack in enumerate(ATTACKS)
        ]
    )
    return table


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    """A table without times and without words."""
    table = IndexTable.create(
        tmp_path_factory.mktemp("bare") / "bare", pa.schema({"name": pa.string(), "n": pa.int64()})
    )
    table.append([{"name": "one", "n": 2**60}, {"name": None, "n": 2}])
    return table


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    return ticket_table(tmp_path_factory.mktemp("desk") / "tickets", 600)


@pytest.fixture(scope="module")
def address(shop: IndexTable, hostile: IndexTable, bare: IndexTable, tickets: IndexTable) -> Iterator[str]:
    with served([shop, hostile, bare, tickets]) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[SearchPage]:
    """A page in a browser of its own. At the end nothing has gone wrong in it, whatever the test did."""
    page = new_page(browser, address)
    yield page
    assert page.problems == []
    page.page.context.close()


def state(page: SearchPage) -> dict[str, list[str]]:
    """What the address says about the view."""
    return parse_qs(urlsplit(page.page.url).query)


def test_words_are_searched_for_marked_and_counted(page: SearchPage, shop: IndexTable) -> None:
    page.open()
    assert page.count == f"{ROWS:,}"
    page.search("timeout AND level:ERROR")
    assert page.count == number_of(shop, query="timeout AND level:ERROR")
    assert state(page)["q"] == ["timeout AND level:ERROR"]
    assert {mark.lower() for mark in page.at("tr.line .text mark").all_inner_texts()} == {"timeout"}
    assert set(page.at("tr.line td.level").all_inner_texts()) == {"ERROR"}
    page.search("authorization")  # far down in stack traces
    assert all(text.startswith("\u2026 ") and "Authorization" in text for text in page.column("message"))
    page.search("timeout AND level:ERROR")
    assert re.search(
        r"version 4.*4 splits: \d+ pruned, \d+ opened.*read.*ms", page.at("#footer").inner_text(), re.DOTALL
    )
    times = page.column("ts")
    assert times == sorted(times, reverse=True)
    assert page.page.title() == "timeout AND level:ERROR | shop | indextables"


def test_a_mistake_is_marked_where_it_is_and_the_hits_stay(page: SearchPage) -> None:
    page.open(q="timeout")
    before = page.rows.count()
    page.at("#q").fill("timeout AND colour:red")
    page.at("#q").press("Enter")
    expect(page.at("#problem")).to_contain_text("colour")
    expect(page.at("#mirror .wrong")).to_have_text("colour")
    expect(page.at("#q")).to_have_attribute("aria-invalid", "true")
    assert page.rows.count() == before
    page.at("#q").fill("timeout")
    expect(page.at("#problem")).to_be_hidden()
    page.at("#q").press("End")
    page.page.keyboard.type(" (")
    expect(page.at("#mirror .wrong")).to_be_visible()  # without a search: once the writer pauses
    page.button("Condition").click()
    page.at("#where").fill("status >= ")
    page.at("#q").fill("timeout")
    page.at("#where").press("Enter")
    expect(page.at("#problem")).to_contain_text("The condition")
    expect(page.at("#where-mirror .wrong")).to_be_visible()
    page.page.reload()
    expect(page.at("#problem")).to_contain_text("The condition")
    expect(page.at("#chart")).to_be_hidden()  # it does not say that there are no hits


def test_what_was_found_before_a_mistake_is_faded_and_cannot_be_used(page: SearchPage) -> None:
    page.open()
    page.button("Condition").click()
    page.at("#where").fill("statsu >= 500")
    page.at("#where").press("Enter")
    expect(page.at("#problem")).to_contain_text("there is no column 'statsu'; did you mean 'status'?")
    expect(page.at("#where-mirror .wrong")).to_have_text("statsu")
    for part in ("#hits", "#chart", "#facets"):
        expect(page.at(part)).to_have_css("opacity", "0.35")
        assert page.at(part).evaluate("(place) => place.inert")
    expect(page.at("#count")).to_have_text("Faded: the hits of the last search that worked")
    page.at("#where").fill("status >= 500")
    page.at("#where").press("Enter")
    page.loaded()
    for part in ("#hits", "#chart", "#facets"):
        expect(page.at(part)).to_have_css("opacity", "1")
        assert not page.at(part).evaluate("(place) => place.inert")
    assert page.count != f"{ROWS:,}"


def test_fields_and_values_are_completed(page: SearchPage, shop: IndexTable) -> None:
    page.open()
    page.page.keyboard.press("/")
    page.page.keyboard.type("serv")
    options = page.at("#completion [role=option]")
    expect(options.first).to_contain_text("service")
    page.page.keyboard.press("Tab")
    expect(page.at("#q")).to_have_value("service:")
    page.page.keyboard.type("pay")
    expect(options).to_have_count(1)
    expect(options.first).to_contain_text("payments")
    page.page.keyboard.press("ArrowDown")
    expect(page.at("#q")).to_have_attribute("aria-activedescendant", "completion-0")
    page.page.keyboard.press("Enter")
    expect(page.at("#q")).to_have_value("service:payments")
    page.page.keyboard.press("Enter")
    page.loaded()
    assert page.count == number_of(shop, query="service:payments")


def test_facets_include_and_exclude_and_pills_take_back(page: SearchPage, shop: IndexTable) -> None:
    page.open()
    page.button("Only service payments", exact=False).click()
    page.loaded()
    assert page.count == number_of(shop, "service = 'payments'")
    page.button("Exclude level INFO").click()
    page.loaded()
    assert page.count == number_of(shop, "service = 'payments' AND level <> 'INFO'")
    assert state(page) | {"table": ["shop"]} == {
        "table": ["shop"],
        "is": ['["service","payments"]'],
        "not": ['["level","INFO"]'],
    }
    expect(page.at("#pills .pill")).to_have_text(["service is payments", "level is not INFO"])
    page.button("Remove service is payments").click()
    page.loaded()
    assert page.count == number_of(shop, "level <> 'INFO'")
    page.button("level is not INFO").click()  # the other way round
    page.loaded()
    assert page.count == number_of(shop, "level = 'INFO'")
    page.page.go_back()
    page.page.go_back()
    page.loaded()
    assert page.count == number_of(shop, "service = 'payments' AND level <> 'INFO'")
    page.button("Only status missing", exact=False).click()
    page.loaded()
    assert page.count == number_of(shop, "service = 'payments' AND level <> 'INFO' AND status IS NULL")


def test_labels_that_are_searched_by_their_words_have_a_facet(page: SearchPage, tickets: IndexTable) -> None:
    page.open(table="tickets")
    expect(page.at("#facets .facet-name")).to_have_text(["state", "city", "product"])  # neither subjects nor bodies
    page.button("Only city New York", exact=False).click()
    page.loaded()
    assert page.count == number_of(tickets, "city = 'New York'")
    page.search("york")
    assert page.count == number_of(tickets, query="city:york")


def test_hits_are_broken_down_by_a_column(page: SearchPage, tickets: IndexTable) -> None:
    page.open(table="tickets")
    by, legend = page.at("#chart").get_by_label("Break hits down by"), page.at(".legend .key")
    expect(by.locator("option")).to_have_text(["nothing", "state", "city", "product"])
    expect(legend).to_have_count(0)
    by.select_option("product")
    page.loaded()
    expect(legend).to_have_count(5)
    assert set(legend.all_inner_texts()) == {"app", "router", "invoice", "(empty)", "missing"}
    assert len(set(legend_colours(page))) == 5
    colours = dict(zip(legend.all_inner_texts(), legend_colours(page), strict=True))
    page.button("Only product missing").click()
    page.loaded()
    assert page.count == number_of(tickets, "product IS NULL")
    page.page.go_back()
    page.loaded()
    page.button("Exclude product router").click()
    page.loaded()
    del colours["router"]
    assert dict(zip(legend.all_inner_texts(), legend_colours(page), strict=True)) == colours, "each keeps its own"
    assert state(page)["by"] == ["product"]
    page.page.reload()
    page.loaded()
    expect(legend).to_have_count(4)
    by.select_option("")
    page.loaded()
    expect(legend).to_have_count(0)
    page.open(table="tickets", by="body")
    expect(by.locator("option:checked")).to_have_text("nothing: body has too many values")
    page.open(table="shop")
    expect(by).to_have_value("level")
    expect(legend).to_have_text(["FATAL", "ERROR", "WARN", "INFO", "DEBUG"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_values_differ_for_the_colour_blind(browser: Browser, address: str, scheme: str) -> None:
    page = new_page(browser, address, color_scheme=scheme).open(table="shop", by="host")
    expect(page.at(".legend .key")).to_have_text([re.compile(r"web-\d\d")] * 7 + [re.compile("other values")])
    for sight, matrix in SIGHTS.items():
        seen = [lab(matrix @ linear(colour)) for colour in legend_colours(page)]
        pairs = [np.linalg.norm(one - other) for one, other in combinations(seen, 2)]
        assert min(pairs) > 12, sight
    page.page.context.close()


SIGHTS = {  # what remains of light (Machado, Oliveira and Fernandes, 2009)
    "all": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
Colour = np.ndarray[Any, Any]


def legend_colours(page: SearchPage) -> list[str]:
    colour = "(squares) => squares.map((square) => getComputedStyle(square).backgroundColor)"
    return list(page.at(".legend .key i").evaluate_all(colour))


def linear(colour: str) -> Colour:
    """The light of a colour `rgb(1, 2, 3)`."""
    shares = np.array([int(number) for number in re.findall(r"\d+", colour)][:3]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(light: Colour) -> Colour:
    """A colour in a space in which distances are what the eye sees (CIELAB)."""
    rgb_to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    share = rgb_to_xyz @ np.clip(light, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_a_drag_over_the_histogram_zooms_in(page: SearchPage, shop: IndexTable) -> None:
    page.open()
    bars = page.at(".bars g")
    first, last = bars.nth(10).bounding_box(), bars.nth(19).bounding_box()
    assert first is not None
    assert last is not None
    middle = last["y"] - 4
    page.page.mouse.move(first["x"] + 2, middle)
    expect(page.at(".tip")).to_contain_text("hits")
    page.page.mouse.down()
    page.page.mouse.move(last["x"] + 2, middle, steps=4)
    page.page.mouse.up()
    page.loaded()
    [start], [end] = state(page)["from"], state(page)["to"]
    assert (start, end) == ("2026-03-14T09:50:00.000Z", "2026-03-14T10:40:00.000Z")
    zoomed = number_of(shop, f"ts >= '{start}' AND ts < '{end}'")
    assert page.count == zoomed
    expect(page.at("#pills .pill")).to_contain_text("09:50 \u2013 10:40")
    page.button("Zoom out").click()
    page.loaded()
    assert (state(page)["from"], state(page)["to"]) == (["2026-03-14T09:25:00.000Z"], ["2026-03-14T11:05:00.000Z"])
    page.page.go_back()
    page.loaded()
    assert page.count == zoomed
    page.page.go_back()
    page.loaded()
    assert page.count == f"{ROWS:,}"
    page.page.go_forward()
    page.loaded()
    page.button("Reset").click()
    page.loaded()
    assert page.count == f"{ROWS:,}"


def test_a_time_range_is_written_in_the_zone_that_is_shown(browser: Browser, address: str, shop: IndexTable) -> None:
    page = new_page(browser, address, timezone_id="Asia/Tokyo").open()
    page.button("UTC").click()
    page.loaded()
    assert page.column("ts")[0] == "2026-03-14 23:59"[:10] + page.column("ts")[0][10:]
    page.at("#time").click()
    page.at("#time-panel").get_by_label("From").fill("2026-03-14T21:00:00.000")
    page.button("Apply").click()
    page.loaded()
    assert state(page)["from"] == ["2026-03-14T12:00:00.000Z"]
    assert page.count == number_of(shop, "ts >= '2026-03-14T12:00:00Z'")
    page.at("#time").click()
    page.button("Last hour").click()
    page.loaded()
    assert int(page.count.replace(",", "")) < ROWS / 4
    assert page.problems == []
    page.page.context.close()


def test_an_older_version_is_shown_and_said_to_be_older(page: SearchPage, shop: IndexTable) -> None:
    page.open(q="timeout")
    page.at("#version").click()
    slider = page.at("#version-panel").get_by_label("Version", exact=True)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("version 4, APPEND"))
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowLeft")
    page.loaded()
    expect(page.at("#past")).to_contain_text("Version 2 of 4")
    assert page.count == number_of(shop.at(version=2), query="timeout")
    assert state(page)["version"] == ["2"]
    page.page.keyboard.press("Escape")
    page.button("Go to the latest").click()
    page.loaded()
    expect(page.at("#past")).to_be_hidden()
    assert page.count == number_of(shop, query="timeout")


def test_rows_are_sorted_by_time_or_score(page: SearchPage, shop: IndexTable) -> None:
    page.open(q="payment timeout")
    page.at("#sort").select_option("-time")
    page.loaded()
    assert page.column("ts") == sorted(page.column("ts"))
    page.at("#sort").select_option("score")
    page.loaded()
    scores = [float(score) for score in page.at("tr.line .score").all_inner_texts()]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(shop.search("payment timeout", limit=1)["_score"][0].as_py(), abs=0.01)
    assert state(page)["sort"] == ["score"]


def test_a_click_on_the_name_of_a_column_sorts_by_it(page: SearchPage, tickets: IndexTable) -> None:
    page.open(table="tickets")
    heading = page.at("th").filter(has_text="city")
    expect(heading).to_have_attribute("aria-sort", "none")
    expect(page.at("th").filter(has_text="opened")).to_have_attribute("aria-sort", "descending")
    page.button("city", within=".rows thead").click()
    page.loaded()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.button("city", within=".rows thead")).to_be_focused()
    page.page.keyboard.press("Enter")
    page.loaded()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert state(page)["sort"] == ['["city","desc"]']
    expect(page.at("#sort option:checked")).to_have_text("city, descending")
    page.button("Show more").click()
    expect(page.rows).to_have_count(100)
    newest = tickets.scan(columns=["city", "opened"], order_by="city desc, opened desc", limit=100).to_arrow()
    assert page.column("city") == newest["city"].to_pylist()
    assert page.column("opened") == [str(time)[:23] for time in newest["opened"].to_pylist()]
    page.button("city", within=".rows thead").click()
    page.loaded()
    assert "sort" not in state(page)
    page.at("#sort").select_option("subject, ascending")
    page.loaded()
    assert page.column("subject") == sorted(page.column("subject"))
    page.button("opened", within=".rows thead", exact=False).click()
    page.loaded()
    assert page.column("opened") == sorted(page.column("opened"), reverse=True)
    page.open(
        table="tickets", sort='["product","asc"]', columns='["product"]', where="product IS NULL OR product < 'b'"
    )
    products = page.column("product")
    assert products == sorted(products), "the dash of nulls comes after all letters"
    assert products[0] == ""


def test_columns_are_as_wide_as_their_values(page: SearchPage) -> None:
    def widths() -> dict[str, float]:
        measure = "(cells) => cells.map((cell) => [cell.dataset.column, cell.getBoundingClientRect().width])"
        return dict(page.at("tr.line:first-child td[data-column]").evaluate_all(measure))

    page.open(table="tickets")
    wide = widths()
    assert wide["city"] < 130
    assert wide["body"] > wide["subject"] > wide["city"]
    page.open(table="tickets", columns='["opened","city","product"]')
    narrow = widths()
    assert narrow["city"] == pytest.approx(wide["city"], abs=1)
    assert narrow["product"] < 100
    assert page.at(".rows").evaluate("(table) => table.offsetWidth >= table.parentElement.clientWidth - 2")


def test_columns_are_chosen(page: SearchPage) -> None:
    page.open()
    headings = page.at(".rows th:not(.open) bdi")
    expect(headings).to_have_text(["ts", "level", "service", "host", "message"])
    page.button("Columns").click()
    page.at("#columns-panel").get_by_label("duration_ms").check()
    page.at("#columns-panel").get_by_label("host").uncheck()
    expect(headings).to_have_text(["ts", "level", "service", "message", "duration_ms"])
    page.loaded()
    page.page.reload()
    page.loaded()
    expect(headings).to_have_text(["ts", "level", "service", "message", "duration_ms"])


def test_a_row_opens_to_all_of_its_columns_and_to_its_neighbours(page: SearchPage, shop: IndexTable) -> None:
    page.open(q="timeout")
    page.page.keyboard.press("j")
    page.page.keyboard.press("j")
    page.page.keyboard.press("Enter")
    fields = page.at(".detail .field-row dt")
    expect(fields).to_have_text(shop.schema.names)
    page.button("Copy as JSON").click()
    expect(page.at("#toast")).to_have_text("Copied the row as JSON")
    row = json.loads(page.copied)
    [found] = shop.scan(where=f"trace_id = '{row['trace_id']}'").to_arrow().to_pylist()
    assert row["message"] == found["message"]
    page.button("Rows before and after").click()
    around = page.at(".context tr")
    expect(around).to_have_count(11)
    expect(page.at(".context .here")).to_contain_text(row["message"].split("\n")[0])
    times = page.at(".context td.time").all_inner_texts()
    assert times == sorted(times)
    everything = [str(time)[:23] for time in sorted(shop.scan(columns=["ts"]).to_arrow()["ts"].to_pylist())]
    first = everything.index(times[0])
    assert everything[first : first + 11] == times, "no row between them is left out"
    page.button("Only this value: service").click()
    page.loaded()
    assert state(page)["is"] == [json.dumps(["service", row["service"]], separators=(",", ":"))]


def test_json_in_a_text_unfolds(page: SearchPage, tickets: IndexTable) -> None:
    page.open(table="tickets", columns='["opened","city"]')
    page.rows.first.click()
    place = page.at(".detail .field-row").filter(has=page.page.locator("dt", has_text=re.compile("^customer$")))
    [row] = tickets.scan(columns=["customer"], order_by="opened desc", limit=1).to_arrow().to_pylist()
    serial = json.loads(row["customer"])["device"]["serial"]
    assert serial > 2**53
    expect(place.locator(".json-key")).to_have_text(
        ["name", "device", "model", "serial", "tags", "0", "1", "note", "lang"]
    )
    expect(place.locator("li", has_text="serial").last).to_have_text(f"serial {serial}")  # not rounded
    place.locator("summary", has_text="device").click()
    expect(place.get_by_text("model")).to_be_hidden()
    place.get_by_role("button", name="Unfold the JSON: customer").click()
    expect(place.locator("dd")).to_have_text(row["customer"])
    expect(page.button("Unfold the JSON: city")).to_have_count(0)


def test_more_rows_come_on_request(page: SearchPage) -> None:
    page.open()
    expect(page.rows).to_have_count(50)
    page.button("Show more").click()
    expect(page.rows).to_have_count(100)
    times = page.column("ts")
    assert times == sorted(times, reverse=True)


def test_a_permalink_opens_the_same_view_in_another_browser(page: SearchPage, browser: Browser, address: str) -> None:
    page.open(
        ("is", '["service","payments"]'),
        ("not", '["level","INFO"]'),
        table="shop",
        q="payment",
        sort="-time",
        where="status = 504",
        version="3",
        columns='["ts","status","message"]',
        **{"from": "2026-03-14T09:30:00Z"},
    )
    page.button("Export").click()
    page.button("Copy link to this view").click()
    expect(page.at("#toast")).to_have_text("Copied the link")
    other = new_page(browser, address).open(
        *[(name, value) for name, values in parse_qs(urlsplit(page.copied).query).items() for value in values]
    )
    assert other.at("main").inner_text() == page.at("main").inner_text()
    assert other.at(".pill").all_inner_texts() == page.at(".pill").all_inner_texts()
    assert other.at("#q").input_value() == "payment"
    assert other.at("#where").input_value() == "status = 504"
    assert other.problems == []
    other.page.context.close()


def test_the_view_is_downloaded_and_copied_as_code(page: SearchPage, shop: IndexTable) -> None:
    page.open(("is", '["level","ERROR"]'), q="timeout", columns='["ts","message"]')
    expected = (
        shop.scan(where="level = 'ERROR'", query="timeout", columns=["ts", "message"])
        .to_arrow()
        .sort_by([("ts", "descending")])
    )
    page.button("Export").click()
    with page.page.expect_download() as saved:
        page.at("#share-panel").get_by_role("link", name="JSON").click()
    rows = json.loads(Path(saved.value.path()).read_text())
    assert [row["message"] for row in rows] == expected["message"].to_pylist()
    page.button("Export").click()
    with page.page.expect_download() as saved:
        page.at("#share-panel").get_by_role("link", name="CSV").click()
    with Path(saved.value.path()).open(newline="") as file:
        assert [row["message"] for row in csv.DictReader(file)] == expected["message"].to_pylist()
    copied = {}
    for language in ("Python", "SQL", "CLI"):
        page.button("Export").click()
        page.button(f"Copy as {language}").click()
        expect(page.at("#toast")).to_have_text(f"Copied the {language} code")
        copied[language] = page.copied
    names: dict[str, pa.Table] = {}
    exec(copied["Python"], names)
    assert names["rows"]["message"].to_pylist() == expected["message"].to_pylist()[:50], "the rows that are shown"
    assert "ERROR" in copied["SQL"]
    assert copied["CLI"].startswith("indextables ")
    page.button("Export").click()
    page.button("Show the code …").click()
    expect(page.at("#snippet pre")).to_have_text([copied["Python"], copied["SQL"], copied["CLI"]])


def test_new_rows_are_shown_by_themselves(browser: Browser, tmp_path: Path) -> None:
    table = shop_table(tmp_path / "live", 40, commits=1)
    with served([table]) as address:
        page = new_page(browser, address)
        page.page.clock.install()
        page.open()
        expect(page.at(".refresh")).to_have_attribute("data-refresh", "off")
        page.at("#refresh").select_option("Every 5 seconds")
        expect(page.at(".refresh")).to_have_attribute("data-refresh", "on")
        expect(page.at("#refreshed")).to_have_text(re.compile(r"checked \d\d:\d\d:\d\d"))
        page.at("#q").fill("not searched for")
        table.append(lines(3, seed=1))
        page.page.clock.fast_forward(5_000)
        expect(page.at("#count b")).to_have_text("43")
        expect(page.at("#q")).to_have_value("not searched for")
        expect(page.at("#version-label")).to_have_text("v2, latest")
        page.loaded()
        page.rows.first.click()
        table.append(lines(4, seed=2))
        page.page.clock.fast_forward(5_000)
        expect(page.at("#refreshed")).to_have_text("version 3 is there: close the open row to see it")
        assert page.count == "43"
        page.rows.first.click()
        page.page.clock.fast_forward(5_000)
        expect(page.at("#count b")).to_have_text("47")
        page.page.reload()
        page.loaded()
        expect(page.at(".refresh")).to_have_attribute("data-refresh", "on")  # it is remembered
        page.open(version="1")
        page.page.clock.fast_forward(5_000)
        expect(page.at("#refreshed")).to_have_text("off: an older version is shown")
        page.open()
        page.page.context.set_offline(True)
        page.page.clock.fast_forward(5_000)
        expect(page.at("#refreshed")).to_have_text("The server does not answer.")
        expect(page.at(".refresh")).to_have_attribute("data-refresh", "failing")
        page.page.context.set_offline(False)
        page.problems[:] = [problem for problem in page.problems if "ERR_INTERNET_DISCONNECTED" not in problem]
        page.at("#refresh").select_option("No auto-refresh")
        expect(page.at("#refreshed")).to_be_empty()
        assert page.problems == []
        page.page.context.close()


def test_searches_are_saved_in_the_browser_and_as_a_file(page: SearchPage, browser: Browser, address: str) -> None:
    page.open(("is", '["service","payments"]'), table="shop", q="timeout")
    count = page.count
    page.button("Saved searches").click()
    panel = page.at("#saved-panel")
    expect(panel).to_contain_text("No search is saved yet")
    panel.get_by_label("Name of the search").fill("payments that <b>fail</b>")
    panel.get_by_label("Name of the search").press("Enter")
    expect(page.at("#toast")).to_have_text("Saved payments that <b>fail</b>")
    page.page.keyboard.press("Escape")
    page.open(table="tickets")
    page.at("#q").fill("typed")
    page.button("Saved searches").click()
    panel.get_by_role("button", name="payments that <b>fail</b>").first.click()
    page.loaded()
    assert (page.count, page.at("#q").input_value(), page.at("#table").input_value()) == (count, "timeout", "shop")
    page.button("Saved searches").click()
    with page.page.expect_download() as saved:
        page.button("Export to a file").click()
    file = Path(saved.value.path())
    assert [search["name"] for search in json.loads(file.read_text())] == ["payments that <b>fail</b>"]
    page.button("Delete payments that <b>fail</b>").click()
    expect(panel).to_contain_text("No search is saved yet")
    other = new_page(browser, address).open(table="bare")
    other.button("Saved searches").click()
    other.at("#saved-panel input[type=file]").set_input_files(
        {"name": "notes.json", "mimeType": "application/json", "buffer": b'[{"name": 1}]'}
    )
    expect(other.at("#toast")).to_contain_text("notes.json is not a file of searches")
    other.at("#saved-panel input[type=file]").set_input_files(file)
    expect(other.at("#toast")).to_have_text("Imported 1 search")
    other.page.reload()
    other.loaded()
    other.button("Saved searches").click()
    other.at("#saved-panel").get_by_role("button", name="payments that <b>fail</b>").first.click()
    other.loaded()
    assert other.count == count
    assert other.problems == []
    other.page.context.close()


def test_nothing_found_says_what_to_try(page: SearchPage) -> None:
    page.open(("is", '["level","FATAL"]'), q="zebra")
    expect(page.at(".empty h2")).to_have_text("No hits")
    expect(page.at(".advice")).to_have_text("Searched: message (words).")
    assert page.count == "0"
    page.button("Show all rows").click()
    page.loaded()
    page.button("Remove level is FATAL").click()
    page.loaded()
    assert page.count == f"{ROWS:,}"
    page.search("web")
    expect(page.at(".advice")).to_contain_text("host has \u201cweb\u201d inside longer values")
    page.button("Search for host:*web*").click()
    page.loaded()
    assert page.count == f"{ROWS:,}"
    page.search("level:error")
    expect(page.at(".advice")).to_contain_text(
        "level has the value \u201cERROR\u201d. Exact values are case-sensitive."
    )
    page.button("Search for level:ERROR").click()
    page.loaded()
    assert page.count != "0"
    page.search("level:EROR")
    expect(page.at(".advice")).to_contain_text("Did you mean this?")
    page.search("host:WEB*")
    expect(page.at(".advice")).to_contain_text("Did you mean this? Exact values are case-sensitive.")
    page.button("Search for host:web*").click()
    page.loaded()
    assert page.count == f"{ROWS:,}"


def test_a_table_without_times_and_words_is_shown(page: SearchPage) -> None:
    page.open(table="bare")
    expect(page.at("#chart")).to_be_hidden()
    assert page.column("n") == ["1152921504606846976", "2"]
    assert page.column("name") == ["one", "\u2013"]
    page.at("#table").select_option("shop")
    page.loaded()
    expect(page.at("#chart")).to_be_visible()


def test_times_without_a_zone_are_shown_as_they_are(browser: Browser, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "local", pa.schema({"at": pa.timestamp("us"), "n": pa.int32()}))
    hours = [datetime(2026, 3, 14, hour) for hour in range(24)]  # noqa: DTZ001 - a column without a zone
    table.append([{"at": at, "n": at.hour} for at in hours])
    table.append([{"at": None, "n": None}])
    with served([table]) as address:
        page = new_page(browser, address, timezone_id="Asia/Tokyo").open(**{"from": "2026-03-14T06:00:00Z"})
        assert page.count == "18"
        assert page.column("at")[-1] == "2026-03-14 06:00:00.000"
        expect(page.at("#zone")).to_be_hidden()
        expect(page.at("#pills")).to_have_text(re.compile("^from Mar 14 06:00"))
        expect(page.at(".chart-range")).to_contain_text("Mar 14 06:00")
        page.rows.last.click()
        page.button("Rows before and after").click()
        assert page.at(".context td.time").first.inner_text() == "2026-03-14 01:00:00.000"
        assert page.problems == []
        page.page.context.close()


def test_the_theme_is_that_of_the_system_until_it_is_chosen(browser: Browser, address: str) -> None:
    page = new_page(browser, address, color_scheme="dark").open()
    colour = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.page.evaluate(colour)
    page.page.keyboard.press("t")
    light = page.page.evaluate(colour)
    assert light != dark
    page.page.reload()
    page.loaded()
    assert page.page.evaluate(colour) == light, "it is remembered"
    page.button("Theme: light").click()
    assert page.page.evaluate(colour) == dark
    page.page.emulate_media(color_scheme="light")
    assert page.page.evaluate(colour) == dark
    page.button("Theme: dark").click()
    assert page.page.evaluate(colour) == light
    assert page.problems == []
    page.page.context.close()


def test_the_page_fits_a_phone_and_is_used_by_keys(browser: Browser, address: str) -> None:
    page = new_page(browser, address, viewport={"width": 390, "height": 800}).open(q="timeout")
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    expect(page.at("#facets")).to_be_hidden()
    page.button("Facets").click()
    expect(page.at("#facets")).to_be_visible()
    page.page.keyboard.press("?")
    expect(page.at("#keys")).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.at("#keys")).to_be_hidden()
    page.page.keyboard.press("/")
    expect(page.at("#q")).to_be_focused()
    assert page.problems == []
    page.page.context.close()


@slow("pictures of the documentation")
def test_the_pictures_of_the_documentation_are_drawn(
    browser: Browser, shop: IndexTable, tickets: IndexTable, tmp_path: Path
) -> None:
    drawn = {path.stem.removeprefix("search-page-"): path for path in draw(browser, shop, tickets, tmp_path)}
    assert list(drawn) == ["light", "dark", "phone", "error", "breakdown", "tickets"]
    assert len({path.read_bytes() for path in drawn.values()}) == len(drawn)
    assert drawn["phone"].stat().st_size < drawn["light"].stat().st_size < 200_000


def test_scripts_in_names_and_values_are_text(page: SearchPage, hostile: IndexTable) -> None:
    table = page.open().at("#table option").nth(1).get_attribute("value") or ""
    page.open(table=table, columns=json.dumps(hostile.schema.names))
    assert page.rows.count() == len(ATTACKS)
    assert set(page.at(".rows th:not(.open) bdi").all_inner_texts()) >= {" ".join(name.split()) for name in ATTACKS[:2]}
    page.rows.first.click()
    expect(page.at(".detail .field-row")).to_have_count(len(hostile.schema.names))
    page.button("Rows before and after").click()
    expect(page.at(".context")).to_be_visible()
    for panel in ("version", "time", "columns", "share"):
        page.at(f"#{panel}").click()
        expect(page.at(f"#{panel}-panel")).to_be_visible()
        page.page.keyboard.press("Escape")
    page.at("#facets .facet-value").first.click()
    page.loaded()
    page.search("harmless AND script")
    page.page.mouse.move(700, 200)
    page.page.keyboard.press("/")
    page.page.keyboard.press("End")
    for text in (" ", "<"):
        page.page.keyboard.type(text)
        page.page.keyboard.press("Control+Space")
    page.open(
        ("is", json.dumps([ATTACKS[0], ATTACKS[1]])), ("not", json.dumps(["__proto__", "constructor"])), table=table
    )
    assert_nothing_ran(page)


def test_scripts_in_the_address_are_text(page: SearchPage) -> None:
    page.open()
    for name in ("q", "where", "from", "sort", "columns", "version", "table", "is"):
        attack = "".join(ATTACKS[:3])
        value = json.dumps([attack, attack]) if name in ("is", "columns") else attack
        page.page.goto(f"{page.address.partition('?')[0]}?{urlencode({name: value})}")
        expect(page.at("body")).to_have_attribute("data-state", re.compile("complete|failed"))
    page.problems[:] = [problem for problem in page.problems if "404 (Not Found)" not in problem]  # no such table
    assert_nothing_ran(page)


def assert_nothing_ran(page: SearchPage) -> None:
    """No script of the data has run, and none of its elements is in the page."""
    assert page.page.evaluate("() => window.taken === undefined")
    assert page.problems == []
    for kind, count in {"script": 2, "img": 1, "style, iframe, object, base": 0}.items():
        assert page.at(kind).count() == count


def answer(address: str, path: str, **headers: str) -> tuple[int, str]:
    """What the server answers to a path as it is written."""
    where = urlsplit(address)
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_nothing_is_answered_without_the_token(browser: Browser, address: str) -> None:
    page = new_page(browser, address)
    base = address.partition("/?token=")[0]
    for place in ("/", "/?token=wrong", "/?token="):
        shown = page.page.goto(base + place)
        assert shown is not None
        assert shown.status == 401
        assert "indextables serve" in page.at("body").inner_text()
    for place in ("/api/tables", "/api/hits", "/view.csv", "/page/app.js", "/api/tables?token=wrong"):
        assert answer(base, place)[0] == 401
        assert answer(base, place, Authorization="Bearer wrong")[0] == 401
    page.page.context.close()


def test_other_hosts_and_paths_that_lead_out_are_refused(address: str) -> None:
    base, _, token = address.partition("/?token=")
    allowed = {"Authorization": f"Bearer {token}"}
    assert answer(base, "/api/tables", **allowed)[0] == 200
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost"):
        assert answer(base, "/api/tables", Host=host, **allowed)[0] in (400, 421)
    for path in (
        "/page/../web_app.py", "/page/%2e%2e/web_app.py", "/page/..%2fweb_app.py", "/page//etc/passwd", "//etc/passwd",
        "/../../../../etc/passwd", "/page/%2fetc%2fpasswd", "/page/..%5cweb_app.py", "/page/index.html%00.js",
        "/page/.", "/page/",
    ):  # fmt: skip
        status, body = answer(base, path, **allowed)
        assert (status, "root:" in body, "import" in body) == (404, False, False), path


def test_pages_of_other_sites_learn_nothing(page: SearchPage, address: str) -> None:
    """A site that the same browser visits can neither read the tables nor frame the page."""
    page.open()
    base = address.partition("/?token=")[0]
    attack = f"""<!doctype html><title>evil</title><iframe src="{base}/"></iframe><script>
      window.read = [];
      const asked = ["/", "/api/tables", "/api/hits", "/view.json"].flatMap((path) => ["cors", "no-cors"].map((mode) =>
        fetch("{base}" + path, {{ mode, credentials: "include" }}).then((answer) => answer.text())
          .then((text) => text && read.push(text), () => 0)));
      const script = document.createElement("script");
      script.src = "{base}/view.json";
      script.onload = () => read.push("script");
      document.head.append(script);
      Promise.all(asked).then(() => {{ document.title = "done"; }});
    </script>"""

    def fulfill(route: Route) -> None:
        route.fulfill(body=attack, content_type="text/html")

    evil = page.page.context.new_page()
    evil.route("http://evil.example/**", fulfill)
    evil.goto("http://evil.example/")
    expect(evil).to_have_title("done")
    assert evil.evaluate("() => read") == []
    framed = evil.frames[1].evaluate("() => document.body.innerText")
    assert "timeout" not in framed
    assert "Search" not in framed
