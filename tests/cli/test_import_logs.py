"""Log files, standard input and timestamps of an import."""

import gzip
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from indextables import IndexTable
from indextables.cli.app import app
from indextables.cli.import_files import FileOptions, rows_in
from indextables.cli.input_files import InputFile
from indextables.cli.log_patterns import parse_pattern
from tests.cli.shell import found, run

ACCESS = [
    '10.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "http://x.org/" "Mozilla/4.08 (Win98)"',
    r'::1 - - [10/Oct/2000:13:55:37 +0000] "\x16\x03 \"q\"" 400 - "-" "-"',
]
APP = [
    "before everything",
    "2024-05-01 10:00:00,123 INFO ready",
    "2024-05-01 10:00:05,999 ERROR failed to connect",
    "Traceback (most recent call last):",
    "",
    "ValueError: no route",
    "2024-05-01 10:00:06 WARN slow disk",
]

LOG4J = ["2024-05-01 10:00:00,123 ERROR [main] c.a.Web - no route", "\tat A.java"]
LOG4J += LOG4J[:1] * 9
LOGBACK = "2024-05-01 10:00:00,123 [main] INFO c.a.Web - ready"
PYTHON = ["2024-05-01 10:00:00,123 - app.db - ERROR - no route"]


def rows(table: Path) -> list[dict[str, Any]]:
    return IndexTable.open(table).scan().to_arrow().to_pylist()


def test_access_logs(tmp_path: Path) -> None:
    log = tmp_path / "access.log.gz"
    log.write_bytes(gzip.compress("\r\n".join([*ACCESS, "garbage", ""]).encode()))
    result = run("import", tmp_path / "t", log)
    assert result.stdout == f"imported 2 rows from {log} into the new table {tmp_path / 't'} (1 split, version 0)\n"
    assert (
        result.stderr
        == "note: 1 line did not match the pattern 'combined' and was left out; the first is line 3: 'garbage'. "
        "If it is a row, describe such lines with --pattern\n"
        "note: request is indexed as text, to be searched by words; to change it, run: "
        f"indextables set-indexing {tmp_path / 't'} request=string\n"
    )
    first, second = rows(tmp_path / "t")
    assert (first["ts"], first["path"], first["status"]) == (
        datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC),
        "/a.gif",
        200,
    )
    assert (second["user"], second["bytes"], second["method"], second["agent"]) == (None, None, None, None)
    assert second["request"] == r"\x16\x03 \"q\""
    assert found("count", tmp_path / "t", "--query", "request:gif") == {"count": 1}


