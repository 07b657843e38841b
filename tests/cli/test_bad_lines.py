"""Lines of an import that cannot be read: skipped and kept in a file; long records, and quotes that are not closed."""

import gzip
import json
from collections import deque
from io import BufferedReader
from itertools import repeat
from pathlib import Path
from threading import Thread

import pytest

from indextables import IndexTable
from indextables.cli.file_reader import PieceStream
from tests.cli.shell import found, run

LONG = "x" * 10_000
MANY = 1_000
"""So many rows with a text of such length are more than a block."""


def ids(table: Path) -> list[int]:
    return IndexTable.open(table).scan(columns=["id"]).to_arrow()["id"].to_pylist()


CSV = b'id,n\n1,1\n2\n3,"3"\n4,4,"a\nb"\n5,x\n6,007\n7,\n8,M\xfcller\n"9",9\n\xff\x00,\xfe,,\xe2\x28\xa1\n'
BAD_OF_CSV = b'id,n\n2\n4,4,"a\nb"\n\xff\x00,\xfe,,\xe2\x28\xa1\n5,x\n6,007\n8,M\xfcller\n'
JSON = (
    b'\xef\xbb\xbf{"id": 1, "n": 1}\n\n{"id": 2\n{"id": 3, "n": 3}\ntrue\n{"id": "5"}\n{"id": 6, "n": "M\xfcller"}\n[7]\n'
    b'{"id": 8, "n": null}\n{"id": 9, "n": 9}'
)
BAD_OF_JSON = b'{"id": 2\ntrue\n{"id": "5"}\n{"id": 6, "n": "M\xfcller"}\n[7]\n'


@pytest.mark.parametrize(
    ("name", "content", "expected", "first"),
    [
        ("a.csv", CSV, ([1, 3, 7, 9], BAD_OF_CSV), "the header has 2 columns, and this row has 1 value: '2'; complete"),
        ("a.csv.gz", CSV, ([1, 3, 7, 9], BAD_OF_CSV), "the header has 2 columns"),
        (
            "a.tsv",
            CSV.replace(b",", b"\t"),
            ([1, 3, 7, 9], BAD_OF_CSV.replace(b",", b"\t")),
            "the header has 2 columns",
        ),
        ("a.jsonl", JSON, ([1, 3, 8, 9], BAD_OF_JSON), "a.jsonl, line 3 is not JSON: '{\"id\": 2'"),
    ],
)
def test_bad_lines_may_be_skipped(
    tmp_path: Path, name: str, content: bytes, expected: tuple[list[int], bytes], first: str
) -> None:
    file, table, kept = tmp_path / name, tmp_path / "table", tmp_path / f"{name}.bad"
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    IndexTable.create(table, {"id": "bigint", "n": "bigint"})
    run("import", table, file, code=1)
    planned = found("import", table, file, "--bad-lines", "skip", "--dry-run")
    assert (planned["rows"], planned["bad_lines"]["count"], planned["bad_lines"]["file"]) == (
        4,
        expected[1].count(b"\n") - name.startswith(("a.csv", "a.tsv")) * 2,
        None,
    )
    assert not kept.exists()
    said = run("import", table, file, "--bad-lines", "skip").stderr
    left_out = f"note: {planned['bad_lines']['count']} lines could not be read and were left out; they are in {kept}; "
    assert f"{left_out}the first: {file}" in said
    assert first in said
    assert (ids(table), kept.read_bytes()) == expected
    said = run("import", table, file, "--bad-lines", "skip", code=1).stderr
    assert f"there is a file {kept} already; move it away, or name another one" in said
    words = ["--bad-lines", "skip", "--bad-lines-file", tmp_path / "more"]
    assert found("import", table, file, *words)["bad_lines"]["file"] == str(tmp_path / "more")
    assert (tmp_path / "more").read_bytes() == expected[1]
    assert len(ids(table)) == 8


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_types_of_a_new_table_are_those_of_the_good_lines(tmp_path: Path, ending: str) -> None:
    rows = [{"id": n, "text": LONG, "at": "2024-05-01"} for n in range(MANY)]
    rows[MANY - 1]["id"] = "late"
    lines = [json.dumps(row) if ending == "jsonl" else ",".join(map(str, row.values())) for row in rows]
    broken = ['{"id": "one"}', "{"] if ending == "jsonl" else ["0", "0,0,0,0"]
    header = [] if ending == "jsonl" else ["id,text,at"]
    file, table = tmp_path / f"a.{ending}", tmp_path / "table"
    file.write_text("\n".join([*header, broken[0], *lines[:500], broken[1], *lines[500:]]))
    run("import", table, file, code=1)
    assert found("import", table, file, "--bad-lines", "skip")["bad_lines"]["count"] == 3
    assert (ids(table), str(IndexTable.open(table).schema.field("at").type)) == (list(range(MANY - 1)), "date32[day]")
    kept = (tmp_path / f"a.{ending}.bad").read_text().splitlines()
    assert sorted(map(len, kept)) == sorted(map(len, [*header, *broken, lines[-1]]))


