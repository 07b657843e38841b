"""Laws of casts: what is judged by one value per file loses no row, no count and no error."""

from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.errors import CastInvalidInputError
from indextables.predicate import (
    Cast,
    CastMode,
    Comparison,
    In,
    IsNull,
    NullSafeEqual,
    Op,
    Predicate,
    Verdict,
    evaluate,
    judge,
)
from indextables.predicate.cast import try_cast_array
from indextables.predicate.nodes import casts, leaves
from indextables.read.cast_pushdown import provable_terms, prove_casts
from indextables.read.prune import judge_splits
from tests.laws.conditions import bounds, combined
from tests.laws.effort import each_writes_tables

TEXTS = ["1", " 2 ", "+3", "-1", "007", "300", "1.5", "1e1", "abc", "", "true", "2024-02-29", "2024-02-30", "9" * 20]
VALUES = {
    pa.int8(): ["1", "2", "-1"],
    pa.int64(): ["1", "3", "300"],
    pa.float64(): ["1", "1.5", "10"],
    pa.bool_(): ["true", "0"],
    pa.date32(): ["2024-02-29", "2024-03-01"],
}
files = st.lists(
    st.lists(st.none() | st.sampled_from(TEXTS), min_size=1, max_size=3) | st.sampled_from(TEXTS).map(lambda t: [t, t]),
    min_size=1,
    max_size=4,
).map(lambda drawn: [pa.table({"name": pa.array(values, pa.string())}) for values in drawn])


@st.composite
def cast_leaves(draw: st.DrawFn) -> Predicate:
    kind = draw(st.sampled_from(list(VALUES)))
    mode = draw(st.sampled_from([CastMode.ANSI, CastMode.TRY]))
    operand, values = Cast("name", kind, mode=mode), try_cast_array(pa.array(VALUES[kind]), kind)
    return draw(
        st.sampled_from(
            [
                Comparison(operand, draw(st.sampled_from(Op)), draw(st.sampled_from(list(values)))),
                NullSafeEqual(operand, values[0]),
                In(operand, tuple(values)),
                IsNull(operand),
            ]
        )
    )


predicates = combined(cast_leaves())


def answers(predicate: Predicate, rows: pa.Table) -> list[bool | None] | None:
    """None where the cast of a text is an error."""
    try:
        return evaluate(predicate, rows).to_pylist()
    except CastInvalidInputError:
        return None


@given(predicates, files, st.data())
def test_no_verdict_is_wrong(predicate: Predicate, tables: list[pa.Table], data: st.DataObject) -> None:
    verdicts = judge(predicate, data.draw(bounds(tables, ["name"]))).to_pylist()
    for verdict, table in zip(verdicts, tables, strict=True):
        found = answers(predicate, table)
        assert verdict != Verdict.ALWAYS or (found is not None and set(found) == {True})
        assert verdict != Verdict.NEVER or found is None or True not in found


@given(cast_leaves(), files, st.data())
def test_a_file_with_an_error_is_never_left_out(leaf: Predicate, tables: list[pa.Table], data: st.DataObject) -> None:
    verdicts = judge(leaf, data.draw(bounds(tables, ["name"]))).to_pylist()
    erroneous = [answers(leaf, table) is None for table in tables]
    assert all(v == Verdict.SOMETIMES for v, is_error in zip(verdicts, erroneous, strict=True) if is_error)


@each_writes_tables
@given(st.lists(st.none() | st.sampled_from(TEXTS), min_size=1, max_size=4), predicates)
def test_what_is_proved_is_no_error(values: list[str | None], predicate: Predicate) -> None:
    rows = pa.table({"name": pa.array(values, pa.string()), "id": range(len(values))})
    table = IndexTable.create(f"memory://casts/{uuid4()}", rows.schema, partition_by="name")
    table.append(rows)
    snapshot = table.scan().snapshot
    exact, weaker = prove_casts(predicate, snapshot), provable_terms(predicate, snapshot)
    found = answers(predicate, rows)
    if exact is not None:
        assert found == answers(exact, rows)
        counted = judge_splits(exact, snapshot)
        assert counted.count(Verdict.SOMETIMES) == 0
        assert sum(counted.having(Verdict.ALWAYS)["num_records"].to_pylist()) == found.count(True)
    assert {cast.mode for cast in casts(weaker)} <= {CastMode.TRY}
    kept = answers(weaker, rows)
    assert kept is not None
    assert found is None or all(k for k, f in zip(kept, found, strict=True) if f)
    assert len(list(leaves(weaker))) <= len(list(leaves(predicate)))
