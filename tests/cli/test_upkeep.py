"""The verbs that change a table or keep it in shape, as a user calls them."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from tests.cli.shell import found, run, run_line

WRITES = 3


def rows(day: str, first: int) -> pa.Table:
    return pa.table(
        {"day": [day, day], "n": pa.array([first, first + 1], pa.int32()), "message": ["disk full", "fine"]}
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A table of two days, each written in three splits."""
    place = str(tmp_path / "table")
    table = IndexTable.create(place, rows("mon", 0).schema, partition_by="day", fields={"message": "text"})
    for write in range(WRITES):
        table.append(pa.concat_tables([rows("mon", 10 * write), rows("tue", 100 * write)]))
    return place


def contents(path: str) -> list[dict[str, object]]:
    return IndexTable.open(path).scan().to_arrow().sort_by([("day", "ascending"), ("n", "ascending")]).to_pylist()


def files(path: str) -> set[Path]:
    return {file for file in Path(path).rglob("*") if file.is_file()}


def shown_on(terminal: int) -> bytes:
    """What is written to a terminal until its last writer ends, which reading tells by an error."""
    seen = b""
    with suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as screen:
        while part := screen.read(4096):
            seen += part
    return seen


def html_of(path: str) -> str:
    page = Path(path).parent / "report.html"
    run("report", path, "--output", page)
    return page.read_text()


def test_small_splits_are_merged_and_rows_stay(path: str) -> None:
    before = contents(path)
    merged = found("merge", path)
    assert (merged["splits_before"], merged["splits_after"], merged["rows"]) == (6, 2, 12)
    assert contents(path) == before
    assert found("info", path)["splits"] == 2


def test_some_partitions_are_merged(path: str) -> None:
    assert found("merge", path, "--where", "day = 'mon'")["splits_before"] == 3
    assert run("merge", path, "--where", "day = 'mon'").stdout.startswith("nothing to merge (version ")


