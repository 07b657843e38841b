"""Directories, globs and Hive layouts that are imported, and formats whose columns have types."""

import gzip
import logging
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, ipc, orc

from indextables import IndexTable
from tests.cli.shell import found, run
from tests.log_lines import facts

ORDERS = [(1, "NO", date(2024, 1, 1)), (2, "NO", date(2024, 1, 2)), (3, "Côte d'Or", date(2024, 1, 1)), (4, None, None)]


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hive layout as Spark writes it, in the current directory."""
    monkeypatch.chdir(tmp_path)
    for number, country, day in ORDERS:
        label = (country or "__HIVE_DEFAULT_PARTITION__").replace("ô", "%C3%B4").replace("'", "%27")
        place = Path(f"orders/country={label}/day={day or '__HIVE_DEFAULT_PARTITION__'}")
        place.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number], "note": [f"order {number} of the day"]}), place / "part-0.parquet")
        (place / ".part-0.parquet.crc").write_bytes(b"crc")
    (tmp_path / "orders/_SUCCESS").touch()
    (tmp_path / "orders/_temporary").mkdir()
    (tmp_path / "orders/_temporary/part-0.parquet").write_bytes(b"half")
    return Path("orders")


def values(table: str | Path, *columns: str, order: str = "id") -> list[tuple[Any, ...]]:
    rows = IndexTable.open(table).scan(columns=list(dict.fromkeys([*columns, order]))).to_arrow().sort_by(order)
    return [tuple(row[column] for column in columns) for row in rows.to_pylist()]


@pytest.mark.parametrize(
    "given",
    [["orders"], ["orders/*/*/*.parquet"], ["orders/*/day=*/*"], ["orders/**/*.parquet"], "every file", "shell"],
)
def test_columns_come_from_the_paths_of_a_hive_layout(orders: Path, given: list[str] | str) -> None:
    files = sorted(orders.glob("*/*/part*")) if given == "every file" else sorted(orders.glob("*"))
    words = list(given) if isinstance(given, list) else [file for file in files if file.name != "_temporary"]
    planned = found("import", "t", *words, "--dry-run")
    assert (planned["files"], planned["rows"], planned["path_columns"]) == (4, 4, ["country", "day"])
    assert planned["columns"] == {"id": "long", "note": "string", "country": "string", "day": "date"}
    assert not Path("t").exists()
    assert found("import", "t", *words)["rows"] == 4
    assert values("t", "id", "country", "day") == ORDERS


def test_a_layout_by_the_columns_of_paths_is_proposed_as_a_command(orders: Path) -> None:  # noqa: ARG001
    note = "note: country, day come from the paths of the files; to partition the table by them, run: indextables "
    line = "import t orders/ --text note --partition-by country,day"
    assert (
        f"{note}{line[:29]}--dry-run {line[29:]}\n"
        in run("import", "t", "orders/", "--text", "note", "--dry-run").stderr
    )
    said = run("import", "t", "orders/", "--text", "note").stderr
    assert f"{note}{line} --overwrite --overwrite-schema\n" in said
    assert str(IndexTable.open("t").layout) == ""
    proposed = said.split("indextables import ")[1].split()
    assert "note: country" not in run("import", *proposed).stderr
    assert str(IndexTable.open("t").layout) == "country, day"
    assert values("t", "id", "country", "day") == ORDERS
    assert "partition the table" not in run("import", "t", "orders/", "--overwrite").stderr


def test_types_of_path_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for hour, code in (("00", "007"), ("23", "8")):
        place = Path(f"logs/hour={hour}/code={code}/at=2024-05-01 {hour}%3A00%3A00")
        place.mkdir(parents=True)
        (place / "a.csv").write_text("id\n1\n")
    kinds = {"id": "long", "hour": "long", "code": "string", "at": "timestamp_ntz"}
    assert found("import", "t", "logs", "--dry-run")["columns"] == kinds
    assert found("import", "t", "logs", "--dry-run", "--type", "CODE=int")["columns"] == {**kinds, "code": "integer"}
    assert found("import", "t", "logs", "--dry-run", "--columns", "code")["rows"] == 2
    IndexTable.create("numbers", {"id": "bigint", "code": "bigint"})
    said = run("import", "numbers", "logs", "--columns", "id,code", code=1).stderr
    assert (
        "code=007/at=2024-05-01 00%3A00%3A00/a.csv: column 'code' is long, and its value in the path is '007'" in said
    )
    run("import", "numbers", "logs", "--columns", "id,code", "--type", "code=bigint")
    assert values("numbers", "code", order="code") == [(7,), (8,)]


def test_a_column_of_an_existing_table_may_be_in_the_paths_only(orders: Path) -> None:
    columns = {"id": "bigint", "note": "string", "Country": "string", "day": "string"}
    IndexTable.create("t", columns, partition_by="Country")
    run("import", "t", orders)
    assert values("t", "Country", "day")[:2] == [("NO", "2024-01-01"), ("NO", "2024-01-02")]
    IndexTable.create("plain", {"id": "bigint", "note": "string"})
    said = run("import", "plain", orders, code=1).stderr
    assert "the table has no column 'country', 'day'; 'country', 'day' come from the path of the file" in said
    run("import", "plain", orders, "--columns", "id,note")
    assert len(values("plain", "id")) == 4


def test_a_column_of_a_path_and_a_file_has_one_value(orders: Path) -> None:
    file = orders / "country=NO/day=2024-01-01/part-0.parquet"
    pq.write_table(pa.table({"id": [1, 1], "note": ["", ""], "day": [date(2024, 1, 1)] * 2}), file)
    run("import", "t", orders)
    assert len(values("t", "id")) == 5
    pq.write_table(pa.table({"id": [1, 1], "note": ["", ""], "day": [date(2024, 1, 1), None]}), file)
    said = run("import", "other", orders, code=1).stderr
    assert f"{file}: column 'day' is in the path with the value 2024-01-01, and in the file with None; rename" in said
    run("import", "other", orders, "--columns", "id,note,country")
    assert not Path("other/day").exists()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.arrow", lambda rows, path: _write_ipc(rows, path, ipc.new_file)),
        ("a.arrows", lambda rows, path: _write_ipc(rows, path, ipc.new_stream)),
        ("a.feather", lambda rows, path: feather.write_feather(rows, path, compression="zstd")),
        ("a.orc", orc.write_table),
        ("a.orc.gz", lambda rows, path: _packed(rows, path, orc.write_table)),
        ("a.parquet.zst", lambda rows, path: _packed(rows, path, pq.write_table)),
        ("a.csv.zst", lambda rows, path: _packed(rows, path, pa.csv.write_csv)),
    ],
)
def test_formats(tmp_path: Path, name: str, write: Callable[[pa.Table, Path], None]) -> None:
    rows = pa.table({"id": [1, 2], "text": ["disk full", None], "day": [date(2024, 5, 1), None]})
    write(rows, tmp_path / name)
    run("import", tmp_path / "t", tmp_path / name, "--text", "text")
    expected = [(1, "disk full", date(2024, 5, 1)), (2, "" if "csv" in name else None, None)]
    assert values(tmp_path / "t", "id", "text", "day") == expected
    with (tmp_path / name).open("r+b") as file:
        file.truncate(file.seek(0, 2) // 2)
    said = run("import", tmp_path / "other", tmp_path / name, code=1).stderr
    assert f"{tmp_path / name} cannot be " in said
    assert not (tmp_path / "other").exists()


def _write_ipc(rows: pa.Table, path: Path, new: Callable[..., Any]) -> None:
    categories = rows.set_column(1, "text", rows["text"].dictionary_encode())
    with new(str(path), categories.schema) as writer:
        for batch in categories.to_batches(max_chunksize=1):
            writer.write(batch)


def _packed(rows: pa.Table, path: Path, write: Callable[..., Any]) -> None:
    plain = path.with_suffix("")
    write(rows, plain)
    with pa.output_stream(path, compression="gzip" if path.suffix == ".gz" else "zstd") as packed:
        packed.write(plain.read_bytes())
    plain.unlink()


def test_schemas_of_files_become_one_where_that_is_safe(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    pq.write_table(pa.table({"id": pa.array([1], pa.int8()), "price": [1]}), data / "a.parquet")
    pq.write_table(pa.table({"id": [2], "price": [2.5], "note": ["x"]}), data / "b.parquet")
    run("import", tmp_path / "t", data)
    assert values(tmp_path / "t", "id", "price", "note") == [(1, 1.0, None), (2, 2.5, "x")]
    pq.write_table(pa.table({"id": ["three"]}), data / "c.parquet")
    said = run("import", tmp_path / "other", data, code=1).stderr
    assert (
        f"column 'id' is long in {data / 'b.parquet'} and string in {data / 'c.parquet'}, and no type holds both"
        in said
    )
    assert found("import", tmp_path / "other", data, "--columns", "price,note", "--dry-run")["rows"] == 3


def test_files_of_a_directory_that_are_not_imported_are_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    said = run("import", tmp_path / "t", data, code=1).stderr
    assert f"there is no file to import in {data}: it is empty, or all its files are hidden" in said
    (data / "README.md").write_text("the data")
    assert f"{data / 'README.md'} has no known file extension" in run("import", tmp_path / "t", data, code=1).stderr
    (data / "app.log.1.gz").write_bytes(gzip.compress(b"2024-05-01 10:00:00 INFO ready\n"))
    assert f"note: 1 file was left out, because its extension is not known: {data / 'README.md'}\n" in (
        run("import", tmp_path / "t", data, "--dry-run").stderr
    )
    assert found("import", tmp_path / "t", data)["files_left_out"] == [str(data / "README.md")]
    (data / "a.csv").write_text("id\n1\n")
    said = run("import", tmp_path / "u", data, code=1).stderr
    assert (
        f"several formats: csv ({data / 'a.csv'}), log ({data / 'app.log.1.gz'}); import one format at a time" in said
    )
    assert f"error: no file matches {data}/*.cs\n" == run("import", tmp_path / "u", f"{data}/*.cs", code=1).stderr
    said = run("import", tmp_path / "u", data / "a.csv", f"{data}/*.csv", code=1).stderr
    assert f"{data / 'a.csv'} is among the files twice" in said


def test_tables_are_not_imported_file_by_file(tmp_path: Path) -> None:
    IndexTable.write(tmp_path / "data/t", {"id": [1]})
    for given in (tmp_path / "data", tmp_path / "data/t", tmp_path / "data/t/_transaction_log"):
        assert (
            "is a table of indextables, whose files are not imported one by one"
            in run("import", tmp_path / "u", given, code=1).stderr
        )
    for kind, log in (("Delta", "_delta_log/0.json"), ("Iceberg", "metadata/v1.metadata.json")):
        place = tmp_path / kind
        (place / log).parent.mkdir(parents=True)
        (place / log).touch()
        (place / "data/day=1").mkdir(parents=True)
        pq.write_table(pa.table({"id": [1]}), place / "data/day=1/a.parquet")
        for given in (place, place / "data/day=1", f"{place}/**/*.parquet", place / "data/day=1/a.parquet"):
            if kind == "Delta" and given != place:
                continue
            said = run("import", tmp_path / "u", given, code=1).stderr
            assert f"{place} cannot be imported as files, because it is" in said
            assert f"{kind} table; read it with Spark or" in said
    (tmp_path / "Delta/data").rename(tmp_path / "Delta/kind=1")
    for given in ("kind=1", "*/*/*.parquet", "kind=1/day=1/a.parquet"):
        assert "it is a Delta table" in run("import", tmp_path / "u", tmp_path / "Delta" / given, code=1).stderr
    assert not (tmp_path / "u").exists()


def test_a_dataset_is_written_in_batches(orders: Path, caplog: pytest.LogCaptureFixture) -> None:
    dataset = ds.dataset(orders, partitioning=ds.HivePartitioning.discover(infer_dictionary=True))
    table = IndexTable.write("t", dataset, partition_by="country", text="note")
    assert str(table.layout) == "country"
    assert values("t", "id", "country") == [(number, country) for number, country, _ in ORDERS]
    caplog.set_level(logging.INFO, logger="indextables")
    assert table.append(dataset) == 1
    assert not facts(caplog, "Layout proposed")
    IndexTable.write("u", dataset)
    assert [fact["partition_by"] for fact in facts(caplog, "Layout proposed")] == ["country, day"]
    assert table.count(query="day") == 8
