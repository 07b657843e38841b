"""A report as one HTML page, which needs nothing but itself.

Text from the table is untrusted: `_text` and the charts escape it, and the page contains no other text from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from indextables.inspect.findings import SPLIT_SIZES, Finding, format_bytes
from indextables.inspect.recommended_steps import StepFormat
from indextables.plural import pluralize
from indextables.release import __version__
from indextables.report.charts import Bar, columns, share
from indextables.report.report_data import PartitionFact, Report, SizeFact, VersionFact


def html(report: Report, format_step: StepFormat = str) -> str:
    """The HTML page of a report; recommended steps are shown as Python calls, or as `format_step` renders them."""
    metrics = report.health
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=_text(report.table.rstrip("/").rpartition("/")[2] or report.table),
        table=_text(report.table),
        release=_text(__version__),
        metrics=_metrics(report),
        findings="".join(_finding(finding, format_step) for finding in metrics.findings)
        or '<p class="good">No findings.</p>',
        columns=_rows((_text(c.name), _text(c.type), _indexed(c.indexed)) for c in report.columns),
        layout=_code(report.layout) if report.layout else "The table is not partitioned.",
        properties=_properties(report.properties),
        partition_chart=_partition_chart(report.partitions) if report.layout else "",
        partition_note=_text(_partition_note(report)),
        partitions=_rows(_partition(partition, metrics.rows) for partition in report.partitions),
        split_chart=columns([_size_bar(size) for size in report.split_sizes], title="splits by size"),
        split_note=_text(_split_note(report)),
        history=_rows(map(_version, report.history)),
    )


def _metrics(report: Report) -> str:
    known = report.health
    metrics = {
        "version": f"{report.version:,}",
        "rows": f"{known.rows:,}",
        "splits": f"{known.splits:,}",
        "size": format_bytes(known.bytes),
        "partitions": f"{known.partitions:,}",
        "log": format_bytes(known.log_bytes),
        "to be purged": format_bytes(known.tombstone_bytes),
    }
    return "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in metrics.items())


def _finding(finding: Finding, format_step: StepFormat) -> str:
    return (
        f'<div class="finding {_text(finding.severity)}"><b>{_text(finding.severity)}: {_text(finding.area)}</b>'
        f"<p>{_text(finding.message)}</p><p>Recommendation: {_code(finding.advice(format_step))}</p></div>"
    )


def _indexed(rule: str) -> str:
    return '<span class="dim">not indexed</span>' if rule == "none" else _text(rule)


def _properties(properties: Mapping[str, str]) -> str:
    if not properties:
        return ""
    pairs = _rows((_code(key), _text(value)) for key, value in sorted(properties.items()))
    return f"<table><thead><tr><th>property<th>value</tr></thead><tbody>{pairs}</tbody></table>"


def _partition_chart(partitions: Sequence[PartitionFact]) -> str:
    bars = [
        Bar(partition.label, partition.rows or 0, f"{partition.label}: {_row_count(partition)} rows")
        for partition in sorted(partitions, key=lambda partition: partition.label)
    ]
    return columns(bars, title="rows by partition")


def _partition_note(report: Report) -> str:
    count, shown = report.health.partitions, len(report.partitions)
    if count <= shown:
        return pluralize(count, "partition")
    return f"The {shown} with the most rows, of {pluralize(count, 'partition')}."


def _split_note(report: Report) -> str:
    splits, good = report.health.splits, " to ".join(map(format_bytes, SPLIT_SIZES))
    if not splits:
        return "There are no splits yet."
    median = format_bytes(report.health.median_split)
    return f"{pluralize(splits, 'split')}; half of them have {median} or less, where {good} is good."


def _partition(partition: PartitionFact, rows: int) -> tuple[str, ...]:
    numbers = (_row_count(partition), f"{partition.splits:,}", format_bytes(partition.bytes))
    return _text(partition.label), share(partition.rows or 0, rows), *map(_text, numbers)


def _row_count(partition: PartitionFact) -> str:
    return "unknown" if partition.rows is None else f"{partition.rows:,}"


def _size_bar(size: SizeFact) -> Bar:
    label, good = format_bytes(size.least), SPLIT_SIZES[0] <= size.least < SPLIT_SIZES[1]
    tip = f"{pluralize(size.splits, 'split')} of {label} to {format_bytes(2 * size.least)}"
    return Bar(label, size.splits, tip, kind="bar good" if good else "bar")


def _version(version: VersionFact) -> tuple[str, ...]:
    at = f"{version.timestamp:%Y-%m-%d %H:%M:%S}"
    return (
        f"{version.version:,}",
        _text(at),
        _text(version.operation),
        _pairs(version.parameters),
        _pairs(version.metrics),
    )


def _pairs(pairs: Mapping[str, str]) -> str:
    shown = {key: f"{int(value):,}" if value.isdecimal() else value for key, value in pairs.items()}
    return "<br>".join(f'<span class="dim">{_text(key)}</span> {_text(value)}' for key, value in shown.items())


def _rows(rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    return escape(text)
