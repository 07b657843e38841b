"""HTML as values: what is not HTML already is escaped, so that no text from a table can become markup.

>>> element("td", "a < b", class_="number")
'<td class="number">a &lt; b</td>'
>>> element("p", element("b", "rows"), ": ", 3)
'<p><b>rows</b>: 3</p>'
"""

from collections.abc import Iterable
from html import escape
from typing import Any

from indextables.display.plain_values import printable


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(value: object) -> Html:
    r"""A value as HTML; control characters are spelt out.

    >>> markup("<b>"), markup(Html("<b>")), markup("\x1b[31m")
    ('&lt;b&gt;', '<b>', '\\x1b[31m')
    """
    if isinstance(value, Html):
        return value
    return Html(printable(escape(str(value))))


def element(name: str, *children: object, **attributes: Any) -> Html:
    """An element with its children; `class_` is the attribute `class`, and an attribute that is None is left out."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    opened = "".join(f' {key}="{escape(str(value))}"' for key, value in given.items())
    return Html(f"<{name}{opened}>{joined(children)}</{name}>")


def joined(parts: Iterable[object], separator: str = "") -> Html:
    """Parts one after the other; the separator is HTML."""
    return Html(separator.join(map(markup, parts)))
