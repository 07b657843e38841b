"""The tour shows what happens: its stored outputs are those of a run, and a browser draws them."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tests.display.pictures import draw, page_of, photograph
from tests.display.tour import TOUR, executed, texts
from tests.tiers import slow

pytestmark = slow("the notebook, run and drawn")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tour")


@pytest.fixture(scope="module")
def book(directory: Path) -> NotebookNode:
    return executed(directory)


def test_the_outputs_of_the_tour_are_those_that_its_cells_have(book: NotebookNode) -> None:
    stored = nbformat.read(TOUR, as_version=4)
    assert texts(book) == texts(stored), "python -m tests.display.tour stores them again"


def test_a_browser_draws_the_notebook_and_the_report(book: NotebookNode, directory: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium; `make setup` installs it for root where apt-get is")
    draw(book, directory, directory)
    (directory / "dark.html").write_text(page_of(book, theme="dark"))
    photograph(directory / "dark.html", directory / "dark.png")
    pictures = [(directory / f"{name}.png").read_bytes() for name in ("notebook", "dark", "report")]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert len(set(pictures)) == len(pictures)
