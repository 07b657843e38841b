"""Rows of a table in a file: which rows, in which format, where, and what is left after a failure."""

import gzip
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from indextables import IndexTable
from indextables.cli.app import app
from tests.cli.shell import found, run

ROWS = {
    "id": [1, 2, 3],
    "message": ['disk, "full"\nagain', None, ""],
    "at": pa.array([0, None, 1_700_000_000_000_001], pa.timestamp("us", "UTC")),
    "price": pa.array([Decimal("1.50"), None, Decimal(-3)], pa.decimal128(10, 2)),
    "load": pa.array([0.1, None, float("nan")], pa.float32()),
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table = IndexTable.write(tmp_path / "table", pa.table(ROWS), text="message")
    table.append([{"id": 4, "message": "timeout", "at": None, "price": None, "load": None}])
    return Path(table.path)


def files(place: Path) -> set[str]:
    return {file.name for file in place.iterdir() if file.is_file()}


def test_csv_tells_a_null_from_an_empty_text(path: Path, tmp_path: Path) -> None:
    run("export", path, tmp_path / "out.csv", "--version", 0)
    assert (tmp_path / "out.csv").read_text() == (
        '"id","message","at","price","load"\n'
        '1,"disk, ""full""\nagain","1970-01-01T00:00:00Z","1.50",0.1\n'
        "2,,,,\n"
        '3,"","2023-11-14T22:13:20.000001Z","-3.00",nan\n'
    )
    run("export", path, tmp_path / "one.tsv", "--columns", "id", "--where", "id < 3")
    assert (tmp_path / "one.tsv").read_text() == '"id"\n"1"\n"2"\n'


def test_json_lines_have_all_digits(path: Path, tmp_path: Path) -> None:
    run("export", path, tmp_path / "out.jsonl", "-v", 0)
    first, second, third = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first == {
        "id": 1, "message": 'disk, "full"\nagain', "at": "1970-01-01T00:00:00Z", "price": "1.50", "load": 0.1
    }  # fmt: skip
    assert second == {"id": 2, "message": None, "at": None, "price": None, "load": None}
    assert third["load"] != third["load"]


def test_parquet_keeps_types_and_selected_rows(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.parquet"
    words = ["--query", "message:disk OR message:timeout", "--where", "id > 1", "--columns", "message,id", "--json"]
    assert found("export", path, file, *words) == {
        "table": str(path), "version": 1, "file": str(file), "format": "parquet", "rows": 1, "bytes": file.stat().st_size
    }  # fmt: skip
    assert pq.read_table(file).to_pylist() == [{"message": "timeout", "id": 4}]
    run("export", path, file, "--force", "--limit", 2)
    assert pq.read_table(file).schema == IndexTable.open(path).schema
    assert pq.read_metadata(file).num_rows == 2
    said = run("export", path, tmp_path / "none.csv", "--query", "nothing")
    assert "exported 0 rows" in said.stdout
    assert "searched: message (words)" in said.stderr


def test_standard_output_has_rows_only(path: Path) -> None:
    for name in ("-", "/dev/stdout"):
        done = run("export", path, name, "--format", "csv", "--columns", "id,message", "--limit", 1)
        assert done.stdout == '"id","message"\n1,"disk, ""full""\nagain"\n'
        assert "exported 1 row" in done.stderr
    done = run("export", path, "-", "--format", "parquet")
    assert pq.read_table(pa.py_buffer(done.stdout_bytes)).num_rows == 4
    assert "give --format parquet|csv|tsv|json" in run("export", path, "-", code=1).stderr
    assert "leave out one" in run("export", path, "-", "--format", "json", "--json", code=2).stderr


def test_a_reader_that_has_read_enough_is_no_error(tmp_path: Path) -> None:
    table = IndexTable.write(tmp_path / "table", {"n": range(200_000)})
    program = Path(sys.executable).parent / "indextables"
    done = subprocess.run(
        f"{program} export {table.path} - --format csv | head -2",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ('"n"\n"0"\n', "")


def test_a_file_that_exists_stays_unless_forced(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.csv.gz"
    run("export", path, file, "--columns", "id")
    before = file.read_bytes()
    assert gzip.decompress(before) == b'"id"\n"1"\n"2"\n"3"\n"4"\n'
    assert "exists; choose another name, or use --force" in run("export", path, file, code=1).stderr
    plan = found("export", path, file, "--force", "--dry-run", "--where", "id < 3")
    assert {name: plan[name] for name in ("would", "rows")} == {"would": "replace", "rows": 2}
    assert file.read_bytes() == before
    assert found("export", path, tmp_path / "new.csv", "--dry-run")["would"] == "create"
    assert files(tmp_path) == {file.name}
    link = tmp_path / "link.csv"
    link.symlink_to(file)
    run("export", path, link, "--force", "--columns", "id", "--where", "id = 1")
    assert link.is_symlink()
    assert file.read_text() == '"id"\n"1"\n'


def test_a_failure_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    run("export", path, file, "--limit", 1)
    before = file.read_bytes()
    last = max(path.rglob("*.split"), key=lambda split: split.stat().st_mtime_ns)
    last.write_bytes(bytes(last.stat().st_size))
    run("export", path, file, "--force", code=1)
    run("export", path, tmp_path / "other.parquet", code=1)
    assert files(tmp_path) == {file.name}
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out.csv"], "column 'blob' is binary, which CSV cannot hold; leave it out with --columns 'id'"),
        (["out.jsonl", "-c", "blob"], "column 'blob' is binary, which JSON lines cannot hold; export to Parquet"),
        (["out.xls"], "no known file extension; supported are .parquet, .csv"),
        (["out.parquet.gz"], "leave out .gz"),
        (["out.csv", "--format", "parqet"], "did you mean 'parquet'?"),
        (["s3://bucket/out.csv"], "export TABLE - --format parquet | aws s3 cp"),
        (["nowhere/out.parquet"], "there is no directory"),
        (["table/out.parquet"], "in the directory of the table"),
        (["table", "--format", "parquet"], "is a directory"),
        (["out.csv", "-c", ","], "at least one column"),
        (["out.csv", "-c", "idd"], "there is no column 'idd'; did you mean 'id'?"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    IndexTable.write("table", {"id": [1], "blob": [b"x"]})
    before = set(tmp_path.rglob("*"))
    assert message in run("export", "table", *words, code=1).stderr
    assert set(tmp_path.rglob("*")) == before


def test_devices_are_written_as_they_are(path: Path) -> None:
    assert "exported 4 rows" in CliRunner().invoke(app, ["export", str(path), "/dev/null", "--format", "json"]).stdout
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("target", ["'rows.csv'", "'rows.parquet' (FORMAT parquet)"])
def test_copy_names_the_command_that_writes_files(path: Path, target: str) -> None:
    said = run("sql", f"COPY (SELECT * FROM '{path}') TO {target}", code=1).stderr
    assert "`indextables export TABLE FILE` writes rows of a table to a file" in said
    assert "indextables import" not in said
