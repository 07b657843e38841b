"""Charts as SVG, drawn by plain functions; a page around them gives the colours to the classes of their parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

_WIDTH, _HEIGHT, _LABELS = 720, 110, 22
_LETTER = 7  # its width, more or less


@dataclass(frozen=True, slots=True)
class Bar:
    """`label` is below it, where there is room; `tip` is shown to who points at it; `kind` is a class of its style."""

    label: str
    value: float
    tip: str
    kind: str = "bar"


def columns(bars: Sequence[Bar], *, title: str) -> str:
    """A column chart.

    >>> drawn = columns([Bar("mon", 2, "mon: 2 rows"), Bar("<b>", 1, "<b>: 1 row")], title="rows")
    >>> drawn.count("<rect"), "&lt;b&gt;: 1 row" in drawn, "<b>" in drawn
    (2, True, False)
    """
    if not bars:
        return ""
    highest = max(bar.value for bar in bars) or 1
    step = min(_WIDTH / len(bars), 90)
    every = ceil(_LETTER * max(len(shortened(bar.label)) for bar in bars) / step)
    drawn = [_column(number, bar, step, highest, labelled=number % every == 0) for number, bar in enumerate(bars)]
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT + _LABELS}" role="img" aria-label="{escape(title)}">'
        f'<path class="axis" d="M0 {_HEIGHT + 0.5}H{_WIDTH}"/>{"".join(drawn)}</svg>'
    )


def _column(number: int, bar: Bar, step: float, highest: float, *, labelled: bool) -> str:
    height = max(bar.value / highest * (_HEIGHT - 10), 1 if bar.value else 0)
    left, gap = number * step, min(4, step / 5)
    shape = (
        f'<rect class="{escape(bar.kind)}" x="{left + gap / 2:.1f}" y="{_HEIGHT - height:.1f}" '
        f'width="{step - gap:.1f}" height="{height:.1f}" rx="1"><title>{escape(bar.tip)}</title></rect>'
    )
    text = f'<text x="{left + gap / 2:.1f}" y="{_HEIGHT + 16}">{escape(shortened(bar.label))}</text>'
    return shape + text if labelled else shape


def share(part: float, whole: float) -> str:
    """A thin bar that shows how much of a whole something is."""
    width = 100 * part / whole if whole else 0
    return (
        '<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rest" width="100" height="8"/><rect class="bar" width="{width:.1f}" height="8"/></svg>'
    )


def shortened(text: str, most: int = 16) -> str:
    """A text that fits below a bar.

    >>> shortened("2024-01-01"), shortened("a rather long name")
    ('2024-01-01', 'a rather long n…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
