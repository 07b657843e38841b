"""Commands that Spark's parser does not know; docs/sql.md lists them.

A command is recognized by its first words, and errors in the rest of it are reported here. OPTIMIZE, VACUUM, RESTORE,
REORG and DESCRIBE HISTORY or DETAIL are commands of other table formats too: they are ours if their table is.
"""

from collections.abc import Callable
from itertools import pairwise

from indextables.config import duration, size
from indextables.statements.clauses import Clauses, parse_clauses, parse_clauses_of_ours
from indextables.statements.command_values import (
    AddColumn,
    Alteration,
    Check,
    Checkpoint,
    Command,
    Describe,
    DropColumn,
    DropPartitions,
    EvolveLayout,
    MergeSplits,
    Prewarm,
    Purge,
    Reindex,
    RenameColumn,
    Restore,
    SetIndexing,
    Subject,
    Table,
    WidenColumn,
)
from indextables.statements.tokens import Span

_OURS = ("INDEXTABLES", "INDEXTABLE")
_SUBJECTS = {subject.value: subject for subject in Subject}
_MERGE = (
    "WHERE", "TARGET SIZE", "MAX DEST SPLITS", "MAX SOURCE SPLITS PER MERGE", "CLUSTER BY", "REWRITE LAYOUT", "COALESCE",
    "DELETED ROWS", "DRY RUN",
)  # fmt: skip
_OPTIMIZE = ("WHERE", "DRY RUN")
_TO_VERSION = ("TO VERSION AS OF", "VERSION AS OF")
_TO_TIMESTAMP = ("TO TIMESTAMP AS OF", "TIMESTAMP AS OF")
_REORG = ("WHERE", "APPLY", "DRY RUN")
_VACUUM = ("RETAIN", "FORCE", "DRY RUN")
_ZORDER = {
    "ZORDER BY": "ZORDER BY is not supported; MERGE SPLITS ... CLUSTER BY (columns) sorts the rows of merged splits",
}
_INDEXING = "SET INDEXING"
_ALTER = ("PARTITION BY", "ADD COLUMN", "WIDEN COLUMN", "RENAME COLUMN", "DROP COLUMN", _INDEXING)


def parse_command(text: str, is_ours: Callable[[Table], bool]) -> Command | None:  # noqa: PLR0911 - one line per command
    span = Span.of(text)
    match span.words(len(span)):
        case ["MERGE", "SPLITS", *_]:
            return _merge(span)
        case ["DROP", ours, "PARTITIONS", "FROM", *_] if ours in _OURS:
            return _drop(span)
        case ["PURGE", ours, *_] if ours in _OURS:
            return _purge(span)
        case ["ALTER", ours, *_] if ours in _OURS:
            return _alter(span)
        case ["PREWARM", ours, "CACHE", *_] if ours in _OURS:
            clauses = parse_clauses(span, 3, ["WHERE"])
            return Prewarm(table=clauses.table, where=clauses.condition("WHERE"))
        case ["CHECK", ours, *_] if ours in _OURS:
            clauses = parse_clauses(span, 2, ["DEEP", "ALL VERSIONS"])
            return Check(table=clauses.table, deep=clauses.flag("DEEP"), all_versions=clauses.flag("ALL VERSIONS"))
        case ["CHECKPOINT", ours, *_] if ours in _OURS:
            return Checkpoint(parse_clauses(span, 2).table)
        case ["DESCRIBE" | "DESC", ours, *words, ""] if ours in _OURS and words != ["."]:  # that is a table, to Spark
            return _describe(span, words)
        case words:
            return _of_indexes(span, words) or _of_several_formats(span, words, is_ours)


def _of_indexes(span: Span, words: list[str]) -> Command | None:
    match words:
        case ["ALTER", "TABLE", _, *rest] if ("SET", "INDEXING") in pairwise(rest):
            return _set_indexing(span)
        case ["REINDEX", "TABLE" | "INDEXTABLES" | "INDEXTABLE", *_]:
            return _reindex(span)
        case _:
            return None


def _of_several_formats(span: Span, words: list[str], is_ours: Callable[[Table], bool]) -> Command | None:
    match words:
        case ["OPTIMIZE", _, *_]:
            return _optimize(span, is_ours)
        case ["VACUUM", _, *_]:
            return _vacuum(span, is_ours)
        case ["RESTORE", _, *_]:
            return _restore(span, 1 + (words[1] == "TABLE"), is_ours)
        case ["REORG", "TABLE", _, *_]:
            return _reorg(span, is_ours)
        case ["DESCRIBE" | "DESC", "HISTORY" | "DETAIL" as subject, _, *_]:
            return _describe_ours(span, _SUBJECTS[subject], is_ours)
        case _:
            return None


def _optimize(span: Span, is_ours: Callable[[Table], bool]) -> MergeSplits | None:
    clauses = parse_clauses_of_ours(span, 1, _OPTIMIZE, is_ours, refused=_ZORDER)
    if clauses is None:
        return None
    return MergeSplits(table=clauses.table, where=clauses.condition("WHERE"), dry_run=clauses.flag("DRY RUN"))


def _restore(span: Span, place: int, is_ours: Callable[[Table], bool]) -> Restore | None:
    clauses = parse_clauses_of_ours(span, place, (*_TO_VERSION, *_TO_TIMESTAMP, "DRY RUN"), is_ours)
    if clauses is None:
        return None
    dry_run, to = clauses.flag("DRY RUN"), clauses.found.keys() - {"DRY RUN"}
    if len(to) != 1:
        raise span.incomplete("TO VERSION AS OF or TO TIMESTAMP AS OF is expected after the table")
    (clause,) = to
    if clause in _TO_VERSION:
        return Restore(table=clauses.table, version=clauses.value(clause, _version), dry_run=dry_run)
    return Restore(table=clauses.table, timestamp=clauses.value(clause, str), dry_run=dry_run)


