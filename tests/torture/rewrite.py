"""Processes that append, replace, overwrite, drop and merge at random: every version is what a serial execution makes."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from indextables import IndexTable
from indextables.errors import ConflictError
from tests.maintain.samples import SCHEMA, litter, rows
from tests.torture.race import in_parallel

YEARS = (2023, 2024, 2025)
KINDS = {"append": 6, "replace": 4, "partitions": 4, "drop": 2, "overwrite": 1, "merge": 2}
Row = tuple[int, int]  # a year, and a number that only one operation writes


def mix_writes(place: Path, workers: int, operations: int, *, shared: bool) -> dict[str, int]:
    """How many operations of each kind made a version, and how many conflicts there were on the way.

    Years have splits of their own, which go as a whole; or they share them, and rows are copied out.
    """
    properties = {"spark.indextables.coalesce.enabled": str(shared)}
    IndexTable.create(place / "table", SCHEMA, partition_by="year", properties=properties)
    in_parallel(_operate, [(place, worker, operations) for worker in range(workers)])
    done = [line for worker in range(workers) for line in json.loads((place / f"{worker}.json").read_text())]
    table = IndexTable.open(place / "table")
    history = _history(table, [line for line in done if line["changed"]])
    states = _serially(history)
    for version, expected in enumerate(states):
        assert _rows(table.at(version=version)) == expected, f"version {version} is not serial"
    for line in done:
        assert line["changed"] or line["year"] not in dict(states[line["version"]]), f"{line} has left rows behind"
    assert litter(place / "table") == set()
    return {**Counter(line["kind"] for line in history), "conflicts": sum(line["conflicts"] for line in done)}


def _history(table: IndexTable, done: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The operations in the order of their versions. Merges, of which each may make several, are those of the log."""
    operations = reversed(table.history()["operation"].to_pylist())
    merges = [number for number, operation in enumerate(operations) if operation == "MERGE SPLITS"]
    made = sorted(
        [*done, *({"kind": "merge", "version": number} for number in merges)], key=lambda line: line["version"]
    )
    assert [line["version"] for line in made] == list(range(1, table.version + 1))
    return made


def _serially(operations: Iterable[dict[str, Any]]) -> list[list[Row]]:
    """The rows after each operation, done on a plain list."""
    states: list[list[Row]] = [[]]
    for operation in operations:
        live = states[-1]
        match operation:
            case {"kind": "merge"}:
                after = live
            case {"kind": "append", "year": year, "n": n}:
                after = [*live, (year, n)]
            case {"kind": "overwrite", "year": year, "n": n}:
                after = [(year, n)]
            case {"kind": "drop", "year": year}:
                after = [row for row in live if row[0] != year]
            case {"year": year, "n": n}:
                after = [*(row for row in live if row[0] != year), (year, n)]
        states.append(sorted(after))
    return states


def _rows(table: IndexTable) -> list[Row]:
    found = table.scan(columns=["year", "n"]).to_arrow()
    return sorted(zip(found["year"].to_pylist(), found["n"].to_pylist(), strict=True))


def _operate(place: Path, worker: int, operations: int) -> None:
    """Does some operations, each until it succeeds, and writes down what became of them."""
    handle, dice = IndexTable.open(place / "table", options={"commit.maxRetries": "100"}), random.Random(worker)
    done = []
    for number in range(operations):
        kind, year = dice.choices(list(KINDS), list(KINDS.values()))[0], dice.choice(YEARS)
        if kind == "merge":
            handle.merge_splits()
        else:
            done.append(_insisted(handle, kind, year, 1000 * worker + number))
    (place / f"{worker}.json").write_text(json.dumps(done))


def _insisted(handle: IndexTable, kind: str, year: int, n: int) -> dict[str, Any]:
    conflicts = 0
    while True:
        try:
            changed = _did(handle, kind, year, n)
        except ConflictError:
            conflicts += 1
            handle.refresh()
        else:
            said = {"kind": kind, "year": year, "n": n, "conflicts": conflicts}
            return {**said, "version": handle.version, "changed": changed}


def _did(handle: IndexTable, kind: str, year: int, n: int) -> bool:
    """Does one operation; whether it made a version."""
    data = rows([year], ["1"], [n])
    match kind:
        case "append":
            handle.append(data)
        case "replace":
            handle.replace_where(data, f"year = {year}")
        case "partitions":
            handle.overwrite(data, options={"partitionOverwriteMode": "dynamic"})
        case "overwrite":
            handle.overwrite(data)
        case "drop":
            return handle.drop_partitions(f"year = {year}").rows > 0
    return True
