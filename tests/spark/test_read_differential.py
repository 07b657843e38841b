"""The same query on a table and on the same rows as Parquet gives the same rows."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.samples import as_parquet, written
from tests.tiers import slow_after, tries

VALUES = {
    "id": ["5", "30L", "-1", "59.5", "'7'"],
    "day": ["DATE '2024-01-01'", "'2024-01-02'", "TIMESTAMP '2024-01-01 08:00:00'", "DATE '1969-12-31'"],
    "level": ["'ERROR'", "'INFO'", "''", "'warn'"],
    "message": ["'disk full'", "''", "'timeout, retry later'"],
    "flag": ["true", "false"],
    "tiny": ["1", "300", "-128", "0.5"],
    "small": ["2024", "-1", "'2024'", "100000"],
    "number": ["2", "2147483647", "3000000000", "2.5", "'7'"],
    "ratio": ["0.1", "0.1F", "2.5", "0", "CAST('NaN' AS FLOAT)"],
    "price": ["0.1", "0", "-1e300D", "CAST('Infinity' AS DOUBLE)", "CAST('NaN' AS DOUBLE)"],
    "cost": ["0.1", "10", "-1.25", "99.995", "'10.00'"],
    "raw": ["X'01'", "X''", "X'616263'"],
    "at": [
        "'2024-01-01 00:00:00'",
        "TIMESTAMP '2024-01-01 08:00:00.000001'",
        "DATE '2024-03-10'",
        "'2024-03-10T10:30:00Z'",
    ],
    "wall": ["'2024-01-01'", "TIMESTAMP_NTZ '2024-03-10 10:30:00'", "TIMESTAMP '2024-01-01 00:00:00'"],
}
OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
TEXTS = [
    "{} LIKE '%timeout%'",
    "{} LIKE 'E%'",
    "{} LIKE '_NFO'",
    "{} LIKE '%a\\\\_b%'",
    "startswith({}, 'a')",
    "{} RLIKE '^t'",
]
ODD = [
    "length(message) > id % 20",
    "id % 3 = 0",
    "CAST(number AS STRING) = '3'",
    "number = tiny",
    "upper(level) = 'INFO'",
]


def leaf(dice: random.Random) -> str:
    column = dice.choice(list(VALUES))
    value, other = dice.choice(VALUES[column]), dice.choice(VALUES[column])
    return dice.choice(
        [
            f"{column} {dice.choice(OPERATORS)} {value}",
            f"{column} {dice.choice(OPERATORS)} {value}",
            f"{column} IN ({value}, {other})",
            f"{column} NOT IN ({value}, {other})",
            f"{column} BETWEEN {value} AND {other}",
            f"{column} IS {dice.choice(['', 'NOT '])}NULL",
            dice.choice(TEXTS).format(dice.choice(["level", "message"])),
            dice.choice(ODD),
        ]
    )


def condition(dice: random.Random, depth: int = 3) -> str:
    if depth == 0 or dice.random() < 0.3:
        return leaf(dice)
    if dice.random() < 0.2:
        return f"NOT ({condition(dice, depth - 1)})"
    return f"({condition(dice, depth - 1)} {dice.choice(['AND', 'OR'])} {condition(dice, depth - 1)})"


QUERIES = [
    "SELECT level, flag, count(*) AS n, sum(id) AS s FROM {0} WHERE {1} GROUP BY level, flag",
    "SELECT level, count(*) AS n FROM {0} WHERE {1} GROUP BY level",
    "SELECT count(*) AS n, count(message) AS m, max(at) AS a FROM {0} WHERE {1}",
    "SELECT count(*) AS n FROM {0} WHERE {1}",
    "SELECT a.id, b.number FROM {0} a LEFT JOIN {0} b ON a.id = b.number AND b.flag WHERE a.id < 40",
    "SELECT a.id FROM (SELECT * FROM {0} WHERE {1}) a JOIN (SELECT * FROM {0} WHERE {2}) b ON a.id = b.id",
    "SELECT id FROM {0} WHERE {1} UNION ALL SELECT id FROM {0} WHERE {2}",
    "SELECT id, level FROM {0} WHERE {1} ORDER BY id DESC LIMIT 5",
    "SELECT DISTINCT level, day FROM {0} WHERE {1}",
    "SELECT id, {1} AS c FROM {0}",
    "SELECT id FROM {0} WHERE id IN (SELECT id FROM {0} WHERE {1})",
    "SELECT id FROM (SELECT id, level AS l FROM {0} WHERE {1}) WHERE l IS NOT NULL AND id > 3",
]


@pytest.fixture(params=slow_after(1, ["America/Los_Angeles", "UTC"], "a second time zone"))
def views(request: pytest.FixtureRequest, spark: Any, tmp_path: Any) -> Iterator[Any]:
    """Two views of the same rows, `ours` and `plain`, in a session of some time zone."""
    from indextables import enable  # noqa: PLC0415 - only where PySpark is

    settings = {
        "spark.sql.session.timeZone": request.param,
        "spark.sql.parquet.filterPushdown": "false",  # it loses NaN: `price > CAST('Infinity' AS DOUBLE)`
    }
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    table = written(tmp_path / "table", partition_by="level, day(at)")
    enable(spark).read.format("indextables").load(table.path).createOrReplaceTempView("ours")
    spark.read.parquet(as_parquet(tmp_path / "parquet")).createOrReplaceTempView("plain")
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)


def dice_for(spark: Any, number: int) -> random.Random:
    """Other conditions in each time zone, and the same ones in each run."""
    return random.Random(f"{spark.conf.get('spark.sql.session.timeZone')} {number}")


def rows_of(frame: Any) -> list[str]:
    return sorted(map(str, frame.collect()))


def test_filters_by_the_hundred(views: Any) -> None:
    """Each condition is asked on its own of the planner, and all of them at once of the engine."""
    dice, ours, plain = dice_for(views, 7), views.table("ours"), views.table("plain")
    conditions = [condition(dice) for _ in range(tries(20, 60))]
    for start in range(0, len(conditions), 20):
        some = list(enumerate(conditions[start : start + 20], start))
        assert united(ours, some) == united(plain, some)


def united(frame: Any, conditions: list[tuple[int, str]]) -> list[str]:
    """The rows of many filters of one frame in one job, so that a test is quick."""
    whole = None
    for number, text in conditions:
        part = frame.filter(text).selectExpr(f"{number} AS query", "id")
        whole = part if whole is None else whole.union(part)
    return rows_of(whole)


def test_queries(views: Any) -> None:
    dice = dice_for(views, 11)
    for query in QUERIES:
        conditions = condition(dice), condition(dice)
        ours, plain = query.format("ours", *conditions), query.format("plain", *conditions)
        assert rows_of(views.sql(ours)) == rows_of(views.sql(plain)), ours


def test_counts(views: Any) -> None:
    dice = dice_for(views, 13)
    for _ in range(10):
        text = condition(dice, 1)
        assert views.table("ours").filter(text).count() == views.table("plain").filter(text).count(), text
