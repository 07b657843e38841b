"""Random DELETE, UPDATE and MERGE statements: the rows are those that DuckDB has after the same statements."""

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from indextables import IndexTable
from tests.tiers import tries

STATEMENTS = tries(12, 36)
COLUMNS = ("id", "k", "day", "n")
SCHEMA = pa.schema({"id": pa.int64(), "k": pa.int32(), "day": pa.string(), "n": pa.int32()})
LEAVES = [
    "{a}k = {v}",
    "{a}k > {v}",
    "{a}day = 'd{v}'",
    "{a}n IS NULL",
    "{a}k % 3 = 1",
    "{a}n + {a}k < {w}",
    "{a}id < {w}",
]
VALUES = {
    "k": ["{a}k + 1", "{v}", "coalesce({a}n, 0)"],
    "day": ["'d{v}'", "NULL", "upper({a}day)"],
    "n": ["{v}", "NULL", "{a}k"],
}


def filled(text: str, dice: random.Random, alias: str = "") -> str:
    return text.format(a=alias, v=dice.randrange(6), w=dice.randrange(20))


def condition(dice: random.Random, alias: str = "") -> str:
    terms = [filled(dice.choice(LEAVES), dice, alias) for _ in range(dice.randint(1, 2))]
    text = f" {dice.choice(['AND', 'OR'])} ".join(terms)
    return f"NOT ({text})" if dice.random() < 0.3 else text


def assignments(dice: random.Random, alias: str = "") -> str:
    chosen = dice.sample(sorted(VALUES), dice.randint(1, 3))
    return ", ".join(f"{name} = {filled(dice.choice(VALUES[name]), dice, alias)}" for name in chosen)


def source(dice: random.Random) -> str:
    """Rows with different ids, so that no row of the table is matched twice; some of them NULL."""
    ids = [*dice.sample(range(30), dice.randint(1, 8)), *(["NULL"] if dice.random() < 0.3 else [])]
    rows = [f"({number}, {dice.randrange(6)}, 'd{dice.randrange(6)}', {dice.choice(['NULL', '7'])})" for number in ids]
    return f"(SELECT * FROM (VALUES {', '.join(rows)}) AS v(id, k, day, n))"


def merge(dice: random.Random) -> str:
    clauses = []
    if dice.random() < 0.5:
        clauses.append(f"WHEN MATCHED AND {condition(dice, 't.')} THEN DELETE")
    if dice.random() < 0.8:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {assignments(dice, 's.')}")
    if dice.random() < 0.5:
        clauses.append(f"WHEN NOT MATCHED AND {condition(dice, 's.')} THEN INSERT (id, k) VALUES (s.id, s.k + 1)")
    if dice.random() < 0.6 or not clauses:
        clauses.append("WHEN NOT MATCHED THEN INSERT (id, k, day, n) VALUES (s.id, s.k, s.day, s.n)")
    if dice.random() < 0.3:
        action = dice.choice(["DELETE", f"UPDATE SET {assignments(dice, 't.')}"])
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {condition(dice, 't.')} AND t.id % 4 = 0 THEN {action}")
    return f"MERGE INTO t USING {source(dice)} AS s ON t.id = s.id {' '.join(clauses)}"


def statement(dice: random.Random) -> str:
    match dice.choice(["delete", "update", "merge", "merge"]):
        case "delete":
            return f"DELETE FROM t WHERE {condition(dice)} AND id % 3 = {dice.randrange(3)}"
        case "update":
            return f"UPDATE t SET {assignments(dice)} WHERE {condition(dice)}"
        case _:
            return merge(dice)


def test_statements_as_in_duckdb(spark: Any, tmp_path: Path) -> None:
    dice = random.Random(7)
    rows = [(n, n % 5, f"d{n % 4}" if n % 7 else None, n % 3 if n % 2 else None) for n in range(24)]
    first = pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)), schema=SCHEMA)
    ours = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day")
    ours.append(first.slice(0, 12))
    ours.append(first.slice(12))
    spark.sql(f"CREATE TABLE t USING indextables LOCATION '{tmp_path / 't'}'")
    with duckdb.connect() as theirs:
        theirs.execute("CREATE TABLE t (id BIGINT, k INTEGER, day VARCHAR, n INTEGER)")
        theirs.execute("INSERT INTO t SELECT * FROM first")
        for _ in range(STATEMENTS):
            text = statement(dice)
            spark.sql(text)
            theirs.execute(text)
            found = [tuple(row.values()) for row in ours.refresh().scan().to_arrow().to_pylist()]
            expected = theirs.execute("SELECT id, k, day, n FROM t").fetchall()
            assert sorted(found, key=repr) == sorted(expected, key=repr), text
    spark.sql("DROP TABLE t")
