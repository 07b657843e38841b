"""A DataFrame is a source of `IndexTable.merge`, also one that reads the table itself."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from indextables import IndexTable

SCHEMA = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC"), "name": pa.string()})
NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


def test_a_frame_is_merged(spark: Any, tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    table.append(pa.table([[1, 2], [NOON, NOON], ["a", "b"]], schema=SCHEMA))
    frame = spark.sql(
        "SELECT 2L AS id, TIMESTAMP '2024-07-01 00:00:00Z' AS at, 'B' AS name UNION ALL SELECT 3L, NULL, 'c'"
    )
    table.merge(frame, "t.id = s.id").when_matched_update_all().when_not_matched_insert_all().execute()
    itself = spark.read.format("indextables").load(table.path).where("id >= 2").selectExpr("id", "id * 10 AS times")
    result = table.merge(itself, "t.id = s.id").when_matched_update({"name": "concat(t.name, s.times)"}).execute()
    assert result.rows_updated == 2
    found = sorted(zip(*table.scan().to_arrow().to_pydict().values(), strict=True))
    assert found == [(1, NOON, "a"), (2, datetime(2024, 7, 1, tzinfo=UTC), "B20"), (3, None, "c30")]
