"""The parts of a page or of a cell's output: headings, metrics, tables, findings, funnels."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from indextables.display.charts import share
from indextables.display.markup import Html, element, joined

NUMBER, TIGHT, WIDE = "number", "tight", "wide"
"""Classes of columns: numbers, texts that are not wrapped, and those that need room."""


@cache
def style() -> Html:
    """The style of all parts; it applies inside of elements of the class `indextables` only."""
    from importlib.resources import files  # noqa: PLC0415 - it takes longer to import than all of this

    return Html(files("indextables.display").joinpath("style.css").read_text(encoding="utf-8"))


def notebook(*parts: object) -> str:
    """The output of a cell: its parts with their style. There is no script in it, and nothing is loaded."""
    return str(element("div", element("style", style()), *parts, class_="indextables"))


def heading(title: str, note: str = "") -> Html:
    return element("div", element("span", title, class_="head"), element("span", note, class_="dim"))


def metrics(values: Mapping[str, object]) -> Html:
    """Tiles with a name and a value each.

    >>> metrics({"rows": 3})
    '<div class="tiles"><div><span class="dim">rows</span><b>3</b></div></div>'
    """
    tiles = (element("div", element("span", name, class_="dim"), element("b", value)) for name, value in values.items())
    return element("div", *tiles, class_="tiles")


def table(head: Sequence[str], rows: Iterable[Sequence[object]], kinds: Sequence[str] = ()) -> Html:
    """A table; `kinds` are the classes of its columns, as many as are given.

    >>> table(["day", "rows"], [["<mon>", 3]], ["", NUMBER]).partition("<tbody>")[2]
    '<tr><td>&lt;mon&gt;</td><td class="number">3</td></tr></tbody></table>'
    """
    classes = [*((kind or None) for kind in kinds), *[None] * (len(head) - len(kinds))]
    names = (element("th", name, class_=kind) for name, kind in zip(head, classes, strict=True))
    body = (
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, classes, strict=True)))
        for row in rows
    )
    return element("table", element("thead", element("tr", *names)), element("tbody", *body))


def note(kind: str, title: str, message: str, advice: object) -> Html:
    """A finding with its fix."""
    fix = element("p", "Recommendation: ", advice)
    return element("div", element("b", title), element("p", message), fix, class_=f"finding {kind}")


def code(text: str) -> Html:
    return element("code", text)


def pairs(values: Mapping[str, object]) -> Html:
    """Names and values, one below the other."""
    named = (joined([element("span", name, class_="dim"), " ", value]) for name, value in values.items())
    return joined(named, "<br>")


def funnel(stages: Sequence[tuple[str, int, str]], unit: str) -> Html:
    """How many are left after each stage, as bars that become shorter; a stage has a name, a number and a note."""
    most = max((left for _, left, _ in stages), default=0)
    rows = ((name, share(left, most), f"{left:,}", element("span", note, class_="dim")) for name, left, note in stages)
    return table(["", "", unit, ""], rows, [TIGHT, "", NUMBER])
