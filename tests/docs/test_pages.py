"""What the documentation shows is what happens, and its links lead somewhere."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import tidied
from tests.docs.page import LANGUAGES, PAGES, ROOT, blocks_of, needs, run

DOCS = ROOT / "docs"
RUN = [page for page in PAGES if any(block.runs for block in blocks_of(page))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def named(page: Path) -> Any:
    """A page as a parameter; some need a JVM."""
    marks = [pytest.mark.spark] if needs(page, "spark") else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@contextmanager
def session(spark: Any) -> Iterator[Any]:
    """The session, enabled; settings, views and tables of the catalog that a page makes are taken back."""
    from indextables import enable  # noqa: PLC0415 - pages without a JVM run without PySpark

    before = spark.conf.getAll.keys()
    yield enable(spark)
    for key in spark.conf.getAll.keys() - before:
        spark.conf.unset(key)
    tidied(spark)


@pytest.fixture
def names(page: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What a page may speak of without having made it: a Spark session, and the way to an object store."""
    given: dict[str, Any] = {}
    if needs(page, "endpoint"):
        of_s3 = request.getfixturevalue("s3").options
        given = {"endpoint": of_s3["s3.endpoint"], "key": of_s3["s3.accessKey"], "secret": of_s3["s3.secretKey"]}
    if not needs(page, "spark"):
        yield given
        return
    with session(request.getfixturevalue("spark")) as spark:
        yield {**given, "spark": spark}


@pytest.mark.parametrize("page", [named(page) for page in RUN])
def test_a_page_is_true(page: Path, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, names)


def test_every_block_is_of_a_known_kind() -> None:
    assert {block.kind for page in PAGES for block in blocks_of(page)} <= LANGUAGES
    fences = sum(page.read_text().count("\n```") for page in PAGES)
    shown = sum(1 for page in PAGES for block in blocks_of(page) if not block.hidden)
    assert fences == 2 * shown


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub(lambda code: code[0].strip("`"), page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def leads_nowhere(page: Path, link: str) -> bool:
    if link.startswith(("https://", "http://")):
        return False
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    generated = target.name == "api.md"  # by mkdocstrings, and `make docs` is strict about it
    return not target.exists() or bool(anchor and not generated and anchor not in anchors(target))


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(CODE.sub("", page.read_text()))
    assert [link for link in links if leads_nowhere(page, link)] == []


def test_the_site_has_every_page() -> None:
    named = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2])
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
