"""The data of a report, from the log, limited to what fits a page, and the page. No split is opened.

The page needs nothing but itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.display.markup import element, markup
from indextables.display.panels import code, metrics, style
from indextables.inspect.findings import findings_panel
from indextables.inspect.health import Health, health
from indextables.inspect.listing import list_partitions
from indextables.inspect.recommended_steps import StepFormat
from indextables.layout import Layout
from indextables.log import Snapshot, TransactionLog
from indextables.release import __version__
from indextables.report.report_facts import (
    ColumnFact,
    PartitionFact,
    SizeFact,
    VersionFact,
    natural_order,
    readable_values,
)
from indextables.report.report_sections import (
    column_section,
    folded_output,
    history_section,
    partition_section,
    property_section,
    split_section,
    table_name,
)
from indextables.schema import type_name
from indextables.search import FieldRule

MAX_PARTITIONS = 40
MAX_VERSIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A table at a version; `partitions` are the largest ones, `history` the newest versions."""

    table: str
    version: int
    layout: str
    columns: tuple[ColumnFact, ...]
    properties: Mapping[str, str]
    partitions: tuple[PartitionFact, ...]
    split_sizes: tuple[SizeFact, ...]
    history: tuple[VersionFact, ...]
    health: Health

    def _repr_html_(self) -> str:
        folded = {
            "Columns": column_section(self.columns),
            "Rows by partition": partition_section(self.partitions, self.health) if self.layout else "",
            "Splits by size": split_section(self.split_sizes, self.health),
            "History": history_section(self.history),
        }
        return folded_output(self.health, self.layout, folded)


def report(log: TransactionLog, snapshot: Snapshot, config: Config, rules: Mapping[str, FieldRule]) -> Report:
    metadata = snapshot.metadata
    return Report(
        table=log.table,
        version=snapshot.version,
        layout=str(metadata.layouts[metadata.current_spec_id]),
        columns=column_facts(metadata.arrow_schema(), rules),
        properties=dict(metadata.properties),
        partitions=_largest(list_partitions(snapshot), metadata.layouts),
        split_sizes=split_sizes(snapshot.splits["size"]),
        history=_newest(log.history(), snapshot.version),
        health=health(log, snapshot, config),
    )


def column_facts(schema: pa.Schema, rules: Mapping[str, FieldRule]) -> tuple[ColumnFact, ...]:
    return tuple(ColumnFact(field.name, type_name(field.type), str(rules[field.name])) for field in schema)


def split_sizes(sizes: pa.ChunkedArray) -> tuple[SizeFact, ...]:
    """A histogram of split sizes by powers of two, without gaps.

    >>> split_sizes(pa.chunked_array([[1500, 1025, 5000]]))
    (SizeFact(least=1024, splits=2), SizeFact(least=2048, splits=0), SizeFact(least=4096, splits=1))
    """
    exponents = pc.floor(pc.log2(pc.max_element_wise(sizes, 1))).cast(pa.int64())
    counted = {entry["values"]: entry["counts"] for entry in pc.value_counts(exponents).to_pylist()}
    if not counted:
        return ()
    return tuple(SizeFact(2**power, counted.get(power, 0)) for power in range(min(counted), max(counted) + 1))


def _largest(partitions: pa.Table, layouts: Mapping[int, Layout]) -> tuple[PartitionFact, ...]:
    """The partitions with the most rows; each has the values of its own layout."""
    order = pc.sort_indices(partitions, sort_keys=[("num_records", "descending"), ("size", "descending")])
    facts = [_fact(row, layouts[row["spec_id"]]) for row in partitions.take(order[:MAX_PARTITIONS]).to_pylist()]
    return tuple(sorted(facts, key=lambda fact: (-(fact.rows or 0), natural_order([fact.label]))))


def _fact(row: Mapping[str, Any], layout: Layout) -> PartitionFact:
    values = {name: row["partition"][name] for name in layout.names}
    labels = readable_values(layout.fields, values)
    return PartitionFact(values, labels, row["num_records"], row["num_splits"], row["size"], row["complete"])


def _newest(history: pa.Table, version: int) -> tuple[VersionFact, ...]:
    known = history.filter(pc.field("version") <= version).slice(0, MAX_VERSIONS)
    return tuple(
        VersionFact(
            row["version"], row["timestamp"], row["operation"] or "", dict(row["parameters"]), dict(row["metrics"])
        )
        for row in known.to_pylist()
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
