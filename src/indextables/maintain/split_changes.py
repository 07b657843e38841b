"""What a change of rows did to splits, as results print it."""

from indextables.plural import pluralize


def split_changes(*, removed: int, rewritten: int, copied: int, vectors: int, added: int = 0) -> str:
    """The end of a sentence, with a colon before it; empty if no split changed.

    >>> split_changes(removed=1, rewritten=2, copied=30, vectors=0)
    ': 1 split removed, 2 splits rewritten (30 rows copied)'
    >>> split_changes(removed=0, rewritten=0, copied=0, vectors=1, added=1)
    ': 1 split added, 1 deletion vector'
    """
    changes = {
        f"{pluralize(removed, 'split')} removed": removed,
        f"{pluralize(rewritten, 'split')} rewritten ({pluralize(copied, 'row')} copied)": rewritten,
        f"{pluralize(added, 'split')} added": added,
        f"{pluralize(vectors, 'deletion vector')}": vectors,
    }
    told = ", ".join(text for text, number in changes.items() if number)
    return f": {told}" if told else ""
