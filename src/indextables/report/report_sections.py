"""The sections of a report as HTML, for a page of their own and for notebooks."""

from collections.abc import Mapping, Sequence

from indextables.display.charts import Bar, columns, share
from indextables.display.markup import Html, element, joined
from indextables.display.panels import NUMBER, TIGHT, code, heading, metrics, notebook, pairs, table
from indextables.inspect.findings import SPLIT_SIZES, findings_panel, format_bytes
from indextables.inspect.health import Health
from indextables.plural import pluralize
from indextables.report.report_facts import (
    ColumnFact,
    PartitionFact,
    SizeFact,
    VersionFact,
    chart_labels,
    natural_order,
)

_SHOWN = 10  # partitions; the others are folded


def table_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path


def folded_output(health: Health, layout: str, sections: Mapping[str, object]) -> str:
    """The output of a cell: metrics and findings, and sections that are folded."""
    folded = (element("details", element("summary", name), part) for name, part in sections.items() if part)
    return notebook(table_head(health, layout), findings_panel(health.findings), *folded)


def table_output(health: Health, layout: str, facts: Sequence[ColumnFact]) -> str:
    """A table as the output of a cell: what it is, its columns, and findings."""
    findings = findings_panel(health.findings) if health.findings else ""
    return notebook(table_head(health, layout), column_section(facts), findings)


def damage_output(path: str, facts: Sequence[ColumnFact], error: str) -> str:
    """A table whose log cannot be read any more, as the output of a cell."""
    message = element("div", element("p", error), class_="finding warning")
    return notebook(heading(table_name(path), path), column_section(facts), message)


def table_head(health: Health, layout: str) -> Html:
    partitioned = joined(["partitioned by ", code(layout)]) if layout else "not partitioned"
    title = heading(table_name(health.table), health.table)
    return joined([title, metrics(health.figures), element("div", partitioned)])


def column_section(facts: Sequence[ColumnFact]) -> Html:
    return table(["column", "type", "indexed as"], ((fact.name, fact.type, _indexed(fact)) for fact in facts))


def _indexed(fact: ColumnFact) -> Html:
    """How a column is searched, with its field rule where that says more than its type."""
    if fact.indexed == "none":
        return element("span", "not indexed", class_="dim")
    words = fact.indexed.startswith("text")
    rule = fact.indexed if words or fact.indexed == "string" else ""
    return joined(["words " if words else "exact values " if rule else "values ", code(rule) if rule else ""])


def property_section(properties: Mapping[str, str]) -> Html:
    if not properties:
        return Html("")
    return table(["property", "value"], ((code(key), value) for key, value in sorted(properties.items())))


def partition_section(partitions: Sequence[PartitionFact], health: Health) -> Html:
    """The largest partitions: a chart in the order of their values, and a table in that of their rows."""
    if not partitions:
        return Html("")
    note = pluralize(health.partitions, "partition")
    if health.partitions > len(partitions):
        note = f"The {len(partitions)} with the most rows, of {note}."
    largest = _partition_table(partitions, health.rows)
    return joined([element("p", note, class_="dim"), _partition_chart(partitions), largest])


def _partition_chart(partitions: Sequence[PartitionFact]) -> Html:
    ordered = sorted(partitions, key=lambda fact: natural_order([*fact.labels.values()]))
    axis, labels = chart_labels([fact.labels for fact in ordered])
    bars = [
        Bar(label, fact.rows or 0, f"{fact.label}: {_row_count(fact)} rows, {format_bytes(fact.bytes)}")
        for label, fact in zip(labels, ordered, strict=True)
    ]
    return columns(bars, title="rows by partition", y="rows", x=axis)


def _partition_table(partitions: Sequence[PartitionFact], all_rows: int) -> Html:
    most = max(fact.rows or 0 for fact in partitions)
    rows = [_partition(fact, most, all_rows) for fact in partitions]
    first, others = _partition_rows(rows[:_SHOWN]), rows[_SHOWN:]
    if not others:
        return first
    more = element("details", element("summary", f"{len(others)} more"), _partition_rows(others))
    return joined([first, more])


def _partition_rows(rows: Sequence[Sequence[object]]) -> Html:
    head = ["partition", "", "rows", "share", "splits", "size"]
    return element("div", table(head, rows, ["", "", NUMBER, NUMBER, NUMBER, NUMBER]), class_="partitions")


def _partition(fact: PartitionFact, most: int, all_rows: int) -> tuple[object, ...]:
    part = "" if fact.rows is None else f"{fact.rows / max(1, all_rows):.1%}"
    return (
        _label(fact),
        share(fact.rows or 0, most),
        _row_count(fact),
        part,
        f"{fact.splits:,}",
        format_bytes(fact.bytes),
    )


def _label(fact: PartitionFact) -> Html:
    if len(fact.labels) < 2:  # noqa: PLR2004 - a single value needs no name
        return joined([fact.label])
    named = (joined([element("span", term, class_="dim"), " ", text]) for term, text in fact.labels.items())
    return joined([joined(named, "&ensp;"), "" if fact.complete else " and others"])


def _row_count(fact: PartitionFact) -> str:
    return "unknown" if fact.rows is None else f"{fact.rows:,}"


def split_section(sizes: Sequence[SizeFact], health: Health) -> Html:
    if not sizes:
        return element("p", "There are no splits yet.", class_="dim")
    median, good = format_bytes(health.median_split), " to ".join(map(format_bytes, SPLIT_SIZES))
    sizes_of = f"of {median}" if health.splits == 1 else f"of which half have {median} or less"
    note = f"{pluralize(health.splits, 'split')} {sizes_of}, where {good} is good."
    bars, end = [_size_bar(size) for size in sizes], _power(2 * sizes[-1].least)
    chart = columns(bars, title="splits by size", y="splits", x="size", end=end)
    return joined([element("p", note, class_="dim"), chart])


def _size_bar(size: SizeFact) -> Bar:
    label, good = _power(size.least), SPLIT_SIZES[0] <= size.least < SPLIT_SIZES[1]
    tip = f"{pluralize(size.splits, 'split')} of {label} to {_power(2 * size.least)}"
    return Bar(label, size.splits, tip, kind="bar good" if good else "bar")


def _power(size: int) -> str:
    """A power of two in bytes: it needs no digits after the point."""
    return format_bytes(size).replace(".0 ", " ")


def history_section(history: Sequence[VersionFact]) -> Html:
    head = ["version", "time (UTC)", "operation", "parameters", "metrics"]
    return table(head, map(_version, history), [NUMBER, TIGHT, TIGHT])


def _version(fact: VersionFact) -> tuple[object, ...]:
    at = f"{fact.timestamp:%Y-%m-%d %H:%M:%S}"
    numbers = {key: f"{int(value):,}" if value.isdecimal() else value for key, value in fact.metrics.items()}
    return f"{fact.version:,}", at, fact.operation, pairs(fact.parameters), pairs(numbers)
