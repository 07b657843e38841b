"""The figures of a run as pictures. The same figures give the same bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.peers.measure import OURS, Measurement, Run, Spread
from benchmarks.peers.operations import TITLES
from benchmarks.peers.tables import SERIES, TITLE_OF, Ratio, ratios_of, series_of

COLOURS = {
    OURS: "#2a7f62",
    "Lance": "#b26a00",
    "Lance, BTREE on trace_id": "#e0a040",
    "DuckDB over Parquet": "#3b5bb5",
    "Parquet": "#6b7482",
    "Spark's Parquet": "#6b7482",
    "Parquet and bare tantivy": "#8a4fa0",
    "delta-rs": "#b03030",
}
_STYLE = {
    "svg.hashsalt": "indextables",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d8dce2",
    "axes.axisbelow": True,
}


def draw(run: Run, directory: Path) -> dict[str, str]:
    """Writes the pictures; gives the name of each file by what it shows."""
    files = {}
    mpl.use("svg")
    with mpl.rc_context(_STYLE):
        for name, picture in _pictures(run).items():
            files[name] = f"benchmark-{name}.svg"
            figure = picture()
            figure.savefig(directory / files[name], metadata={"Date": None}, bbox_inches="tight")
            plt.close(figure)
    return files


def _pictures(run: Run) -> dict[str, Callable[[], Any]]:
    ratios = list(ratios_of(run, ("warm",)))
    pictures: dict[str, Callable[[], Any]] = {"ratios": lambda: _ratios(ratios)} if ratios else {}
    for series, unit in SERIES.items():
        if measurements := series_of(run, series):
            pictures[series] = lambda found=measurements, series=series, unit=unit: _lines(found, series, unit)
    return pictures


def _ratios(ratios: list[Ratio]) -> Any:
    """A bar per peer, from 1 to its ratio: to the right we are ahead."""
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.27 * len(ratios)))
    for place, ratio in enumerate(ratios):
        spread = ratio.spread
        axes.barh(place, spread.median - 1, left=1, color=COLOURS[ratio.peer], height=0.7)
        axes.plot([spread.low, spread.high], [place, place], color="#1f2328", linewidth=1)
    axes.set_yticks(range(len(ratios)), [f"{TITLE_OF[ratio.operation]}: {ratio.peer}" for ratio in ratios])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="#1f2328", linewidth=1.2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("peer / indextables, warm: right of 1, indextables is faster or smaller")
    return figure


def _lines(measurements: list[Measurement], series: str, unit: str) -> Any:
    """A panel per operation, a line per system, with the spread as a band."""
    operations = list(dict.fromkeys(measured.operation for measured in measurements))
    figure, panels = plt.subplots(1, len(operations), figsize=(3.4 * len(operations) + 1, 3.4), squeeze=False)
    for axes, operation in zip(panels[0], operations, strict=True):
        found = sorted((m for m in measurements if m.operation == operation), key=lambda measured: measured.x)
        for system in found[0].systems:
            _line(axes, [m.x for m in found], [Spread.of(m.systems[system].seconds) for m in found], system)
        axes.set(xscale="log", yscale="log", xlabel=unit, title=TITLES[operation.removeprefix(f"{series} ")])
        axes.title.set_fontsize(9)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,g}")
            axis.set_minor_formatter("")
    panels[0][0].set_ylabel("ms")
    drawn = {label: line for axes in panels[0] for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.tight_layout()
    figure.legend(drawn.values(), drawn.keys(), loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
    return figure


def _line(axes: Any, sizes: list[int], spreads: list[Spread], system: str) -> None:
    low, median, high = ([1e3 * value for value in values] for values in zip(*map(_ordered, spreads), strict=True))
    axes.plot(sizes, median, marker="o", markersize=4, color=COLOURS[system], label=system)
    axes.fill_between(sizes, low, high, color=COLOURS[system], alpha=0.15, linewidth=0)


def _ordered(spread: Spread) -> tuple[float, float, float]:
    return spread.low, spread.median, spread.high
