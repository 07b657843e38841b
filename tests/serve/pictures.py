"""The pictures of the search page in the documentation: `python -m tests.serve.pictures` draws them into docs/pictures."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from indextables import IndexTable
from tests.serve.browser import SearchPage, chromium, new_page, served
from tests.serve.shop_logs import shop_table

DIRECTORY = Path(__file__).parents[2] / "docs" / "pictures"


def draw(browser: Browser, table: IndexTable, directory: Path) -> list[Path]:
    """Light, dark with an open row, and on a phone."""
    with served([table]) as address:
        return [
            _draw(new_page(browser, address), directory / "search-page-light.png", _look),
            _draw(new_page(browser, address, color_scheme="dark"), directory / "search-page-dark.png", _open_row),
            _draw(_phone(browser, address), directory / "search-page-phone.png", _look),
        ]


def _phone(browser: Browser, address: str) -> SearchPage:
    return new_page(browser, address, viewport={"width": 390, "height": 780})


def _draw(page: SearchPage, path: Path, act: Callable[[SearchPage], None]) -> Path:
    page.open(("not", '["service","gateway"]'), q="payment OR order")
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


def with_few_colours(png: bytes) -> bytes:
    """A picture of a page with a palette: a third of the bytes, and the eye sees no difference."""
    with Image.open(BytesIO(png)) as picture, BytesIO() as file:
        few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(file, "png", optimize=True)
        return file.getvalue()


def main() -> None:
    with chromium() as browser:
        for path in draw(browser, shop_table("memory://shop/logs", 60_000, commits=6), DIRECTORY):
            print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
