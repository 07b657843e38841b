"""Layouts that suit queries."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables import IndexTable, Layout
from indextables.errors import ConfigError
from indextables.inspect.column_profile import ColumnProfile, TableProfile
from indextables.inspect.findings import MAX_PARTITIONS
from indextables.inspect.layout_advice import Advice
from indextables.inspect.layout_advisor import advise, candidate
from indextables.inspect.workload import QueryInput, read_workload

START = datetime(2021, 1, 1, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
TB = 1024**4
GB = 1024**3
SCHEMA = pa.schema(
    {
        "mission_id": pa.string(),
        "sample_ts": TIME,
        "payload_id": pa.string(),
        "sensor_kind": pa.string(),
        "sample_id": pa.int64(),
        "value": pa.float64(),
    }
)


def span(days: int) -> tuple[pa.Scalar, pa.Scalar]:
    return pa.scalar(START, TIME), pa.scalar(START + timedelta(days=days, microseconds=-1), TIME)


def archive(size: int = 20 * TB) -> TableProfile:
    """40 missions, 1,000 days, 8 payloads, 12 sensors."""
    columns = [
        ColumnProfile("mission_id", pa.string(), 40),
        ColumnProfile("sample_ts", TIME, 10**9, *span(1000)),
        ColumnProfile("payload_id", pa.string(), 8),
        ColumnProfile("sensor_kind", pa.string(), 12),
        ColumnProfile("sample_id", pa.int64(), 10**10, pa.scalar(0), pa.scalar(10**10)),
        ColumnProfile("value", pa.float64(), 10**6, pa.scalar(0.0), pa.scalar(1.0)),
    ]
    return TableProfile(10**11, size, {column.name: column for column in columns})


def week(day: int) -> str:
    first = START + timedelta(days=day)
    return f"sample_ts >= '{first:%Y-%m-%d}' AND sample_ts < '{first + timedelta(days=7 + day % 20):%Y-%m-%d}'"


def analysts() -> list[str]:
    """Of 20 queries all name a mission, 19 a time window, 6 a payload, 3 a sensor."""
    queries = []
    for number in range(20):
        terms = [f"o.mission_id = 'M{number}'"]
        terms += [week(40 * number)] if number < 19 else []
        terms += [f"payload_id = 'P{number % 8}'"] if number < 6 else []
        terms += [f"sensor_kind = 'S{number % 12}'"] if number >= 17 else []
        queries.append(f"SELECT avg(value) FROM observations o WHERE {' AND '.join(terms)} GROUP BY mission_id")
    return queries


def advice(queries: list[QueryInput], table: TableProfile, current: str = "") -> Advice:
    return advise(read_workload(queries, SCHEMA), table, Layout.parse(current))


def test_the_archive_of_missions() -> None:
    found = advice(analysts(), archive())
    assert found.layout == Layout.parse("mission_id, day(sample_ts)")
    assert found.cluster_by == ("payload_id", "sensor_kind")
    best = found.candidates[0]
    assert best.partitions == 40_000
    assert 400 < best.partition_bytes / 1024**2 < 600
    assert best.pruned > 0.99
    uses = {use.column: (use.coverage, round(use.selectivity, 3)) for use in found.uses}
    assert uses["mission_id"] == (pytest.approx(1), 0.975)
    assert uses["payload_id"] == (pytest.approx(0.3), 0.875)
    assert uses["sensor_kind"] == (pytest.approx(0.15), 0.917)
    assert uses["sample_ts"][0] == pytest.approx(0.95)
    assert 0.97 < uses["sample_ts"][1] < 0.995


def test_everything_that_queries_name_is_too_much() -> None:
    workload = read_workload(analysts(), SCHEMA)
    greedy = candidate(Layout.parse("mission_id, day(sample_ts), payload_id, sensor_kind"), workload, archive())
    assert greedy.partitions == 3_840_000
    assert greedy.refused == "more than 50,000 partitions"


def test_it_explains_itself() -> None:
    text = str(advice(analysts(), archive()))
    assert "partition by mission_id, day(sample_ts)" in text
    assert "sort by payload_id, sensor_kind within partitions" in text
    assert 'table.evolve_layout("mission_id, day(sample_ts)")' in text
    assert "table.merge_splits(rewrite_layout=True, cluster_by=['payload_id', 'sensor_kind'])" in text
    assert "40,000 partitions" in text
    assert "3,840,000 partitions" in text
    assert "no: more than 50,000 partitions" in text


@pytest.mark.parametrize("size", [0, 1, 100 * 1024**2, 10 * GB, 1 * TB, 20 * TB, 900 * TB])
def test_no_size_of_table_is_cut_too_small(size: int) -> None:
    best = advice(analysts(), archive(size)).candidates[0]
    assert best.partitions <= MAX_PARTITIONS
    assert not best.layout.fields or best.partition_bytes >= 64 * 1024**2


def test_a_smaller_archive_gets_a_coarser_layout() -> None:
    small, large = (advice(analysts(), archive(size)).candidates[0] for size in (200 * GB, 20 * TB))
    assert 1 < small.partitions < large.partitions


def test_buckets_are_for_equality_only() -> None:
    by_value = advice([f"sample_id = {n}" for n in range(9)], archive())
    assert by_value.layout.fields[0].term.startswith("bucket(")
    by_range = advice(["sample_id BETWEEN 5 AND 900000", "sample_id = 7"], archive())
    assert "bucket" not in str(by_range.layout)
    assert by_range.layout.fields[0].term.startswith("truncate(")


def test_what_nobody_asks_for_is_no_layout() -> None:
    found = advice(["TRUE", "value <> 3"], archive(), current="mission_id")
    assert found.layout == Layout()
    assert "no query filters on a column" in str(found)


def test_weights_count() -> None:
    queries: list[QueryInput] = [("mission_id = 'a'", 1), ("payload_id = 'p'", 99)]
    assert advice(queries, archive()).uses[0].column == "payload_id"


def test_queries_that_cannot_be_read_are_named() -> None:
    workload = read_workload(["SELECT FROM WHERE", "upper(mission_id) = 'A'", "mission_id = 'a'"], SCHEMA)
    assert len(workload.queries) == 1
    assert len(workload.unparsed) == 2


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("mission_id = 'a' OR mission_id = 'b'", ["mission_id"]),
        ("mission_id = 'a' OR payload_id = 'b'", []),
        ("mission_id LIKE 'a%'", ["mission_id"]),
        ("SELECT 1", []),
        ("SELECT * FROM t WHERE payload_id IN ('a', 'b')", ["payload_id"]),
        ("WITH x AS (SELECT 1) SELECT * FROM t WHERE (sample_id > 5) AND value < 3", ["sample_id", "value"]),
    ],
)
def test_what_a_query_says(text: str, columns: list[str]) -> None:
    assert sorted(read_workload([text], SCHEMA).queries[0].constraints) == columns


def test_a_log_table_queried_by_time_and_tenant() -> None:
    """The profile comes from the table itself; what it holds is small, so that no partition is worth it yet."""
    schema = pa.schema({"ts": TIME, "tenant": pa.string(), "level": pa.string(), "message": pa.string()})
    table = IndexTable.create(f"memory://{uuid4().hex}/logs", schema, partition_by="level")
    rows = 5_000
    table.append(
        pa.table(
            {
                "ts": [START + timedelta(minutes=26 * n) for n in range(rows)],
                "tenant": [f"t{n % 50}" for n in range(rows)],
                "level": [["INFO", "WARN"][n % 2] for n in range(rows)],
                "message": [f"message {n}" for n in range(rows)],
            },
            schema=schema,
        )
    )
    queries = [f"ts >= '2021-02-{d:02}' AND ts < '2021-02-{d + 1:02}' AND tenant = 't{d}'" for d in range(1, 20)]
    found = table.advise(queries)
    assert found.layout == Layout()
    assert set(found.cluster_by) == {"ts", "tenant"}
    assert {use.column: use.distinct for use in found.uses} == {"tenant": 50, "ts": rows}
    profiled = TableProfile(10**9, 2 * TB, {c.name: c for c in found_columns(table)})
    grown = advise(read_workload(queries, schema), profiled, table.layout)
    assert {field.source for field in grown.layout.fields} == {"ts", "tenant"}
    assert grown.candidates[0].pruned > 0.95


def of_rows(data: dict[str, list[Any]], partition_by: str) -> IndexTable:
    rows = pa.table(data)
    table = IndexTable.create(f"memory://{uuid4().hex}/t", rows.schema, partition_by=partition_by)
    table.append(rows)
    return table


def test_a_small_table_in_many_partitions() -> None:
    table = of_rows({"day": [f"d{n % 60}" for n in range(180)], "n": [*range(180)]}, "day")
    found = table.advise(["day = 'd3'"])
    assert (found.layout, found.cluster_by) == (Layout(), ("day",))
    assert {str(one.layout): one.refused for one in found.candidates}["day"] == "partitions too small to fill a split"
    assert "current layout: 60 of 60 partitions are tiny: half of these have at most" in str(found)
    assert "to keep the layout: table.merge_splits(coalesce=True)" in str(found)


def test_a_layout_of_many_levels() -> None:
    six = {f"c{level}": ["a", "b"] for level in range(6)}
    found = of_rows(six | {"n": [1, 2]}, ", ".join(six)).advise(["c0 = 'a'"])
    assert {str(one.layout): one.refused for one in found.candidates}[", ".join(six)] == "more than 4 levels"
    assert "current layout: the layout has 6 levels" in str(found)
    assert 'table.evolve_layout("")' in str(found)


def test_a_layout_by_a_unique_column() -> None:
    found = of_rows({"id": [*range(100)], "n": [*range(100)]}, "id").advise(["id = 7"])
    assert {str(one.layout): one.refused for one in found.candidates}["id"] == "a partition for nearly every row"
    assert "current layout: a partition for nearly every row" in str(found)


def test_a_few_tiny_partitions_stay() -> None:
    found = of_rows({"day": ["mon", "tue", "wed"] * 2, "n": [*range(6)]}, "day").advise(["day = 'mon'"])
    assert (found.layout, found.steps, found.findings) == (Layout.parse("day"), (), ())
    assert "partition by day (unchanged)" in str(found)


def test_a_small_sample_of_the_archive_for_the_planned_size() -> None:
    rows, numbers = 24_000, Random(1)
    table = IndexTable.write(
        f"memory://{uuid4().hex}/t",
        {
            "mission_id": [f"M{n % 40}" for n in range(rows)],
            "sample_ts": [START + timedelta(minutes=60 * n) for n in range(rows)],
            "payload_id": [f"P{n % 8}" for n in range(rows)],
            "sensor_kind": [f"S{n % 12}" for n in range(rows)],
            "value": [numbers.random() for _ in range(rows)],
            "samples": [numbers.randbytes(40) for _ in range(rows)],
        },
        text=[],
    )
    assert table.advise(analysts()).layout == Layout()
    planned = table.advise(analysts(), expected_rows=400 * 10**9)
    assert planned.layout == Layout.parse("mission_id, day(sample_ts)")
    assert planned.cluster_by == ("payload_id", "sensor_kind")
    assert (planned.candidates[0].partitions, planned.rows, planned.present_rows) == (40_000, 400 * 10**9, rows)
    assert 10 * TB < planned.bytes < 40 * TB
    assert "20 queries on 400,000,000,000 rows, " in str(planned)
    assert ", as expected from 24,000 rows\n" in str(planned)
    distinct = {use.column: use.distinct for use in planned.uses}
    assert distinct == {"mission_id": 40, "sample_ts": 400 * 10**9, "payload_id": 8, "sensor_kind": 12}


@pytest.mark.parametrize("rows", [0, -5, True, 1.5, "1000"])
def test_an_expected_number_of_rows_is_a_number(rows: Any) -> None:
    with pytest.raises(ConfigError, match="expected_rows is .*, but must be a whole number of at least 1"):
        of_rows({"day": ["mon"], "n": [1]}, "day").advise(["day = 'mon'"], expected_rows=rows)


def test_an_expected_number_of_rows_needs_some_to_estimate_from() -> None:
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA)
    assert table.advise(analysts()).layout == Layout()
    with pytest.raises(ConfigError, match="write a sample of them first"):
        table.advise(analysts(), expected_rows=10**6)


def found_columns(table: IndexTable) -> list[ColumnProfile]:
    low, high = table.scan().min("ts"), table.scan().max("ts")
    return [
        ColumnProfile("ts", TIME, 10**9, pa.scalar(low, TIME), pa.scalar(high, TIME)),
        ColumnProfile("tenant", pa.string(), 50),
        ColumnProfile("level", pa.string(), 2),
    ]
