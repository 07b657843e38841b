"""A search for words in a column of exact values, which finds nothing, is warned of once; other searches are not."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from indextables import IndexTable

ROWS = {
    "n": list(range(60)),
    "level": ["ERROR", "INFO", "WARN"] * 20,
    "message": [*(f"disk {n} is full" for n in range(59)), "stopped"],
    "title": [f"a title of {n}" for n in range(60)],
}
WORD = "message:disk"
READS: dict[str, Callable[[IndexTable, str], object]] = {
    "count": lambda table, query: table.count(query=query),
    "search": lambda table, query: table.search(query),
    "search in an order": lambda table, query: table.search(query, order_by="n"),
    "scan": lambda table, query: table.scan(query=query).to_arrow(),
    "scan with a limit": lambda table, query: table.scan(query=query, limit=3).to_arrow(),
    "scan in an order": lambda table, query: table.scan(query=query, order_by="n").to_arrow(),
    "the first rows": lambda table, query: table.scan(query=query, order_by="n", limit=3).to_arrow(),
    "groups": lambda table, query: table.scan(query=query).group_by("level").count(),
    "SQL": lambda table, query: IndexTable.sql(
        f"SELECT count(*) FROM logs WHERE * INDEXQUERY '{query}'", tables={"logs": table}
    ),
    "update": lambda table, query: table.update({"n": "1"}, query=query),
    "delete": lambda table, query: table.delete(query=query),
}


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    return IndexTable.write(tmp_path / "logs", ROWS, text="title")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("read", READS)
def test_words_in_a_column_of_exact_values(table: IndexTable, caplog: pytest.LogCaptureFixture, read: str) -> None:
    READS[read](table, WORD)
    [line] = warnings(caplog)
    missed = "message is indexed by exact values, so 'disk' finds only rows whose whole value it is"
    how = "table.set_indexing({'message': 'text'}), then table.reindex()"
    assert line == f"a search of {table.path} finds no words: {missed}; to search by words: {how}"


@pytest.mark.parametrize("read", READS)
def test_no_false_alarm(table: IndexTable, caplog: pytest.LogCaptureFixture, read: str) -> None:
    for query in ("message:stopped OR level:FATAL", "level:FATAL", "title:nosuch", "message:x*", 'message:"disk 7"'):
        READS[read](table, query)
    READS[read](table, "message:disk OR level:ERROR")
    assert not warnings(caplog)


def test_several_words_are_one_warning(table: IndexTable, caplog: pytest.LogCaptureFixture) -> None:
    assert table.count("message INDEXQUERY 'disk full' AND level INDEXQUERY 'fatal'") == 0
    [line] = warnings(caplog)
    assert ("'disk' finds only" in line, "'full' finds only" in line, "level" in line) == (True, True, False)
    seen = table.version
    table.append({"n": [1], "level": ["INFO"], "message": ["disk full"], "title": ["a"]})
    assert table.incremental_scan(seen, query=WORD).count() == 0
    assert len(warnings(caplog)) == 1


def test_explain_says_it(table: IndexTable) -> None:
    assert "note              message is indexed by exact values, so 'disk' finds only" in str(
        table.explain(query=WORD)
    )
    assert [word.word for word in table.explain(query=WORD).exact_words] == ["disk"]
    assert "indexed by exact values, so" in table.explain(query=WORD)._repr_html_()
    assert "note" not in str(table.explain(query="level:FATAL"))
    table.set_indexing({"message": "text"})
    assert "note" not in str(table.explain(query=WORD))
    assert table.count(query=WORD) == 59
