"""Searches of a table on disk: as a query, and in a condition, where quotes and backslashes are written twice."""

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import SearchQueryError

SCHEMA = pa.schema({"n": pa.int64(), "message": pa.string(), "level": pa.string()})
LINES = [
    ("disk full on /dev/sda1", "ERROR"),
    ("the disk is full, it's failing", "ERROR"),
    ("disk ok", "INFO"),
    ("authentication failure; user=root", "WARN"),
    ("fulfilled request a b", "INFO"),
    ("c d a b", "a\\b"),
    (None, "a-b"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    path = tmp_path_factory.mktemp("lines") / "table"
    rows = [{"n": number, "message": message, "level": level} for number, (message, level) in enumerate(LINES)]
    table = IndexTable.create(path, SCHEMA, fields={"message": "text"})
    table.append(rows)
    return table


def in_sql(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('!"disk full"', [1, 2, 3, 4, 5, 6]),
        ('NOT"disk full"', [1, 2, 3, 4, 5, 6]),
        ("!/ful.*/", [2, 3, 5, 6]),
        ("disk AND!/ful.*/", [2]),
        ('"a b"&&"c d"', [5]),
        ('"a b"||"disk ok"', [2, 4, 5]),
        ("disk OR a -full", [2, 4, 5]),
        ("disk OR a +full", [0, 1]),
        ('"it\'s failing"', [1]),
        (r"level:a\-b", [6]),
        (r"level:a\\b", [5]),
        ('level:"a\\\\b"', [5]),
        (r"level:\u0049NFO", [2, 4]),
        ('"user=root"', [3]),
        ("user=root", [3]),
        ("/dev.*/^2", [0]),
        ("-disk", [3, 4, 5, 6]),
    ],
)
def test_a_query_finds_its_rows(table: IndexTable, text: str, rows: list[int]) -> None:
    searched = {
        "query": table.scan(query=text),
        "condition": table.scan(where=f"* INDEXQUERY {in_sql(text)}"),
        "column": table.scan(where=f"message INDEXQUERY {in_sql(text)}"),
    }
    assert {way: sorted(scan.to_arrow()["n"].to_pylist()) for way, scan in searched.items()} == dict.fromkeys(
        searched, rows
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('failure"', """at position 7, at '"'"""),
        ("disk^-1", r"at position 4, at '\^-1'"),
        ('user="root user"', """at position 0, at 'user="root user"'"""),
        ('disk AND (full OR "failing)', "at position 18"),
    ],
)
def test_what_is_misspelt_is_shown_with_its_place(table: IndexTable, text: str, place: str) -> None:
    for asked in ({"query": text}, {"where": f"message INDEXQUERY {in_sql(text)}"}):
        with pytest.raises(SearchQueryError, match=place):
            table.count(**asked)
