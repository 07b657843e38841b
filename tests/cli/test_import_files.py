"""Files that are imported: the types of their columns, and what is said of those that cannot be read."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable
from tests.cli.shell import found, run


def rows(table: Path, order: str) -> list[dict[str, object]]:
    return IndexTable.open(table).scan().to_arrow().sort_by(order).to_pylist()


def files(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.is_file()}


TYPED = {
    "rows.csv": ["id,zip,price,at,day", "1,007,1.5,2024-05-01 10:00,2024-05-01", "2,K1A,,,"],
    "rows.jsonl": [
        '{"id": 1, "zip": "007", "price": 1.5, "at": "2024-05-01T12:00:00+02:00", "day": "2024-05-01"}',
        '{"id": 2, "zip": "K1A"}',
    ],
}
LONG = "x" * 10_000
MANY = 1_000
"""So many rows with a text of such length are more than what is looked at to find out the types of columns."""


@pytest.mark.parametrize("name", TYPED)
def test_types_may_be_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("\n".join(TYPED[name]))
    kinds = ["ID=int", "zip=string", "price=decimal(10, 2)", "at=TIMESTAMP", "day=date"]
    words = ["import", tmp_path / "table", tmp_path / name, *(word for kind in kinds for word in ("--type", kind))]
    assert found(*words, "--dry-run")["columns"] == {
        "id": "integer",
        "zip": "string",
        "price": "decimal(10,2)",
        "at": "timestamp",
        "day": "date",
    }
    run(*words)
    first, second = rows(tmp_path / "table", "id")
    assert (first["id"], first["zip"], first["price"]) == (1, "007", Decimal("1.50"))
    assert (str(first["at"]), str(first["day"])) == ("2024-05-01 10:00:00+00:00", "2024-05-01")
    assert (second["id"], second["price"], second["at"], second["day"]) == (2, None, None, None)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_json_of_any_kind_may_be_kept_as_text(tmp_path: Path, name: str) -> None:
    file, table = tmp_path / name, tmp_path / "table"
    values = ['{"a": [1, 2.50], "b": "é"}', "[]", '"plain \\"text\\""', "null", "7.10", "true"]
    content = "\ufeff" + "".join(f'{{"id": {n}, "Ctx": {value}}}\n' for n, value in enumerate(values))
    file.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    said = run("import", table, file, code=1).stderr
    assert "line 2: column 'Ctx' is an object, and the value is '[]'" in said
    assert "--type Ctx=string" in said
    run("import", table, file, "--type", "ctx=string")
    run("import", table, file)
    expected = ['{"a": [1, 2.50], "b": "é"}', "[]", 'plain "text"', None, "7.10", "true"]
    assert [row["Ctx"] for row in rows(table, "id")] == [text for text in expected for _ in range(2)]


def test_nested_values_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "ctx": {"a": 1}, "tags": ["x"], "n": 2}\n')
    said = run("import", tmp_path / "table", tmp_path / "a.jsonl", code=1).stderr
    assert "column 'ctx' has type 'struct<a: int64>', which a table cannot hold; keep its JSON as text with" in said
    assert "--type ctx=string --type tags=string, or leave it out with --columns id,n" in said
    pq.write_table(pa.table({"id": [1], "tags": [["x"]]}), tmp_path / "a.parquet")
    said = run("import", tmp_path / "table", tmp_path / "a.parquet", code=1).stderr
    assert said.endswith("which a table cannot hold; leave it out with --columns id\n")
    run("import", tmp_path / "table", tmp_path / "a.jsonl", "--type", "ctx=string", "--columns", "id,ctx")
    assert rows(tmp_path / "table", "id") == [{"id": 1, "ctx": '{"a": 1}'}]


@pytest.mark.parametrize(
    ("at", "option"),
    [
        ("2026-11-01T00:00:00.123456789Z", "at=at"),
        ("01/11/2026 00:00:00", "'at=at as %d/%m/%Y %H:%M:%S' (the format of the texts)"),
    ],
)
def test_a_layout_by_days_of_texts_is_refused_with_how_to_make_timestamps(tmp_path: Path, at: str, option: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"at": at}))
    words = ["import", tmp_path / "table", tmp_path / "a.jsonl", "--partition-by", "day(at)"]
    assert run(*words, code=1).stderr == (
        f"error: day(at) is not possible, because column 'at' has type string; {at!r} looks like a time; "
        f"import it as a timestamp with --timestamp {option}\n"
    )
    run(*words, "--timestamp", option.split("'")[-2] if "'" in option else option)
    assert str(rows(tmp_path / "table", "at")[0]["at"]).startswith("2026-11-01 00:00:00")


TIMES = {
    "zulu": ("2026-11-01T00:00:00Z", "timestamp"),
    "offset": ("2026-11-01T02:00:00.123456+02:00", "timestamp"),
    "fraction": ("2026-11-01 00:00:00.123Z", "timestamp"),
    "local": ("2026-11-01T00:00:00", "timestamp_ntz"),
    "precise": ("2026-11-01 00:00:00.5", "timestamp_ntz"),
    "day": ("2026-11-01", "date"),
    "text": ("on 2026-11-01", "string"),
}


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_times_have_a_time_zone_where_their_texts_have_one(tmp_path: Path, ending: str) -> None:
    texts = {name: text for name, (text, _) in TIMES.items()}
    lines = {"csv": [",".join(texts), ",".join(texts.values())], "jsonl": [json.dumps(texts), "{}"]}
    file, table = tmp_path / f"a.{ending}", tmp_path / "table"
    file.write_text("\n".join(lines[ending]))
    assert found("import", table, file, "--dry-run")["columns"] == {name: kind for name, (_, kind) in TIMES.items()}
    run("import", table, file)
    run("import", table, file)
    first, second = rows(table, "text")[:2]
    assert first == second
    assert [str(first[name]) for name in ("zulu", "offset", "fraction", "local", "precise")] == [
        "2026-11-01 00:00:00+00:00",
        "2026-11-01 00:00:00.123456+00:00",
        "2026-11-01 00:00:00.123000+00:00",
        "2026-11-01 00:00:00",
        "2026-11-01 00:00:00.500000",
    ]


def test_times_with_and_without_a_time_zone_are_not_mixed(tmp_path: Path) -> None:
    file, table = tmp_path / "a.jsonl", tmp_path / "table"
    lines = ['{"at": "2026-11-01T00:00:00"}', '{"at": "2026-11-01T00:00:00Z"}']
    file.write_text("\n".join(lines))
    assert found("import", table, file, "--dry-run")["columns"] == {"at": "string"}
    (tmp_path / "b.jsonl").write_text(lines[0])
    run("import", table, tmp_path / "b.jsonl")
    said = run("import", table, file, code=1).stderr
    assert (
        "a.jsonl, line 2: column 'at' is timestamp_ntz, and the value is '2026-11-01T00:00:00Z'; it has a time" in said
    )
    assert len(rows(table, "at")) == 1


def test_numbers_that_would_lose_digits_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "zip,id,at,n,share\n00123,12345678901234567890,1704067200000000000,0,0.5\n8001,7,2,-10,1\n"
    )
    run("import", tmp_path / "table", tmp_path / "a.csv")
    assert rows(tmp_path / "table", "n") == [
        {"zip": "8001", "id": "7", "at": 2, "n": -10, "share": 1.0},
        {"zip": "00123", "id": "12345678901234567890", "at": 1_704_067_200_000_000_000, "n": 0, "share": 0.5},
    ]


def test_whole_numbers_beyond_64_bits_are_decimals(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 12345678901234567890, "x": 1e300}\n{"id": 7, "x": 0.5}\n')
    run("import", tmp_path / "table", tmp_path / "a.jsonl")
    assert rows(tmp_path / "table", "id") == [{"id": 7, "x": 0.5}, {"id": Decimal(12345678901234567890), "x": 1e300}]


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        (
            "a.csv",
            'id,n\n1,"two\nlines"\n\n2,x\n',
            "n=long",
            "a.csv, line 3: column 'n' is long, and the value is 'two",
        ),
        ("a.csv", "id,n\n1,1.255\n", "n=decimal(5,2)", "line 2: column 'n' is decimal(5,2), and the value is '1.255'"),
        ("a.csv", "id,n\n1,soon\n", "n=timestamp", "line 2: column 'n' is timestamp, and the value is 'soon'"),
        ("a.csv", "id,n\n1,2024-02-30\n", "n=date", "line 2: column 'n' is date, and the value is '2024-02-30'"),
        ("a.csv", "id,n\n1,300\n", "n=tinyint", "line 2: column 'n' is byte, and the value is '300'"),
        ("a.csv", b"id,n\n1,M\xfcller\n", "n=string", "line 2: column 'n' is not text in UTF-8"),
        ("a.csv", "id,n\n1,2\n", "m=string", "there is no column 'm'"),
        ("a.csv", "id,n\n1,2\n", "n=number", "'number' is not a type of a column"),
        ("a.csv", "id,n\n1,2\n", "n", "write COLUMN=TYPE"),
        (
            "a.jsonl",
            '{"id": 1}\n\n{"id": 2, "n": {}}\n',
            "n=long",
            "line 3: column 'n' is long, and the value is '{}'",
        ),
        ("a.jsonl", '{"id": 1, "n": "x"}\n', "n=date", "a.jsonl, line 1: column 'n' is date, and the value is 'x'"),
    ],
)
def test_what_does_not_fit_a_type_is_named_and_nothing_is_written(
    tmp_path: Path, name: str, content: str | bytes, kind: str, message: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    said = run("import", tmp_path / "table", tmp_path / name, "--type", kind, code=1).stderr
    assert message in said
    assert files(tmp_path) == {tmp_path / name}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "id,n\n1,2\n2,3,4\n",
            "a.csv, line 3: the header has 2 columns, and this row has 3 values: '2,3,4'; complete",
        ),
        ("a.csv", "id,n\n1,2\n2\n", "a.csv, line 3: the header has 2 columns, and this row has 1 value: '2'"),
        ("a.csv", 'id,n\n"1\n",2\n' + f"3,{LONG}\n" * MANY + "5,6,7\n", "a.csv, line 1,004: the header has 2 columns"),
        (
            "a.csv",
            "id,n\n" + f"1,{LONG}\n" * MANY + "K1A,\n",
            "line 1,002: column 'id' is long, and the value is 'K1A'",
        ),
        ("a.csv", "", "a.csv is empty"),
        ("a.csv", "id,ID\n1,2\n", "columns 'id', 'ID' have the same name"),
        ("a.csv", "id,n\n1,2\n".encode("utf-16"), "a.csv is not text in UTF-8"),
        ("a.csv.gz", "id,n\n1,2\n", "a.csv.gz cannot be read as CSV"),
        ("a.jsonl", '{"id": 1}\n{"id": "x"}\n', "a.jsonl, line 2: column 'id' is long, and the value is 'x'"),
        ("a.jsonl", '{"id": 1}\n{"id": 2\n', "a.jsonl, line 2 is not JSON: '{\"id\": 2'"),
        ("a.jsonl", '[{"id": 1}]\n', "a.jsonl, line 1 is not an object"),
        ("a.json", '[\n  {"id": 1}\n]\n', "a.json does so with the objects of an array"),
        ("a.jsonl", "\n", "the files are empty"),
        (
            "a.jsonl",
            f'{{"id": "{LONG}"}}\n' * MANY + '{"late": 2}\n',
            "a.jsonl, line 1,001: there is a column 'late', which is not in the first block of the file; set its type",
        ),
        (
            "a.jsonl",
            f'{{"id": "{LONG}", "at": "2026-11-01T00:00:00Z"}}\n' * MANY + '{"at": "2026-11-01T00:00:00"}\n',
            "line 1,001: column 'at' is timestamp, and the value is '2026-11-01T00:00:00'; it has no time zone;",
        ),
        ("a.parquet", "id,n\n", "a.parquet cannot be read as Parquet"),
    ],
)
def test_files_that_cannot_be_read_are_told_by_their_lines(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    said = run("import", tmp_path / "table", tmp_path / name, code=1).stderr
    assert message in said
    assert said.count("\n") == 1
    assert files(tmp_path) == {tmp_path / name}


def test_a_column_that_comes_late_is_read_where_its_type_is_known(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"id": "{LONG}"}}\n' * MANY + '{"id": "y", "late": "x"}\n')
    run("import", tmp_path / "table", file, "--type", "late=string")
    assert IndexTable.open(tmp_path / "table").scan(where="late = 'x'").to_arrow().to_pylist() == [
        {"id": "y", "late": "x"}
    ]
    run("import", tmp_path / "table", file)
    assert IndexTable.open(tmp_path / "table").count("late = 'x'") == 2
    assert found("import", tmp_path / "other", file, "--columns", "id")["rows"] == MANY + 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_may_have_columns_of_their_own_and_none_is_lost(tmp_path: Path, ending: str) -> None:
    tables = [{"id": [1], "a": ["x"]}, {"b": [2.5], "ID": [2]}, {"id": [3.5]}]
    for number, columns in enumerate(tables):
        table, file = pa.table(columns), tmp_path / f"{number}.{ending}"
        match ending:
            case "csv":
                lines = [table.column_names, *(row.values() for row in table.to_pylist())]
                file.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
            case "jsonl":
                file.write_text("".join(f"{row}\n".replace("'", '"') for row in table.to_pylist()))
            case _:
                pq.write_table(table, file)
    run("import", tmp_path / "table", *(tmp_path / f"{number}.{ending}" for number in range(len(tables))))
    assert rows(tmp_path / "table", "id") == [
        {"id": 1.0, "a": "x", "b": None},
        {"id": 2.0, "a": None, "b": 2.5},
        {"id": 3.5, "a": None, "b": None},
    ]


def test_lines_may_break_in_quotes_wherever_they_are(tmp_path: Path) -> None:
    value = '"' + "a\n" * 5_000 + '"'
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("id,text\n" + "".join(f"{number},{value}\n" for number in range(2_000)))
    run("import", tmp_path / "table", tmp_path / "a.csv.gz", "-o", "indexing.typemap.text=none")
    table = IndexTable.open(tmp_path / "table")
    assert table.scan(columns=["id"]).to_arrow()["id"].to_pylist() == list(range(2_000))
    assert table.scan(columns=["text"]).to_arrow()["text"].unique().to_pylist() == ["a\n" * 5_000]


def test_the_types_of_parquet_are_its_own(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    said = run("import", tmp_path / "table", tmp_path / "a.parquet", "--type", "id=int", code=1).stderr
    assert "--type is for CSV and JSON lines" in said


OTHER = {
    "a.csv": "Day,Contents\n081109,ok\n",
    "a.jsonl": '{"Day": "081109", "Contents": "ok"}\n',
    "a.parquet": pa.table({"Day": ["081109"], "Contents": ["ok"]}),
}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A table of log lines, in which `date` is text and `time` a number."""
    (tmp_path / "first.csv").write_text("date,time,content\n081109,203615,disk full\n")
    run("import", tmp_path / "logs", tmp_path / "first.csv")
    return tmp_path / "logs"


