"""A one-page HTML report of a table, from its log."""

from indextables.report.html_page import html
from indextables.report.report_data import ColumnFact, PartitionFact, Report, SizeFact, VersionFact, report

__all__ = ["ColumnFact", "PartitionFact", "Report", "SizeFact", "VersionFact", "html", "report"]
