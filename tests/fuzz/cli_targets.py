"""The command line: any arguments, and any files to import. It ends with an exit code and a message, never a traceback."""

import io
import json
import zlib
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from indextables.cli.app import app
from tests.fuzz.mutations import mutate_bytes, mutate_json, odd_value, to_json
from tests.fuzz.sample_table import put_table, rows
from tests.fuzz.target import Target
from tests.fuzz.text_targets import condition_text, search_text, setting_text

_TABLE = "memory://fuzz/cli"
_TABLES = (
    _TABLE, _TABLE, _TABLE, _TABLE, "memory://fuzz/none", "/nonexistent/x", "s3://", "gs://u:p@b/x", "", "\0",
    "file:///etc", "x" * 5000,
)  # fmt: skip
_EXIT_CODES = (0, 1, 2, 3)


def _refuses_well(result: Result) -> None:
    """Whether a command ended as promised: an exit code, and a failure in one line."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in _EXIT_CODES, result.exit_code
    assert "Traceback" not in result.output, result.output
    if result.exit_code == 1:
        lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, result.output


def _option(rng: Random) -> list[str]:  # noqa: PLR0911 - one for each option
    match rng.randrange(12):
        case 0 | 1:
            return ["--where", condition_text(rng)]
        case 2 | 3:
            return ["--query", search_text(rng)]
        case 4:
            return ["--option", setting_text(rng)]
        case 5:
            return ["--version", str(odd_value(rng))[:50]]
        case 6:
            return [
                "--timestamp",
                rng.choice(("2024-01-01", "9999-12-31", "0001-01-01T00:00:00+14:00", "x", "", "now", "1e9")),
            ]
        case 7:
            return ["--columns", rng.choice(("n", "n,day", "missing", ",", "N, n", "_score", "*"))]
        case 8:
            return ["--limit", str(odd_value(rng))[:50]]
        case 9:
            return [rng.choice(("--json", "--dry-run", "--force", "--coalesce", "--no", "-h", "--", "--help"))]
        case 10:
            return [
                rng.choice(("--retention", "--older-than", "--target-size", "--group-by", "--format", "--type")),
                setting_text(rng),
            ]
        case _:
            return [str(odd_value(rng))[:200]]


_VERBS = (
    "info", "search", "count", "explain", "partitions", "splits", "history", "drop-partitions", "evolve",
    "add-column", "widen-column", "set-properties", "unset-properties", "health", "advise", "merge", "purge",
    "checkpoint", "prewarm", "compact", "vacuum", "cuont", "export",
)  # fmt: skip


def _generate_arguments(rng: Random) -> bytes:
    words = [rng.choice(_VERBS), rng.choice(_TABLES)]
    match words[0]:
        case "evolve":
            words.append(
                rng.choice(
                    (
                        "n",
                        "day(ts)",
                        "bucket(4, n)",
                        "",
                        "bucket(0, n)",
                        "x(n)",
                        "n, n",
                        "((",
                        "truncate(99999999999999999999, n)",
                    )
                )
            )
        case "add-column" | "widen-column":
            words += [
                rng.choice(("x", "n", "", "a b", "\0", "N")),
                rng.choice(("int", "bigint", "decimal(5,1)", "decimal(99,1)", "array<int>", "")),
            ]
        case "set-properties" | "unset-properties":
            words.append(setting_text(rng))
        case "export":
            words += [rng.choice(("-", "/dev/null", "", "\0", "no/rows.csv", "~/x.csv", "s4://b/x.csv", "x" * 300))]
            words += ["--format", rng.choice(("csv", "tsv", "json", "parquet", "x"))]
        case "explain" | "search" if rng.random() < 0.3:
            words.append(search_text(rng))
    for _ in range(rng.randrange(4)):
        words += _option(rng)
    return json.dumps(words).encode()


def _run_arguments(data: bytes) -> None:
    put_table({}, _TABLE)
    words = json.loads(data)
    if "--debug" in words or any(word.startswith(("s3://b", "gs://b", "http")) for word in words):
        return
    _refuses_well(CliRunner().invoke(app, words))


def _records(rng: Random) -> list[dict[str, Any]]:
    start = rng.randrange(40)
    table = rows(start, rng.choice((0, 1, 3, 9)))
    return [
        {name: str(value) if name in {"ts", "price", "born"} else value for name, value in row.items() if name != "raw"}
        for row in table.to_pylist()
    ]


def _generate_file(rng: Random) -> bytes:
    """The ending of the name and the options of the import in the first line, then the file."""
    kind = rng.choice(("csv", "json", "jsonl", "parquet", "tsv", "txt", "csv.gz", "log", "log"))
    content = {"parquet": _parquet, "json": _json, "jsonl": _json, "log": _log}.get(kind, _csv)(rng)
    if rng.random() < 0.5:
        content = mutate_bytes(rng, content)
    options = rng.choice(
        (
            [],
            [],
            ["--merge-schema"],
            ["--overwrite"],
            ["--columns", "n,day"],
            ["--delimiter", ";"],
            ["--type", "n=int"],
            [
                "--timestamp",
                rng.choice(("at=day+ts", "ts=ts", "ts=ts as %d/%b/%Y:%H:%M:%S %z", "x=ts as %", "ts", "=n")),
            ],
        )
    )
    if kind == "log" or rng.random() < 0.1:
        pattern = rng.choice(("combined", "syslog", "iso", r"(?P<n>\d+) (?P<message>.*)", "(?P<a>", "(x)", ""))
        options = [*options, "--pattern", pattern] if rng.random() < 0.7 else options
    target = rng.choice(("new", "new", "old"))
    layout = (
        ["--partition-by", rng.choice(("day", "bucket(4, n)", "day(ts)", "x"))]
        if target == "new" and rng.random() < 0.3
        else []
    )
    text = ["--text", rng.choice(("message", "n", "x"))] if target == "new" and rng.random() < 0.3 else []
    dry = ["--dry-run"] if rng.random() < 0.6 else []
    return json.dumps([kind, target, [*options, *layout, *text, *dry]]).encode() + b"\n" + content


def _csv(rng: Random) -> bytes:
    records = _records(rng)
    mark = rng.choice(",,,;\t")
    lines = [mark.join(records[0])] if records else ["n,day"]
    lines += [mark.join("" if value is None else str(value) for value in record.values()) for record in records]
    if rng.random() < 0.3:
        lines.insert(
            rng.randrange(len(lines) + 1),
            rng.choice(('"', "a,b", "", '"a""b",', "\ufeffn", "\0", mark * 20, "é" * 50, '"x\ny"')),
        )
    return (
        rng.choice(("\n", "\r\n"))
        .join(lines)
        .encode(rng.choice(("utf-8", "utf-8", "utf-16", "latin-1")), errors="replace")
    )


def _log(rng: Random) -> bytes:
    lines = (
        '::1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 - "-" "x"',
        "May  1 10:00:00 web sshd[42]: session opened",
        "Feb 30 25:00:00 web cron: no such day",
        "2024-05-01 10:00:00,123 ERROR disk full",
        "2024-05-01T10:00:00.123456789+0200 INFO ok",
        "  at run (jobs.py:12)",
        "42 the answer",
        "",
        "\0",
        "é" * 50,
    )
    return rng.choice((b"\n", b"\r\n")).join(rng.choice(lines).encode() for _ in range(rng.randrange(12)))


def _json(rng: Random) -> bytes:
    records: Any = _records(rng)
    records = [mutate_json(rng, record) if rng.random() < 0.3 else record for record in records]
    return to_json(records) if rng.random() < 0.1 else b"\n".join(map(to_json, records))


def _parquet(rng: Random) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows(rng.randrange(40), rng.choice((0, 1, 9))), sink)
    return sink.getvalue()


@cache
def _directory() -> Path:
    return Path(mkdtemp(prefix="indextables-fuzz-"))


def _run_file(data: bytes) -> None:
    head, _, content = data.partition(b"\n")
    kind, target, options = json.loads(head)
    file = _directory() / f"input.{kind}"
    file.write_bytes(content)
    new = f"memory://fuzz/imported-{zlib.crc32(data)}"
    if target == "old":
        put_table({}, _TABLE)
    _refuses_well(CliRunner().invoke(app, ["import", _TABLE if target == "old" else new, str(file), *options]))


CLI = Target("cli", _generate_arguments, _run_arguments, _run_arguments)
IMPORT = Target("import", _generate_file, _run_file, _run_file)
