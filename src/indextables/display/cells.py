r"""Values as cells of a grid.

>>> cell(None), cell(0.5), cell("a < b"), cell({"n": [1, 2]})
('<span class="dim">null</span>', '0.5', 'a &lt; b', '<span class="dim">n</span> 1, 2')
"""

from collections.abc import Iterable, Mapping
from html import unescape
from typing import Any

from indextables.display.markup import Html, element, joined, markup
from indextables.display.scalar_text import scalar_text

_LONGEST = 400  # characters of a text that are shown
_BEFORE = 80  # of these, before the first mark
_MARKS = ("<em>", "</em>")


def cell(value: Any) -> Html:
    match value:
        case None:
            return element("span", "null", class_="dim")
        case Mapping():
            return joined((joined([_name(key), " ", cell(inner)]) for key, inner in value.items()), ", ")
        case [tuple(), *_]:  # what Arrow makes of a map
            return cell(dict(value))
        case list() | tuple():
            return joined(map(cell, value), ", ")
        case _:
            return markup(_cut(scalar_text(value)))


def _name(key: Any) -> Html:
    return element("span", key, class_="dim")


def marked_cell(text: str) -> Html:
    """A text with `<em>` around words: these are marked, and whatever else looks like HTML is text.

    >>> marked_cell("<em>disk</em> is &lt;b&gt; <b>full</b>")
    '<mark>disk</mark> is &lt;b&gt; &lt;b&gt;full&lt;/b&gt;'
    """
    first, *others = text.split(_MARKS[0])
    parts: list[tuple[str, bool]] = [(unescape(first), False)]
    for other in others:
        word, _, rest = other.partition(_MARKS[1])
        parts += [(unescape(word), True), (unescape(rest), False)]
    return _marked(parts)


def spanned_cell(text: str, spans: Iterable[tuple[int, int]]) -> Html:
    """A text whose parts from one position to another are marked.

    >>> spanned_cell("disk is full", [(0, 4), (8, 12)])
    '<mark>disk</mark> is <mark>full</mark>'
    """
    parts: list[tuple[str, bool]] = []
    done = 0
    for start, end in spans:
        parts += [(text[done:start], False), (text[start:end], True)]
        done = end
    return _marked([*parts, (text[done:], False)])


def _marked(parts: Iterable[tuple[str, bool]]) -> Html:
    return joined(element("mark", part) if found else part for part, found in _shortened(parts))


def _shortened(parts: Iterable[tuple[str, bool]]) -> Iterable[tuple[str, bool]]:
    """The parts of a text around its first mark, as many as there is room for."""
    (first, _), *others = parts
    left = _LONGEST
    if others and len(first) > _LONGEST - _BEFORE:
        first = f"…{first[-_BEFORE:]}"
    for part, found in [(first, False), *others]:
        if len(part) > left:
            yield f"{part[:left]}…", found
            return
        left -= len(part)
        yield part, found


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