def test_lines_that_do_not_match_belong_to_the_row_before(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("\n".join(APP))
    done = found("import", tmp_path / "t", tmp_path / "app.log")
    assert (done["rows"], done["unmatched_lines"]) == (3, {"added_to_row_before": 2, "left_out": 1})
    assert [row["message"] for row in rows(tmp_path / "t")] == [
        "ready",
        "failed to connect\nTraceback (most recent call last):\nValueError: no route",
        "slow disk",
    ]
    assert found("count", tmp_path / "t", "--query", "route AND level:ERROR") == {"count": 1}


def test_a_log_of_java_has_its_threads_and_loggers(tmp_path: Path) -> None:
    lines = ["[main] INFO  c.a.Web - ready", "[pool-1] warning c.a.Web - a - b\n\tat A.java", "- -"]
    (tmp_path / "app.log").write_text("".join(f"2024-05-01 10:00:00,123 {line}\n" for line in lines))
    planned = found("import", tmp_path / "t", tmp_path / "app.log", "--dry-run")
    assert (planned["rows"], planned["unmatched_lines"]) == (3, {"added_to_row_before": 1, "left_out": 0})
    said = run("import", tmp_path / "t", tmp_path / "app.log", "--dry-run").stderr
    assert "1 line did not match the pattern 'logback' and was added to the row before" in said
    assert (
        "note: 1 line begins with a time, but did not match the rest of the pattern 'logback': thread, level, logger are "
        "null in its row; the first is line 4: '2024-05-01 10:00:00,123 - -'\n" in said
    )
    run("import", tmp_path / "t", tmp_path / "app.log")
    assert [(row["thread"], row["level"], row["logger"], row["message"]) for row in rows(tmp_path / "t")] == [
        ("main", "INFO", "c.a.Web", "ready"),
        ("pool-1", "warning", "c.a.Web", "a - b\n\tat A.java"),
        (None, None, None, "- -"),
    ]


def test_a_line_with_a_time_is_a_row_without_a_level_too(tmp_path: Path) -> None:
    lines = ["10:00:00 INFO ready", "10:00:01 Connection closed", "10:00:02 -", "10:00:03 [ERROR] no"]
    (tmp_path / "app.log").write_text("".join(f"2024-05-01 {line}\n" for line in lines))
    log = tmp_path / "app.log"
    (tmp_path / "b.log").write_text(log.read_text())
    for words in ([log, "--dry-run"], [log, tmp_path / "b.log"]):
        done = found("import", tmp_path / "t", *words)
        assert done["unmatched_lines"] == {"added_to_row_before": 0, "left_out": 0}
        count, first = 2 * done["files"], "line 2: '2024-05-01 10:00:01 Connection closed'"
        assert done["partly_matched_lines"] == {"count": count, "first": first}
    read = [(row["level"], row["message"]) for row in rows(tmp_path / "t")]
    assert read == [("INFO", "ready"), (None, "Connection closed"), (None, "-"), ("ERROR", "no")] * 2


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            [
                "2024-05-01 10:00:00,123 INFO  [main] c.a.Web - ready - or not",
                "2024-05-01 10:00:00,123 ERROR [peer[id=1]/[::1]:21] c.a.Web:73 - no route: a",
                "\tat A.java",
                "2024-05-01 10:00:00,123 WARN c.a.Web: slow",
                "2024-05-01 10:00:00,123 DEBUG [main] no logger",
                "2024-05-01 10:00:00,123 INFO  c.a.Web -",
            ],
            [
                ("INFO", "main", "c.a.Web", "ready - or not"),
                ("ERROR", "peer[id=1]/[::1]:21", "c.a.Web:73", "no route: a\n\tat A.java"),
                ("WARN", None, "c.a.Web", "slow"),
                ("DEBUG", "main", None, "no logger"),
                ("INFO", None, "c.a.Web", ""),
            ],
        ),
        (
            [*["24/05/01 10:00:00 INFO SparkContext: Running Spark"] * 9, "2024-05-01 10:00:00 WARN plain message"],
            [*[("INFO", None, "SparkContext", "Running Spark")] * 9, ("WARN", None, None, "plain message")],
        ),
        (
            [
                "2024-05-01 10:00:00,123 - app.db - ERROR - no - route",
                "Traceback (most recent call last):",
                "2024-05-01 10:00:00,123 - app - WARNING  - ",
                "2024-05-01 10:00:00,123 - INFO - ready",
            ],
            [
                ("ERROR", None, "app.db", "no - route\nTraceback (most recent call last):"),
                ("WARNING", None, "app", ""),
                ("INFO", None, None, "ready"),
            ],
        ),
        (["2024-05-01 10:00:00 INFO ready", "2024-05-01 10:00:00 WARN Web: slow"], [("INFO", None, None, "ready")]),
    ],
    ids=["log4j", "spark", "python", "iso"],
)
def test_logs_of_log4j_and_python_are_recognized(
    tmp_path: Path, lines: list[str], expected: list[tuple[str | None, ...]]
) -> None:
    (tmp_path / "app.log").write_text("".join(f"{line}\n" for line in lines))
    run("import", tmp_path / "t", tmp_path / "app.log")
    read = [(row["level"], row.get("thread"), row.get("logger"), row["message"]) for row in rows(tmp_path / "t")]
    assert read[: len(expected)] == expected
    assert {str(row["ts"])[:19] for row in rows(tmp_path / "t")} == {"2024-05-01 10:00:00"}


