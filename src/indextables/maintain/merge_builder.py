"""The builder of a MERGE: `table.merge(source, "t.id = s.id").when_matched_update_all().execute()`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from indextables.maintain.merge_clauses import Action, Clause, When
from indextables.maintain.merge_into import Merge, MergeIntoResult


@dataclass(frozen=True, slots=True, eq=False)
class MergeBuilder:
    """A MERGE that is being written: each method gives another builder with one more clause. `execute` runs it.

    Of the clauses for matched rows, for rows of the source without a match and for rows of the table without a match, the
    first applies whose predicate is true. Expressions and predicates are SQL; names of columns may have an alias before
    them.
    """

    merge: Merge
    run: Callable[[Merge], MergeIntoResult]

    def when_matched_update(self, updates: Mapping[str, str], predicate: str | None = None) -> "MergeBuilder":
        """Gives columns of a row that a row of the source matches new values."""
        return self._with(Clause(When.MATCHED, Action.UPDATE, updates, predicate))

    def when_matched_update_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> "MergeBuilder":
        """Gives all columns the values of the source's columns with their names."""
        return self._with(Clause(When.MATCHED, Action.UPDATE, None, predicate, _names(except_cols)))

    def when_matched_delete(self, predicate: str | None = None) -> "MergeBuilder":
        """Deletes a row that a row of the source matches."""
        return self._with(Clause(When.MATCHED, Action.DELETE, None, predicate))

    def when_not_matched_insert(self, updates: Mapping[str, str], predicate: str | None = None) -> "MergeBuilder":
        """Inserts a row of the source that matches no row; columns that are not among the `updates` are null."""
        return self._with(Clause(When.NOT_MATCHED, Action.INSERT, updates, predicate))

    def when_not_matched_insert_all(
        self, predicate: str | None = None, except_cols: Sequence[str] | None = None
    ) -> "MergeBuilder":
        """Inserts a row of the source that matches no row, by names of columns."""
        return self._with(Clause(When.NOT_MATCHED, Action.INSERT, None, predicate, _names(except_cols)))

    def when_not_matched_by_source_update(
        self, updates: Mapping[str, str], predicate: str | None = None
    ) -> "MergeBuilder":
        """Gives columns of a row that no row of the source matches new values; all rows of the table are read."""
        return self._with(Clause(When.NOT_MATCHED_BY_SOURCE, Action.UPDATE, updates, predicate))

    def when_not_matched_by_source_delete(self, predicate: str | None = None) -> "MergeBuilder":
        """Deletes a row that no row of the source matches; all rows of the table are read."""
        return self._with(Clause(When.NOT_MATCHED_BY_SOURCE, Action.DELETE, None, predicate))

    def execute(self) -> MergeIntoResult:
        """Runs the merge in one commit. A source that can be read once (a reader, an iterator) can be merged once."""
        return self.run(self.merge)

    def _with(self, clause: Clause) -> "MergeBuilder":
        return replace(self, merge=replace(self.merge, clauses=(*self.merge.clauses, clause)))


def _names(columns: Sequence[str] | None) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns or ())
