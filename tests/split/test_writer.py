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
from indextables.split import SplitOptions, Statistics, write_split
from indextables.split.exact_index import Kind
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


def test_spark_reads_the_rows(tmp_path: Path, spark: Any) -> None:
    write(EVERY_TYPE, tmp_path / "a.split", rows_per_group=3)
    read = spark.read.format("parquet").load(str(tmp_path / "a.split")).toArrow()
    assert same(read.cast(EVERY_TYPE.schema), EVERY_TYPE)


MANY = numbered(3000).append_column(
    "name", pa.array([None if n % 11 == 0 else f"naïve {n * 7919 % 3000} 東京" for n in range(3000)])
)
IN_PAGES = SplitOptions(
    row_group_rows=700, page_bytes=1024, page_rows=256, exact={"name": Kind.HASH, "level": Kind.DICTIONARY}
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A split with five row groups, many pages, every encoding and every kind of index."""
    path = tmp_path_factory.mktemp("many") / "a.split"
    write(MANY, path, options=IN_PAGES)
    metadata = pq.read_metadata(path)
    assert metadata.num_row_groups == 5
    encodings = [set(metadata.row_group(4).column(number).encodings) for number in range(5)]
    expected = ["BINARY_PACKED", "RLE_DICTIONARY", "LENGTH_BYTE_ARRAY", "BINARY_PACKED", "LENGTH_BYTE_ARRAY"]
    for wanted, found in zip(expected, encodings, strict=True):
        assert {wanted, f"DELTA_{wanted}"} & found
    return path


def test_pyarrow_reads_many_row_groups(many: Path) -> None:
    assert pq.read_table(many).equals(MANY)
    assert pq.read_table(many, filters=[("n", ">=", 2990)]).equals(MANY.slice(2990))


def test_polars_reads_many_row_groups(many: Path) -> None:
    assert pl.read_parquet(many).to_arrow().cast(MANY.schema).equals(MANY)
    last = pl.scan_parquet(many).filter(pl.col("n") >= 2990).collect()
    assert last.to_arrow().cast(MANY.schema).equals(MANY.slice(2990))


def test_duckdb_reads_many_row_groups(many: Path) -> None:
    rows = f"SET TimeZone = 'UTC'; SELECT * FROM read_parquet('{many}')"
    assert duckdb.sql(f"{rows} ORDER BY n").to_arrow_table().cast(MANY.schema).equals(MANY)
    one = duckdb.sql(f"{rows} WHERE name = '{MANY['name'][2501].as_py()}'").to_arrow_table()
    assert one["n"].to_pylist() == [2501]


def test_spark_reads_many_row_groups(many: Path, spark: Any) -> None:
    frame = spark.read.format("parquet").load(str(many))
    assert frame.orderBy("n").toArrow().cast(MANY.schema).equals(MANY)
    assert [row.n for row in frame.where(frame.name == MANY["name"][2501].as_py()).collect()] == [2501]
    assert [row.n for row in frame.where("n BETWEEN 1399 AND 1401").orderBy("n").collect()] == [1399, 1400, 1401]


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
    assert facts.time_range == ("2023-11-14T22:13:20Z", "2023-11-14T22:13:20.999000Z")


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
