from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.split import SplitReader
from tests.split.samples import numbered, split_of

ROWS = numbered(500)
numbers = st.lists(st.integers(0, len(ROWS) - 1), max_size=40).map(sorted)
columns = st.lists(st.sampled_from(ROWS.column_names), min_size=1, unique=True)


@pytest.fixture(scope="module")
def split() -> Iterator[SplitReader]:
    with TemporaryDirectory() as directory:
        yield split_of(ROWS, Path(directory), rows_per_group=32)


@given(wanted=numbers, names=columns)
def test_taking_rows_of_a_split_is_taking_rows_of_the_table(
    split: SplitReader, wanted: list[int], names: list[str]
) -> None:
    rows = pa.array(wanted, pa.int64())
    assert split.take(rows, names).equals(ROWS.select(names).take(rows))


@given(groups=st.lists(st.integers(0, 15), unique=True, min_size=1).map(sorted), names=columns)
def test_reading_row_groups_is_reading_slices(split: SplitReader, groups: list[int], names: list[str]) -> None:
    slices = [ROWS.slice(group * 32, 32) for group in groups]
    assert pa.Table.from_batches(split.read(names, row_groups=groups)).equals(pa.concat_tables(slices).select(names))
