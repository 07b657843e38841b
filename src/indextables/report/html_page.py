"""A report as one HTML page, which needs nothing but itself."""

from importlib.resources import files
from string import Template

from indextables.display.markup import element, markup
from indextables.display.panels import code, metrics, style
from indextables.inspect.findings_panel import findings_panel
from indextables.inspect.recommended_steps import StepFormat
from indextables.release import __version__
from indextables.report.report_data import Report
from indextables.report.report_sections import (
    column_section,
    history_section,
    partition_section,
    property_section,
    split_section,
    table_name,
)


def html(report: Report, format_step: StepFormat = str) -> str:
    """The HTML page of a report; recommended steps are shown as Python calls, or as `format_step` renders them."""
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    health = report.health
    partitions = partition_section(report.partitions, health) if report.layout else ""
    return Template(template).substitute(
        style=style(),
        title=markup(table_name(report.table)),
        table=markup(report.table),
        release=markup(__version__),
        metrics=metrics(health.figures),
        findings=findings_panel(health.findings, format_step),
        columns=column_section(report.columns),
        layout=code(report.layout) if report.layout else "The table is not partitioned.",
        properties=property_section(report.properties),
        partitions=element("h2", "Rows by partition") + partitions if partitions else "",
        splits=split_section(report.split_sizes, health),
        history=history_section(report.history),
    )
