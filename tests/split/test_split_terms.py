"""Which terms of a split go into its filter."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from indextables.search import resolve
from indextables.search.term_filter import SplitTerms, TermFilters, capacity, term_hashes
from indextables.split import SplitOptions, write_split

SCHEMA = pa.schema(
    {
        "message": pa.string(),
        "level": pa.string(),
        "trace_id": pa.string(),
        "hidden": pa.string(),
        "user": pa.int64(),
        "status": pa.int16(),
        "unindexed": pa.int64(),
        "ratio": pa.float64(),
        "raw": pa.binary(),
    }
)
RULES = resolve(SCHEMA, {"message": "text", "hidden": "none", "unindexed": "none"})


def rows(count: int) -> pa.RecordBatch:
    numbers = range(count)
    return pa.record_batch(
        [
            [f"Line {n}" if n % 5 else None for n in numbers],
            [("INFO", "", None)[n % 3] for n in numbers],
            [f"id-{n}" for n in numbers],
            ["x"] * count,
            [n * n for n in numbers],
            [-(n % 2) for n in numbers],
            [7] * count,
            [0.5] * count,
            [b"x"] * count,
        ],
        schema=SCHEMA,
    )


def covered(term_filter: bytes | None) -> set[str]:
    filters = TermFilters.of(pa.chunked_array([pa.array([term_filter], pa.large_binary())]))
    columns = np.array([len(SCHEMA)])
    return {n for i, n in enumerate(sorted(SCHEMA.names)) if filters.covers(np.array([i]), columns=columns)[0]}


def contains(term_filter: bytes | None, column: str, text: str) -> bool:
    filters = TermFilters.of(pa.chunked_array([pa.array([term_filter], pa.large_binary())]))
    return bool(filters.may_contain(term_hashes(column, [text]), among=np.array([True]))[0])


def written(directory: Path, *batches: pa.RecordBatch, max_bytes: int = 4_096) -> bytes | None:
    options = SplitOptions(row_group_rows=50, term_filter_bytes=max_bytes)
    return write_split(batches, directory / "a.split", schema=SCHEMA, rules=RULES, options=options).term_filter


def test_words_strings_and_integers_are_in_the_filter(tmp_path: Path) -> None:
    made = written(tmp_path, rows(120))
    assert covered(made) == {"message", "level", "trace_id", "user", "status"}
    present = [("message", "line"), ("message", "1"), ("level", ""), ("trace_id", "id-119"), ("user", "14161")]
    assert all(contains(made, column, text) for column, text in [*present, ("status", "-1")])
    absent = [("message", "Line"), ("message", "5"), ("level", "ERROR"), ("trace_id", "id-120"), ("user", "2")]
    assert [contains(made, column, text) for column, text in absent].count(True) <= 1


@pytest.mark.parametrize("max_bytes", [0, 5])
def test_no_room_no_filter(tmp_path: Path, max_bytes: int) -> None:
    assert written(tmp_path, rows(3), max_bytes=max_bytes) is None


def test_columns_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    assert covered(written(tmp_path, rows(120), max_bytes=100)) == {"level", "status"}
    assert covered(written(tmp_path, rows(120), max_bytes=200)) == {"message", "level", "status"}
    assert covered(written(tmp_path, rows(120), max_bytes=400)) == {"message", "level", "status", "trace_id"}


def test_words_are_not_even_listed_where_there_must_be_many() -> None:
    terms = SplitTerms(SCHEMA, RULES, max_bytes=100)

    def words(_: str) -> pa.Array:
        raise AssertionError("listed")

    terms.observe([rows(capacity(100, columns=len(SCHEMA)) * 4 + 1)])
    assert covered(terms.term_filter(words)) == {"level", "status"}


def test_long_values_are_not_hashed(tmp_path: Path) -> None:
    long = pa.record_batch({"a": ["x" * 2**20, "y"], "b": ["x" * 70_000, "y"]})
    made = write_split([long], tmp_path / "a.split", schema=long.schema, rules=resolve(long.schema)).term_filter
    filters = TermFilters.of(pa.chunked_array([pa.array([made], pa.large_binary())]))
    assert [filters.covers(np.array([n]), columns=np.array([2]))[0] for n in (0, 1)] == [False, True]
    assert contains(made, "b", "x" * 70_000)


def test_a_split_of_nulls_has_no_filter(tmp_path: Path) -> None:
    assert written(tmp_path, pa.RecordBatch.from_pylist([{}, {}], SCHEMA)) is None