def test_a_merge_of_tiny_partitions_says_what_else_can_be_done(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    IndexTable.create(path, {"day": pa.string(), "n": pa.int64()}, partition_by="day").append(
        [{"day": f"d{n % 60}", "n": n} for n in range(180)]
    )
    lines = run("merge", path).stdout.splitlines()
    assert lines[0] == "nothing to merge (version 1)"
    assert lines[1].startswith("warning  partitions  60 of 60 partitions are tiny")
    assert f"indextables merge {path} --coalesce" in lines[2]
    assert "60 splits with 180 rows became 1" in run("merge", path, "--coalesce").stdout


def test_a_merge_sorts_and_moves_to_the_current_layout(path: str) -> None:
    assert found("evolve", path, "")["layout"] == ""
    merged = found("merge", path, "--rewrite-layout", "--cluster-by", "message, n", "--target-size", "1G")
    assert merged["splits_after"] == 1
    messages = IndexTable.open(path).scan(columns=["message"]).to_arrow()["message"].to_pylist()
    assert messages == sorted(messages)


def test_splits_that_cannot_be_merged_end_a_merge_with_3(path: str) -> None:
    broken = next(file for file in Path(path).rglob("*.split*") if "day=mon" in str(file))
    broken.write_bytes(b"not a split")
    assert [Path(name).name for name in found("merge", path, code=3)["damaged"]] == [broken.name]
    assert "cannot be read" in run("merge", path, code=3).stdout


def test_partitions_are_dropped(path: str) -> None:
    assert found("drop-partitions", path, "--where", "day = 'mon'")["rows"] == 6
    assert {row["day"] for row in contents(path)} == {"tue"}


def test_rows_are_deleted_by_a_condition_and_a_search(path: str) -> None:
    assert found("delete", path, "--where", "day = 'mon'", "--query", "message:full")["rows"] == 3
    assert [row["message"] for row in contents(path) if row["day"] == "mon"] == ["fine"] * 3
    assert run("delete", path, "--query", "message:full").stdout.startswith("3 rows deleted (version 5)")
    assert "give --where, --query or both" in run("delete", path, code=1).stderr


def test_rows_are_updated_by_expressions(path: str) -> None:
    where = ["--where", "day = 'mon'", "--query", "message:full"]
    assert found("update", path, "--set", "n = n + 1000", *where, "--dry-run")["rows"] == 3
    assert found("update", path, "--set", "n = n + 1000", "-s", "`message` = upper(message)", *where)["rows"] == 3
    assert {row["message"] for row in contents(path) if row["n"] >= 1000} == {"DISK FULL"}
    assert run("update", path, "--set", "n = 0").stdout.startswith("12 rows updated (version 5)")
    assert {row["n"] for row in contents(path)} == {0}
    assert "no column 'm'; " in run("update", path, "--set", "n = m", code=1).stderr
    assert "'n' is no assignment" in run("update", path, "--set", "n", code=1).stderr


def test_an_older_version_is_restored_and_the_restore_undone(path: str) -> None:
    before = contents(path)
    run("delete", path, "--where", "n >= 10")
    after = contents(path)
    restored = found("restore", path, "--version", "3")
    assert (restored["version"], restored["restored"], restored["rows_restored"]) == (5, 3, 8)
    assert contents(path) == before
    assert run("restore", path, "-v", "4").stdout.startswith("version 4 restored (version 6): ")
    again = run("restore", path, "-v", "4").stdout
    assert again == "nothing to restore: the table is as it was at version 4 (version 6)\n"
    assert contents(path) == after
    time = next(commit["timestamp"] for commit in found("history", path) if commit["version"] == 3)
    assert found("restore", path, "--timestamp", time)["restored"] == 3
    assert contents(path) == before


def test_deleted_rows_are_erased_and_the_report_says_how(path: str) -> None:
    assert found("erasure", path)["empty"]
    run("delete", path, "--where", "n = 10", "-o", "deletionVectors.maxDeletedShare=1")
    shown = run("erasure", path, "--exit-code", code=3).stdout
    steps = [line.removeprefix("-> ") for line in shown.splitlines() if line.startswith("-> ")]
    assert [step.split()[1] for step in steps] == ["merge", "purge"]
    assert steps[0].endswith("--deleted-rows")
    assert [(file["kind"], file["deleted_rows"]) for file in found("erasure", path)["files"]] == [("deleted-rows", 1)]
    for step in steps:
        run_line(step)
    assert found("erasure", path, "--exit-code")["empty"]
    assert len(contents(path)) == 11


def test_splits_with_deleted_rows_are_a_finding(path: str) -> None:
    run("merge", path)
    run("delete", path, "--where", "n = 10", "-o", "deletionVectors.maxDeletedShare=1")
    [finding] = found("health", path)["findings"]
    assert finding["message"].startswith("1 of 2 splits has deleted rows: 1, 8.3% of all rows")
    run_line(finding["fix"])
    assert found("health", path)["findings"] == []


def test_files_that_nobody_needs_are_purged(path: str) -> None:
    run("merge", path)
    assert found("purge", path)["files"] == found("vacuum", path)["files"] == 0
    before = files(path)
    assert found("purge", path, "--older-than", "0 seconds", "--force", "--dry-run")["past"] == 6
    assert files(path) == before
    assert found("purge", path, "--older-than", "0 seconds", "--force")["past"] == 6
    assert len(contents(path)) == 12


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        (["merge"], {"splits_before": 6, "splits_after": 2}),
        (["drop-partitions", "--where", "day = 'mon'"], {"splits": 3, "rows": 6}),
        (["drop-column", "n"], {"version": 3}),
        (["delete", "--where", "n = 1"], {"rows": 2}),
        (["restore", "--version", "1"], {"splits_removed": 4, "rows_removed": 8}),
    ],
)
def test_a_dry_run_tells_and_does_nothing(path: str, words: list[str], figure: dict[str, int]) -> None:
    before = files(path)
    verb, *rest = words
    told = found(verb, path, *rest, "--dry-run")
    assert told["dry_run"]
    assert {name: told[name] for name in figure} == figure
    assert files(path) == before


def test_a_layout_changes(path: str) -> None:
    changed = found("evolve", path, "bucket(4, n)")
    assert (changed["layout"], changed["splits_of_other_layouts"]) == ("bucket(4, n)", 6)
    assert str(IndexTable.open(path).layout) == "bucket(4, n)"


