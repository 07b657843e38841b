"""Findings of a check: what is wrong with a table, where, and how it can be repaired.

>>> print(finding(Problem.WRONG_HINT, "_transaction_log/_last_checkpoint", "it cannot be read"))
info     wrong-hint          _transaction_log/_last_checkpoint: it cannot be read
                             -> table.checkpoint(), which writes it anew; nothing depends on it
"""

from dataclasses import dataclass
from enum import StrEnum

from indextables.inspect.recommended_steps import Step, StepFormat


class CheckSeverity(StrEnum):
    """An error is damage, or a contradiction that can give wrong results. A warning may mean damage. An info is harmless."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Problem(StrEnum):
    """What a check can find."""

    MISSING_VERSION = "missing-version"
    DAMAGED_VERSION = "damaged-version"
    DUPLICATE_VERSION = "duplicate-version"
    BROKEN_CHAIN = "broken-chain"
    STRAY_VERSION = "stray-version"
    LOST_VERSION = "lost-version"
    DAMAGED_CHECKPOINT = "damaged-checkpoint"
    WRONG_CHECKPOINT = "wrong-checkpoint"
    STRAY_CHECKPOINT = "stray-checkpoint"
    WRONG_HINT = "wrong-hint"
    UNSUPPORTED_PROTOCOL = "unsupported-protocol"
    UNREADABLE_FILE = "unreadable-file"
    TEMPORARY_FILE = "temporary-file"
    FOREIGN_FILE = "foreign-file"
    MISSING_SPLIT = "missing-split"
    PURGED_SPLIT = "purged-split"
    WRONG_SIZE = "wrong-size"
    ORPHAN = "orphan"
    MISSING_VECTOR = "missing-vector"
    DAMAGED_VECTOR = "damaged-vector"
    DAMAGED_SPLIT = "damaged-split"
    UNSUPPORTED_SPLIT = "unsupported-split"
    WRONG_SCHEMA = "wrong-schema"
    WRONG_OFFSETS = "wrong-offsets"
    WRONG_DOC_MAPPING = "wrong-doc-mapping"
    WRONG_STATISTICS = "wrong-statistics"
    WRONG_PARTITION = "wrong-partition"
    WRONG_PAGE_INDEX = "wrong-page-index"
    WRONG_EXACT_INDEX = "wrong-exact-index"
    WRONG_WORD_INDEX = "wrong-word-index"
    WRONG_TERM_FILTER = "wrong-term-filter"

    @property
    def severity(self) -> CheckSeverity:
        return _SEVERITIES.get(self, CheckSeverity.ERROR)


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
    fix, hint = _REPAIRS[kind]
    return CheckFinding(kind.severity, kind, file, place, message, fix, hint)


_SEVERITIES = {
    Problem.STRAY_VERSION: CheckSeverity.WARNING,
    Problem.LOST_VERSION: CheckSeverity.WARNING,
    Problem.STRAY_CHECKPOINT: CheckSeverity.WARNING,
    Problem.WRONG_OFFSETS: CheckSeverity.WARNING,
    Problem.WRONG_HINT: CheckSeverity.INFO,
    Problem.TEMPORARY_FILE: CheckSeverity.INFO,
    Problem.FOREIGN_FILE: CheckSeverity.INFO,
    Problem.PURGED_SPLIT: CheckSeverity.INFO,
    Problem.ORPHAN: CheckSeverity.INFO,
}
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
_REPAIRS: dict[Problem, tuple[Step | None, str]] = {
    Problem.MISSING_VERSION: (
        None,
        "restore it from a copy; if the later versions are not of this table, move their files out of the log",
    ),
    Problem.DAMAGED_VERSION: (
        None,
        "restore it from a copy; without one, moving it out of the log gives up its commit, if it is the newest version",
    ),
    Problem.DUPLICATE_VERSION: (None, "find out which one is real and move the other out of the log"),
    Problem.BROKEN_CHAIN: (None, "restore the version that was replaced from a copy"),
    Problem.STRAY_VERSION: (
        None,
        "none is necessary: readers pass over it; move it out of the log if no version of this table follows it",
    ),
    Problem.LOST_VERSION: (None, _LOST),
    Problem.DAMAGED_CHECKPOINT: (_CHECKPOINT, _DELETED),
    Problem.WRONG_CHECKPOINT: (_CHECKPOINT, _DELETED),
    Problem.STRAY_CHECKPOINT: (None, "delete it: readers pass over it"),
    Problem.WRONG_HINT: (_CHECKPOINT, "which writes it anew; nothing depends on it"),
    Problem.UNSUPPORTED_PROTOCOL: (None, "upgrade indextables, and check again"),
    Problem.UNREADABLE_FILE: (None, "check the permissions and the store, and check again"),
    Problem.TEMPORARY_FILE: (
        _PURGE,
        "which deletes it once it is old; it is of a writer that is running or was killed",
    ),
    Problem.FOREIGN_FILE: (None, "move it out of the log, where no writer of the table has put it"),
    Problem.MISSING_SPLIT: (None, "restore it from a copy, or drop its partition and write its rows again"),
    Problem.PURGED_SPLIT: (None, "nothing: a purge has deleted them, and these versions cannot be read in full"),
    Problem.WRONG_SIZE: (None, _RESTORE),
    Problem.ORPHAN: (_PURGE, "which deletes them once they are old"),
    Problem.MISSING_VECTOR: (None, _VECTOR),
    Problem.DAMAGED_VECTOR: (None, _VECTOR),
    Problem.DAMAGED_SPLIT: (None, _RESTORE),
    Problem.UNSUPPORTED_SPLIT: (None, "upgrade indextables, or write its rows again if it is of an older release"),
    Problem.WRONG_SCHEMA: (None, _RESTORE),
    Problem.WRONG_OFFSETS: (None, "none is necessary: readers find the footer from the end of the file"),
    Problem.WRONG_DOC_MAPPING: (None, _REWRITE),
    Problem.WRONG_STATISTICS: (None, _REWRITE),
    Problem.WRONG_PARTITION: (None, _REWRITE),
    Problem.WRONG_PAGE_INDEX: (None, _REWRITE),
    Problem.WRONG_EXACT_INDEX: (None, _REWRITE),
    Problem.WRONG_WORD_INDEX: (None, _REWRITE),
    Problem.WRONG_TERM_FILTER: (None, _REWRITE),
}
