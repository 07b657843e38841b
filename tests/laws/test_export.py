"""Law: the rows of an exported file are those of the table, once they are imported again."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from tests.cli.shell import run
from tests.laws.effort import share
from tests.laws.strategies import array, values

KINDS = {
    "flag": pa.bool_(),
    "tiny": pa.int8(),
    "small": pa.int16(),
    "n": pa.int32(),
    "wide": pa.int64(),
    "single": pa.float32(),
    "double": pa.float64(),
    "price": pa.decimal128(38, 12),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "wall clock": pa.timestamp("us"),
    "it's": pa.string(),
}
NAN = float("nan")


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows of some of the columns, a single one among them; floating-point ones may be NaN."""
    chosen = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, unique=True))
    length = draw(st.integers(0, 5))

    def column(kind: pa.DataType) -> pa.Array:
        one = st.none() | values(kind) | (st.just(NAN) if pa.types.is_floating(kind) else st.nothing())
        return array(draw(st.lists(one, min_size=length, max_size=length)), kind)

    return pa.table({name: column(KINDS[name]) for name in chosen})


def seen(column: pa.ChunkedArray, ending: str) -> list[Any]:
    """The values that come back: CSV does not tell a null from an empty text, or from NaN, as `import` reads it."""
    if ending.startswith("csv"):
        if pa.types.is_string(column.type):
            column = pc.fill_null(column, "")
        elif pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
    return column.cast(pa.string()).to_pylist() if pa.types.is_floating(column.type) else exact(column)


def exact(column: pa.ChunkedArray) -> list[Any]:
    """Values beyond the years of Python, as their numbers."""
    counts = {32: pa.int32(), 64: pa.int64()}
    temporal = pa.types.is_temporal(column.type)
    return column.combine_chunks().view(counts[column.type.bit_width]).to_pylist() if temporal else column.to_pylist()


@pytest.mark.parametrize("ending", ["parquet", "csv.gz", "jsonl", "jsonl.zst"])
@share(10)
@given(rows=tables())
def test_an_export_is_imported_as_the_same_rows(ending: str, rows: pa.Table) -> None:
    place = f"memory://{uuid4().hex}"
    table = IndexTable.create(f"{place}/from", rows.schema)
    table.append(rows)
    stored = table.to_arrow()
    copy = IndexTable.create(f"{place}/to", rows.schema)
    with TemporaryDirectory() as scratch:
        file = Path(scratch, f"rows.{ending}")
        run("export", table.path, file)
        assert [path.name for path in file.parent.iterdir()] == [file.name]
        if len(rows):
            run("import", copy.path, file)
    back = copy.refresh().to_arrow()
    assert {name: seen(back[name], ending) for name in rows.column_names} == {
        name: seen(stored[name], ending) for name in rows.column_names
    }