def test_a_column_that_is_not_known_is_no_bad_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"id": 1, "text": "{LONG}"}}\n' * MANY + '{"id": 2, "late": 1}\n')
    said = run("import", tmp_path / "table", file, "--bad-lines", "skip", code=1).stderr
    assert "line 1,001: there is a column 'late', which is not in the first block of the file; set its type" in said
    assert list(tmp_path.iterdir()) == [file]


def test_columns_of_text_may_be_of_any_kind_in_good_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a", {"b": [1]}, "x" * 20_000_000, None, 7]
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(texts)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.jsonl").write_text("\n".join([lines[0], "{", *lines[1:], '{"id": "5", "text": ""}']))
    monkeypatch.chdir(tmp_path / "data")
    words = ["--type", "text=string", "--bad-lines", "skip", "-o", "indexing.typemap.text=none"]
    assert found("import", tmp_path / "t", ".", *words)["bad_lines"]["file"] == f"{tmp_path / 'data'}.bad"
    assert (tmp_path / "data.bad").read_text() == '{\n{"id": "5", "text": ""}\n'
    found_texts = IndexTable.open(tmp_path / "t").scan().to_arrow().sort_by("id")["text"].to_pylist()
    assert found_texts == ["a", '{"b": [1]}', texts[2], None, "7"]


def test_bad_lines_of_several_files_are_in_one_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name, lines in (("a", "id,n\n1,1\n2\n"), ("b", "n,id\n3\n"), ("c", "n,id\n4\n4,4\n")):
        (data / f"{name}.csv").write_text(lines)
    assert found("import", tmp_path / "t", data, "--bad-lines", "skip")["bad_lines"]["file"] == f"{data}.bad"
    assert (tmp_path / "data.bad").read_text() == "id,n\n2\nn,id\n3\n4\n"
    assert ids(tmp_path / "t") == [1, 4]


@pytest.mark.parametrize(
    ("name", "content", "words", "message"),
    [
        ("a.csv", "id,n\n1\n2\n", [], "none of 2 lines can be read; the first: "),
        ("a.json", '[\n{"id": 1},\n{"id": 2}\n]', [], "line 1 is not an object"),
        ("a.csv", 'id,n\n1\n2,"x\n', [], "a.csv, line 3: the quote before 'x\\n"),
        (
            "a.log",
            "2024-05-01 10:00:00 INFO ready\n",
            [],
            "--bad-lines is for CSV and JSON lines, and the files are log",
        ),
        ("a.csv", "id\n1\n", ["--bad-lines", "drop"], "'drop' is not known; use stop or skip"),
        ("a.csv", "id\n1\n", ["--bad-lines", "stop", "--bad-lines-file", "x"], "without --bad-lines skip; add it"),
    ],
)
def test_what_is_refused_leaves_no_file(
    tmp_path: Path, name: str, content: str, words: list[str], message: str
) -> None:
    (tmp_path / name).write_text(content)
    assert message in run("import", tmp_path / "t", tmp_path / name, *(words or ["--bad-lines", "skip"]), code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_import_that_fails_after_its_files_are_read_keeps_no_bad_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,day\n1,\n2\n3,2024-05-01\n")
    IndexTable.create(tmp_path / "t", {"id": "bigint", "day": "date"})
    words = ["--bad-lines", "skip", "--overwrite", "-o", "replaceWhere=id = 1"]
    run("import", tmp_path / "t", tmp_path / "a.csv", *words, code=1)
    assert not (tmp_path / "a.csv.bad").exists()


@pytest.mark.parametrize(("name", "how"), [("a.csv", "stop"), ("a.csv.gz", "skip"), ("a.jsonl", "skip")])
def test_records_that_are_longer_than_a_block_are_read(tmp_path: Path, name: str, how: str) -> None:
    long = {3: "long " * 4_000_000, 1_500: "y" * 33_000_000}
    texts = [long.get(n, LONG if n < MANY else "short") for n in range(2 * MANY)]
    if "csv" in name:
        lines = ["id,text", *(f'{n},"{text}"' for n, text in enumerate(texts))]
    else:
        lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(texts)]
    if how == "skip":
        lines.insert(1_800, "bad")
        lines.insert(2, "bad")
    content = "\n".join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    words = ["--bad-lines", how, "-o", "indexing.typemap.text=none"]
    said = found("import", tmp_path / "t", tmp_path / name, *words)
    assert said.get("bad_lines", {"count": 2})["count"] == 2
    rows = IndexTable.open(tmp_path / "t").scan().to_arrow().sort_by("id")
    assert rows["id"].to_pylist() == list(range(2 * MANY))
    assert rows["text"].to_pylist() == texts


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('id,text\n1,a\n2,"b\n3,c\n4,d\n', 3),
        ('id,text\n1,a\n2,"b', 3),
        ('id,text,n\n1,"a\n\nb","c\n2,d,1\n', 4),
        ('id,text\n1,a\n\n"2\n3,c\n', 4),
        ('id,text\n1,5" disk\n2,"5"" disk"\n3,"\n', 4),
        ('id\n"1\n', 2),
        ('id,"text\n1,2\n', 1),
        ('text,id\n1,a\n1,"' + "b,c\n" * 2_500_000, 3),
    ],
)
def test_a_quote_that_is_not_closed_is_refused_by_its_line(tmp_path: Path, content: str, line: int) -> None:
    (tmp_path / "a.csv").write_text(content)
    for words in ([], ["--dry-run"], ["--bad-lines", "skip"]):
        said = run("import", tmp_path / "t", tmp_path / "a.csv", *words, code=1).stderr
        assert f"a.csv, line {line}: the quote before '" in said
        assert "is not closed, so the value goes on to the end of the file; close it" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_row_that_is_too_long_is_refused_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.cli.file_reader.LONGEST", 8 << 20)
    (tmp_path / "a.csv").write_text('id,text\n1,a\n\n2,"' + "b,c\n" * 5_000_000)
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": "' + "x" * 20_000_000 + '"}\n')
    said = run("import", tmp_path / "t", tmp_path / "a.csv", code=1).stderr
    assert "a.csv, line 4: the row is longer than" in said
    assert "MB, which is not read; perhaps a quote in it is not closed" in said
    said = run("import", tmp_path / "t", tmp_path / "a.jsonl", code=1).stderr
    assert "a.jsonl: the record after row 1 is longer than 8 MB, which is not read" in said
    assert not (tmp_path / "t").exists()


def test_streams_end_where_the_process_does() -> None:
    """Threads of Arrow read ahead; one that reads while Python shuts down would keep the process from its end."""
    stream = BufferedReader(PieceStream(repeat(b"endless")))
    reader = Thread(target=lambda: deque(iter(lambda: stream.read(1_000), b""), maxlen=0), daemon=True)
    reader.start()
    PieceStream.stop_all()
    reader.join(10)
    assert not reader.is_alive()
