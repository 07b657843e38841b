"""SHOW CREATE TABLE gives a statement that makes the same table: the same columns, layout, field rules and properties."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.errors import ConfigError
from tests.tiers import tries

NAMES = ["id", "Message", "my column", "a`b", "it's", "select", "größe", "x.y", "_1"]
TYPES = ["int", "long", "string", "date", "timestamp", "timestamp_ntz", "decimal(12,3)", "double", "boolean", "binary"]
LAYOUTS = {
    "int": ["{0}", "bucket(8, {0})", "truncate(10, {0})"],
    "string": ["{0}", "bucket(4, {0}) AS shard", "truncate(2, {0})"],
    "date": ["{0}", "day({0})", "month({0}) AS m"],
    "timestamp": ["hour({0})", "year({0})"],
}
TEXTS = ["web", "it's", 'a "b" `c`', "back\\slash \\n", "two\nlines", "größe", "50%", "{x} :y ?"]
_numbers = count()


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique_by=str.lower))
    kinds = {name: draw(st.sampled_from(TYPES)) for name in names}
    kinds[names[-1]] = "string"
    terms = [
        draw(st.sampled_from(LAYOUTS[kind])).format("`" + name.replace("`", "``") + "`")
        for name, kind in list(kinds.items())[:-1]
        if kind in LAYOUTS and draw(st.booleans())
    ]
    rules = st.sampled_from(["text", "text:whitespace", "none", "string"])
    return {
        "schema": kinds,
        "partition_by": terms,
        "fields": {name: draw(rules) for name, kind in kinds.items() if kind == "string"},
        "properties": draw(st.dictionaries(st.sampled_from(["team", "a.b", "it's", "50%"]), st.sampled_from(TEXTS)))
        | draw(st.sampled_from([{}, {"targetRecordsPerSplit": "1000"}, {"optimizeWrite.enabled": "false"}])),
    }


def definition_of(path: str | Path) -> tuple[object, ...]:
    table = IndexTable.open(path)
    properties = {key: text for key, text in table.properties.items() if "typemap" not in key}
    return table.schema, table.layout, table.fields, properties


def statement_for(spark: Any, table: str) -> str:
    return str(spark.sql(f"SHOW CREATE TABLE {table}").first()[0])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shown")


@settings(max_examples=tries(12, 150), deadline=None)
@given(definitions())
def test_the_statement_makes_the_same_table(spark: Any, home: Path, definition: dict[str, Any]) -> None:
    one, other = home / f"t{next(_numbers)}", home / f"t{next(_numbers)}"
    IndexTable.create(one, **definition)
    statement = statement_for(spark, f"indextables.`{one}`")
    spark.sql(statement.replace(str(one), str(other)))
    assert definition_of(other) == definition_of(one)
    assert statement_for(spark, f"indextables.`{other}`").replace(str(other), str(one)) == statement


def test_a_named_table_with_comments(spark: Any, home: Path) -> None:
    spark.sql(
        "CREATE TABLE lines (id BIGINT NOT NULL COMMENT 'it''s the id', message STRING, day DATE) USING indextables "
        "PARTITIONED BY (days(day)) COMMENT 'all \\\\ lines' OPTIONS ('indexing.typemap.message' 'text') "
        f"TBLPROPERTIES (team = 'web') LOCATION '{home}/lines'"
    )
    statement = statement_for(spark, "lines")
    assert statement.splitlines() == [
        "CREATE TABLE `default`.`lines` (",
        "  id BIGINT NOT NULL COMMENT 'it\\'s the id',",
        "  message STRING,",
        "  day DATE)",
        "USING indextables",
        "PARTITIONED BY (day(day))",
        "COMMENT 'all \\\\ lines'",
        f"LOCATION 'file:{home}/lines'",
        "TBLPROPERTIES (",
        "  'indexing.typemap.message' = 'text',",
        "  'team' = 'web')",
    ]
    definition = definition_of(home / "lines")
    IndexTable.open(home / "lines").append([{"id": 1, "message": "disk full", "day": None}])
    spark.sql("DROP TABLE lines")
    spark.sql(statement)  # names the table that is there
    assert statement_for(spark, "lines") == statement
    assert [row.id for row in spark.sql("SELECT id FROM lines WHERE message INDEXQUERY 'disk'").collect()] == [1]
    spark.sql("DROP TABLE lines")
    for own, other in [("'web'", "'mail'"), ("'text'", "'string'"), ("'team'", "'purpose'")]:
        with pytest.raises(ConfigError, match="in the table at"):
            spark.sql(statement.replace(own, other))
    (home / "lines").rename(home / "before")
    spark.sql(statement)
    assert (statement_for(spark, "lines"), definition_of(home / "lines")) == (statement, definition)


def test_a_table_where_the_catalog_wants_it(spark: Any) -> None:
    spark.sql("CREATE TABLE kept (id INT) USING indextables")
    statement = statement_for(spark, "kept")
    assert statement == "CREATE TABLE `default`.`kept` (\n  id INT)\nUSING indextables\n"
    spark.sql("ALTER TABLE kept SET INDEXING (id = 'none')")
    spark.sql("ALTER INDEXTABLE kept PARTITION BY (bucket(4, id))")
    spark.sql("ALTER TABLE kept ADD COLUMN s STRING COMMENT 'new'")
    shown = statement_for(spark, "kept")
    spark.sql(f"CREATE OR REPLACE TABLE {shown.removeprefix('CREATE TABLE ')}")
    assert statement_for(spark, "kept") == shown != statement
