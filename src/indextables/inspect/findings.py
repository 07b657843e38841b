"""Findings about a table, each with a fix, as text and as HTML; and the recommended ranges.

The ranges are common practice: splits of 64 to 512 MB, partitions of 1 to 100 GB, tens of thousands
of partitions at most, in 2 to 4 levels.

>>> print(Finding(Area.SPLITS, Severity.ADVICE, "40 small splits", Step("merge_splits")))
advice   splits      40 small splits
                     -> table.merge_splits()
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from indextables.display.markup import Html, element, joined
from indextables.display.panels import code, note
from indextables.inspect.recommended_steps import Step, StepFormat

MB, GB = 1024**2, 1024**3
SPLIT_SIZES = (64 * MB, 512 * MB)
PARTITION_SIZES = (1 * GB, 100 * GB)
MAX_PARTITIONS = 50_000
MANY_PARTITIONS = 50  # fewer small ones cost little, whatever their size
MAX_LEVELS = 4
MANY_VALUES = 20  # fewer are not a high cardinality, even if each has one row
EVOLVE = Step("evolve_layout", "...")


class Severity(StrEnum):
    WARNING = "warning"
    ADVICE = "advice"


class Area(StrEnum):
    SPLITS = "splits"
    PARTITIONS = "partitions"
    LAYOUT = "layout"
    LOG = "log"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem and its fix: a step, a hint, or both."""

    area: Area
    severity: Severity
    message: str
    fix: Step | None
    hint: str = ""

    def render(self, format_step: StepFormat = str) -> str:
        return f"{self.severity:<8} {self.area:<11} {self.message}\n{'':21}-> {self.advice(format_step)}"

    def advice(self, format_step: StepFormat = str) -> str:
        """The fix as text.

        >>> Finding(Area.LOG, Severity.ADVICE, "a long log", Step("purge"), "or keep less").advice()
        'table.purge(), or keep less'
        """
        return ", ".join(part for part in (format_step(self.fix) if self.fix else "", self.hint) if part)

    def __str__(self) -> str:
        return self.render()


def findings_panel(findings: Iterable[Finding], format_step: StepFormat = str) -> Html:
    """Each finding with its fix, whose step is shown as `format_step` renders it."""
    shown = [
        note(finding.severity, f"{finding.severity}: {finding.area}", finding.message, _advice(finding, format_step))
        for finding in findings
    ]
    return joined(shown) if shown else element("p", "No findings.", class_="healthy")


def _advice(finding: Finding, format_step: StepFormat) -> Html:
    step = [code(format_step(finding.fix))] if finding.fix else []
    return joined([*step, *([finding.hint] if finding.hint else [])], ", ")


def format_bytes(size: int) -> str:
    """A number of bytes in readable units.

    >>> format_bytes(0), format_bytes(1536), format_bytes(3 * 1024**3)
    ('0 B', '1.5 KB', '3.0 GB')
    """
    value, units = float(size), iter(("B", "KB", "MB", "GB", "TB"))
    unit = next(units)
    while value >= 1024 and unit != "TB":  # noqa: PLR2004 - what K means
        value, unit = value / 1024, next(units)
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def median(values: pa.ChunkedArray) -> int:
    return int(pc.quantile(values, 0.5, interpolation="lower")[0].as_py() or 0) if len(values) else 0
