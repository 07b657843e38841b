"""UPDATE and MERGE leave the rows that a few loops in Python leave: slow, obvious, and without the package's help."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.errors import MergeCardinalityError
from tests.laws.effort import each_writes_tables

SCHEMA = pa.schema({"k": pa.int64(), "g": pa.string(), "n": pa.int64()})
Row = dict[str, Any]
Test = Callable[[Row], bool | None]


@dataclass(frozen=True)
class Condition:
    """A condition in SQL on the columns of one side, and in Python."""

    sql: str
    holds: Test

    def of(self, side: str) -> str:
        return self.sql.replace("@", f"{side}.")


def _n(row: Row, test: Callable[[int], bool]) -> bool | None:
    return None if row["n"] is None else test(row["n"])


CONDITIONS = [
    Condition("@n > 1", lambda row: _n(row, lambda n: n > 1)),
    Condition("NOT @n > 1", lambda row: _n(row, lambda n: not n > 1)),
    Condition("@g = 'a'", lambda row: None if row["g"] is None else row["g"] == "a"),
    Condition("@g IS NULL OR @n = 0", lambda row: row["g"] is None or _n(row, lambda n: n == 0)),
    Condition("@k >= 2", lambda row: None if row["k"] is None else row["k"] >= 2),
]


@dataclass(frozen=True)
class Assign:
    """Assignments in SQL, with `t` and `s` before columns, and in Python."""

    updates: dict[str, str]
    new: Callable[[Row, Row], Row]


def _sum(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a + b


MATCHED = [
    Assign({"n": "t.n + s.n"}, lambda t, s: {**t, "n": _sum(t["n"], s["n"])}),
    Assign({"g": "s.g", "n": "7"}, lambda t, s: {**t, "g": s["g"], "n": 7}),
    Assign({"k": "t.n", "n": "t.k"}, lambda t, _: {**t, "k": t["n"], "n": t["k"]}),
]
BY_SOURCE = [
    Assign({"g": "'gone'"}, lambda t, _: {**t, "g": "gone"}),
    Assign({"k": "t.n", "n": "t.k"}, lambda t, _: {**t, "k": t["n"], "n": t["k"]}),
]
INSERTED = [
    Assign({"k": "s.k", "g": "'new'"}, lambda _, s: {"k": s["k"], "g": "new", "n": None}),
    Assign({"k": "s.k", "g": "s.g", "n": "s.n"}, lambda _, s: dict(s)),
]
ON: list[tuple[str, Callable[[Row, Row], bool]]] = [
    ("t.k = s.k", lambda t, s: t["k"] is not None and t["k"] == s["k"]),
    ("t.k <=> s.k", lambda t, s: t["k"] == s["k"]),
    ("t.k = s.k AND t.g = s.g", lambda t, s: None not in (t["k"], t["g"]) and (t["k"], t["g"]) == (s["k"], s["g"])),
    ("t.k = s.k AND t.n > 1", lambda t, s: t["k"] is not None and t["k"] == s["k"] and (t["n"] or 0) > 1),
    ("t.n < s.n", lambda t, s: None not in (t["n"], s["n"]) and t["n"] < s["n"]),
]


@dataclass(frozen=True)
class Clause:
    kind: str
    condition: Condition | None
    assign: Assign | None

    def applies(self, row: Row) -> bool:
        return self.condition is None or self.condition.holds(row) is True


def clauses_of(kind: str, assigns: Sequence[Assign | None]) -> st.SearchStrategy[list[Clause]]:
    """Some clauses of one kind; only the last may be without a condition."""
    conditioned = st.builds(Clause, st.just(kind), st.sampled_from(CONDITIONS), st.sampled_from(assigns))
    last = st.builds(Clause, st.just(kind), st.none(), st.sampled_from(assigns))
    return st.builds(lambda some, end: [*some, *end], st.lists(conditioned, max_size=2), st.lists(last, max_size=1))


rows = st.lists(
    st.fixed_dictionaries(
        {
            "k": st.none() | st.integers(0, 4),
            "g": st.sampled_from(["a", "b", None]),
            "n": st.none() | st.integers(-1, 3),
        }
    ),
    max_size=8,
)
clauses = st.builds(
    lambda *kinds: [clause for kind in kinds for clause in kind],
    clauses_of("matched", [*MATCHED, None]),
    clauses_of("not matched", INSERTED),
    clauses_of("by source", [*BY_SOURCE, None]),
).filter(bool)
layouts = st.sampled_from([None, "g", "g, bucket(2, k)"])


def modelled(
    target: list[Row], source: list[Row], on: Callable[[Row, Row], bool], clauses: list[Clause]
) -> list[Row] | None:
    """The rows after the merge; None where several rows of the source change one row."""
    matched, inserting, by_source = (
        [c for c in clauses if c.kind == kind] for kind in ("matched", "not matched", "by source")
    )
    after = []
    for row in target:
        pairs = [other for other in source if on(row, other)]
        if not pairs:
            clause = next((c for c in by_source if c.applies(row)), None)
            after += changed(clause, row, {})
            continue
        chosen = [(next((c for c in matched if c.applies(other)), None), other) for other in pairs]
        applied = [(clause, other) for clause, other in chosen if clause is not None]
        deletes_only = len(matched) == 1 and matched[0].assign is None and matched[0].condition is None
        if len(applied) > 1 and not deletes_only:
            return None
        after += changed(applied[0][0], row, applied[0][1]) if applied else [row]
    for other in source:
        if not any(on(row, other) for row in target):
            clause = next((c for c in inserting if c.applies(other)), None)
            after += [clause.assign.new({}, other)] if clause and clause.assign else []
    return after


def changed(clause: Clause | None, row: Row, other: Row) -> list[Row]:
    if clause is None:
        return [row]
    return [] if clause.assign is None else [clause.assign.new(row, other)]


def table_of(path: str, splits: list[list[Row]], layout: str | None) -> IndexTable:
    table = IndexTable.create(Path(path) / "t", SCHEMA, partition_by=layout)
    for split in splits:
        table.append(pa.Table.from_pylist(split, SCHEMA))
    return table


def in_order(found: list[Row]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in SCHEMA.names) for row in found), key=repr)


def run(table: IndexTable, source: list[Row], on: str, clauses: list[Clause]) -> None:
    merge = table.merge(pa.Table.from_pylist(source, SCHEMA), on)
    for clause in clauses:
        side = "t" if clause.kind == "by source" else "s"
        predicate = None if clause.condition is None else clause.condition.of(side)
        updates = clause.assign.updates if clause.assign else None
        match clause.kind, updates:
            case "matched", None:
                merge = merge.when_matched_delete(predicate)
            case "matched", _:
                merge = merge.when_matched_update(updates or {}, predicate)
            case "not matched", _:
                merge = merge.when_not_matched_insert(updates or {}, predicate)
            case "by source", None:
                merge = merge.when_not_matched_by_source_delete(predicate)
            case _:
                merge = merge.when_not_matched_by_source_update(updates or {}, predicate)
    merge.execute()


@each_writes_tables
@given(splits=st.lists(rows, max_size=3), source=rows, on=st.sampled_from(ON), clauses=clauses, layout=layouts)
def test_a_merge_leaves_the_rows_of_the_model(
    splits: list[list[Row]],
    source: list[Row],
    on: tuple[str, Callable[[Row, Row], bool]],
    clauses: list[Clause],
    layout: str | None,
) -> None:
    with tempfile.TemporaryDirectory() as path:
        table = table_of(path, splits, layout)
        before = [row for split in splits for row in split]
        expected = modelled(before, source, on[1], clauses)
        try:
            run(table, source, on[0], clauses)
        except MergeCardinalityError:
            assert expected is None
            expected = before
        assert expected is not None
        assert in_order(table.scan().to_arrow().to_pylist()) == in_order(expected)


@each_writes_tables
@given(
    splits=st.lists(rows, max_size=3),
    steps=st.lists(
        st.tuples(st.none() | st.sampled_from(CONDITIONS), st.sampled_from(BY_SOURCE)), min_size=1, max_size=3
    ),
    layout=layouts,
)
def test_updates_leave_the_rows_of_the_model(
    splits: list[list[Row]], steps: list[tuple[Condition | None, Assign]], layout: str | None
) -> None:
    with tempfile.TemporaryDirectory() as path:
        table = table_of(path, splits, layout)
        expected = [row for split in splits for row in split]
        for condition, assign in steps:
            where = None if condition is None else condition.sql.replace("@", "")
            result = table.update(assign.updates, where)
            chosen = [condition is None or condition.holds(row) is True for row in expected]
            assert result.rows == sum(chosen)
            pairs = zip(expected, chosen, strict=True)
            expected = [assign.new(row, {}) if is_chosen else row for row, is_chosen in pairs]
        assert in_order(table.scan().to_arrow().to_pylist()) == in_order(expected)
