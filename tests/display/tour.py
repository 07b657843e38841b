"""The tour, executed by a kernel: `python -m tests.display.tour` stores its outputs in docs/tour.ipynb."""

import os
import re
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from indextables.display.progress_bar import VARIABLE

TOUR = Path(__file__).parents[2] / "docs" / "tour.ipynb"
_HTML = re.compile(r"<style>.*?</style>|<title>.*?</title>|<[^>]*>", re.DOTALL)
_VARYING = re.compile(
    r"""[\d,]+\ of\ [\d,]+\ bytes | [\d,]+\ bytes\ became\ [\d,]+
    | [\d.,]+\ ?(B|KB|MB|bytes|s|requests)\b  # sizes, seconds and requests
    | (?<=ytes\ )[\d,]+ | (?<=to\ read\ )[\d,]+\ of\ [\d,]+ | (?<=TimeMs\ )[\d,]+
    | \d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d(\.\d+Z|(?![\dZ]))  # times of commits
    """,
    re.VERBOSE,
)


def executed(directory: Path) -> NotebookNode:
    """The notebook with the outputs that its cells have now; its tables are in the directory."""
    book = nbformat.read(TOUR, as_version=4)
    place = {"metadata": {"path": str(directory)}}
    client = NotebookClient(book, kernel_name="python3", timeout=300, resources=place, record_timing=False)
    client.execute(env={**os.environ, VARIABLE: "off"})  # a bar would depend on the machine
    return _without_place(book, directory)


def texts(book: NotebookNode) -> list[list[str]]:
    """What the outputs of each cell say, without what differs from run to run: sizes, times, and what HTML looks like."""
    return [[_text(output) for output in cell.get("outputs", [])] for cell in book.cells]


def _text(output: NotebookNode) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    text = _HTML.sub(" ", data["text/html"]) if "text/html" in data else data["text/plain"]
    return _VARYING.sub("~", " ".join(unescape(text).split()))


def _without_place(book: NotebookNode, directory: Path) -> NotebookNode:
    """The notebook as if it had run in /tmp."""
    text = nbformat.writes(book).replace(str(directory), "/tmp")
    return nbformat.reads(text, as_version=4)


def store() -> None:
    with TemporaryDirectory() as directory:
        book = executed(Path(directory).resolve())
    for cell in book.cells:
        cell.get("metadata", {}).pop("execution", None)
    book.metadata.language_info = {"name": "python"}
    nbformat.write(book, TOUR)


if __name__ == "__main__":
    store()
