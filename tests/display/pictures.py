"""The pictures of a notebook and of a report in the documentation: `python -m tests.display.pictures` draws them."""

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from nbconvert import HTMLExporter
from nbformat import NotebookNode

from indextables import IndexTable
from indextables.report import html
from tests.display.tour import executed

DIRECTORY = Path(__file__).parents[2] / "docs" / "pictures"
_FLAGS = ("--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--hide-scrollbars")
_SIZE = "--window-size=960,1120"
_CELLS = slice(2, 10)  # from the table to the plan of a scan


def draw(book: NotebookNode, directory: Path, pictures: Path) -> None:
    """Draws the tour, which has run in a directory, and the report of its table."""
    (directory / "notebook.html").write_text(page_of(book))
    table = IndexTable.open(directory / "tour-logs")
    (directory / "report.html").write_text(html(table.report()).replace(table.path, "/tmp/tour-logs"))
    for name in ("notebook", "report"):
        photograph(directory / f"{name}.html", pictures / f"{name}.png")


def page_of(book: NotebookNode, theme: str = "light") -> str:
    """Some cells of a notebook as JupyterLab shows them; nothing is loaded from elsewhere."""
    some = NotebookNode({**book, "cells": book.cells[_CELLS]})
    page, _ = HTMLExporter(theme=theme, require_js_url="", mathjax_url="").from_notebook_node(some)
    return str(page)


def photograph(page: Path, picture: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        raise FileNotFoundError("there is no chromium; `make setup` installs it for root where apt-get is")
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    profile = f"--user-data-dir={page.parent / 'profile'}"
    words = [browser, *_FLAGS, _SIZE, *alone, profile, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(words, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        draw(executed(place), place, DIRECTORY)
