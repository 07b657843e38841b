"""A table with every type of column, nulls and odd values in each, in several splits; and the same rows as Parquet."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from indextables import IndexTable

NAN = float("nan")
LEVELS = ["ERROR", "INFO", "WARN", None]
MESSAGES = ["connection timeout", "all is well", "timeout, retry later", "disk full", None, "", "50% of a_b\\c"]


def rows(count: int = 60) -> pa.Table:
    """Each column repeats its values at a period of its own, so that values meet in many combinations."""

    def cycled(values: list[object], kind: pa.DataType) -> pa.Array:
        return pa.array([values[i % len(values)] for i in range(count)]).cast(kind)

    days = ["2024-01-01", "2024-01-02", "2024-03-10", None, "1969-12-31"]
    times = ["2024-01-01 00:00:00", "2024-01-01 08:00:00.000001", "2024-03-10 10:30:00", None, "1969-12-31 23:59:59.9"]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "day": cycled(days, pa.date32()),
            "level": cycled(LEVELS, pa.string()),
            "message": cycled(MESSAGES, pa.string()),
            "flag": cycled([True, False, None], pa.bool_()),
            "tiny": cycled([1, -128, 127, None, 0], pa.int8()),
            "small": cycled([2024, None, -1, 0], pa.int16()),
            "number": cycled([1, 2, 3, None, -(2**31), 2**31 - 1, 7], pa.int32()),
            "ratio": cycled([0.1, None, NAN, -0.0, 2.5], pa.float32()),
            "price": cycled([0.1, NAN, None, 0.0, -1e300, float("inf")], pa.float64()),
            "cost": cycled(["0.10", "-1.25", None, "99.99", "10.00"], pa.decimal128(10, 2)),
            "raw": cycled([b"", b"\x01", None, b"abc"], pa.binary()),
            "at": cycled(times, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
            "wall": cycled(times[::-1], pa.timestamp("us")),
        }
    )


def written(path: Path, *, partition_by: str = "level", count: int = 60) -> IndexTable:
    """The rows as a table, appended in two halves."""
    data = rows(count)
    table = IndexTable.create(path, data.schema, partition_by=partition_by, fields={"message": "text"})
    table.append(data.slice(0, count // 2))
    table.append(data.slice(count // 2))
    return table


def as_parquet(path: Path, count: int = 60) -> str:
    path.mkdir()
    pq.write_table(rows(count), path / "rows.parquet")
    return str(path)
