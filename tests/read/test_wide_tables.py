"""Tables with many columns: no step compares all columns with all columns."""

import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import values
from indextables.table import IndexTable

KINDS = (pa.int64(), pa.string(), pa.float64(), pa.timestamp("us", "UTC"))


def wide(columns: int) -> pa.Table:
    numbers = pa.array(range(20), pa.int64())
    return pa.table({f"c{i}": numbers.cast(KINDS[i % len(KINDS)]) for i in range(columns)})


def table_of(columns: int, path: Path) -> IndexTable:
    rows = wide(columns)
    table = IndexTable.create(path / str(columns), rows.schema, fields={"c1": "text"})
    table.append(rows)
    table.append(rows)
    return table


OPERATIONS: dict[str, Callable[[IndexTable], object]] = {
    "append": lambda table: table.append(wide(len(table.schema)).slice(0, 1)),
    "scan": lambda table: table.scan(where="c0 = 7").to_arrow(),
    "first rows": lambda table: table.scan(limit=1).to_arrow(),
    "search": lambda table: table.search("c1:7"),
    "group": lambda table: table.scan().group_by("c4").count(),
    "merge": lambda table: table.merge_splits(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_work_grows_with_the_columns_and_not_with_their_square(tmp_path: Path, name: str) -> None:
    operation = OPERATIONS[name]
    _, few, many = (calls(operation, table_of(columns, tmp_path)) for columns in (8, 100, 400))  # first, modules load
    assert many < 6 * few  # 4 times as many columns; their square would be 16 times as many


def calls(operation: Callable[[IndexTable], object], table: IndexTable) -> int:
    profile = cProfile.Profile()
    profile.runcall(operation, IndexTable.open(table.path))
    return pstats.Stats(profile).total_calls


def test_statistics_of_all_columns_of_a_type_are_decoded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, decoded, decode = table_of(40, tmp_path), [], values.decode

    def watched(text: pa.Array, kind: pa.DataType) -> pa.Array:
        decoded.append(kind)
        return decode(text, kind)

    monkeypatch.setattr(values, "decode", watched)
    splits = IndexTable.open(table.path).splits()
    assert len(splits) == 2
    assert len(decoded) <= 2 * len(KINDS)  # for the lower bounds and for the upper ones