@pytest.mark.parametrize("name", OTHER)
def test_a_file_with_other_columns_is_refused(logs: Path, tmp_path: Path, name: str) -> None:
    content = OTHER[name]
    file = tmp_path / name
    pq.write_table(content, file) if isinstance(content, pa.Table) else file.write_text(content)
    before = files(tmp_path)
    for how in ([], ["--dry-run"], ["--overwrite"]):
        said = run("import", logs, file, *how, code=1).stderr
        assert "the table has no column 'Day', 'Contents', and the file has no column 'date', 'time', 'content'" in said
        assert "did you mean 'content' by 'Contents'?" in said
        assert "--merge-schema" in said
    assert files(tmp_path) == before
    run("import", logs, file, "--merge-schema")
    nulls = dict.fromkeys(["date", "time", "content", "Day", "Contents"])
    assert rows(logs, "date") == [
        {**nulls, "date": "081109", "time": 203615, "content": "disk full"},
        {**nulls, "Day": "081109", "Contents": "ok"},
    ]


def test_a_file_that_lacks_a_column_is_refused_though_others_have_it(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "second.csv").write_text("content,DATE\nok,081110\n")
    said = run("import", logs, tmp_path / "first.csv", tmp_path / "second.csv", code=1).stderr
    assert "second.csv has other columns than the table: the file has no column 'time'; the table has date" in said
    assert found("import", logs, tmp_path / "second.csv", "-o", "mergeSchema=true")["rows"] == 1
    assert rows(logs, "date")[-1] == {"date": "081110", "time": None, "content": "ok"}