def test_the_index_of_a_column_changes(path: str) -> None:
    before = contents(path)
    assert found("reindex", path)["splits"] == 0
    changed = found("set-indexing", path, "message=text:en_stem")
    assert (changed["version"], changed["fields"]["message"]) == (4, "text:en_stem")
    again = run("set-indexing", path, "message=text:en_stem")
    assert again.stderr == f"splits that exist keep their indexes; to rebuild these: indextables reindex {path}\n"
    assert found("reindex", path, "--column", "n")["splits"] == 0
    assert found("reindex", path, "--where", "day = 'mon'", "--dry-run")["splits"] == 3
    done = found("reindex", path, "--column", "message")
    assert (done["splits"], done["reindexed"], done["rows"], done["version"]) == (6, 6, 12, 5)
    assert "0 splits with 0 rows were reindexed" in run("reindex", path).stdout
    assert contents(path) == before


def test_an_impossible_index_is_refused(path: str) -> None:
    assert "cannot be indexed as 'text'" in run("set-indexing", path, "n=text", code=1).stderr


def test_columns_change(path: str) -> None:
    assert found("add-column", path, "level", "string", "--field", "text")["version"] == 4
    assert found("widen-column", path, "n", "long")["version"] == 5
    table = IndexTable.open(path)
    assert (table.fields["level"].type, table.schema.field("n").type) == ("text", pa.int64())
    renamed = found("rename-column", path, "n", "number")
    assert renamed == {"table": path, "version": 6, "column": "number", "renamed_from": "n"}
    assert found("drop-column", path, "level")["version"] == 7
    assert table.refresh().schema.names == ["day", "number", "message"]


def test_properties_change(path: str) -> None:
    changed = found("set-properties", path, "checkpoint.interval=50", "team=web")
    assert changed["properties"] == {"spark.indextables.checkpoint.interval": "50", "team": "web"}
    assert found("unset-properties", path, "CHECKPOINT.interval")["properties"] == {"team": "web"}
    assert "no property nobody" in run("unset-properties", path, "nobody", code=1).stderr


def test_what_is_out_of_shape_is_found(path: str) -> None:
    assert [finding["area"] for finding in found("health", path)["findings"]] == ["splits"]
    assert "splits are small" in run("health", path, "--exit-code", code=3).stdout
    [fix] = [finding["fix"] for finding in found("health", path)["findings"]]
    assert f"-> {fix}" in run("health", path).stdout
    assert f"<code>{fix}</code>" in html_of(path)
    run_line(fix)
    assert "no findings" in run("health", path, "--exit-code").stdout


def test_advice_is_given_on_queries_and_files_of_them(path: str, tmp_path: Path) -> None:
    (tmp_path / "queries.sql").write_text("n = 3\n\n  SELECT * FROM t WHERE day = 'mon'\nwhat?\n")
    advice = found("advise", path, "n BETWEEN 3 AND 5", "--file", tmp_path / "queries.sql")
    assert (advice["queries"], advice["unparsed"], advice["current"]) == (3, ["what?"], "day")
    assert {use["column"] for use in advice["uses"]} == {"n", "day"}
    assert advice["commands"]
    for command in advice["commands"]:
        run_line(command)
    assert found("advise", path, "n = 3", "--expected-rows", "1000000")["rows"] == 1_000_000
    assert "not parsed: what?" in run("advise", path, "--file", tmp_path / "queries.sql").stdout


def test_indexes_are_brought_to_the_cache(path: str) -> None:
    assert found("prewarm", path, "--where", "day = 'mon'")["splits"] == 3
    assert found("prewarm", path)["unpacked"] == 3


