"""What a table is, told on one page for people; all of it from the log."""

from indextables.report.facts import ColumnFact, PartitionFact, Report, SizeFact, VersionFact, report
from indextables.report.page import html

__all__ = ["ColumnFact", "PartitionFact", "Report", "SizeFact", "VersionFact", "html", "report"]
