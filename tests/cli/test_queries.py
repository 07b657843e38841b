"""Questions from a shell: SQL, schemas, sorted searches, and searches that begin with a minus."""

import json
import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from tests.cli.shell import found, run

SCHEMA = {"ts": pa.timestamp("us", "UTC"), "level": pa.string(), "content": pa.string(), "message": pa.string()}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("queries") / "logs")
    table = IndexTable.create(place, SCHEMA, partition_by="day(ts)", fields={"message": "text"})
    times = pa.array([0, 86_400_000_000, 2], pa.timestamp("us", "UTC"))
    contents = ["an operator called", "nobody", "x"]
    rows = [times, ["WARN", "ERROR", "WARN"], contents, ["disk -1 slow", "disk full", "fine, thanks, " * 20]]
    table.append(pa.table(rows, schema=pa.schema(SCHEMA)))
    return place


def test_sql_counts_and_joins_without_spark(path: str) -> None:
    text = f"SELECT level, count(*) AS n FROM '{path}' WHERE message INDEXQUERY 'disk' GROUP BY ALL ORDER BY ALL"
    assert found("sql", text) == [{"level": "ERROR", "n": 1}, {"level": "WARN", "n": 1}]
    joined = "SELECT count(*) AS n FROM a JOIN b USING (level) WHERE a.message INDEXQUERY 'slow'"
    assert found("sql", "--table", f"a={path}", "-t", f"b={path}", joined) == [{"n": 2}]
    csv = run("sql", "--csv", f"SELECT level, ts > '1970-01-02' AS late FROM '{path}' ORDER BY ts DESC").stdout
    assert csv == "level,late\nERROR,false\nWARN,false\nWARN,false\n"


def test_sql_shows_some_rows_and_prints_all(path: str) -> None:
    shown = run("sql", "-n", 2, f"SELECT level FROM '{path}'").stdout
    assert shown.endswith("2 of more rows; --limit for more\n")
    assert run("sql", "SELECT range AS n FROM range(101)").stdout.endswith("100 of more rows; --limit for more\n")
    assert len(found("sql", "SELECT range AS n FROM range(1000)")) == 1000


@pytest.mark.parametrize(
    ("statement", "verb"),
    [
        ("DELETE FROM 'logs' WHERE n = 1", "indextables delete --help"),
        ("UPDATE 'logs' SET n = 1", "indextables update --help"),
        ("MERGE SPLITS 'logs'", "indextables merge --help"),
        ("VACUUM 'logs' RETAIN 240 HOURS", "indextables purge --help"),
        ("DESCRIBE HISTORY 'logs'", "indextables history --help"),
        ("RESTORE TABLE 'logs' TO VERSION AS OF 1", "indextables restore --help"),
        ("CREATE TABLE x AS SELECT 1", "indextables import --help"),
        ("ALTER TABLE 'logs' ADD COLUMN x INT", "indextables add-column, rename-column"),
    ],
)
def test_statements_that_are_not_queries_name_the_command(statement: str, verb: str) -> None:
    assert verb in run("sql", statement, code=1).stderr


def test_the_schema_has_types_indexes_and_partition_fields(path: str) -> None:
    assert found("schema", path)[0] == {
        "column": "ts",
        "type": "timestamp",
        "nullable": True,
        "index": "timestamp",
        "partition_by": "day(ts)",
    }
    shown = run("schema", path).stdout
    assert re.search(r"message +string +true +text \(words\)", shown)
    assert re.search(r"content +string +true +string \(exact values\)", shown)


def test_hits_can_be_sorted_by_columns(path: str) -> None:
    rows = found("search", path, "message:disk", "--sort", "ts desc", "--columns", "level")
    assert [row["level"] for row in rows] == ["ERROR", "WARN"]
    rows = found("search", path, "*:*", "--sort", "level desc", "--sort", "ts", "-c", "ts")
    assert [row["ts"][:10] for row in rows] == ["1970-01-01", "1970-01-01", "1970-01-02"]
    assert "there is no column" in run("search", path, "disk", "--sort", "nothing", code=1).stderr


def test_a_search_that_begins_with_a_minus_is_a_negation_and_says_so(path: str) -> None:
    negated = run("search", path, "--columns", "level", "--", "-disk")
    assert "1 row" in negated.stdout
    assert "-disk means NOT disk" in negated.stderr
    assert len(found("search", path, '"-1"')) == 1
    assert "search TABLE -- '-word'" in re.sub(r"\s+", " ", run("search", path, "-1", code=2).stderr.replace("│", ""))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["search", "disk", "full"], "in quotes: search TABLE 'disk AND full'"),
        (["restore", "1"], "--version N"),
        (["count", "day = 'mon'"], "--where"),
        (["sql", "SELECT 1"], "names its tables itself"),
    ],
)
def test_an_argument_too_many_names_where_it_belongs(path: str, words: list[str], hint: str) -> None:
    verb, *rest = words
    assert hint in re.sub(r"\s+", " ", run(verb, path, *rest, code=2).stderr.replace("│", ""))


