"""Tables that go from one set of versions to another: `python -m tests.matrix.exchange write DIRECTORY`, or `read`.

`write` makes a table with splits of every kind, a deletion vector and a checkpoint. `read` checks it, reads and searches it,
changes it, and prints what it has found as one JSON object, which is the same whatever versions wrote and read the table.
"""

import hashlib
import json
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables import IndexTable

ROWS = 20_000
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "level": pa.string(),
        "user": pa.string(),
        "message": pa.string(),
        "price": pa.decimal128(12, 2),
        "ratio": pa.float64(),
        "on": pa.bool_(),
        "raw": pa.binary(),
    }
)
QUERIES = ("disk AND NOT retry", 'message:"disk full"', "level:ERROR", "user:user-17", "message:fu*", "id:[100 TO 120]")


def rows(start: int, count: int) -> pa.Table:
    """Values that repeat and values that do not, with nulls; some dates need a sign."""
    numbers, first = range(start, start + count), datetime(2024, 1, 1, tzinfo=UTC)
    columns: dict[str, list[Any]] = {
        "id": list(numbers),
        "day": [date(2024, 1, 1) + timedelta(days=number % 3) for number in numbers],
        "ts": [first + timedelta(seconds=number) for number in numbers],
        "level": [("INFO", "INFO", "ERROR", None)[number % 4] for number in numbers],
        "user": [f"user-{number}" for number in numbers],
        "message": [f"request {number} {('disk full', 'retry disk', 'served')[number % 3]}" for number in numbers],
        "price": [Decimal(number) / 100 for number in numbers],
        "ratio": [None if number % 7 == 0 else number / 8 for number in numbers],
        "on": [number % 2 == 0 for number in numbers],
        "raw": [bytes([number % 256]) for number in numbers],
    }
    return pa.table(columns, schema=SCHEMA)


def write(place: Path) -> None:
    table = IndexTable.create(place, SCHEMA, partition_by="day", fields={"message": "text"})
    table.append(rows(0, ROWS))
    for number in range(3):
        table.append(rows(ROWS + 10 * number, 10))
    table.delete("id BETWEEN 50 AND 90 OR level = 'ERROR' AND id > 19000")
    table.checkpoint()
    table.append(rows(ROWS + 30, 10))


def read(place: Path) -> dict[str, Any]:
    table = IndexTable.open(place)
    problems = list(table.check(deep=True).findings)
    found = {
        "problems": [str(problem) for problem in problems],
        "rows": digest(table),
        "counts": {query: table.count(query=query) for query in QUERIES},
        "scores": [round(score, 6) for score in table.search("disk full", limit=5)["_score"].to_pylist()],
        "from the log": table.count("day = DATE '2024-01-02'"),
    }
    table.merge_splits()
    table.update({"level": "'WARN'"}, where="id = 7")
    table.append(rows(10 * ROWS, 5))
    return {**found, "after changes": digest(table), "found then": table.count(query="level:WARN OR message:served")}


def digest(table: IndexTable) -> str:
    """Of all rows, in the order of their ids."""
    found = table.scan().to_arrow().sort_by("id")
    return (
        f"{found.num_rows} rows, {hashlib.sha256(json.dumps(found.to_pylist(), default=str).encode()).hexdigest()[:16]}"
    )


if __name__ == "__main__":
    command, directory = sys.argv[1:]
    print(json.dumps(write(Path(directory)) if command == "write" else read(Path(directory))))
