"""The figures of a run as Markdown tables; every cell comes from the measurements."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.peers.measure import OURS, Measurement, Run, Samples, Spread, ratios
from benchmarks.peers.operations import READS, SPARK_READS, TITLES
from benchmarks.peers.reasons import REASONS

T = TypeVar("T")
SERIES = {"scaling-rows": "rows", "scaling-splits": "splits", "scaling-hits": "hits"}
WRITES = ("write", "spark-write")
SIZES = {"write": "bytes", "spark-write": "bytes in Spark"}
TITLE_OF = TITLES | {"bytes": "bytes of the table", "bytes in Spark": "bytes of the table that Spark wrote"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """A peer beside us: more than 1 means that we are faster, or smaller."""

    operation: str
    state: str
    peer: str
    spread: Spread


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def ratios_of(run: Run, states: tuple[str, ...] = ("warm", "cold")) -> Iterator[Ratio]:
    """Of all operations that are not a series, and of the bytes of all writes."""
    for measured in _plain(run, *states):
        for peer, samples in _peers(measured):
            ours = measured.systems[OURS]
            yield Ratio(measured.operation, measured.state, peer, ratios(samples, ours))
            if measured.operation in SIZES:
                share = samples.facts["bytes"] / ours.facts["bytes"]
                yield Ratio(SIZES[measured.operation], measured.state, peer, Spread(share, share, share))


def read_table(run: Run, state: str) -> str:
    """Milliseconds of reads, with the ratio of each peer."""
    reads = [measured for measured in _plain(run, state) if measured.operation in READS | SPARK_READS]
    rows = [
        [
            TITLES[measured.operation] if first else "",
            _answer(measured) if first else "",
            peer,
            _milliseconds(measured.systems[OURS]),
            _milliseconds(samples),
            ratio_text(ratios(samples, measured.systems[OURS])),
        ]
        for measured in reads
        for first, (peer, samples) in _first(_peers(measured))
    ]
    return table(["operation", "answer", "peer", "indextables, ms", "peer, ms", "ratio"], rows)


def write_table(run: Run) -> str:
    rows = [
        [
            TITLES[measured.operation] if first else "",
            name,
            _seconds(samples),
            f"{measured.rows / Spread.of(samples.seconds).median:,.0f}",
            _three(Spread.of(samples.cpu).median),
            f"{samples.facts['bytes'] / 1e6:,.1f}",
            *_compared(name, samples, measured),
        ]
        for measured in _plain(run, "warm")
        if measured.operation in WRITES
        for first, (name, samples) in _first(measured.systems.items())
    ]
    return table(
        ["operation", "system", "seconds", "rows/s", "CPU seconds", "MB", "ratio of seconds", "of bytes"], rows
    )


def _compared(name: str, samples: Samples, measured: Measurement) -> list[str]:
    ours = measured.systems[OURS]
    share = f"{samples.facts['bytes'] / ours.facts['bytes']:.2f}"
    return ["", ""] if name == OURS else [ratio_text(ratios(samples, ours)), share]


def small_table(run: Run) -> str:
    """Many small splits, and many small partitions."""
    rows = [
        [
            _small_title(measured) if first else "",
            name,
            _milliseconds(samples),
            "" if name == OURS else ratio_text(ratios(samples, measured.systems[OURS])),
            _small_facts(samples),
        ]
        for measured in _plain(run, "warm")
        if measured.operation in {"small-splits", "partitions"}
        for first, (name, samples) in _first(measured.systems.items())
    ]
    return table(["operation", "system", "ms", "ratio", ""], rows)


def _small_title(measured: Measurement) -> str:
    if measured.operation == "partitions":
        return f"write of {measured.x:,} partitions of 100 rows"
    return f"{measured.answer.partition(' (')[0]} of a rare word over {measured.x:,} splits"


def _small_facts(samples: Samples) -> str:
    facts = samples.facts
    if "opened" in facts:
        return f"opens {facts['opened']:,.0f} of {facts['splits']:,.0f} splits"
    if "peak_mb" in facts:
        return f"peak memory {facts['peak_mb']:,.0f} MB, {facts['added_mb']:,.0f} MB of it for the write"
    return ""


def s3_table(run: Run) -> str:
    rows = [
        [TITLES[measured.operation] if first else "", name, _traffic(samples, "first"), _traffic(samples, "again")]
        for measured in _plain(run, "s3")
        for first, (name, samples) in _first(measured.systems.items())
    ]
    return table(["operation", "system", "first time: requests, MB", "again: requests, MB"], rows)


def _traffic(samples: Samples, when: str) -> str:
    return f"{samples.facts[f'{when} requests']:,.0f}, {samples.facts[f'{when} bytes'] / 1e6:,.2f}"


def scaling_table(series: str, measurements: list[Measurement]) -> str:
    """Milliseconds by what the series varies, an operation and a system in each line."""
    sizes = sorted({measured.x for measured in measurements})
    median: dict[tuple[str, str], dict[int, str]] = {}
    for measured in measurements:
        for name, samples in measured.systems.items():
            operation = TITLES[measured.operation.removeprefix(f"{series} ")]
            median.setdefault((operation, name), {})[measured.x] = _three(Spread.of(samples.seconds).median * 1e3)
    rows = [[*names, *(found.get(size, "") for size in sizes)] for names, found in median.items()]
    return table(["operation", "system, ms", *(f"{size:,}" for size in sizes)], rows)


def behind_table(run: Run) -> str:
    """Where the median is below 1, worst first, and why."""
    found: dict[tuple[str, str], dict[str, Spread]] = {}
    for ratio in ratios_of(run):
        found.setdefault((ratio.operation, ratio.peer), {})[ratio.state] = ratio.spread
    behind = {key: states for key, states in found.items() if any(s.median < 1 for s in states.values())}
    rows = [
        [
            TITLE_OF[operation],
            peer,
            *(ratio_text(states[state]) if state in states else "" for state in ("warm", "cold")),
            REASONS.get((operation, peer), "*No reason is recorded yet.*"),
        ]
        for (operation, peer), states in sorted(behind.items(), key=lambda item: _worst(item[1]))
    ]
    return table(["operation", "peer", "ratio, warm", "ratio, cold", "why"], rows) if rows else "Nowhere in this run."


def _worst(states: dict[str, Spread]) -> float:
    return min(spread.median for spread in states.values())


def series_of(run: Run, series: str) -> list[Measurement]:
    return [measured for measured in run.measurements if measured.operation.startswith(f"{series} ")]


def ratio_text(spread: Spread) -> str:
    if spread.low == spread.high:
        return _three(spread.median)
    return f"{_three(spread.median)} ({_three(spread.low)} to {_three(spread.high)})"


def _plain(run: Run, *states: str) -> list[Measurement]:
    return [m for m in run.measurements if m.state in states and not m.operation.startswith("scaling-")]


def _peers(measured: Measurement) -> list[tuple[str, Samples]]:
    return [(name, samples) for name, samples in measured.systems.items() if name != OURS]


def _first(items: Iterable[T]) -> Iterator[tuple[bool, T]]:
    return ((number == 0, item) for number, item in enumerate(items))


def _answer(measured: Measurement) -> str:
    found = measured.answer.partition(" (")[0]
    return f"{'1 row' if found == '1 rows' else found} of {measured.rows:,}"


def _milliseconds(samples: Samples) -> str:
    return ratio_text(Spread.of([seconds * 1e3 for seconds in samples.seconds]))


def _seconds(samples: Samples) -> str:
    return ratio_text(Spread.of(samples.seconds))


def _three(value: float) -> str:
    """Three digits: 0.0123, 1.23, 12.3, 123, 1,230."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
