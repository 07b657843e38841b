from datetime import timedelta

import pytest

from indextables.errors import StatementError
from indextables.statements import (
    AddColumn,
    Check,
    Checkpoint,
    Command,
    Describe,
    DropColumn,
    DropPartitions,
    EvolveLayout,
    MergeSplits,
    Prewarm,
    Purge,
    Reindex,
    RenameColumn,
    Restore,
    SetIndexing,
    Subject,
    Table,
    TableName,
    TablePath,
    WidenColumn,
    parse_command,
)

A = TablePath("/a")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("CHECKPOINT INDEXTABLES '/a'", Checkpoint(A)),
        ("CHECK INDEXTABLE '/a'", Check(table=A)),
        ("check indextables '/a' deep", Check(table=A, deep=True)),
        ("CHECK INDEXTABLE '/a' ALL VERSIONS DEEP", Check(table=A, deep=True, all_versions=True)),
        ("DESCRIBE INDEXTABLES '/a'", Describe(A, Subject.COLUMNS)),
        ("DESC INDEXTABLES HISTORY '/a'", Describe(A, Subject.HISTORY)),
        ("DESCRIBE INDEXTABLES TRANSACTION /* the */ LOG '/a'", Describe(A, Subject.LOG)),
        ("describe indextable partitions '/a b'", Describe(TablePath("/a b"), Subject.PARTITIONS)),
        ("DESCRIBE INDEXTABLES SPLITS '/a'", Describe(A, Subject.SPLITS)),
        ("MERGE SPLITS '/a'", MergeSplits(table=A)),
        ("RESTORE TABLE '/a' TO VERSION AS OF 0", Restore(table=A, version=0)),
        ("restore '/a' timestamp as of '2024-01-31'", Restore(table=A, timestamp="2024-01-31")),
        ("RESTORE '/a' DRY RUN TO VERSION AS OF 7", Restore(table=A, version=7, dry_run=True)),
        ("REORG TABLE '/a' APPLY (PURGE)", MergeSplits(table=A, deleted_rows=True)),
        ("REORG TABLE '/a' APPLY (PURGE) DRY RUN", MergeSplits(table=A, deleted_rows=True, dry_run=True)),
        ("REORG TABLE '/a' WHERE day = 'x' APPLY (purge);", MergeSplits(table=A, where="day = 'x'", deleted_rows=True)),
        ("merge\nsplits '/a' target size '1.5g'", MergeSplits(table=A, target_size=1_610_612_736)),
        (
            ("MERGE SPLITS '/a' WHERE day = 'mon' TARGET SIZE 100M MAX DEST SPLITS 5 MAX SOURCE SPLITS PER MERGE 3 "
            "CLUSTER BY (level, `odd, name`) REWRITE LAYOUT COALESCE DELETED ROWS DRY RUN;"),
            MergeSplits(
                table=A,
                where="day = 'mon'",
                target_size=104_857_600,
                max_dest_splits=5,
                max_source_splits_per_merge=3,
                cluster_by=("level", "odd, name"),
                rewrite_layout=True,
                coalesce=True,
                deleted_rows=True,
                dry_run=True,
            ),
        ),
        (
            "MERGE SPLITS '/a' DRY RUN COALESCE CLUSTER\n BY (level) TARGET SIZE 100 WHERE a > 1 -- why",
            MergeSplits(table=A, where="a > 1", target_size=100, cluster_by=("level",), coalesce=True, dry_run=True),
        ),
        ("DROP INDEXTABLES PARTITIONS FROM '/a' WHERE a < 1", DropPartitions(table=A, where="a < 1")),
        ("DROP INDEXTABLES PARTITIONS FROM '/a' DRY RUN WHERE a < 1", DropPartitions(table=A, where="a < 1", dry_run=True)),
        ("PURGE INDEXTABLE '/a'", Purge(table=A)),
        ("PURGE INDEXTABLE '/a' OLDER THAN 14 DAYS", Purge(table=A, older_than=timedelta(days=14))),
        (
            "PURGE INDEXTABLE '/a' LOG RETENTION 12 hours OLDER THAN 0 DAYS FORCE",
            Purge(table=A, older_than=timedelta(), log_retention=timedelta(hours=12), force=True),
        ),
        ("PURGE INDEXTABLE '/a' FORCE OLDER THAN 0 DAYS", Purge(table=A, older_than=timedelta(), force=True)),
        ("PURGE INDEXTABLES '/a' DRY RUN OLDER THAN 36 hours", Purge(table=A, older_than=timedelta(hours=36), dry_run=True)),
        ("ALTER INDEXTABLE '/a' PARTITION BY (month(ts), app)", EvolveLayout(A, "month(ts), app")),
        ("ALTER INDEXTABLE '/a' PARTITION BY ( bucket(16, id) AS `a b` )", EvolveLayout(A, "bucket(16, id) AS `a b`")),
        ("ALTER INDEXTABLE '/a' PARTITION BY ()", EvolveLayout(A, "")),
        ("ALTER INDEXTABLE '/a' ADD COLUMN host string", AddColumn(A, "host", "string")),
        ("ALTER INDEXTABLE '/a' ADD COLUMN `the price` DECIMAL(10, 2)", AddColumn(A, "the price", "DECIMAL(10, 2)")),
        ("ALTER INDEXTABLE '/a' WIDEN COLUMN date TO bigint", WidenColumn(A, "date", "bigint")),
        ("ALTER INDEXTABLE '/a' RENAME COLUMN msg TO `the message`", RenameColumn(A, "msg", "the message")),
        ("ALTER INDEXTABLE '/a' DROP COLUMN `to`", DropColumn(A, "to")),
        ("ALTER INDEXTABLE '/a' SET INDEXING (message = text)", SetIndexing(A, (("message", "text"),))),
        ("ALTER TABLE indextables.`/a` SET INDEXING message = text:en_stem", SetIndexing(A, (("message", "text:en_stem"),))),
        (
            "ALTER TABLE db.logs SET INDEXING (`the message` = 'text', level = \"none\", n = long);",
            SetIndexing(TableName(("db", "logs")), (("the message", "text"), ("level", "none"), ("n", "long"))),
        ),
        ("alter table `my-logs` set indexing a = string", SetIndexing(TableName(("my-logs",)), (("a", "string"),))),
        ("REINDEX TABLE logs", Reindex(table=TableName(("logs",)))),
        ("REINDEX TABLE indextables.`/a` DRY RUN COLUMNS (a, b)", Reindex(table=A, columns=("a", "b"), dry_run=True)),
        ("REINDEX INDEXTABLE '/a' WHERE day = 'mon'", Reindex(table=A, where="day = 'mon'")),
        ("PREWARM INDEXTABLES CACHE '/a'", Prewarm(table=A)),
        ("PREWARM INDEXTABLES CACHE '/a' WHERE day IN ('a')", Prewarm(table=A, where="day IN ('a')")),
    ],
)  # fmt: skip
def test_commands(text: str, command: Command) -> None:
    assert parse_command(text) == command


