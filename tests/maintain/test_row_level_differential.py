"""Random UPDATE, DELETE and MERGE statements leave the rows that DuckDB's own statements leave."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import MergeCardinalityError
from tests.tiers import slow_after

SCHEMA = pa.schema({"k": pa.int32(), "g": pa.string(), "n": pa.int64()})
STATEMENTS = 12
Row = tuple[Any, ...]


class Pair:
    """One table of ours and one of DuckDB's, which get the same statements."""

    def __init__(self, path: Path, rows: pa.Table, layout: str | None, dice: random.Random) -> None:
        self.dice = dice
        self.ours = IndexTable.create(path, SCHEMA, partition_by=layout)
        for start in range(0, len(rows), 20):
            self.ours.append(rows.slice(start, 20))
        self.theirs = duckdb.connect(":memory:")
        self.theirs.register("given", rows)
        self.theirs.execute("CREATE TABLE t AS SELECT * FROM given")

    def close(self) -> None:
        self.theirs.close()

    def rows(self) -> tuple[list[Row], list[Row]]:
        found = self.ours.scan().to_arrow()
        mine = zip(*found.to_pydict().values(), strict=True)
        return sorted(mine, key=repr), sorted(self.theirs.execute("SELECT * FROM t").fetchall(), key=repr)

    def update(self) -> int:
        where = self.condition("")
        updates = dict(self.dice.sample(sorted(UPDATES.items()), self.dice.randint(1, 2)))
        assignments = ", ".join(f"{column} = {text}" for column, text in updates.items())
        count = self.changed(f"UPDATE t SET {assignments} WHERE {where}")
        assert self.ours.update(updates, where).rows == count
        return count

    def delete(self) -> int:
        where = self.condition("")
        count = self.changed(f"DELETE FROM t WHERE {where}")
        assert self.ours.delete(where).rows == count
        return count

    def merge(self) -> int:
        source = random_rows(self.dice, self.dice.randint(0, 12), unique=self.dice.random() < 0.8)
        on = self.dice.choice(["t.k = s.k", "t.k = s.k AND t.g = s.g", "t.k = s.k AND t.n > 0", "t.k + 1 = s.k"])
        builder, clauses = self.ours.merge(source, on), []
        for clause in self.dice.sample(list(CLAUSES), self.dice.randint(1, 4)):
            predicate = self.condition("s." if clause.startswith("insert") else "t.")
            builder = CLAUSES[clause][0](builder, predicate)
            clauses.append(CLAUSES[clause][1].format(predicate))
        self.theirs.register("s", source)
        try:
            result = builder.execute()
        except MergeCardinalityError:
            return 0
        self.theirs.execute(f"MERGE INTO t USING s ON {on} {' '.join(clauses)}")
        return result.rows_updated + result.rows_deleted + result.rows_inserted

    def changed(self, sql: str) -> int:
        return int(self.theirs.execute(sql).fetchall()[0][0])

    def condition(self, prefix: str) -> str:
        return self.dice.choice(CONDITIONS).format(p=prefix, a=self.dice.randint(-3, 25), b=self.dice.randint(-3, 25))


UPDATES = {"n": "n + k", "k": "k + 1", "g": "g || 'x'"}
CONDITIONS = [
    "{p}k = {a}",
    "{p}k IN ({a}, {b}, 5)",
    "{p}n > {a}",
    "{p}g = 'red' AND {p}k < {b}",
    "{p}g IS NULL",
    "NOT ({p}n <= {a} OR {p}g = 'blue')",
    "{p}k BETWEEN {a} AND {b}",
    "{p}g LIKE 'r%'",
    "true",
]
CLAUSES: dict[str, Any] = {
    "update": (
        lambda m, p: m.when_matched_update({"n": "t.n + s.n", "g": "s.g"}, p),
        "WHEN MATCHED AND {} THEN UPDATE SET n = t.n + s.n, g = s.g",
    ),
    "update all": (lambda m, p: m.when_matched_update_all(p), "WHEN MATCHED AND {} THEN UPDATE"),
    "delete": (lambda m, p: m.when_matched_delete(p), "WHEN MATCHED AND {} THEN DELETE"),
    "insert": (
        lambda m, p: m.when_not_matched_insert({"k": "s.k", "n": "s.n * 2"}, p),
        "WHEN NOT MATCHED AND {} THEN INSERT (k, n) VALUES (s.k, s.n * 2)",
    ),
    "insert all": (lambda m, p: m.when_not_matched_insert_all(p), "WHEN NOT MATCHED AND {} THEN INSERT"),
    "update the others": (
        lambda m, p: m.when_not_matched_by_source_update({"n": "-t.n"}, p),
        "WHEN NOT MATCHED BY SOURCE AND {} THEN UPDATE SET n = -t.n",
    ),
    "delete the others": (
        lambda m, p: m.when_not_matched_by_source_delete(p),
        "WHEN NOT MATCHED BY SOURCE AND {} THEN DELETE",
    ),
}


def random_rows(dice: random.Random, count: int, *, unique: bool) -> pa.Table:
    keys: list[int | None] = (
        dice.sample(range(25), count) if unique else [dice.choice([*range(25), None]) for _ in range(count)]
    )
    groups = [dice.choice(["red", "green", "blue", None]) for _ in keys]
    return pa.table([keys, groups, [dice.choice([*range(-5, 30), None]) for _ in keys]], schema=SCHEMA)


@pytest.fixture(params=slow_after(6, range(24), "more random statements"), ids=lambda seed: f"seed {seed}")
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    dice = random.Random(request.param)
    layout = dice.choice([None, "g", "bucket(3, k)"])
    pair = Pair(tmp_path / "t", random_rows(dice, 60, unique=False), layout, dice)
    yield pair
    pair.close()


def test_the_rows_are_those_of_duckdb(pair: Pair) -> None:
    changed = 0
    for _ in range(STATEMENTS):
        statement = pair.dice.choice([pair.update, pair.delete, pair.merge, pair.merge])
        changed += statement()
        mine, theirs = pair.rows()
        assert mine == theirs
    assert changed > 0