def test_numbers_are_shown_with_all_digits_and_scores_with_four(tmp_path: Path) -> None:
    prices = {"price": pa.array([12345.67]), "single": pa.array([0.1], pa.float32()), "note": ["paid"]}
    table = IndexTable.write(tmp_path / "t", pa.table(prices), text="note")
    _, row, _ = run("search", table.path, "paid").stdout.splitlines()
    assert row.split()[:3] == ["12345.67", "0.1", "paid"]
    assert len(row.split()[3]) <= len("0.1234")


def test_a_field_with_a_space_is_suggested_as_it_is_written(tmp_path: Path) -> None:
    table = IndexTable.write(tmp_path / "t", {"Comment Text": ["disk full"]}, text=["Comment Text"])
    said = run("search", table.path, "Comment:disk", code=1).stderr
    assert "did you mean 'Comment\\ Text'?" in said
    assert len(found("search", table.path, "Comment\\ Text:disk")) == 1


def test_no_hits_name_a_column_with_the_word_and_commands_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = {"content": pa.string(), "message": pa.string()}
    table = IndexTable.create("my logs", schema, fields={"message": "text"})
    table.append(pa.table({"content": ["an operator called"], "message": ["x"]}))
    said = run("search", "my logs", "operator").stdout
    wildcard = re.search(r"search for (\S+)", said)
    assert wildcard is not None
    assert len(found("search", "my logs", wildcard[1])) == 1
    commands = [line for line in said.splitlines() if line.startswith("    indextables")]
    for command in commands:
        run(*shlex.split(command)[1:])
    assert len(commands) == 2
    assert len(found("search", "my logs", "content:operator")) == 1


def test_output_is_no_wider_than_80_columns_in_a_pipe_and_as_wide_as_columns_says(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        ["search", path, "*:*"],
        ["history", path],
        ["splits", path],
        ["schema", path],
        ["info", path],
        ["partitions", path],
    ]
    for verb in words:
        assert max(map(len, run(*verb).stdout.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "300")
    wide = run("search", path, "*:*").stdout
    assert 200 < max(map(len, wide.splitlines())) <= 300
    assert json.dumps("fine, thanks, " * 20) in run("search", path, "thanks", "--json").stdout


def test_a_delete_and_a_restore_say_which_options_they_need(path: str) -> None:
    assert "give --where, --query or both" in run("delete", path, code=1).stderr
    assert "give --version or --timestamp" in run("restore", path, code=1).stderr


def test_an_address_is_looked_for_as_a_whole(tmp_path: Path) -> None:
    hosts = ["10.2.61.170", "10.2.61.171", "10.7.0.1"]
    table = IndexTable.write(tmp_path / "t", {"host": hosts, "message": ["up", "Up", "UP"]}, text="message")
    said = run("search", table.path, "10.2.61.170").stdout
    assert said.endswith("\ndid you mean host:10.2.61.170?\n")
    assert len(found("search", table.path, "host:10.2.61.170")) == 1
    part = re.search(r"search for (\S+)", run("search", table.path, '"10.2.61"').stdout)
    assert part is not None
    assert len(found("search", table.path, part[1])) == 2
    assert run("search", table.path, "10.2.61.99").stdout.endswith("0 rows; searched: message (words)\n")


def test_a_path_with_a_wildcard_is_written_as_the_message_says(tmp_path: Path) -> None:
    table = IndexTable.write(
        tmp_path / "t", {"path": ["/admin", "/admin/users", "/"], "message": ["a"] * 3}, text="message"
    )
    for words, hits in (("path:/admin*", 2), ("path:/admin/u*", 1)):
        said = run("search", table.path, words, code=1).stderr
        written = re.search(r"write (\S+)", said)
        assert written is not None
        assert len(found("search", table.path, f"path:{written[1]}")) == hits


def test_tail_says_why_there_are_no_rows(tmp_path: Path) -> None:
    table = IndexTable.write(tmp_path / "t", {"n": [1]})
    table.append({"n": [2]})
    assert run("tail", table.path, "--where", "n = 7").stdout.endswith("\n0 rows\n")
    table.merge_splits()
    table.set_properties({"owner": "web"})
    said = " ".join(run("tail", table.path).stdout.split())
    note = (
        "0 rows: the last commit, version 3 (ALTER TABLE), added none; for those of version 1 (APPEND), use --after 0"
    )
    assert said.endswith(note)
    assert run("tail", table.path, "--after", 0, "--json").stdout == '{"n":2}\n'
    assert run("tail", table.path, "--after", -1, "-n", 1, "--json").stdout == '{"n":2}\n'
    assert run("tail", table.path, "--after", -1, "--limit", 1).stdout.endswith("\n1 of 2 rows; --limit for more\n")
    assert run("tail", table.path, "--json").stdout == ""
    table.delete("n = 1")
    table.set_properties({"owner": "shop"})
    assert " ".join(run("tail", table.path).stdout.split()).endswith("version 5 (ALTER TABLE), added none")
