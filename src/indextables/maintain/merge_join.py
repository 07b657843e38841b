"""The rows of the table and of the source, matched part by part: which clause applies to each, and the new rows.

```
rows of the table, in parts ─▶ join with the source ─▶ clause of each pair ─▶ addresses of rows that are changed or deleted
                                      │                                   └▶ new rows of UPDATE clauses
                                      └▶ rows without a match ─▶ BY SOURCE clauses
rows of the source that no part matched ─▶ INSERT clauses ─▶ new rows
```
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from indextables.errors import MergeCardinalityError
from indextables.expressions import CompiledExpression, Evaluator, Expression
from indextables.maintain.bound_clauses import SOURCE, TARGET, BoundClause, Projection
from indextables.maintain.row_replacement import RowAddresses
from indextables.plural import pluralize
from indextables.statements.row_changes import Action, When

Numbers = npt.NDArray[np.int64]
_ROW = "__indextables_row"
_PART_ROWS = 262_144
_PART_BYTES = 128 * 1024**2
_EXAMPLES = 3
_ALIGNED = f"{TARGET} POSITIONAL JOIN {SOURCE}"
_FROM = {When.MATCHED: _ALIGNED, When.NOT_MATCHED: SOURCE, When.NOT_MATCHED_BY_SOURCE: TARGET}


@dataclass(frozen=True, eq=False)
class MergeJoin:
    """A merge of a source that is in memory; its expressions are compiled.

    `conditions` and `projections` are those of the clauses, by number of clause; a clause may be without a condition.
    `counts` says how many rows have been changed so far.
    """

    evaluator: Evaluator
    on: Expression
    clauses: Sequence[BoundClause]
    source: pa.Table
    condition: CompiledExpression
    conditions: Mapping[int, CompiledExpression]
    projections: Sequence[Projection]
    counts: Counter[tuple[When, Action]] = field(default_factory=Counter)

    @classmethod
    def of(
        cls, evaluator: Evaluator, on: Expression, clauses: Sequence[BoundClause], source: pa.Table, schema: pa.Schema
    ) -> Self:
        """Compiles the expressions; an ExpressionError names one whose types do not fit. `schema` is that of the table."""
        predicates = {number: clause.predicate for number, clause in enumerate(clauses)}
        return cls(
            evaluator,
            on,
            clauses,
            source,
            condition=evaluator.condition(on),
            conditions={number: evaluator.condition(one) for number, one in predicates.items() if one is not None},
            projections=[Projection.of(clause.assignments, schema, evaluator) for clause in clauses],
        )

    @property
    def target_columns(self) -> set[str] | None:
        """The columns of the table that have to be read; None for all of them."""
        if any(one.clause.action is Action.UPDATE for one in self.clauses):
            return None
        used = [self.on, *(expression for one in self.clauses for expression in one.expressions)]
        return {name for expression in used for relation, name in expression.columns if relation == TARGET}

    def new_rows(self, batches: Iterable[pa.RecordBatch], addresses: RowAddresses) -> Iterator[pa.RecordBatch]:
        """The rows that the merge writes; meanwhile `addresses` gets those that it deletes."""
        is_matched = np.zeros(len(self.source), np.bool_)
        for rows in _parts(batches):
            yield from self._change(rows, is_matched, addresses)
        if self._numbers(When.NOT_MATCHED):
            for rows in _sliced(self.source.filter(pa.array(~is_matched))):
                yield from self._insert(rows)

    def _change(
        self, rows: pa.Table, is_matched: npt.NDArray[np.bool_], addresses: RowAddresses
    ) -> Iterator[pa.RecordBatch]:
        target, source, clause = self._pairs(rows)
        is_matched[source] = True
        applied = clause >= 0
        self._refuse_several(rows, target[applied])
        for number in self._numbers(When.MATCHED):
            chosen = clause == number
            first = np.unique(target[chosen], return_index=True)[1]  # several rows of the source may delete one row
            pairs = {TARGET: rows.take(target[chosen][first]), SOURCE: self.source.take(source[chosen][first])}
            yield from self._apply(number, pairs, addresses)
        if self._numbers(When.NOT_MATCHED_BY_SOURCE):
            unmatched = np.ones(len(rows), np.bool_)
            unmatched[target] = False
            yield from self._change_unmatched(rows.filter(pa.array(unmatched)), addresses)

    def _change_unmatched(self, rows: pa.Table, addresses: RowAddresses) -> Iterator[pa.RecordBatch]:
        clause = self._clause_of(When.NOT_MATCHED_BY_SOURCE, {TARGET: rows})
        for number in self._numbers(When.NOT_MATCHED_BY_SOURCE):
            yield from self._apply(number, {TARGET: rows.filter(pa.array(clause == number))}, addresses)

    def _insert(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        clause = self._clause_of(When.NOT_MATCHED, {SOURCE: rows})
        for number in self._numbers(When.NOT_MATCHED):
            chosen = rows.filter(pa.array(clause == number))
            self.counts[When.NOT_MATCHED, Action.INSERT] += len(chosen)
            yield from self._projected(number, {SOURCE: chosen})

    def _apply(self, number: int, rows: Mapping[str, pa.Table], addresses: RowAddresses) -> Iterator[pa.RecordBatch]:
        """An UPDATE or a DELETE of rows of the table."""
        clause = self.clauses[number].clause
        addresses.add(rows[TARGET])
        self.counts[clause.when, clause.action] += len(rows[TARGET])
        if clause.action is Action.UPDATE:
            yield from self._projected(number, rows)

    def _projected(self, number: int, rows: Mapping[str, pa.Table]) -> Iterator[pa.RecordBatch]:
        count = len(next(iter(rows.values())))
        if not count:
            return
        projection, relations = self.projections[number], _FROM[self.clauses[number].clause.when]
        values = self.evaluator.project(list(projection.computed.values()), rows, relations=relations)
        yield from projection.assembled(values, rows.get(TARGET), count).to_batches()

    def _pairs(self, rows: pa.Table) -> tuple[Numbers, Numbers, Numbers]:
        """The pairs of rows that satisfy the condition: their numbers on both sides, and that of the clause, or -1."""
        numbered = {TARGET: _numbered(rows), SOURCE: self._numbered_source}
        selected = f"{TARGET}.{_ROW} AS a, {SOURCE}.{_ROW} AS b, {self._case(When.MATCHED)} AS c"
        relations = f"{TARGET} JOIN {SOURCE} ON {self.condition.sql}"
        parts = [self.condition, *self._conditions_of(When.MATCHED)]
        found = self.evaluator.query(selected, relations, numbered, parts=parts)
        target, source, clause = (np.asarray(column, np.int64) for column in found.itercolumns())
        return target, source, clause

    @cached_property
    def _numbered_source(self) -> pa.Table:
        return _numbered(self.source)

    def _clause_of(self, when: When, rows: Mapping[str, pa.Table]) -> Numbers:
        """The number of the clause that applies to each row, or -1."""
        conditions = self._conditions_of(when)
        if not conditions:
            numbers = self._numbers(when)
            return np.full(len(next(iter(rows.values()))), numbers[0] if numbers else -1, np.int64)
        found = self.evaluator.query(self._case(when), _FROM[when], rows, parts=conditions)
        return np.asarray(found.column(0), np.int64)

    def _case(self, when: When) -> str:
        """The number of the first clause whose condition is true."""
        tests = (
            f"WHEN {self.conditions[number].sql if number in self.conditions else 'TRUE'} THEN {number}"
            for number in self._numbers(when)
        )
        return f"CAST(CASE {' '.join(tests)} ELSE -1 END AS BIGINT)" if self._numbers(when) else "CAST(-1 AS BIGINT)"

    def _conditions_of(self, when: When) -> list[CompiledExpression]:
        return [self.conditions[number] for number in self._numbers(when) if number in self.conditions]

    def _numbers(self, when: When) -> list[int]:
        return [number for number, one in enumerate(self.clauses) if one.clause.when is when]

    def _refuse_several(self, rows: pa.Table, target: Numbers) -> None:
        """A row may be changed once; but where all that can happen to it is its deletion, it may be matched often."""
        numbers, counts = np.unique(target, return_counts=True)
        several = numbers[counts > 1]
        matched = [self.clauses[number].clause for number in self._numbers(When.MATCHED)]
        only_deletes = len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].predicate is None
        if not len(several) or only_deletes:
            return
        keys = sorted(name for relation, name in self.on.columns if relation == TARGET)
        examples = rows.select(keys).take(several[:_EXAMPLES]).to_pylist() if keys else []
        shown = "; ".join(", ".join(f"{name}={value!r}" for name, value in row.items()) for row in examples)
        raise MergeCardinalityError(
            f"{pluralize(len(several), 'row')} of the table would be changed by several rows of the source"
            f"{f', for example {shown}' if shown else ''}; leave one row for each in the source, or make the condition of "
            "the merge narrower; nothing was written",
            reason="several rows of the source match one row of the table",
            rows=len(several),
            keys=examples,
        )


def _numbered(rows: pa.Table) -> pa.Table:
    return rows.append_column(_ROW, pa.array(np.arange(len(rows))))


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches in tables that are large enough for a join, and fit into memory."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        pending.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _PART_ROWS or size >= _PART_BYTES:
            yield pa.Table.from_batches(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield pa.Table.from_batches(pending)


def _sliced(rows: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, len(rows), _PART_ROWS):
        yield rows.slice(start, _PART_ROWS)