@pytest.mark.parametrize("verb", ["merge", "compact", "purge", "vacuum", "health", "erasure", "prewarm", "checkpoint"])
def test_people_are_shown_text(path: str, verb: str) -> None:
    assert run(verb, path).stdout.strip()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["merge", "--where", "n = 1"], "'n' is not a partition column"),
        (["merge", "--target-size", "big"], "'big'"),
        (["merge", "--cluster-by", "mesage"], "mesage"),
        (["drop-partitions", "--where", "message = 'fine'"], "'message' is not a partition column"),
        (["drop-partitions", "--where", "day ="], "day ="),
        (["delete", "--where", "nn = 1"], "nn"),
        (["purge", "--log-retention", "1h"], "may be needed by a running writer"),
        (["restore", "--version", "9"], "versions 0 to 3 can be read"),
        (["restore"], "give --version or --timestamp"),
        (["purge", "--older-than", "soon"], "--older-than is 'soon', but must be a number of days"),
        (["purge", "--older-than", "1h"], "may belong to a running writer"),
        (["evolve", "week(day)"], "week"),
        (["add-column", "n", "long"], "'n'"),
        (["add-column", "m", "longish"], "longish"),
        (["widen-column", "n", "short"], "short"),
        (["rename-column", "n", "Message"], "the table has a column 'message'"),
        (["drop-column", "day"], "the table is partitioned by day"),
        (["drop-column", "nn", "--dry-run"], "'nn'"),
        (["advise"], "there are no queries to advise on"),
        (["advise", "n = 3", "--expected-rows", "0"], "expected_rows is 0, but must be a whole number"),
        (["advise", "--file", "/nowhere.sql"], "the queries in /nowhere.sql cannot be read"),
        (["prewarm", "--where", "nn = 1"], "nn"),
    ],
)
def test_errors_are_one_sentence_and_change_nothing(path: str, words: list[str], message: str) -> None:
    before = files(path)
    verb, *rest = words
    result = run(verb, path, *rest, code=1)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert (result.stdout, files(path)) == ("", before)


def test_partitions_are_not_dropped_without_a_condition(path: str) -> None:
    assert "--where" in run("drop-partitions", path, code=2).stderr


@pytest.mark.parametrize(
    ("words", "progress", "result"),
    [
        (["merge"], b"groups merged", {"splits_after": 2}),
        (["check", "--deep"], b"splits checked", {"opened": 6}),
    ],
)
def test_a_terminal_sees_how_far_it_is_and_a_pipe_gets_the_result_alone(
    path: str, words: list[str], progress: bytes, result: dict[str, int]
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from indextables.cli.app import main; main()", *words, path, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as running:
        os.close(theirs)
        seen = shown_on(ours)
        printed, _ = running.communicate()
    assert progress in seen
    assert json.loads(printed).items() >= result.items()


def test_nothing_here_needs_spark(path: str) -> None:
    script = "import sys; from indextables.cli.app import app; app(sys.argv[1:], standalone_mode=False)"
    for words in (["health", path], ["merge", path], ["advise", path, "SELECT 1 FROM t WHERE n = 3"]):
        loaded = f"{script}; sys.exit('pyspark' in sys.modules)"
        subprocess.run([sys.executable, "-c", loaded, *words], check=True, stdout=subprocess.PIPE)


class TestChecks:
    def test_a_healthy_table(self, path: str) -> None:
        assert run("check", path).stdout.endswith("\n\nno findings\n")
        result = found("check", path, "--deep")
        assert (result["ok"], result["findings"], result["opened"], result["rows"]) == (True, [], 6, 12)
        assert found("check", path, "--sample", 4)["opened"] == 4
        assert found("check", path, "--all", "--all-versions")["opened"] == 6

    def test_damage_ends_a_check_with_3_and_shows_shell_commands(self, path: str) -> None:
        run("checkpoint", path)
        [file] = Path(path).rglob("*.checkpoint.parquet")
        file.write_bytes(b"PAR1")
        [one] = found("check", path, code=3)["findings"]
        assert (one["severity"], one["kind"], one["file"]) == (
            "error",
            "damaged-checkpoint",
            f"_transaction_log/{file.name}",
        )
        assert one["fix"] == f"indextables checkpoint {path}"
        assert f"-> indextables checkpoint {path}, after the file has been deleted" in run("check", path, code=3).stdout
        file.unlink()
        run("checkpoint", path)
        run("check", path)

    def test_a_table_that_cannot_be_opened(self, path: str) -> None:
        Path(path, "_transaction_log/000000000000000003.json").write_text("{]")
        run("info", path, code=1)
        assert {one["kind"] for one in found("check", path, code=3)["findings"]} == {"damaged-version", "lost-version"}

    def test_what_is_no_error_ends_it_with_0(self, path: str) -> None:
        Path(path, "_transaction_log/notes.txt").write_text("notes")
        assert "1 note" in run("check", path).stdout

    def test_mistakes(self, path: str, tmp_path: Path) -> None:
        run("check", path, "--all", "--sample", 3, code=2)
        run("check", path, "--sample", 0, code=2)
        assert "there is no table" in run("check", tmp_path / "nothing", code=1).stderr
