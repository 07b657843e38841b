"""The command line, as a user calls it."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from indextables import IndexTable, __version__
from indextables.cli.app import app
from indextables.cli.reference_page import markdown
from tests.cli.shell import found, run

LINES = pa.table(
    {
        "day": ["mon", "mon", "tue", "wed"],
        "n": [1, 2, 3, None],
        "message": ["disk full", "all is well", "disk is nearly full", "nothing"],
    }
)


@pytest.fixture
def table(tmp_path: Path) -> str:
    pq.write_table(LINES, tmp_path / "lines.parquet")
    path = tmp_path / "table"
    run("import", path, tmp_path / "lines.parquet", "--partition-by", "day", "--text", "message")
    return str(path)


def test_imported_rows_are_a_table(table: str) -> None:
    opened = IndexTable.open(table)
    assert opened.scan().to_arrow().sort_by("n").equals(LINES.sort_by("n"))
    assert (str(opened.layout), opened.fields["message"].type) == ("day", "text")


def test_files_are_appended_or_take_the_place_of_the_rows(table: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.parquet"
    run("import", table, file)
    assert IndexTable.open(table).count() == 8
    run("import", table, file, "--overwrite")
    assert IndexTable.open(table).count() == 4


def test_an_import_says_what_it_has_imported(table: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.parquet"
    said = found("import", table, file, file)
    assert {key: said[key] for key in ("files", "rows", "splits", "version")} == {
        "files": 2,
        "rows": 8,
        "splits": 3,
        "version": 1,
    }
    pq.write_table(LINES.slice(0, 0), tmp_path / "empty.parquet")
    said = found("import", table, tmp_path / "empty.parquet")
    assert (said["rows"], said["splits"], said["version"]) == (0, 0, 1)
    assert found("import", table, file, "--dry-run")["rows"] == 4


def test_lists_that_are_given_several_times_add_up(tmp_path: Path) -> None:
    rows = pa.table({"a": ["x"], "b": ["y"], "c": ["z"], "day": ["mon"], "n": [1]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    words = ["--text", "a", "--text", "b, c", "--text", "a", "-p", "day", "--partition-by", "bucket(4, n)"]
    run("import", tmp_path / "table", tmp_path / "rows.parquet", *words)
    table = IndexTable.open(tmp_path / "table")
    assert [name for name, rule in table.fields.items() if rule.type == "text"] == ["a", "b", "c"]
    assert str(table.layout) == "day, bucket(4, n)"
    assert list(found("search", table.path, "x", "--columns", "a", "-c", "n,b")[0]) == ["a", "n", "b", "_score"]
    assert found("count", table.path, "--by", "day", "--by", "n") == [{"day": "mon", "n": 1, "count": 1}]
    run("import", tmp_path / "part", tmp_path / "rows.parquet", "--columns", "a", "--columns", "n")
    assert IndexTable.open(tmp_path / "part").schema.names == ["a", "n"]


@pytest.mark.parametrize(
    "words",
    [
        ["count", "TABLE", "--where", "n = 1", "-w", "n = 2"],
        ["search", "TABLE", "message:full", "--limit", "1", "-n", "2"],
        ["info", "TABLE", "--version", "0", "-v", "0"],
        ["merge", "TABLE", "--target-size", "1M", "--target-size", "2M"],
    ],
)
def test_an_option_with_one_value_is_given_once(table: str, words: list[str]) -> None:
    refused = run(*(table if word == "TABLE" else word for word in words), code=2)
    assert f"{words[-4]} is given 2 times; give it once" in refused.stderr


def test_a_setting_and_a_type_have_one_value(table: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    refused = run("count", table, "-o", "read.parallelism=1", "-o", "read.Parallelism=2", code=1)
    assert "--option read.parallelism has two values, '1' and '2'" in refused.stderr
    refused = run("import", tmp_path / "new", tmp_path / "a.csv", "--type", "id=int", "--type", "id=long", code=1)
    assert "--type id has two values, 'int' and 'long'" in refused.stderr
    assert run("count", table, "-o", "read.parallelism=1", "-o", "read.parallelism=1").stdout == "4\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", "day,n,at\nmon,1,10:30:00\ntue,,11:00:00\n"),
        ("rows.tsv", "day\tn\tat\nmon\t1\t10:30:00\ntue\t\t11:00:00\n"),
        ("rows.jsonl", '{"day": "mon", "n": 1, "at": "10:30:00"}\n{"day": "tue", "n": null, "at": "11:00:00"}\n'),
    ],
)
def test_text_files_are_imported(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    run("import", tmp_path / "table", tmp_path / name)
    rows = IndexTable.open(tmp_path / "table").scan().to_arrow().to_pylist()
    assert rows == [{"day": "mon", "n": 1, "at": "10:30:00"}, {"day": "tue", "n": None, "at": "11:00:00"}]


def test_values_may_be_parted_by_another_mark(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("day;n\nmon;1\n")
    refused = run("import", tmp_path / "table", tmp_path / "rows.csv", code=1)
    assert "use --delimiter ';'" in refused.stderr
    run("import", tmp_path / "table", tmp_path / "rows.csv", "--delimiter", ";")
    assert IndexTable.open(tmp_path / "table").scan().to_arrow().to_pylist() == [{"day": "mon", "n": 1}]
    assert run("import", tmp_path / "table", tmp_path / "rows.csv", "--delimiter", "::", code=1).stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Nr;Betrag;Größe\n0;0,50;groß\n", "the first line, 'Nr;Betrag;Gr��e', has no commas; .* use --delimiter ';'"),
        ("Nr|Betrag\n0|0,50\n", r"use --delimiter '\|'"),
        ("Nr,Art\n0,Überweisung,7\n", "line 2 is not text in UTF-8; convert the file first"),
    ],
)
def test_files_of_spreadsheets_say_their_delimiter_and_encoding(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "rows.csv").write_bytes(content.encode("latin-1"))
    refused = run("import", tmp_path / "table", tmp_path / "rows.csv", code=1).stderr
    assert re.search(said, refused), refused
    assert "udc" not in refused
    assert not (tmp_path / "table").exists()


def test_text_is_read_in_the_types_of_the_table(tmp_path: Path) -> None:
    first, second, other = tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "third.jsonl"
    first.write_text("id,closed,zip,amount\n1,2024-05-01,K1A,1.5\n")
    second.write_text("ID,closed,zip,amount\n2,,10115,12\n")
    other.write_text('{"id": 3, "closed": null, "zip": "8001", "amount": 7}\n')
    for file in (first, second, other):
        run("import", tmp_path / "table", file)
    rows = IndexTable.open(tmp_path / "table").scan().to_arrow().sort_by("id").to_pylist()
    assert rows[1:] == [
        {"id": 2, "closed": None, "zip": "10115", "amount": 12.0},
        {"id": 3, "closed": None, "zip": "8001", "amount": 7.0},
    ]


def test_values_that_cannot_be_read_are_named_and_the_table_stays(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text("id\n1\n")
    (tmp_path / "bad.csv").write_text("id\n" + "1\n" * 300_000 + "K1A\n")
    run("import", tmp_path / "table", tmp_path / "good.csv")
    said = run("import", tmp_path / "table", tmp_path / "bad.csv", code=1).stderr
    assert "bad.csv, line 300,002: column 'id' is long, and the value is 'K1A'" in said
    assert run("count", tmp_path / "table").stdout == "1\n"


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    pq.write_table(LINES, tmp_path / "lines.parquet")
    said = found("import", tmp_path / "table", tmp_path / "lines.parquet", "--dry-run", "--columns", "n,day")
    assert (said["would"], said["columns"]) == ("create", {"n": "long", "day": "string"})
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new", "--partition-by", "dya"], "dya names a column that is not there"),
        (["new", "--text", "n"], "column 'n' has type long and cannot be indexed as 'text'"),
        (["table", "-o", "optimizeWrite.clusterBy=dya"], "dya"),
        (["table", "-o", "replaceWhere=day = 'mon'"], "replaceWhere"),
        (["other"], "the table has no column 'day', 'message'"),
    ],
)
def test_a_dry_run_refuses_what_would_be_refused(table: str, tmp_path: Path, words: list[str], message: str) -> None:
    IndexTable.create(tmp_path / "other", pa.schema({"n": pa.int64()}))
    name, *rest = words
    for how in (["--dry-run"], []):
        refused = run("import", tmp_path / name, tmp_path / "lines.parquet", *rest, *how, code=1)
        assert message in refused.stderr
    assert IndexTable.open(table).version == 0


def test_matches_are_shown_best_first(table: str) -> None:
    rows = found("search", table, "message:full", "--columns", "n,message", "--limit", 5)
    assert [row["n"] for row in rows] == [1, 3]
    assert list(rows[0]) == ["n", "message", "_score"]
    assert "disk full" in run("search", table, "message:full").stdout


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shop") / "events"
    rows = {
        "at": pa.array(
            [datetime(2024, 6, 2, 9, tzinfo=UTC), datetime(2024, 6, 3, tzinfo=UTC)], pa.timestamp("us", "UTC")
        ),
        "title": ["Refunds", "Orders"],
        "message": ["Refund of ORD-1007 by com.shop.OrderService", "http-nio-8080 is slow for wren 429"],
        "Order State": ["open", "closed"],
        "agent": ["Mozilla/5.0 (X11)", "curl/8"],
    }
    IndexTable.write(place, pa.table(rows), text=["title", "message"])
    return place


@pytest.mark.parametrize(
    ("query", "other", "reason"),
    [
        ("refnd", "refund", ""),
        ("refund AND wern", "wren", ""),
        ("message:ordrservice", "message:orderservice", ""),
        (r"Order\ State:opn", r"Order\ State:open", ""),
        ("OrderServ", "OrderServ*", "it finds words that begin with 'OrderServ'"),
        ("message:Htt", "message:Htt*", "it finds words that begin with 'Htt'"),
        ("agent:mozilla*", "agent:Mozilla*", "exact values are case-sensitive"),
        (r"agent:*mozilla*x1?\)", r"agent:*Mozilla*X1?\)", "exact values are case-sensitive"),
        ("at:2024-06-02", "at:[2024-06-02 TO 2024-06-03}", "2024-06-02 alone is its midnight"),
        ("ORD-1007*", "ORD AND 1007*", "words are split at punctuation"),
        ("message:http-nio*", "message:http AND message:nio*", "words are split at punctuation"),
        ("com.shop.Order*", '"com shop" AND Order*', "words are split at punctuation"),
        ("ORD-*", "ORD", "words are split at punctuation"),
    ],
)
def test_a_search_without_hits_suggests_one_that_has_some(shop: Path, query: str, other: str, reason: str) -> None:
    hint = "did you mean " + other + "?" + (" " + reason if reason else "")
    assert " ".join(run("search", shop, query).stdout.split()).endswith(hint)
    assert run("count", shop, "--query", query).stderr.endswith(f"\n{hint}\n")
    assert IndexTable.open(shop).count(query=other) > 0


@pytest.mark.parametrize("query", ["zebra", "430", "agent:curl/9", "at:2024-06-02T00:00:00", "agent:x*"])
def test_a_search_for_what_is_not_there_has_no_suggestion(shop: Path, query: str) -> None:
    assert "did you mean" not in run("search", shop, query).stdout


def test_a_search_that_finds_nothing_says_where_it_looked(table: str) -> None:
    assert run("search", table, "nowhere").stdout.splitlines()[-1] == "0 rows; searched: message (words)"
    said = run("search", table, "nowhere OR day:m OR n:7").stdout
    assert "0 rows; searched: day (exact values), n (values), message (words)\n" in said
    assert "day has 'm' inside longer values, but is indexed as exact values:" in said
    assert "search for day:*m*\n" in said
    assert "\ndid you mean day:mon? exact values are case-sensitive\n" in run("search", table, "day:Mon").stdout
    assert "\ndid you mean day:mon?\n" in run("search", table, "Mon").stdout
    assert "search for day:*on*\n" in run("search", table, "day:ON").stdout
    assert run("search", table, "day:mon AND nowhere").stdout.endswith(
        "searched: day (exact values), message (words)\n"
    )
    assert found("search", table, "nowhere") == []
    counted = run("count", table, "--query", "day:m")
    assert counted.stdout == "0\n"
    assert counted.stderr.startswith("searched: day (exact values)\n")
    assert not run("count", table, "--query", "day:mon").stderr
    assert found("explain", table, "--query", "disk day:mon")["search_columns"] == {
        "day": "exact values",
        "message": "words",
    }
    assert "search columns    message (words)" in run("explain", table, "--query", "disk").stdout


def test_a_word_in_a_table_without_text_columns_is_refused_with_a_way_out(tmp_path: Path) -> None:
    pq.write_table(LINES, tmp_path / "lines.parquet")
    words = ["import", tmp_path / "table", tmp_path / "lines.parquet"]
    for how in (["--dry-run"], []):
        assert not run(*words, "--text", "none", *how).stderr
    assert not run(*words).stderr
    said = run("search", tmp_path / "table", "full", code=1).stderr
    assert "Indexed as exact values: message, day" in said
    assert "set-indexing TABLE message=text" in said
    assert len(found("search", tmp_path / "table", "message:*full*")) == 4


def test_text_columns_are_chosen_from_the_values(tmp_path: Path) -> None:
    pq.write_table(LINES, tmp_path / "lines.parquet")
    words = ["import", tmp_path / "table", tmp_path / "lines.parquet"]
    would = (
        "note: message would be indexed as text, to be searched by words; to change it, import with --text COLUMNS or "
    )
    assert run(*words, "--dry-run").stderr == f"{would}--text none\n"
    command = f"indextables set-indexing {tmp_path / 'table'} message=string"
    assert run(*words).stderr.endswith(f"is indexed as text, to be searched by words; to change it, run: {command}\n")
    assert len(found("search", tmp_path / "table", "full")) == 2
    assert "--text are for new tables" in run(*words, "--text", "auto", code=1).stderr
    assert not run(*words).stderr
    pq.write_table(LINES.select(["day"]), tmp_path / "days.parquet")
    said = run("import", tmp_path / "days", tmp_path / "days.parquet").stderr
    assert "no column is indexed as text, because none looks like it" in said
    assert said.endswith("days day=text\n")


def test_counts(table: str) -> None:
    assert run("count", table).stdout == "4\n"
    assert found("count", table, "--where", "n > 1", "--query", "message:disk") == {"count": 1}
    assert found("count", table, "--by", "day") == [
        {"day": "mon", "count": 2},
        {"day": "tue", "count": 1},
        {"day": "wed", "count": 1},
    ]


def test_groups_are_counted_with_the_largest_first(tmp_path: Path) -> None:
    days = [*["mon"] * 2, *["sun"] * 5, "fri", None, *["tue"] * 2]
    table = IndexTable.write(tmp_path / "t", {"day": days, "n": list(range(11))})
    counted = [(row["day"], row["count"]) for row in found("count", table.path, "--by", "day")]
    assert counted == [("sun", 5), ("mon", 2), ("tue", 2), ("fri", 1), (None, 1)]


def test_the_past(table: str) -> None:
    IndexTable.open(table).append(LINES)
    assert run("count", table).stdout == "8\n"
    assert run("count", table, "--version", 0).stdout == "4\n"
    assert found("info", table, "--version", 0)["rows"] == 4


def test_what_there_is(table: str) -> None:
    assert {key: found("info", table)[key] for key in ("version", "rows", "splits", "layout")} == {
        "version": 0,
        "rows": 4,
        "splits": 3,
        "layout": "day",
    }
    assert len(found("splits", table)) == 3
    assert [row["partition"]["day"] for row in found("partitions", table)] == ["mon", "tue", "wed"]
    assert [row["operation"] for row in found("history", table)] == ["CREATE TABLE"]
    assert found("explain", table, "--where", "day = 'mon'")["never"] == 2
    assert found("checkpoint", table)["num_splits"] == 3


@pytest.mark.parametrize("verb", ["info", "partitions", "splits", "history", "count", "explain"])
def test_people_are_shown_text(table: str, verb: str) -> None:
    assert run(verb, table).stdout.strip()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["count", "TABLE", "--where", "nn = 1"], "nn"),
        (["search", "TABLE", "messag:full"], "did you mean 'message'"),
        (["count", "TABLE", "--where", "messag = 'a'"], "did you mean 'message'"),
        (["count", "TABLE", "--by", "messag"], "did you mean 'message'"),
        (["count", __file__], "is a file, and a table is a directory"),
        (["import", __file__, "TABLE"], "is a file, and a table is a directory"),
        (["count", "/nowhere/at/all"], "there is no table at /nowhere/at/all"),
        (["count", "TABLE", "-o", "checkpoint.intervall=3"], "there is no setting"),
        (["count", "TABLE", "-o", "three"], "write KEY=VALUE"),
        (["import", "TABLE", "/nowhere.csv"], "there is no file /nowhere.csv"),
        (["import", "TABLE", __file__], "no known file extension"),
    ],
)
def test_errors_are_one_sentence(table: str, words: list[str], message: str) -> None:
    result = run(*(table if word == "TABLE" else word for word in words), code=1)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_layout_of_a_table_is_not_changed_by_an_import(table: str, tmp_path: Path) -> None:
    result = run("import", table, tmp_path / "lines.parquet", "--partition-by", "n", code=1)
    assert "with the layout 'day'" in result.stderr


def test_the_release_is_told() -> None:
    assert run("--version").stdout == f"{__version__}\n"


def test_a_search_for_scripts_does_not_wait_for_what_draws_writes_and_merges(table: str) -> None:
    """Half of the time of a search from a shell is imports."""
    script = "import atexit, sys; from indextables.cli.app import main"
    unneeded = {
        "rich.console",
        "pandas",
        "pyarrow.dataset",
        "pyiceberg_core",
        "indextables.maintain.compact",
        "sqlglot",
    }
    loaded = (
        f"{script}; atexit.register(lambda: print(sorted({unneeded} & sys.modules.keys()), file=sys.stderr)); main()"
    )
    words = [sys.executable, "-c", loaded, "search", table, "message:full", "--json"]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stderr == "[]\n"


def test_debugging_shows_where_it_went_wrong() -> None:
    result = CliRunner().invoke(app, ["--debug", "count", "/nowhere"])
    assert type(result.exception).__name__ == "TableNotFoundError"


def test_the_page_about_the_command_line_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    assert page.read_text() == markdown(), "run `make docs`"


@pytest.mark.parametrize("words", [["info"], ["count"], ["health"], ["merge"]])
def test_a_location_that_cannot_be_used_is_refused(words: list[str]) -> None:
    said = " ".join(run(*words, "hdfs://namenode/logs", code=1).stderr.split())
    assert "'hdfs://namenode/logs' is not a location that indextables can use; HDFS" in said
    assert "s3://" in said


HIDDEN = "https://account.blob.core.windows.net/c/p.csv?sv=2024&sig=hidden%3D"


@pytest.mark.parametrize(
    "words",
    [
        ["count", HIDDEN],
        ["info", HIDDEN, "--json"],
        ["purge", "abfss://c@acc.dfs.core.windows.net/t?sv=2024&sig=hidden", "--json"],
        ["count", "s3://key:hidden@bucket/t"],
        ["count", "TABLE", HIDDEN],
        ["import", "TABLE", HIDDEN],
        ["import", HIDDEN, "TABLE"],
        [HIDDEN],
        ["count", "TABLE", f"--{HIDDEN}"],
        ["count", "TABLE", "-o", "s3.secretKey=hidden", "-o", "s3.secretKey=hidden2"],
    ],
    ids=lambda words: " ".join(words)[:40],
)
@pytest.mark.parametrize("debug", [False, True])
def test_credentials_in_arguments_are_not_told(table: str, words: list[str], debug: bool) -> None:  # noqa: FBT001 - a parameter
    given = [table if word == "TABLE" else word for word in words]
    result = CliRunner().invoke(app, ["--debug", *given] if debug else given)
    assert result.exit_code
    assert "hidden" not in f"{result.output} {result.exception} {vars(result.exception or object)}"
