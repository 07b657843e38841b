"""Rows that are taken by their pages are those of the table, whatever its types, encodings, row groups and pages are."""

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables.kernels import flat
from indextables.split import SplitOptions, SplitReader
from indextables.split.fetched_rows import decode_rows
from indextables.split.pages import decode
from tests.laws.effort import each_writes_tables
from tests.split.samples import EVERY_TYPE, reader, write

SCHEMA = pa.schema([f.with_name("line") if f.name == "message" else f for f in EVERY_TYPE.schema])  # none has words
_SPECIAL = {
    field.name: [v for v in EVERY_TYPE.column(n).to_pylist() if v is not None] for n, field in enumerate(SCHEMA)
}


def _any(chance: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return "".join(chance.choices("aé東😀\0 ", k=chance.randrange(12)))
    if pa.types.is_binary(kind):
        return chance.randbytes(chance.randrange(9))
    if pa.types.is_floating(kind):
        return chance.uniform(-9, 9)
    if pa.types.is_decimal(kind):
        return Decimal(chance.randrange(-(10**kind.precision) + 1, 10**kind.precision)).scaleb(-kind.scale)
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    bits = kind.bit_width - 8 if pa.types.is_temporal(kind) else kind.bit_width
    return chance.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))


def _column(chance: random.Random, field: pa.Field, rows: int, *, distinct: int, nulls: float) -> pa.Array:
    pool = pa.array([_any(chance, field.type) for _ in range(distinct)], field.type)
    pool = pa.concat_arrays([pa.array(_SPECIAL[field.name], field.type), pool])
    picked = [None if chance.random() < nulls else chance.randrange(len(pool)) for _ in range(rows)]
    return pool.take(pa.array(picked, pa.int64()))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Columns of few and of many distinct values, without nulls, with some, and with nothing else."""
    rows, chance = draw(st.integers(1, 90) | st.integers(200, 900)), random.Random(draw(st.integers(0, 2**32)))
    shapes = [(chance.choice([0, 1, 1000]), chance.choice([0, 0.3, 0.9, 1])) for _ in SCHEMA]
    columns = [_column(chance, f, rows, distinct=d, nulls=n) for f, (d, n) in zip(SCHEMA, shapes, strict=True)]
    return pa.table(columns, schema=SCHEMA)


layouts = st.builds(
    SplitOptions,
    row_group_rows=st.integers(1, 100) | st.integers(150, 900),
    page_bytes=st.sampled_from([64, 2048]),  # then columns have pages of other lengths
    page_rows=st.integers(1, 40) | st.just(4096),
    compression=st.sampled_from([None, "zstd", "none", "snappy"]),
)
names = st.lists(st.sampled_from(SCHEMA.names), min_size=1, unique=True)


def some_rows(table: pa.Table) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=30).map(sorted)


def bits(column: pa.ChunkedArray) -> pa.Array:
    """Values that are equal if they are the same: NaN is itself, and 0.0 is not -0.0."""
    values = flat(column)
    return values.view({pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(values.type, values.type))


def same(found: pa.Table, expected: pa.Table) -> bool:
    columns = zip(found.columns, expected.columns, strict=True)
    return found.schema == expected.schema and all(bits(one).equals(bits(other)) for one, other in columns)


@each_writes_tables
@given(table=tables(), layout=layouts, columns=names, data=st.data())
def test_taking_rows_by_pages_is_taking_rows_of_the_table(
    table: pa.Table, layout: SplitOptions, columns: list[str], data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory, "a.split")
        split = reader(path, write(table, path, options=layout))
        assert same(pa.Table.from_batches(split.read()), table)
        assert same(split.take(pa.array(range(len(table)))), table)
        rows = data.draw(some_rows(table))
        assert same(split.take(pa.array(rows), columns), table.select(columns).take(rows))
        for name in columns:
            assert bits(split.values(name).cast(table[name].type)).equals(bits(table[name]))


@each_writes_tables
@given(
    files=st.lists(st.tuples(tables(), layouts), min_size=2, max_size=4),
    columns=names,
    data=st.data(),
    together=st.sampled_from(["rows", "pages"]),
)
def test_pages_of_several_files_are_decoded_at_once(
    files: list[tuple[pa.Table, SplitOptions]], columns: list[str], data: st.DataObject, together: str
) -> None:
    with TemporaryDirectory() as directory:
        splits = [_split(Path(directory, f"{n}.split"), *file) for n, file in enumerate(files)]
        wanted = [data.draw(some_rows(table)) for table, _ in files]
        found = _DECODERS[together](splits, wanted, columns)
    expected = [table.select(columns).take(rows) for (table, _), rows in zip(files, wanted, strict=True)]
    assert len(found) == len(expected)
    assert all(same(*pair) for pair in zip(found, expected, strict=True))


def _split(path: Path, table: pa.Table, layout: SplitOptions) -> SplitReader:
    return reader(path, write(table, path, options=layout))


def _by_rows(splits: Sequence[SplitReader], wanted: Sequence[list[int]], columns: list[str]) -> list[pa.Table]:
    return decode_rows([s.fetch(pa.array(r).to_numpy(), columns) for s, r in zip(splits, wanted, strict=True)])


def _by_pages(splits: Sequence[SplitReader], wanted: Sequence[list[int]], columns: list[str]) -> list[pa.Table]:
    """All files in one, although some have dictionaries and others have not."""
    fetched = [s.fetch(pa.array(r).to_numpy(), columns) for s, r in zip(splits, wanted, strict=True)]
    arrays = decode([rows.selections for rows in fetched], [rows.data for rows in fetched])
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    whole = pa.table([column.cast(f.type) for column, f in zip(arrays, schema, strict=True)], schema=schema)
    starts = [sum(map(len, wanted[:n])) for n in range(len(wanted))]
    return [whole.slice(start, len(rows)) for start, rows in zip(starts, wanted, strict=True)]


_DECODERS: dict[str, Callable[[Sequence[SplitReader], Sequence[list[int]], list[str]], list[pa.Table]]] = {
    "rows": _by_rows,
    "pages": _by_pages,
}