@pytest.mark.parametrize(
    ("written", "table"),
    [
        ("'/a b'", TablePath("/a b")),
        ('"s3://b/c"', TablePath("s3://b/c")),
        ("`s3://b/c`", TablePath("s3://b/c")),
        ("indextables.`/a`", A),
        ("logs", TableName(("logs",))),
        ("spark_catalog.db.`my logs`", TableName(("spark_catalog", "db", "my logs"))),
    ],
)
def test_tables_have_paths_or_names(written: str, table: Table) -> None:
    assert parse_command(f"CHECKPOINT INDEXTABLE {written};") == Checkpoint(table)
    assert parse_command(f"MERGE SPLITS {written} DRY RUN") == MergeSplits(table=table, dry_run=True)


@pytest.mark.parametrize(
    "condition",
    [
        "a = 'DRY RUN' AND b <> \"it's TARGET SIZE 3\"",
        "coalesce(a, b) = 1",
        "NOT (a = 1 OR coalesce (a, (b)) IN (1, 2))",
        "`dry run` = 1 AND (dry run)",
        "dry = 1 OR run /* DRY RUN */ > 2",
        "size > 1 AND target < 2",
        "day BETWEEN DATE '2024-01-01' AND DATE '2024-01-31' AND é = '😀'",
        "CASE WHEN a THEN b END",
    ],
)
def test_a_condition_is_what_stands_before_the_next_clause(condition: str) -> None:
    expected = MergeSplits(table=A, where=condition, coalesce=True, dry_run=True)
    assert parse_command(f"MERGE SPLITS '/a' WHERE {condition} DRY RUN COALESCE") == expected
    assert parse_command(f"MERGE SPLITS '/a' COALESCE DRY RUN WHERE {condition}") == expected


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("OPTIMIZE '/a'", MergeSplits(table=A)),
        ("OPTIMIZE indextables.`/a` WHERE full = 1 DRY RUN", MergeSplits(table=A, where="full = 1", dry_run=True)),
        ("optimize `my logs`;", MergeSplits(table=TableName(("my logs",)))),
        (
            "VACUUM db.logs RETAIN 200 HOURS DRY RUN",
            Purge(table=TableName(("db", "logs")), older_than=timedelta(hours=200), dry_run=True),
        ),
        ("VACUUM '/a' FORCE RETAIN 0 HOURS", Purge(table=A, older_than=timedelta(0), force=True)),
        ("DESCRIBE HISTORY logs", Describe(TableName(("logs",)), Subject.HISTORY)),
        ("DESC HISTORY '/a' LIMIT 3", Describe(A, Subject.HISTORY, limit=3)),
        ("/* of */ describe detail db.logs", Describe(TableName(("db", "logs")), Subject.DETAIL)),
        ("DESCRIBE INDEXTABLES DETAIL '/a'", Describe(A, Subject.DETAIL)),
    ],
)
def test_commands_of_other_formats_are_ours_if_the_table_is(text: str, command: Command) -> None:
    assert parse_command(text) == command
    if "INDEXTABLES DETAIL" not in text:
        assert parse_command(text, is_ours=lambda table: table != command.table) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "OPTIMIZE",
        "OPTIMIZE WHERE a = 1",
        "VACUUM RETAIN 3 HOURS",
        "DESCRIBE HISTORY",
        "DESCRIBE history.logs",
        "DESCRIBE indextables.`/a`",
        "SELECT 'OPTIMIZE logs' AS vacuum",
        "DESCRIBE indextables",
        "DESCRIBE indextables splits",
        "DESCRIBE TABLE indextables",
        "-- INDEXTABLES",
        "'",
        "MERGE INTO splits USING indextables ON true WHEN MATCHED THEN DELETE",
        "DROP TABLE indextables",
        "ALTER TABLE indextables ADD COLUMN a INT",
        "SELECT 'MERGE SPLITS'",
    ],
)
def test_other_statements_are_sparks(text: str) -> None:
    assert parse_command(text) is None


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("CHECKPOINT INDEXTABLES", 22, "path"),
        ("CHECKPOINT INDEXTABLES 5", 22, "path"),
        ("CHECKPOINT INDEXTABLES '/a' NOW", 28, "nothing is expected"),
        ("CHECK INDEXTABLE '/a' QUICKLY", 22, "DEEP"),
        ("DESCRIBE INDEXTABLES SPLIT '/a'", 21, "SPLITS"),
        ("MERGE SPLITS", 12, "path"),
        ("MERGE SPLITS WHERE a = 1", 12, "path"),
        ("MERGE SPLITS '/a' NOW", 18, "one of WHERE, TARGET SIZE"),
        ("MERGE SPLITS a-b", 14, "one of WHERE"),
        ("MERGE SPLITS '/a' TARGET SIZE", 29, "nothing after TARGET SIZE"),
        ("MERGE SPLITS '/a' TARGET SIZE huge", 30, "a size from 1 byte up"),
        ("MERGE SPLITS '/a' TARGET SIZE 100M 200M", 30, "a size"),
        ("MERGE SPLITS '/a' MAX DEST SPLITS 0", 34, "a number from 1 up"),
        ("MERGE SPLITS '/a' MAX SOURCE SPLITS PER MERGE -1", 46, "a number from 1 up"),
        ("MERGE SPLITS '/a' CLUSTER BY a, b", 28, "parentheses"),
        ("MERGE SPLITS '/a' CLUSTER BY ()", 28, "names of columns"),
        ("MERGE SPLITS '/a' CLUSTER BY (a b)", 28, "names of columns"),
        ("MERGE SPLITS '/a' CLUSTER BY (a, )", 28, "names of columns"),
        ("MERGE SPLITS '/a' CLUSTER BY ('a')", 28, "names of columns"),
        ("MERGE SPLITS '/a' COALESCE = 3", 27, "nothing is expected after COALESCE"),
        ("MERGE SPLITS '/a' WHERE DRY RUN", 23, "nothing after WHERE"),
        ("MERGE SPLITS '/a' WHERE a = 1 WHERE b = 1", 30, "already"),
        ("MERGE SPLITS '/a' OLDER THAN 1 DAYS", 18, "one of WHERE"),
        ("DROP INDEXTABLES PARTITIONS FROM '/a'", 37, "WHERE TRUE"),
        ("DROP INDEXTABLES PARTITIONS FROM '/a' DRY RUN", 45, "WHERE TRUE"),
        ("DROP INDEXTABLES PARTITIONS FROM '/a' WHERE", 43, "nothing after WHERE"),
        ("PURGE INDEXTABLE '/a' OLDER THAN 7", 33, "days"),
        ("PURGE INDEXTABLE '/a' FORCE everything", 28, "nothing is expected after FORCE"),
        ("PURGE INDEXTABLE '/a' OLDER THAN soon DRY RUN", 33, "days"),
        ("ALTER INDEXTABLE '/a'", 21, "one of PARTITION BY"),
        ("ALTER INDEXTABLE '/a' RENAME TO b", 22, "one of PARTITION BY"),
        ("ALTER INDEXTABLE '/a' RENAME COLUMN a b", 35, "a column TO another name"),
        ("ALTER INDEXTABLE '/a' RENAME COLUMN a TO b c", 35, "a column TO another name"),
        ("ALTER INDEXTABLE '/a' DROP COLUMN", 33, "a column is expected"),
        ("ALTER INDEXTABLE '/a' DROP COLUMN a, b", 33, "a column is expected"),
        ("ALTER INDEXTABLE '/a' PARTITION BY day", 34, "parentheses"),
        ("ALTER INDEXTABLE '/a' PARTITION BY (day) ADD COLUMN a int", 57, "one of PARTITION BY"),
        ("ALTER INDEXTABLE '/a' ADD COLUMN a", 32, "a column type"),
        ("ALTER INDEXTABLE '/a' WIDEN COLUMN a bigint", 34, "a column TO type"),
        ("PREWARM INDEXTABLES CACHE '/a' DRY RUN", 31, "one of WHERE"),
        ("OPTIMIZE '/a' WHERE a = 1 ZORDER BY (b)", 26, "CLUSTER BY"),
        ("OPTIMIZE '/a' FULL", 14, "one of WHERE, DRY RUN is expected"),
        ("VACUUM '/a' LITE", 12, "one of RETAIN, FORCE, DRY RUN is expected"),
        ("VACUUM '/a' RETAIN 7", 19, "days"),
        ("DESCRIBE HISTORY '/a' LIMIT 0", 28, "a number from 1 up"),
        ("DESCRIBE DETAIL '/a' LIMIT 1", 21, "nothing is expected"),
    ],
)
def test_a_command_that_cannot_be_read_names_the_place(text: str, position: int, reason: str) -> None:
    with pytest.raises(StatementError, match=reason) as error:
        parse_command(text)
    assert (error.value.statement, error.value.position) == (text, position)


def test_credentials_in_a_location_are_not_told() -> None:
    text = "PURGE INDEXTABLE 'abfss://c@acc/t?sv=1&sig=hidden' OLDER THEN 3 DAYS"
    with pytest.raises(StatementError) as caught:
        parse_command(text)
    assert "hidden" not in f"{caught.value} {vars(caught.value)}"
    assert caught.value.statement[caught.value.position :].startswith("OLDER"), "the position is that in the text shown"
