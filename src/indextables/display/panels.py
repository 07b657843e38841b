"""The parts of a page or of a cell's output: headings, metrics, tables, findings, funnels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from indextables.display.charts import share
from indextables.display.markup import Html, element, joined

NUMBER, TIGHT = "number", "tight"


@dataclass(frozen=True, slots=True)
class Stage:
    """How much is left after a step; `note` says what the step did."""

    name: str
    left: int
    note: str = ""


@cache
def style() -> Html:
    """The style of all parts; it applies inside of elements of the class `indextables` only."""
    return Html(files("indextables.display").joinpath("style.css").read_text(encoding="utf-8"))


def notebook(*parts: object) -> str:
    """The output of a cell: its parts with their style. There is no script in it, and nothing is loaded."""
    return str(element("div", element("style", style()), *parts, class_="indextables"))


def heading(title: str, note: str = "") -> Html:
    return element("div", element("span", title, class_="head"), element("span", note, class_="dim"))


def metrics(values: Mapping[str, object]) -> Html:
    """Tiles with a name and a value each.

    >>> metrics({"rows": 3})
    '<dl><div><dt>rows</dt><dd>3</dd></div></dl>'
    """
    return element("dl", *(element("div", element("dt", name), element("dd", value)) for name, value in values.items()))


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


def funnel(stages: Sequence[Stage]) -> Html:
    """What is left after each stage, as bars that become shorter."""
    most = max((stage.left for stage in stages), default=0)
    rows = (
        (stage.name, share(stage.left, most), f"{stage.left:,}", element("span", stage.note, class_="dim"))
        for stage in stages
    )
    return table(["", "", "splits", ""], rows, [TIGHT, "", NUMBER])


def text_output(result: object) -> str:
    """What an object prints, as the output of a cell."""
    return notebook(element("pre", str(result)))
