"""Rows of every type that a table can have, and splits of them."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables.config import Config, ReadConfig
from indextables.search import Query, parse, resolve
from indextables.split import SplitCache, SplitOptions, SplitReader, SplitSummary, write_split
from indextables.storage import Store, open_store

NAN, INFINITY = float("nan"), float("inf")
EVERY_TYPE = pa.table(
    {
        "flag": pa.array([True, None, False, True]),
        "tiny": pa.array([-128, 127, None, 0], pa.int8()),
        "short": pa.array([-(2**15), 2**15 - 1, None, 0], pa.int16()),
        "status": pa.array([200, 404, None, 500], pa.int32()),
        "id": pa.array([-(2**63), 2**63 - 1, None, 0], pa.int64()),
        "ratio": pa.array([1.5, NAN, None, -INFINITY], pa.float32()),
        "score": pa.array([-0.0, 1e300, None, NAN], pa.float64()),
        "price": pa.array([Decimal("1.10"), Decimal("-99999.99"), None, Decimal(0)], pa.decimal128(7, 2)),
        "wide": pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38), None, Decimal(0)], pa.decimal128(38, 0)),
        "name": pa.array(["", "naïve 東京 😀", None, 'say "hi"\\\n\t\x00']),
        "message": pa.array(["disk full on node 7", "Verbindung getrennt", None, "disk ok"]),
        "blob": pa.array([b"\x00\xff", b"", None, b"x"]),
        "on": pa.array([0, 19_782, None, -1], pa.date32()),
        "at": pa.array([-1, 1_704_067_200_123_456, None, 0], pa.timestamp("us", "UTC")),
        "local": pa.array([-1, 1_704_067_200_123_456, None, 0], pa.timestamp("us")),
        "a.b": pa.array([1, 2, None, 4], pa.int64()),
        "a": pa.array(["x", "y", None, "z"]),
    }
)


def numbered(rows: int) -> pa.Table:
    """Rows that tell their number in several ways."""
    return pa.table(
        {
            "n": pa.array(range(rows), pa.int64()),
            "level": pa.array(["ERROR" if n % 10 == 3 else "INFO" for n in range(rows)]),
            "message": pa.array([f"request {n} took {n % 7} ms" for n in range(rows)]),
            "at": pa.array([1_700_000_000_000_000 + n * 1000 for n in range(rows)], pa.timestamp("us", "UTC")),
        }
    )


def write(
    table: pa.Table,
    path: Path,
    *,
    rows_per_group: int = 8192,
    rows_per_batch: int | None = None,
    options: SplitOptions | None = None,
) -> SplitSummary:
    rules = resolve(table.schema, {"message": "text"} if "message" in table.column_names else {})
    batches = table.to_batches(max_chunksize=rows_per_batch)
    layout = options or SplitOptions(row_group_rows=rows_per_group)
    return write_split(batches, path, schema=table.schema, rules=rules, options=layout)


def reader(path: Path, facts: SplitSummary | None, *, cache: SplitCache | None = None) -> SplitReader:
    return SplitReader(
        open_store(path.parent),
        path.name,
        size=path.stat().st_size,
        footer=facts.footer if facts else None,
        cache=cache or private_cache(path.parent),
    )


def private_cache(directory: Path) -> SplitCache:
    return SplitCache.configured(Config(read=ReadConfig(cache_directory=str(directory / f"cache-{uuid4().hex}"))))


def split_of(
    table: pa.Table, directory: Path, *, rows_per_group: int = 8192, options: SplitOptions | None = None
) -> SplitReader:
    path = directory / "part-0.split"
    return reader(path, write(table, path, rows_per_group=rows_per_group, options=options))


def counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[int, int]]]:
    """The requests that a store answers from now on."""
    requests: list[list[tuple[int, int]]] = []

    def remembering(answer: Callable[..., Any]) -> Callable[..., Any]:
        def remember(key: str, ranges: list[tuple[int, int]], **tag: str | None) -> Any:
            requests.append(list(ranges))
            return answer(key, ranges, **tag)

        return remember

    for name in ("read_ranges", "read_joined", "open_file"):
        monkeypatch.setattr(store, name, remembering(getattr(store, name)))
    return requests


def query(split: SplitReader, text: str) -> Query:
    return parse(text, schema=split.schema, rules=split.rules)
