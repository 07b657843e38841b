"""A one-page HTML report of a table, from its log."""

from indextables.report.facts import ColumnFact, PartitionFact, Report, SizeFact, VersionFact, report
from indextables.report.page import html

__all__ = ["ColumnFact", "PartitionFact", "Report", "SizeFact", "VersionFact", "html", "report"]
