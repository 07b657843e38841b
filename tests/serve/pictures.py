"""The pictures of the search page in the documentation: `python -m tests.serve.pictures` draws them into docs/pictures."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, expect

from indextables import IndexTable
from tests.serve.browser import SearchPage, chromium, new_page, served
from tests.serve.shop_logs import shop_table
from tests.serve.tickets import ticket_table

DIRECTORY = Path(__file__).parents[2] / "docs" / "pictures"


def draw(browser: Browser, logs: IndexTable, tickets: IndexTable, directory: Path) -> list[Path]:
    """Light, dark with an open row, on a phone; a mistake, a breakdown, and tickets."""
    payments, dark = {"q": "payment OR order", "not": '["service","gateway"]'}, {"color_scheme": "dark"}
    desk = {"table": "tickets", "q": "Rechnung OR invoice", "by": "city"}
    with served([logs, tickets]) as address:

        def drawn(name: str, view: dict[str, str], act: Callable[[SearchPage], None], **context: Any) -> Path:
            return _draw(new_page(browser, address, **context).open(**view), directory / f"search-page-{name}.png", act)

        return [
            drawn("light", payments, _look),
            drawn("dark", payments, _open_row, **dark),
            drawn("phone", payments, _look, viewport={"width": 390, "height": 780}),
            drawn("error", {"by": "host"}, _mistake),
            drawn("breakdown", {"by": "service"}, _point, **dark),
            drawn("tickets", desk, _unfold),
        ]


def _draw(page: SearchPage, path: Path, act: Callable[[SearchPage], None]) -> Path:
    act(page)
    path.write_bytes(with_few_colours(page.page.screenshot(animations="disabled")))
    assert page.problems == []
    page.page.context.close()
    return path


def _look(page: SearchPage) -> None:
    page.rows.first.wait_for()


def _open_row(page: SearchPage) -> None:
    """A row with a stack trace, and what is around it."""
    page.rows.filter(has_text="java.net").first.click()
    page.button("Rows before and after").click()
    page.at(".context").wait_for()
    page.page.mouse.move(0, 0)


def _mistake(page: SearchPage) -> None:
    """A misspelled column, and what was found before it."""
    page.button("Condition").click()
    page.at("#where").fill("statsu >= 500")
    page.at("#where").press("Enter")
    expect(page.at("#problem")).to_be_visible()


def _point(page: SearchPage) -> None:
    page.at(".bars g").nth(20).hover()
    page.at(".tip").wait_for()


def _unfold(page: SearchPage) -> None:
    """A ticket with JSON in it, below the search that finds it in both languages."""
    page.rows.filter(has_text="Rechnung").first.click()
    page.at(".detail .json").first.wait_for()
    page.page.mouse.move(0, 0)


def with_few_colours(png: bytes) -> bytes:
    """A picture of a page with a palette: a third of the bytes, and the eye sees no difference."""
    with Image.open(BytesIO(png)) as picture, BytesIO() as file:
        few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(file, "png", optimize=True)
        return file.getvalue()


def main() -> None:
    with chromium() as browser:
        logs, tickets = (
            shop_table("memory://shop/logs", 60_000, commits=6),
            ticket_table("memory://desk/tickets", 3_000),
        )
        for path in draw(browser, logs, tickets, DIRECTORY):
            print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
