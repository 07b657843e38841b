import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.search import resolve
from indextables.split import Statistics, write_split
from tests.split.samples import EVERY_TYPE, numbered, reader, write


def test_pyarrow_reads_the_rows(tmp_path: Path) -> None:
    write(EVERY_TYPE, tmp_path / "a.split", rows_per_group=3)
    assert same(pq.read_table(tmp_path / "a.split"), EVERY_TYPE)


def test_polars_reads_the_rows(tmp_path: Path) -> None:
    write(EVERY_TYPE, tmp_path / "a.split", rows_per_group=3)
    read = pl.read_parquet(tmp_path / "a.split").to_arrow()
    assert same(read.cast(EVERY_TYPE.schema), EVERY_TYPE)


def test_duckdb_reads_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.split"
    write(EVERY_TYPE, path, rows_per_group=3)
    read = duckdb.sql(f"SET TimeZone = 'UTC'; SELECT * FROM read_parquet('{path}')").to_arrow_table()
    assert same(read.cast(EVERY_TYPE.schema), EVERY_TYPE)


@pytest.mark.spark
def test_spark_reads_the_rows(tmp_path: Path, spark: Any) -> None:
    write(EVERY_TYPE, tmp_path / "a.split", rows_per_group=3)
    read = spark.read.format("parquet").load(str(tmp_path / "a.split")).toArrow()
    assert same(read.cast(EVERY_TYPE.schema), EVERY_TYPE)


def same(found: pa.Table, expected: pa.Table) -> bool:
    """Equal, and NaN is equal to itself."""
    return found.to_pydict().__repr__() == expected.to_pydict().__repr__()


@pytest.mark.parametrize("rows_per_batch", [1, 7, 10, 1000])
@pytest.mark.parametrize("rows_per_group", [1, 10, 64, 8192])
def test_row_groups_do_not_depend_on_batches(tmp_path: Path, rows_per_batch: int, rows_per_group: int) -> None:
    rows = numbered(100)
    write(rows, tmp_path / "a.split", rows_per_group=rows_per_group, rows_per_batch=rows_per_batch)
    file = pq.ParquetFile(tmp_path / "a.split")
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert sizes[:-1] == [rows_per_group] * (len(sizes) - 1)
    assert file.read().equals(rows)


def test_what_the_log_is_told(tmp_path: Path) -> None:
    path, rows = tmp_path / "a.split", numbered(1000)
    facts = write(rows, path, rows_per_group=64)
    data = path.read_bytes()
    assert facts.num_records == 1000
    assert facts.size == len(data) == facts.footer[1]
    assert facts.uncompressed_bytes >= 1000 * 2 * 8
    assert 4 < facts.index[0] < facts.index[1] == facts.footer[0]
    assert facts.footer[0] < len(data) - 8 - int.from_bytes(data[-8:-4], "little")  # page indexes come before it
    assert facts.statistics == Statistics.of(rows.combine_chunks().to_batches()[0])
    assert facts.time_range == (1_700_000_000_000_000, 1_700_000_000_999_000)


def test_what_the_log_is_told_travels_between_processes(tmp_path: Path) -> None:
    facts = write(EVERY_TYPE, tmp_path / "a.split")
    assert pickle.loads(pickle.dumps(facts)) == facts


def test_a_split_without_rows_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one row"):
        write(EVERY_TYPE.slice(0, 0), tmp_path / "a.split")
    assert list(tmp_path.iterdir()) == []


def test_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.split"
    facts = write(EVERY_TYPE.slice(1, 1), path)
    assert facts.num_records == 1
    assert same(reader(path, facts).take(pa.array([0])), EVERY_TYPE.slice(1, 1))


def test_no_column_need_be_indexed(tmp_path: Path) -> None:
    rows = pa.table({"blob": [b"a", b"b"]})
    path = tmp_path / "a.split"
    assert reader(path, write(rows, path)).take(pa.array([1])).to_pydict() == {"blob": [b"b"]}


def test_batches_of_another_shape_are_brought_to_the_schema(tmp_path: Path) -> None:
    schema = pa.schema({"name": pa.string(), "n": pa.int64()})
    given = pa.record_batch({"name": pa.array(["a"], pa.large_string()), "n": pa.array([1], pa.int32())})
    write_split([given], tmp_path / "a.split", schema=schema, rules=resolve(schema))
    assert pq.read_table(tmp_path / "a.split").schema.equals(schema)


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    rows = numbered(10)

    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows.to_batches()
        raise RuntimeError("the input has failed")

    with pytest.raises(RuntimeError, match="the input has failed"):
        write_split(failing(), tmp_path / "a.split", schema=rows.schema, rules=resolve(rows.schema))
    assert list(tmp_path.iterdir()) == []


def test_nothing_but_the_split_is_left(tmp_path: Path) -> None:
    write(numbered(10), tmp_path / "a.split")
    assert [path.name for path in tmp_path.iterdir()] == ["a.split"]


def test_nullability_is_kept(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    rows = pa.record_batch([[1]], schema=schema)
    write_split([rows], tmp_path / "a.split", schema=schema, rules=resolve(schema))
    assert pq.read_schema(tmp_path / "a.split").equals(schema)