@pytest.mark.parametrize("block", [8, 50, 64, 1 << 20])
def test_rows_do_not_depend_on_blocks(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model in Python: a line that matches starts a row, and others go on with it."""
    monkeypatch.setattr("indextables.cli.log_reader.BLOCK", block)
    monkeypatch.setattr("indextables.cli.log_reader._LONGEST", 1 << 20)
    lines = ["x", *(f"{n} INFO m{n}" if n % 5 % 3 == 0 else f"  at {n}" for n in range(60))]
    file = tmp_path / "lines"
    file.write_text("\n".join(lines) + "\n")
    pattern = parse_pattern(r"(?P<n>\d+) (?P<level>[A-Z]+) (?P<message>.*)")
    read = rows_in([InputFile(file, "lines")], options=FileOptions(format="log", pattern=pattern))
    table = pa.Table.from_batches(list(read.batches), read.schema)
    expected: list[str] = []
    for line in lines[1:]:
        if " INFO " in line:
            expected.append(line.partition(" INFO ")[2])
        else:
            expected[-1] += f"\n{line}"
    assert table["message"].to_pylist() == expected
    assert read.log is not None
    unmatched = read.log.unmatched
    assert (unmatched.added, unmatched.left_out, unmatched.first) == (60 - len(expected), 1, "line 1: 'x'")


def test_the_year_of_syslog_is_the_last_one(tmp_path: Path) -> None:
    log = tmp_path / "sys.log"
    log.write_text("<13>Dec 31 23:59:59 web cron[7]: job done\nFeb 29 00:00:00 web sshd: bye\n")
    newest = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    os.utime(log, (newest, newest))
    run("import", tmp_path / "t", log)
    first, second = rows(tmp_path / "t")
    assert (str(first["ts"]), first["pid"]) == ("2023-12-31 23:59:59", 7)
    assert (str(second["ts"]), second["pid"], second["program"]) == ("2024-02-29 00:00:00", None, "sshd")


def test_syslog_may_have_timestamps_with_time_zones(tmp_path: Path) -> None:
    log = tmp_path / "sys.log"
    log.write_text("2024-05-01T10:00:00.5+02:00 web cron[7]: job done\nMay  1 09:00:00 web sshd: bye\n")
    newest = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
    os.utime(log, (newest, newest))
    run("import", tmp_path / "t", log)
    times = [str(row["ts"]) for row in rows(tmp_path / "t")]
    assert times == ["2024-05-01 08:00:00.500000+00:00", "2024-05-01 09:00:00+00:00"]


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_row_counts_for_the_type_of_its_column(tmp_path: Path, end: str) -> None:
    (tmp_path / "n.log").write_text(f"1 a\n2 b\n c\nx d{end}")
    run("import", tmp_path / "t", tmp_path / "n.log", "--pattern", r"(?P<n>\S+) (?P<message>.*)")
    assert [(row["n"], row["message"]) for row in rows(tmp_path / "t")] == [("1", "a"), ("2", "b\n c"), ("x", "d")]


@pytest.mark.parametrize(
    ("words", "lines", "message"),
    [
        (["--pattern", "syslg"], APP, "did you mean 'syslog'"),
        (["--pattern", "(?P<a>x"], APP, "is not a regular expression that can be used"),
        (["--pattern", "(a)(?P<b>x)"], APP, "groups have names or are"),
        (["--pattern", "nginx"], APP, "no line of standard input matches the pattern 'combined'"),
        (["--pattern", "common"], LOG4J, "use --pattern log4j, which matches 10 of 11 lines\n"),
        (
            ["--pattern", "logback"],
            LOG4J,
            f"none matches the pattern 'logback' in full; the first that does not is line 1: '{LOG4J[0]}'; use --pattern",
        ),
        (
            ["--pattern", "logback"],
            [LOGBACK, *LOG4J],
            "of 11 lines of standard input that begin with a time, only 1 matches the pattern 'logback' in full; the first",
        ),
        (["--pattern", "iso"], PYTHON, "use --pattern python, which matches 1 of 1 line\n"),
        (["--pattern", "log4j"], APP, "use --pattern iso, which matches 3 of 3 lines\n"),
        (["--pattern", "iso"], ["2024-05-01 10:00:00 no level"], "describe them with --pattern, a regular expression"),
        (["--format", "log"], ['{"a": 1}'], "use --format json"),
        (["--format", "log"], ["a b"], "match none of the patterns"),
        (["--format", "logs"], APP, "'logs' is not a format of files; did you mean 'log'?"),
        ([], APP, "give --format"),
        (["--format", "csv", "--pattern", "iso"], APP, "--pattern is for --format log"),
        (["--format", "log", "--delimiter", ";"], APP, "--delimiter is for CSV"),
        (["--pattern", r"(?P<n>\d+)", "--type", "n=int"], ["1", "99999999999"], "standard input, line 2: column 'n'"),
        (["--pattern", r"(?P<n>.*)"], ["1", "\udcff"], "standard input, line 2 is not text in UTF-8"),
        (["--pattern", r"(?P<t>.*)", "--timestamp", "t=t as %H:%M"], ["noon"], "'noon' in row 1 is not a time"),
        (["--pattern", r"(?P<t>.*)", "--timestamp", "t"], ["noon"], "write NAME=COLUMN+COLUMN"),
        (["--pattern", r"(?P<t>.*)", "--timestamp", "ts=u"], ["noon"], "there is no column 'u'"),
        (["--pattern", r"(?P<t>.*)", "--timestamp", "t=t as %Q"], ["noon"], "is not a format of a time"),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused(tmp_path: Path, words: list[str], lines: list[str], message: str) -> None:
    given = "\n".join(lines).encode(errors="surrogateescape")
    result = CliRunner().invoke(app, ["import", str(tmp_path / "t"), "-", *words], input=given)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert not (tmp_path / "t").exists()


def test_a_date_and_a_time_become_a_timestamp(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,date,time,zone\n1,2024-05-01,10:00:00,+02:00\n2,2024-05-02,11:30,Z\n3,,,\n")
    run("import", tmp_path / "plain", tmp_path / "a.csv", "--timestamp", "ts=Date+time", "--columns", "id,ts")
    times = [str(row["ts"]) for row in rows(tmp_path / "plain")]
    assert times == ["2024-05-01 10:00:00", "2024-05-02 11:30:00", "None"]
    assert IndexTable.open(tmp_path / "plain").schema.names == ["id", "ts"]
    run("import", tmp_path / "zoned", tmp_path / "a.csv", "--timestamp", "date=date+time+zone", "-p", "day(date)")
    table = IndexTable.open(tmp_path / "zoned")
    assert (table.schema.names, str(table.layout)) == (["id", "date"], "day(date)")
    assert table.count("date = '2024-05-01T08:00:00Z'") == 1
    run("import", tmp_path / "zoned", tmp_path / "a.csv", "--timestamp", "date=date+time+zone")
    assert IndexTable.open(tmp_path / "zoned").count() == 6


def test_standard_input_is_read_in_a_format(tmp_path: Path) -> None:
    content = gzip.compress(b"id,message\n1,the disk is full again\n2,all is well now\n")
    result = CliRunner().invoke(app, ["import", str(tmp_path / "t"), "-", "--format", "csv"], input=content)
    assert (
        result.stdout
        == f"imported 2 rows from standard input into the new table {tmp_path / 't'} (1 split, version 0)\n"
    )
    assert found("count", tmp_path / "t", "--query", "disk") == {"count": 1}


def test_options_that_are_given_twice_add_up(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("d,e,a,b,c\nx,y,one word,two words,3\n")
    words = ["--text", "a", "--text", "b", "-p", "d", "-p", "e", "--columns", "a,b", "--columns", "d", "--columns", "e"]
    run("import", tmp_path / "t", tmp_path / "a.csv", *words)
    table = IndexTable.open(tmp_path / "t")
    assert (str(table.layout), table.schema.names) == ("d, e", ["a", "b", "d", "e"])
    assert [name for name, rule in table.fields.items() if rule.type == "text"] == ["a", "b"]
    assert list(found("search", tmp_path / "t", "word", "-c", "a", "-c", "b")[0]) == ["a", "b", "_score"]
    assert list(found("count", tmp_path / "t", "--by", "d", "--by", "e")[0]) == ["d", "e", "count"]
    run("import", tmp_path / "t", tmp_path / "a.csv", "--columns", "a,b,d,e")
    merged = found("merge", tmp_path / "t", "--cluster-by", "a", "--cluster-by", "b")
    assert merged["splits_after"] == 1
    run("merge", tmp_path / "t", "--cluster-by", "a", "--cluster-by", "none", code=1)
