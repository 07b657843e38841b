"""Findings as HTML."""

from collections.abc import Iterable

from indextables.display.markup import Html, element, joined
from indextables.display.panels import code, note
from indextables.inspect.findings import Finding
from indextables.inspect.recommended_steps import StepFormat


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
