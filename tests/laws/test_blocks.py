"""Bounds of blocks of rows: a block is left out only if no row of it matches."""

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

from indextables.predicate import Column, Comparison, Op, Predicate, Verdict, bind, evaluate, judge, parse_condition
from indextables.predicate import columns as columns_of
from indextables.predicate.literals import literal
from indextables.read.scan_spec import ScanSpec
from indextables.read.split_scan import count_matching, matching_rows
from indextables.split import SplitOptions, SplitReader
from tests.laws.conditions import SCHEMA, VALUES, predicates
from tests.laws.effort import share
from tests.laws.naive import spark_order
from tests.split.samples import split_of

PAGES = SplitOptions(row_group_rows=100, page_bytes=64, page_rows=8)


def _rows(sorted_by: str) -> pa.Table:
    """Rows in which one column is in order, and another is the same or null for long."""
    chance = random.Random(sorted_by)
    drawn = {name: chance.choices([None, *values], k=260) for name, values in VALUES.items()}
    drawn[sorted_by].sort(key=lambda value: (value is not None, value is not None and spark_order(value)))
    runs = chance.choice([name for name in VALUES if name != sorted_by])
    drawn[runs] = [value for value in chance.choices([None, *VALUES[runs]], k=26) for _ in range(10)]
    return pa.table(drawn, schema=SCHEMA)


@pytest.fixture(scope="module", params=SCHEMA.names)
def split(request: pytest.FixtureRequest) -> Iterator[tuple[SplitReader, pa.Table]]:
    rows = _rows(request.param)
    with TemporaryDirectory() as directory:
        yield split_of(rows, Path(directory), options=PAGES), rows


def _matching(predicate: Predicate, rows: pa.Table) -> pa.Array:
    return pc.fill_null(evaluate(predicate, rows), fill_value=False)


@share(4)
@given(condition=predicates)
def test_no_block_with_a_matching_row_is_left_out(split: tuple[SplitReader, pa.Table], condition: Predicate) -> None:
    reader, rows = split
    predicate = bind(condition, SCHEMA)
    blocks = reader.blocks(sorted(columns_of(predicate)))
    assert blocks.rows(range(len(blocks.starts))).tolist() == list(range(len(rows)))
    matching = _matching(predicate, rows).to_pylist()
    verdicts = judge(predicate, blocks.bounds).to_pylist()
    for start, end, verdict in zip(blocks.starts, blocks.ends, verdicts, strict=True):
        assert verdict != Verdict.NEVER or not any(matching[start:end])
        assert verdict != Verdict.ALWAYS or all(matching[start:end])


@share(4)
@given(condition=predicates)
def test_a_scan_finds_the_rows_that_match(split: tuple[SplitReader, pa.Table], condition: Predicate) -> None:
    reader, rows = split
    predicate = bind(condition, SCHEMA)
    spec = ScanSpec(SCHEMA, reader.rules, predicate, {}, tuple(SCHEMA.names), {})
    found = pa.Table.from_batches(matching_rows(reader, spec, all_rows_match=False), SCHEMA)
    expected = rows.filter(_matching(predicate, rows))
    assert repr(found.to_pydict()) == repr(expected.to_pydict())
    assert count_matching(reader, spec) == len(expected)
    first = pa.Table.from_batches(matching_rows(reader, spec, all_rows_match=False, limit=3), SCHEMA)
    assert repr(first.to_pydict()) == repr(expected.slice(0, 3).to_pydict())


def test_blocks_are_left_out(tmp_path: Path) -> None:
    """The laws would hold of a reader that knows no bounds, too."""
    rows = _rows("id").append_column("n", pa.array(range(260), pa.int64()))
    reader = split_of(rows, tmp_path, options=PAGES)
    blocks = reader.blocks(["n", "name"])
    verdicts = judge(bind(Comparison(Column("n"), Op.EQ, literal(177)), rows.schema), blocks.bounds).to_pylist()
    kept = blocks.rows([block for block, verdict in enumerate(verdicts) if verdict != Verdict.NEVER])
    assert 177 in kept
    assert len(kept) <= 8


@pytest.fixture(scope="module")
def wide() -> Iterator[tuple[SplitReader, pa.Table]]:
    """Rows whose conditions are cheap beside the column that is read, in several row groups."""
    rows = pa.concat_tables([_rows("id")] * 40)
    texts = pa.array([f"{number:0400}" for number in range(len(rows))])
    rows = rows.append_column("wide", texts)
    with TemporaryDirectory() as directory:
        yield split_of(rows, Path(directory), options=SplitOptions(row_group_rows=4000)), rows


@share(8)
@given(condition=predicates)
def test_reading_the_columns_of_a_condition_first_changes_no_row(
    wide: tuple[SplitReader, pa.Table], condition: Predicate
) -> None:
    reader, rows = wide
    predicate = bind(condition, rows.schema)
    spec = ScanSpec(rows.schema, reader.rules, predicate, {}, ("wide",), {})
    found = pa.Table.from_batches(matching_rows(reader, spec, all_rows_match=False), rows.select(["wide"]).schema)
    assert found["wide"].to_pylist() == rows.filter(_matching(predicate, rows))["wide"].to_pylist()


def test_other_columns_are_read_by_page_where_a_condition_keeps_few_rows(tmp_path: Path) -> None:
    """The law would hold of a reader that reads all columns, too."""
    kinds = ["rare" if number in {17, 7777} else ("a", "b", "c")[number % 3] for number in range(10_000)]
    rows = pa.table({"kind": kinds, "wide": [random.Random(number).randbytes(200).hex() for number in range(10_000)]})
    reader = split_of(rows, tmp_path)
    spec = ScanSpec(rows.schema, reader.rules, parse_condition("kind = 'rare'", rows.schema), {}, ("wide",), {})
    assert reader.num_rows == len(rows)  # the footer is read
    before = reader._store.traffic.bytes_read
    found = pa.Table.from_batches(matching_rows(reader, spec, all_rows_match=False))
    assert found["wide"].to_pylist() == rows["wide"].take([17, 7777]).to_pylist()
    assert reader._store.traffic.bytes_read - before < rows.nbytes / 20
