"""Which columns of a new table are text: those that are named, or those that look like text in a sample of the rows."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, SchemaError
from tests.log_lines import facts

N = 40
COLUMNS = {
    "error": [f"no such file or directory: {n}" for n in range(N)],
    "message": ["disk full", "write failed"] * (N // 2),
    "subject": [None, "Re: invoice"] * (N // 2),
    "body": [f"Dear team, ticket {n} is open again" for n in range(N)],
    "message_id": [f"<{n}@mail.example>" for n in range(N)],
    "level": ["INFO", "WARN"] * (N // 2),
    "city": ["New York", "San Francisco"] * (N // 2),
    "state": ["waiting for the customer"] * N,
    "sent": [f"Tue, {n:02} Nov 2024 10:00:00 GMT" for n in range(N)],
    "url": [f"https://example.org/a/b/{n}?c=d" for n in range(N)],
    "title": ["open", "done"] * (N // 2),
    "note": [None] * N,
    "n": list(range(N)),
}
ROWS = pa.table({
    **COLUMNS,
    "note": pa.nulls(N, pa.string()),
    "userComments": pa.array(["very good", "not so good"] * (N // 2)).dictionary_encode(),
})  # fmt: skip
TEXT = ["error", "message", "subject", "body", "userComments"]


def texts(table: IndexTable) -> list[str]:
    return [name for name, rule in table.fields.items() if rule.type == "text"]


def test_columns_that_look_like_text_are_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="indextables")
    table = IndexTable.write(tmp_path / "t", iter(ROWS.to_batches(max_chunksize=7)))
    assert texts(table) == TEXT
    [fact] = facts(caplog, "Text columns chosen")
    assert sorted(str(fact["columns"]).split(", ")) == sorted(TEXT)
    assert sorted(table.scan(columns=["n"]).to_arrow()["n"].to_pylist()) == list(range(N))
    assert table.count(query="disk") == N // 2
    assert (table.count("message = 'disk full'"), table.count("message = 'disk'")) == (N // 2, 0)


def test_the_sample_is_not_only_the_first_rows(tmp_path: Path) -> None:
    values = ["none"] * 2_000 + [f"the disk {n} is full" for n in range(20_000)]
    assert texts(IndexTable.write(tmp_path / "t", {"reply": values, "x": values})) == ["reply", "x"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"text": "auto"}, TEXT),
        ({"text": []}, []),
        ({"text": "none"}, []),
        ({"text": "Title, level"}, ["level", "title"]),
        ({"text": ["level"]}, ["level"]),
        ({"fields": {"error": "string", "Body": "none"}}, ["message", "subject", "userComments"]),
        ({"fields": ["level"]}, ["level"]),
        ({"fields": ["level"], "text": "auto"}, [*TEXT[:4], "level", TEXT[4]]),
        ({"partition_by": "message"}, ["error", "subject", "body", "userComments"]),
        ({"options": {"text": "none"}}, []),
        ({"options": {"text": "level,title", "indexing.typemap.title": "string"}}, ["level"]),
        ({"options": {"indexing.text": "AUTO", "indexing.typemap.BODY": "string"}}, [*TEXT[:3], TEXT[4]]),
        ({"options": {"indexing.exact.error": "hash"}}, TEXT[1:]),
    ],
)  # fmt: skip
def test_text_columns_may_be_named(tmp_path: Path, arguments: dict[str, Any], expected: list[str]) -> None:
    assert texts(IndexTable.write(tmp_path / "t", ROWS, **arguments)) == expected


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": "level", "options": {"text": "title"}}, ConfigError, "indexing.text is 'title' in the options, and"),
        ({"options": {"text": "mesage"}}, SchemaError, "no column 'mesage' to index; did you mean 'message'"),
        ({"options": {"text": "n"}}, SchemaError, "'n' has type long and cannot be indexed as 'text'"),
        ({"options": {"text": "a,,b"}}, ConfigError, "must be auto, none or the names of columns"),
        ({"text": ","}, ConfigError, "indexing.text is ',', but must be auto, none or"),
        ({"properties": {"indexing.text": "message"}}, ConfigError, "no property; indexing.typemap.<column> = text is one"),
    ],
)  # fmt: skip
def test_bad_names_of_text_columns_are_refused(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        IndexTable.write(tmp_path / "t", ROWS, **arguments)
    assert list(tmp_path.rglob("*")) == []


def test_a_table_keeps_its_rules(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = ROWS.select(["message", "body"])
    table = IndexTable.write(tmp_path / "t", rows, text="body")
    for given in ({}, {"text": "auto"}, {"text": []}, {"options": {"text": "body"}}):
        table = IndexTable.write(tmp_path / "t", rows, mode="append", **given)
        assert texts(table) == ["body"]
    with pytest.raises(SchemaError, match="'message' is indexed as string in this table"):
        table.append(rows, options={"text": "message"})
    wider = rows.append_column("reply", rows["body"])
    assert texts(IndexTable.write(tmp_path / "t", wider, mode="append", options={"mergeSchema": "true"})) == ["body"]
    other = {"mode": "overwrite", "options": {"overwriteSchema": "true"}}
    after = IndexTable.write(tmp_path / "t", wider.append_column("summary", wider["message"]), **other)
    assert texts(after) == ["body", "summary"]
    assert not caplog.records


def test_a_table_without_rows_has_none_chosen(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert texts(IndexTable.write(tmp_path / "a", ROWS.slice(0, 0))) == []
    assert not caplog.records
    assert texts(IndexTable.create(tmp_path / "b", ROWS.schema, options={"text": "message"})) == ["message"]
    assert texts(IndexTable.create(tmp_path / "c", ROWS.schema, options={"text": "auto"})) == []
    assert "indexing.text is auto, and the table is made without its rows" in caplog.text
