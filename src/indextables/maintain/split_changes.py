"""What a change of rows did to splits, as results print it."""

from typing import Protocol

from indextables.plural import pluralize


class ChangedSplits(Protocol):
    """The result of a DELETE, an UPDATE or a MERGE."""

    @property
    def splits_removed(self) -> int: ...
    @property
    def splits_rewritten(self) -> int: ...
    @property
    def copied(self) -> int: ...
    @property
    def vectors(self) -> int: ...


def split_changes(result: ChangedSplits, *, added: int = 0) -> str:
    """The end of a sentence, with a colon before it; empty if no split changed.

    >>> from types import SimpleNamespace
    >>> split_changes(SimpleNamespace(splits_removed=1, splits_rewritten=2, copied=30, vectors=0))
    ': 1 split removed, 2 splits rewritten (30 rows copied)'
    >>> split_changes(SimpleNamespace(splits_removed=0, splits_rewritten=0, copied=0, vectors=1), added=1)
    ': 1 split added, 1 deletion vector'
    """
    rewritten = f"{pluralize(result.splits_rewritten, 'split')} rewritten ({pluralize(result.copied, 'row')} copied)"
    changes = {
        f"{pluralize(result.splits_removed, 'split')} removed": result.splits_removed,
        rewritten: result.splits_rewritten,
        f"{pluralize(added, 'split')} added": added,
        pluralize(result.vectors, "deletion vector"): result.vectors,
    }
    told = ", ".join(text for text, number in changes.items() if number)
    return f": {told}" if told else ""
