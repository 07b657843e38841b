"""Rows looked up by values that are all over a table."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables import IndexTable
from indextables.split import SplitReader

MANY = 30_000
_ORDER = [n * 7919 % MANY for n in range(MANY)]  # every number once, near ones far apart
ROWS = pa.table(
    {
        "id": pa.array(_ORDER, pa.int32()),
        "key": pa.array([f"key-{n:05}" for n in _ORDER]),
        "cost": pa.array([Decimal(n) / 100 for n in _ORDER], pa.decimal128(9, 2)),
        "wide": pa.array([Decimal(n) for n in _ORDER], pa.decimal128(38, 0)),
        "ratio": pa.array([n / 7 for n in _ORDER]),
        "at": pa.array([n * 1_000_000 for n in _ORDER], pa.timestamp("us", "UTC")),
        "level": pa.array([None if n % 50 == 0 else "ERROR" if n % 3 else "INFO" for n in _ORDER]),
        "message": pa.array([f"took {n}" for n in _ORDER]),
        "kept": pa.array([f"only in rows {n}" for n in _ORDER]),
    }
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexTable:
    place = tmp_path_factory.mktemp("lookup")
    table = IndexTable.create(place / "t", ROWS.schema, fields={"message": "text", "kept": "none"})
    table.append(ROWS)
    return table


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("id = 12345", [12345]),
        ("id = 12345 AND level = 'INFO'", [12345]),
        ("id = 12346 AND level = 'INFO'", []),
        ("id IN (5, 29999, 40000, NULL)", [5, 29999]),
        ("id = 3000000000", []),
        ("key = 'key-00042'", [42]),
        ("key IN ('key-00042', 'key-29999', 'nothing')", [42, 29999]),
        ("key = 'KEY-00042'", []),
        ("cost = 77.77", [7777]),
        ("cost = 77.777", []),
        ("wide = 777", [777]),
        ("ratio = 3.0", [21]),
        ("at = '1970-01-01 00:01:40'", [100]),
        ("message = 'took 99'", [99]),
        ("kept = 'only in rows 99'", [99]),
        ("key = 'key-00042' OR id = 43", [42, 43]),
        ("NOT (id <> 44)", [44]),
        ("level <=> NULL AND id IN (50, 51)", [50]),
    ],
)
def test_rows_are_found_wherever_they_are(table: IndexTable, where: str, ids: list[int]) -> None:
    found = table.scan(where=where).to_arrow()
    assert found.sort_by("id").equals(ROWS.filter(pc.is_in(ROWS["id"], pa.array(ids, pa.int32()))).sort_by("id"))
    assert table.count(where) == len(ids)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a scan reads from now on: indexes, row groups, or how many rows by their pages."""
    seen: list[str] = []
    candidates, read, fetch = SplitReader.candidates, SplitReader.read, SplitReader.fetch

    def watched_candidates(split: SplitReader, column: str, values: pa.Array) -> Any:
        seen.append(f"index of {column}")
        return candidates(split, column, values)

    def watched_read(split: SplitReader, *given: Any, **named: Any) -> Any:
        seen.append("row groups")
        return read(split, *given, **named)

    def watched_fetch(split: SplitReader, rows: Any, columns: Any) -> Any:
        seen.append(f"{len(rows)} rows")
        return fetch(split, rows, columns)

    monkeypatch.setattr(SplitReader, "candidates", watched_candidates)
    monkeypatch.setattr(SplitReader, "read", watched_read)
    monkeypatch.setattr(SplitReader, "fetch", watched_fetch)
    return seen


def test_a_lookup_reads_the_index_and_a_broad_condition_does_not_pay_for_hits(
    table: IndexTable, reads: list[str]
) -> None:
    assert table.count("key = 'key-00007'") == 1
    assert reads == ["index of key", "1 rows"]
    reads.clear()
    assert table.count("level = 'ERROR'") == pc.sum(pc.equal(ROWS["level"], "ERROR")).as_py()
    assert reads == ["row groups"]


def test_an_index_that_finds_many_rows_does_not_fetch_them_one_by_one(tmp_path: Path, reads: list[str]) -> None:
    levels = ["FATAL" if n == 77 else level for n, level in enumerate(ROWS["level"].to_pylist())]
    table = IndexTable.create(tmp_path / "t", ROWS.schema)
    table.append(
        ROWS.set_column(ROWS.column_names.index("level"), "level", pa.array(levels)),
        options={"indexing.exact.level": "dictionary"},
    )
    assert table.count("level = 'ERROR'") == levels.count("ERROR")
    assert reads[-1] == "row groups"
    reads.clear()
    assert table.count("level = 'FATAL' AND ratio >= 0") == 1
    assert reads == ["index of level", "1 rows"]


def test_a_value_of_a_column_that_has_become_wider_is_found(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", ROWS.schema)
    table.append(ROWS)
    table.widen_column("id", "long")
    table.append(pa.table({**{name: ROWS[name] for name in ROWS.column_names}, "id": ROWS["id"].cast(pa.int64())}))
    assert table.count("id = 12345") == 2
    assert table.count("id = 3000000000") == 0


def test_a_value_too_long_for_an_index_is_found(tmp_path: Path) -> None:
    long, longer = "x" * 64_999, "x" * 70_000
    table = IndexTable.create(tmp_path / "t", pa.schema({"key": pa.string()}))
    table.append(pa.table({"key": [*map(str, range(30_000)), long, longer]}))
    assert [table.count(f"key = '{key}'") for key in (long, longer, longer + "x")] == [1, 1, 0]
