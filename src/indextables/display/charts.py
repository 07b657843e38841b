"""Charts as SVG, drawn by plain functions; the style of a page gives colours to the classes of their parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, log10

from indextables.display.markup import Html, element, joined

_WIDTH, _HEIGHT = 720, 120
_LEFT, _TOP, _BELOW = 56, 20, 40
_LETTER = 6.2  # its width, more or less
_TICKS = 3
_WIDEST = 80
_NARROWEST = 300


@dataclass(frozen=True, slots=True)
class Bar:
    """Neighbours with the same `label` share it; `tip` is shown to who points at it; `kind` is a class of its style."""

    label: str
    value: float
    tip: str
    kind: str = "bar"


def columns(bars: Sequence[Bar], *, title: str, y: str, x: str = "", end: str | None = None) -> Html:
    """A column chart with the names of its axes; with an `end`, labels stand at the left edges of bars, and it at the last.

    >>> drawn = columns([Bar("mon", 2, "mon: 2 rows"), Bar("<b>", 1, "<b>: 1 row")], title="rows", y="rows")
    >>> drawn.count("<rect"), "&lt;b&gt;: 1 row" in drawn, "<b>" in drawn
    (2, True, False)
    """
    if not bars:
        return Html("")
    step = min((_WIDTH - _LEFT) / len(bars), _WIDEST)
    ticks, right = axis_ticks(max(bar.value for bar in bars)), max(_LEFT + step * len(bars), _NARROWEST)
    parts = [
        element("text", y, class_="title", x=_LEFT, y=11),
        *(_tick(value, ticks[-1], right) for value in ticks),
        *(_column(number, bar, step, ticks[-1]) for number, bar in enumerate(bars)),
        *(_edge_labels(bars, step, end) if end is not None else _labels(bars, step)),
        element("text", x, class_="title end", x=f"{right:.1f}", y=_TOP + _HEIGHT + 34),
    ]
    size = f"0 0 {_WIDTH} {_TOP + _HEIGHT + _BELOW}"
    return element("svg", *parts, class_="chart", viewBox=size, role="img", aria_label=title)


def axis_ticks(highest: float) -> list[float]:
    """Round numbers from 0 to the highest value or a little above, for a scale of whole numbers.

    >>> axis_ticks(969), axis_ticks(3), axis_ticks(0)
    ([0, 500, 1000], [0, 1, 2, 3], [0, 1])
    """
    if highest <= 1:
        return [0, 1]
    power = 10 ** floor(log10(highest / _TICKS))
    step = max(1, next(factor * power for factor in (1, 2, 5, 10) if factor * power * _TICKS >= highest))
    return [step * number for number in range(ceil(highest / step) + 1)]


def compact(number: float) -> str:
    """A number for an axis.

    >>> compact(500), compact(20_000), compact(1_500_000), compact(2_000_000_000)
    ('500', '20,000', '1.5 M', '2 G')
    """
    for unit, size in (("G", 10**9), ("M", 10**6)):
        if number >= size:
            return f"{number / size:g} {unit}"
    return f"{number:,.0f}"


def _y(value: float, highest: float) -> float:
    return _TOP + _HEIGHT * (1 - value / highest)


def _tick(value: float, highest: float, right: float) -> Html:
    at = _y(value, highest)
    line = element("path", class_="grid" if value else "axis", d=f"M{_LEFT} {at:.1f}H{right:.1f}")
    return joined([line, element("text", compact(value), class_="end", x=_LEFT - 6, y=f"{at + 4:.1f}")])


def _column(number: int, bar: Bar, step: float, highest: float) -> Html:
    top = min(_y(bar.value, highest), _TOP + _HEIGHT - (1 if bar.value else 0))
    gap = min(4, step / 5)
    return element(
        "rect",
        element("title", bar.tip),
        class_=bar.kind,
        x=f"{_LEFT + number * step + gap / 2:.1f}",
        y=f"{top:.1f}",
        width=f"{step - gap:.1f}",
        height=f"{_TOP + _HEIGHT - top:.1f}",
        rx=1,
    )


def _labels(bars: Sequence[Bar], step: float) -> Iterator[Html]:
    """The label of each run of bars below its middle, where there is room; a line below a run of several bars."""
    left, taken = float(_LEFT), 0.0
    for label, run in groupby(bars, key=lambda bar: bar.label):
        count = sum(1 for _ in run)
        middle, left = left + count * step / 2, left + count * step
        if count > 1:
            at = f"M{left - count * step + 3:.1f} {_TOP + _HEIGHT + 4.5}H{left - 3:.1f}"
            yield element("path", class_="axis", d=at)
        text = shortened(label)
        half = len(text) * _LETTER / 2
        if middle - half >= taken:
            taken = middle + half + _LETTER
            yield element("text", text, class_="middle", x=f"{middle:.1f}", y=_TOP + _HEIGHT + 17)


def _edge_labels(bars: Sequence[Bar], step: float, end: str) -> Iterator[Html]:
    every = ceil(_LETTER * (1 + max(len(bar.label) for bar in bars)) / step)
    for number, label in enumerate([*(bar.label for bar in bars), end]):
        if number % every == 0:
            at = _LEFT + number * step
            yield element("path", class_="axis", d=f"M{at:.1f} {_TOP + _HEIGHT}v4")
            yield element("text", shortened(label), class_="middle", x=f"{at:.1f}", y=_TOP + _HEIGHT + 17)


def share(part: float, whole: float) -> Html:
    """A thin bar that shows how much of a whole something is."""
    width = 100 * part / whole if whole else 0
    return element(
        "svg",
        element("rect", class_="rest", width=100, height=8),
        element("rect", class_="bar", width=f"{width:.1f}", height=8),
        class_="share",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def shortened(text: str, most: int = 18) -> str:
    """A text that fits below a bar.

    >>> shortened("2024-01-01"), shortened("a name that is too long")
    ('2024-01-01', 'a name that is to…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
