"""The search page in Chromium, served as `indextables serve` serves it."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

from indextables import IndexTable
from indextables.serve.server import bind_server

FLAGS = ["--disable-gpu", "--disable-background-networking", "--no-first-run"]
expect.set_options(timeout=30_000)  # a loaded machine takes its time


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser, whose contexts share nothing."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium; `make setup` installs it for root where apt-get is")
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *alone])
        yield browser
        browser.close()


@contextmanager
def served(tables: Sequence[IndexTable]) -> Iterator[str]:
    """The address of a server with its token, which stops afterwards."""
    bound = bind_server(tables)
    thread = Thread(target=bound.run)
    thread.start()
    yield bound.address
    bound.server.should_exit = True
    thread.join()


@dataclass
class SearchPage:
    """The page as a person uses it; `problems` are errors of its scripts, violations of its policy, and dialogs."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._logged)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("dialog", self._asked)

    def _logged(self, message: ConsoleMessage) -> None:
        """What the browser says about an answer of 400 is what the page shows below the query."""
        if message.type in ("error", "warning") and "400 (Bad Request)" not in message.text:
            self.problems.append(f"{message.type}: {message.text}")

    def _asked(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, *repeated: tuple[str, str], **state: str) -> "SearchPage":
        """Follows a link to a view, with the token."""
        base, _, token = self.address.partition("/?token=")
        self.page.goto(f"{base}/?{urlencode([*state.items(), *repeated, ('token', token)])}")
        return self.loaded()

    def loaded(self) -> "SearchPage":
        """Waits until the hits, their count, the histogram and the facets of the view are there."""
        expect(self.at("body")).to_have_attribute("data-state", "complete")
        return self

    def at(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def button(self, name: str, *, within: str = "body", exact: bool = True) -> Locator:
        return self.at(within).get_by_role("button", name=name, exact=exact)

    def search(self, query: str) -> "SearchPage":
        self.at("#hits").focus()
        self.page.keyboard.press("/")
        self.page.keyboard.type(query)
        self.page.keyboard.press("Escape")  # closes the completions, if there are any
        self.at("#q").press("Enter")
        return self.loaded()

    @property
    def count(self) -> str:
        """The number of hits, as it is shown."""
        return self.at("#count b").inner_text()

    @property
    def rows(self) -> Locator:
        return self.at("tr.line")

    def column(self, name: str) -> list[str]:
        """The texts of a column."""
        return self.at(f'tr.line td[data-column="{name}"]').all_inner_texts()

    @property
    def copied(self) -> str:
        return str(self.page.evaluate("() => navigator.clipboard.readText()"))


def new_page(browser: Browser, address: str, **context: Any) -> SearchPage:
    """A page in a browser that knows nothing: no cookie, no remembered theme."""
    context.setdefault("viewport", {"width": 1280, "height": 800})
    made: BrowserContext = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **context)
    return SearchPage(made.new_page(), address)