def _reorg(span: Span, is_ours: Callable[[Table], bool]) -> MergeSplits | None:
    clauses = parse_clauses_of_ours(span, 2, _REORG, is_ours)
    if clauses is None:
        return None
    if tuple(name.upper() for name in clauses.names("APPLY")) != ("PURGE",):
        raise span.incomplete("APPLY (PURGE) is expected")
    where, dry_run = clauses.condition("WHERE"), clauses.flag("DRY RUN")
    return MergeSplits(table=clauses.table, where=where, deleted_rows=True, dry_run=dry_run)


def _vacuum(span: Span, is_ours: Callable[[Table], bool]) -> Purge | None:
    clauses = parse_clauses_of_ours(span, 1, _VACUUM, is_ours)
    if clauses is None:
        return None
    return Purge(
        table=clauses.table,
        older_than=clauses.value("RETAIN", duration),
        force=clauses.flag("FORCE"),
        dry_run=clauses.flag("DRY RUN"),
    )


def _describe_ours(span: Span, subject: Subject, is_ours: Callable[[Table], bool]) -> Describe | None:
    clauses = parse_clauses_of_ours(span, 2, ["LIMIT"] if subject is Subject.HISTORY else [], is_ours)
    if clauses is None:
        return None
    return Describe(clauses.table, subject, clauses.value("LIMIT", _count))


def _describe(span: Span, words: list[str]) -> Describe:
    subject = _SUBJECTS.get(" ".join(words))
    if subject is None:
        expected = ", ".join(name for name in _SUBJECTS if name)
        raise span.invalid_at(span.own[2].start, f"expected is one of {expected}, or the path")
    return Describe(parse_clauses(span, 2 + len(words)).table, subject)


def _merge(span: Span) -> MergeSplits:
    clauses = parse_clauses(span, 2, _MERGE)
    return MergeSplits(
        table=clauses.table,
        where=clauses.condition("WHERE"),
        target_size=clauses.value("TARGET SIZE", size),
        max_dest_splits=clauses.value("MAX DEST SPLITS", _count),
        max_source_splits_per_merge=clauses.value("MAX SOURCE SPLITS PER MERGE", _count),
        cluster_by=clauses.names("CLUSTER BY"),
        rewrite_layout=clauses.flag("REWRITE LAYOUT"),
        coalesce=clauses.flag("COALESCE"),
        deleted_rows=clauses.flag("DELETED ROWS"),
        dry_run=clauses.flag("DRY RUN"),
    )


def _drop(span: Span) -> DropPartitions:
    clauses = parse_clauses(span, 4, ["WHERE", "DRY RUN"])
    where = clauses.condition("WHERE")
    if where is None:
        raise span.incomplete("WHERE, with the partitions that go, is expected; WHERE TRUE is all")
    return DropPartitions(table=clauses.table, where=where, dry_run=clauses.flag("DRY RUN"))


def _purge(span: Span) -> Purge:
    clauses = parse_clauses(span, 2, ["OLDER THAN", "LOG RETENTION", "FORCE", "DRY RUN"])
    return Purge(
        table=clauses.table,
        older_than=clauses.value("OLDER THAN", duration),
        log_retention=clauses.value("LOG RETENTION", duration),
        force=clauses.flag("FORCE"),
        dry_run=clauses.flag("DRY RUN"),
    )


def _alter(span: Span) -> Alteration:
    clauses = parse_clauses(span, 2, _ALTER)
    if len(clauses.found) != 1:
        raise span.incomplete(f"one of {', '.join(_ALTER)} is expected after the table")
    if (layout := clauses.terms("PARTITION BY")) is not None:
        return EvolveLayout(clauses.table, layout)
    if "ADD COLUMN" in clauses.found:
        return AddColumn(clauses.table, *clauses.column("ADD COLUMN"))
    if "RENAME COLUMN" in clauses.found:
        return RenameColumn(clauses.table, *clauses.column_names("RENAME COLUMN", "TO"))
    if "DROP COLUMN" in clauses.found:
        return DropColumn(clauses.table, *clauses.column_names("DROP COLUMN"))
    if _INDEXING in clauses.found:
        return SetIndexing(clauses.table, clauses.assignments(_INDEXING))
    return WidenColumn(clauses.table, *clauses.column("WIDEN COLUMN", "TO"))


def _set_indexing(span: Span) -> SetIndexing:
    clauses = _clauses_of_ours(span, [_INDEXING])
    return SetIndexing(clauses.table, clauses.assignments(_INDEXING))


def _reindex(span: Span) -> Reindex:
    clauses = _clauses_of_ours(span, ["COLUMNS", "WHERE", "DRY RUN"])
    return Reindex(
        table=clauses.table,
        columns=clauses.names("COLUMNS"),
        where=clauses.condition("WHERE"),
        dry_run=clauses.flag("DRY RUN"),
    )


def _clauses_of_ours(span: Span, clauses: list[str]) -> Clauses:
    """The clauses of a command that no other format has; its table is named as in Spark's own statements."""
    found = parse_clauses_of_ours(span, 2, clauses, lambda _: True)
    if found is None:
        raise span.skip(2).invalid("the name of a table, or its path in quotes, is expected")
    return found


def _version(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("the number of a version")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("a number from 1 up")
    return int(text)
