"""A one-page HTML report of a table, from its log."""

from indextables.report.report_data import Report, html, report
from indextables.report.report_facts import ColumnFact, PartitionFact, SizeFact, VersionFact

__all__ = ["ColumnFact", "PartitionFact", "Report", "SizeFact", "VersionFact", "html", "report"]
