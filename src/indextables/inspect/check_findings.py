"""Findings of a check: what is wrong with a table, where, and how it can be repaired.

>>> print(finding(Problem.WRONG_HINT, "_transaction_log/_last_checkpoint", "it cannot be read"))
info     wrong-hint          _transaction_log/_last_checkpoint: it cannot be read
                             -> table.checkpoint(), which writes it anew; nothing depends on it
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from indextables.inspect.recommended_steps import Step, StepFormat


class CheckSeverity(StrEnum):
    """An error is damage, or a contradiction that can give wrong results. A warning may mean damage. An info is harmless."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_CHECKPOINT = Step("checkpoint")
_DELETED = "after the file has been deleted; if older versions are no longer in the log, restore it from a copy instead"
_LOST = (
    "if a write is running, check again when it is done; if one has failed, a purge deletes its files later; otherwise "
    "restore the missing files of the log from a copy, before anything is written"
)
_PURGE = Step("purge")
_RESTORE = "restore it from a copy, or write its rows again (overwrite or replaceWhere)"
_REWRITE = "its rows are there: read them and write them again (overwrite or replaceWhere)"
_VECTOR = (
    "bring it back from a copy; without one, restore a version before the rows were deleted (table.restore), and delete "
    "them again"
)


class Problem(StrEnum):
    """What a check can find, how it is repaired (by a hint, a step, or both), and how bad it is."""

    def __new__(
        cls, kind: str, hint: str, fix: Step | None = None, severity: CheckSeverity = CheckSeverity.ERROR
    ) -> Self:
        problem = str.__new__(cls, kind)
        problem._value_ = kind
        problem.hint, problem.fix, problem.severity = hint, fix, severity
        return problem

    hint: str
    fix: Step | None
    severity: CheckSeverity

    MISSING_VERSION = (
        "missing-version",
        "restore it from a copy; if the later versions are not of this table, move their files out of the log",
    )
    DAMAGED_VERSION = (
        "damaged-version",
        "restore it from a copy; without one, moving it out of the log gives up its commit, if it is the newest version",
    )
    DUPLICATE_VERSION = "duplicate-version", "find out which one is real and move the other out of the log"
    BROKEN_CHAIN = "broken-chain", "restore the version that was replaced from a copy"
    STRAY_VERSION = (
        "stray-version",
        "none is necessary: readers pass over it; move it out of the log if no version of this table follows it",
        None,
        CheckSeverity.WARNING,
    )
    LOST_VERSION = "lost-version", _LOST, None, CheckSeverity.WARNING
    DAMAGED_CHECKPOINT = "damaged-checkpoint", _DELETED, _CHECKPOINT
    WRONG_CHECKPOINT = "wrong-checkpoint", _DELETED, _CHECKPOINT
    STRAY_CHECKPOINT = "stray-checkpoint", "delete it: readers pass over it", None, CheckSeverity.WARNING
    WRONG_HINT = "wrong-hint", "which writes it anew; nothing depends on it", _CHECKPOINT, CheckSeverity.INFO
    UNSUPPORTED_PROTOCOL = "unsupported-protocol", "upgrade indextables, and check again"
    UNREADABLE_FILE = "unreadable-file", "check the permissions and the store, and check again"
    TEMPORARY_FILE = (
        "temporary-file",
        "which deletes it once it is old; it is of a writer that is running or was killed",
        _PURGE,
        CheckSeverity.INFO,
    )
    FOREIGN_FILE = (
        "foreign-file",
        "move it out of the log, where no writer of the table has put it",
        None,
        CheckSeverity.INFO,
    )
    MISSING_SPLIT = "missing-split", "restore it from a copy, or drop its partition and write its rows again"
    PURGED_SPLIT = (
        "purged-split",
        "nothing: a purge has deleted them, and these versions cannot be read in full",
        None,
        CheckSeverity.INFO,
    )
    WRONG_SIZE = "wrong-size", _RESTORE
    ORPHAN = "orphan", "which deletes them once they are old", _PURGE, CheckSeverity.INFO
    MISSING_VECTOR = "missing-vector", _VECTOR
    DAMAGED_VECTOR = "damaged-vector", _VECTOR
    DAMAGED_SPLIT = "damaged-split", _RESTORE
    UNSUPPORTED_SPLIT = "unsupported-split", "upgrade indextables, or write its rows again if it is of an older release"
    WRONG_SCHEMA = "wrong-schema", _RESTORE
    WRONG_OFFSETS = (
        "wrong-offsets",
        "none is necessary: readers find the footer from the end of the file",
        None,
        CheckSeverity.WARNING,
    )
    WRONG_DOC_MAPPING = "wrong-doc-mapping", _REWRITE
    WRONG_STATISTICS = "wrong-statistics", _REWRITE
    WRONG_PARTITION = "wrong-partition", _REWRITE
    WRONG_PAGE_INDEX = "wrong-page-index", _REWRITE
    WRONG_EXACT_INDEX = "wrong-exact-index", _REWRITE
    WRONG_WORD_INDEX = "wrong-word-index", _REWRITE
    WRONG_TERM_FILTER = "wrong-term-filter", _REWRITE


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One problem. `file` is its key below the table's root, `place` a line or a column in it, empty where it is the whole.

    The repair is a step, a hint, or both.
    """

    severity: CheckSeverity
    kind: Problem
    file: str
    place: str
    message: str
    fix: Step | None
    hint: str

    def repair(self, format_step: StepFormat = str) -> str:
        return ", ".join(part for part in (format_step(self.fix) if self.fix else "", self.hint) if part)

    def render(self, format_step: StepFormat = str) -> str:
        where = f"{self.file}, {self.place}" if self.place else self.file
        return f"{self.severity:<8} {self.kind:<19} {where}: {self.message}\n{'':28} -> {self.repair(format_step)}"

    def __str__(self) -> str:
        return self.render()


def finding(kind: Problem, file: str, message: str, *, place: str = "") -> CheckFinding:
    """A finding with the severity and the repair of its kind."""
    return CheckFinding(kind.severity, kind, file, place, message, kind.fix, kind.hint)
