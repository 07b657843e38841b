"""Many processes that change rows of one table: every version is what its operation makes of the version before it."""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables import IndexTable
from indextables.errors import ConflictError
from tests.torture.race import in_parallel

SCHEMA = pa.schema({"region": pa.string(), "k": pa.int64(), "value": pa.int64()})
REGIONS = ("eu", "us")
KEYS = 120
SETTINGS = {"commit.maxRetries": "200", "checkpoint.interval": "7"}
Rows = dict[int, tuple[str, int]]
Intent = dict[str, Any]


def change_rows(
    table: str, workers: int, operations: int, *, options: Mapping[str, str] | None = None
) -> dict[str, int]:
    """How many operations of each kind were committed, once every version equals their serial execution."""
    settings = {**SETTINGS, **(options or {})}
    created = IndexTable.create(table, SCHEMA, partition_by="region", options=settings)
    rows: Rows = {k: (REGIONS[k % 2], k) for k in range(KEYS)}
    created.append(_as_table(rows))
    with tempfile.TemporaryDirectory() as name:
        in_parallel(_work, [(table, settings, worker, operations, Path(name)) for worker in range(workers)])
        lines = [line for file in Path(name).iterdir() for line in file.read_text().splitlines()]
    intents = {intent["version"]: intent for intent in map(json.loads, lines)}
    assert len(intents) == len(lines), "two operations say that they made the same version"
    done: Counter[str] = Counter()
    final = created.refresh()
    for version in range(2, final.version + 1):
        intent = intents.get(version, {"kind": "compact"})  # a merge may make several versions
        rows = _SERIALLY[intent["kind"]](rows, intent)
        done[intent["kind"]] += 1
        seen = final.at(version=version).scan().to_arrow().to_pylist()
        assert {row["k"]: (row["region"], row["value"]) for row in seen} == rows, f"version {version}: {intent}"
        assert len(seen) == len(rows) == final.at(version=version).count(), f"version {version}: {intent}"
    return dict(done)


def _work(table: str, settings: Mapping[str, str], worker: int, operations: int, directory: Path) -> None:
    dice = random.Random(worker)
    with (directory / str(worker)).open("w") as file:
        for number in range(operations):
            kind = dice.choices(["append", "delete", "update", "merge", "compact"], [2, 4, 4, 3, 2])[0]
            first = dice.randrange(KEYS)
            intent: Intent = {"kind": kind, "first": first, "last": first + dice.randrange(12), "by": worker + 1}
            intent["key"] = 1000 + worker * 1000 + number
            version = _until_committed(table, settings, intent)
            if version is not None:
                file.write(json.dumps({**intent, "version": version}) + "\n")


def _until_committed(table: str, settings: Mapping[str, str], intent: Intent) -> int | None:
    while True:
        handle = IndexTable.open(table, options=dict(settings))
        try:
            return _OPERATIONS[intent["kind"]](handle, intent)
        except ConflictError:
            continue


def _append(table: IndexTable, intent: Intent) -> int:
    return table.append(_as_table({intent["key"]: ("eu", intent["by"])}))


def _delete(table: IndexTable, intent: Intent) -> int | None:
    deleted = table.delete(f"k BETWEEN {intent['first']} AND {intent['last']}")
    return deleted.version if deleted.rows else None


def _update(table: IndexTable, intent: Intent) -> int | None:
    where = f"k BETWEEN {intent['first']} AND {intent['last']}"
    moved = {"value": f"value * 2 + {intent['by']}", "region": "CASE WHEN region = 'eu' THEN 'us' ELSE 'eu' END"}
    updated = table.update(moved, where)
    return updated.version if updated.rows else None


def _merge(table: IndexTable, intent: Intent) -> int:
    done = (
        table.merge(_as_table(_source(intent)), "t.k = s.k")
        .when_matched_update({"value": "t.value + s.value"})
        .when_not_matched_insert_all()
        .execute()
    )
    return done.version


def _compact(table: IndexTable, _: Intent) -> None:
    table.merge_splits()


def _source(intent: Intent) -> Rows:
    return dict.fromkeys(range(intent["first"], intent["last"] + 1), ("us", intent["by"]))


def _touched(rows: Rows, intent: Intent) -> list[int]:
    return [k for k in rows if intent["first"] <= k <= intent["last"]]


def _updated(rows: Rows, intent: Intent) -> Rows:
    moved = {k: ("us" if rows[k][0] == "eu" else "eu", rows[k][1] * 2 + intent["by"]) for k in _touched(rows, intent)}
    return {**rows, **moved}


def _merged(rows: Rows, intent: Intent) -> Rows:
    source = _source(intent)
    return {**rows, **{k: (rows[k][0], rows[k][1] + row[1]) if k in rows else row for k, row in source.items()}}


_OPERATIONS: dict[str, Callable[[IndexTable, Intent], int | None]] = {
    "append": _append,
    "delete": _delete,
    "update": _update,
    "merge": _merge,
    "compact": _compact,
}
_SERIALLY: dict[str, Callable[[Rows, Intent], Rows]] = {
    "append": lambda rows, intent: {**rows, intent["key"]: ("eu", intent["by"])},
    "delete": lambda rows, intent: {k: row for k, row in rows.items() if k not in _touched(rows, intent)},
    "update": _updated,
    "merge": _merged,
    "compact": lambda rows, _: rows,
}


def _as_table(rows: Rows) -> pa.Table:
    columns = {"region": [row[0] for row in rows.values()], "k": list(rows), "value": [row[1] for row in rows.values()]}
    return pa.table(columns, schema=SCHEMA)