def test_columns_may_be_left_out_by_name(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("date,time,content,host\n081110,1,ok,a\n")
    assert "no column 'host'" in run("import", logs, tmp_path / "more.csv", code=1).stderr
    run("import", logs, tmp_path / "more.csv", "--columns", "date", "--columns", "content")
    assert rows(logs, "date")[-1] == {"date": "081110", "time": None, "content": "ok"}


def test_digits_are_not_lost_in_columns_of_numbers(logs: Path, tmp_path: Path) -> None:
    file = tmp_path / "early.csv"
    file.write_text("date,time,content\n081110,1,ok\n081110,003615,ok\n")
    for how in ([], ["--dry-run"]):
        said = run("import", logs, file, *how, code=1).stderr
        assert "early.csv, line 3: column 'time' is long, and the value is '003615'; as a number it would lose" in said
    assert run("import", logs, file, "--type", "time=long").stdout == (
        f"imported 2 rows from {file} into {logs}, which now has 3 rows (2 splits, version 1)\n"
    )
    assert [row["time"] for row in rows(logs, "date")] == [203615, 1, 3615]
    file.write_text("id,note\n" + f"1,{LONG}\n" * MANY + "007,\n")
    assert "line 1,002: column 'id' is long" in run("import", tmp_path / "ids", file, code=1).stderr
    assert not (tmp_path / "ids").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"n,d\xe9y\n1,mon\n", "is not text in UTF-8"),
        ("a.jsonl", b'{"n":1,"d\xe9y":"mon"}\n', "is not text in UTF-8"),
        ("a.jsonl", b'{"n":1}\n{"n":' + b"[" * 3000 + b"]" * 3000 + b"}\n", "line 2 is nested too deep"),
    ],
    ids=["CSV", "JSON", "deep JSON"],
)
def test_names_that_are_no_text_and_values_without_end(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    failed = run("import", tmp_path / "t", tmp_path / name, code=1)
    assert message in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_an_overwrite_may_replace_the_schema(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("id,message\n1,disk full\n")
    (tmp_path / "new.csv").write_text("id,day,note\nx,mon,all is well\n")
    table = tmp_path / "table"
    run("import", table, tmp_path / "old.csv")
    assert "needs mode overwrite" in run("import", table, tmp_path / "new.csv", "--overwrite-schema", code=1).stderr
    replacing = ["--overwrite", "--overwrite-schema", "--partition-by", "day", "--text", "note"]
    assert found("import", table, tmp_path / "new.csv", *replacing)["version"] == 1
    assert rows(table, "id") == [{"id": "x", "day": "mon", "note": "all is well"}]
    again = IndexTable.open(table)
    assert (str(again.layout), again.fields["note"].type, again.at(version=0).schema.names[1]) == (
        "day",
        "text",
        "message",
    )
