from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from indextables.log.actions import Add, LogicalPartitions, Metadata, PartitionSpec, SpecField
from indextables.log.splits import conform, removes_for, splits_schema, splits_table
from indextables.schema import to_json
from tests.log.samples import BY_DAY, BY_REGION, EVENTS, add, metadata

TWO_SPECS = metadata(partition_specs=[BY_REGION, BY_DAY], current_spec_id=1)


def partition(splits: pa.Table, term: str) -> list[Any]:
    return [row.get(term) for row in splits["partition"].to_pylist()]


class TestPartitionValues:
    def test_known_null_empty_and_absent_are_four_things(self) -> None:
        adds = [
            add(partition_values={"region": "eu"}),
            add(partition_values={"region": None}),
            add(partition_values={"region": ""}),
            add(partition_values={}),
        ]
        assert partition(splits_table(adds, metadata()), "region") == [
            {"value": "eu", "malformed": None},
            {"value": None, "malformed": None},
            {"value": "", "malformed": None},
            None,
        ]

    def test_each_split_is_typed_by_its_own_spec(self) -> None:
        adds = [add(), add(spec_id=1, partition_values={"ts_day": "2017-12-01"})]
        splits = splits_table(adds, TWO_SPECS)
        assert partition(splits, "region") == [{"value": "eu", "malformed": None}, None]
        assert partition(splits, "day(ts)") == [None, {"value": 17501, "malformed": None}]

    def test_a_term_keeps_its_column_when_a_later_spec_names_it_otherwise(self) -> None:
        renamed = PartitionSpec(spec_id=1, fields=[SpecField(source="region", transform="identity", name="area")])
        both = metadata(partition_specs=[BY_REGION, renamed])
        splits = splits_table([add(), add(spec_id=1, partition_values={"area": "us"})], both)
        assert [row["value"] for row in partition(splits, "region")] == ["eu", "us"]

    def test_text_that_is_not_of_the_type_is_neither_known_nor_null(self) -> None:
        by_id = metadata(
            partition_specs=[PartitionSpec(spec_id=0, fields=[SpecField(source="id", transform="identity", name="id")])]
        )
        splits = splits_table([add(partition_values={"id": "abc"}), add(partition_values={"id": "042"})], by_id)
        assert partition(splits, "id") == [{"value": None, "malformed": "abc"}, {"value": 42, "malformed": None}]
        removes = removes_for(splits, by_id, deletion_timestamp=1)
        assert [remove.partition_values for remove in removes] == [{"id": "abc"}, {"id": "42"}]

    def test_a_spec_that_nobody_knows_says_nothing(self) -> None:
        assert partition(splits_table([add(spec_id=9)], metadata()), "region") == [None]

    def test_an_unpartitioned_table_has_no_partition_column(self) -> None:
        assert "partition" not in splits_schema(metadata(partition_specs=[PartitionSpec(spec_id=0)])).names

    def test_removes_repeat_the_partition_values(self) -> None:
        adds = [
            add(),
            add(region=None),
            add(spec_id=1, partition_values={"ts_day": "1969-12-31"}),
            add(partition_values={}),
        ]
        removes = removes_for(splits_table(adds, TWO_SPECS), TWO_SPECS, deletion_timestamp=5)
        assert [remove.partition_values for remove in removes] == [a.partition_values for a in adds]
        assert {(r.deletion_timestamp, r.data_change, r.size) for r in removes} == {(5, True, 100)}


class TestStatistics:
    SCHEMA = pa.schema(
        {
            "n": pa.int64(),
            "small": pa.int8(),
            "x": pa.float64(),
            "b": pa.bool_(),
            "d": pa.date32(),
            "t": pa.timestamp("us", "UTC"),
            "m": pa.decimal128(10, 2),
            "s": pa.string(),
            "raw": pa.binary(),
        }
    )

    def minimum(self, column: str, value: object) -> object:
        described = Metadata(id="t", schema=to_json(self.SCHEMA))
        one = Add(path="p", size=1, modification_time=1, min_values={column: value})
        return splits_table([one], described)["min"].to_pylist()[0].get(column)

    @pytest.mark.parametrize(
        ("column", "in_the_log", "typed"),
        [
            ("n", 2**62 + 1, 2**62 + 1),
            ("n", 2**63, None),
            ("n", True, None),
            ("n", "17", 17),
            ("n", "many", None),
            ("n", [1], None),
            ("small", -128, -128),
            ("small", 128, None),
            ("x", 1.5, 1.5),
            ("x", 3, 3.0),
            ("x", 1e300, 1e300),
            ("x", "-Infinity", float("-inf")),
            ("b", False, False),
            ("d", "2024-02-29", date(2024, 2, 29)),
            ("t", "2024-01-01T00:00:00.000001Z", datetime(2024, 1, 1, 0, 0, 0, 1, UTC)),
            ("m", "12.30", Decimal("12.30")),
            ("s", "", ""),
            ("s", None, None),
            ("raw", "x", None),
            ("no such column", 1, None),
        ],
    )
    def test_bounds_are_typed_and_what_cannot_be_read_is_unknown(
        self, column: str, in_the_log: object, typed: object
    ) -> None:
        assert self.minimum(column, in_the_log) == typed

    def test_null_counts(self) -> None:
        splits = splits_table([add(null_counts={"id": 3}), add()], metadata())
        assert [row["id"] for row in splits["null_count"].to_pylist()] == [3, None]


def test_coalesced_splits_keep_their_tuples() -> None:
    logical = LogicalPartitions(complete=True, columns=["region"], tuples=[["a"], [None]], counts=[1, 2])
    shared = add(partition_values={}, logical_partitions=logical, physical_partition={"region": "[#small]"})
    row = splits_table([shared, add()], metadata()).select(["logical_partitions", "physical_partition"]).to_pylist()
    assert row == [
        {
            "logical_partitions": {
                "complete": True,
                "columns": ["region"],
                "tuples": [["a"], [None]],
                "counts": [1, 2],
            },
            "physical_partition": [("region", "[#small]")],
        },
        {"logical_partitions": None, "physical_partition": None},
    ]


class TestConform:
    def test_a_new_column_is_unknown_and_a_widened_one_is_cast(self) -> None:
        narrow = metadata(schema=to_json(pa.schema({"n": pa.int32(), "region": pa.string()})))
        wide = metadata(schema=to_json(pa.schema({"n": pa.int64(), "region": pa.string(), "new": pa.string()})))
        before = splits_table([add(min_values={"n": 7}, max_values={"n": 9})], narrow)
        after = conform(before, wide, named_by=None)
        assert after.schema.equals(splits_schema(wide))
        assert after["min"].to_pylist() == [{"n": 7, "region": None, "new": None}]
        assert partition(after, "region") == [{"value": "eu", "malformed": None}]

    def test_a_new_layout_leaves_old_splits_unknown_under_it(self) -> None:
        after = conform(splits_table([add()], metadata()), TWO_SPECS, named_by=None)
        assert partition(after, "day(ts)") == [None]
        assert partition(after, "region") == [{"value": "eu", "malformed": None}]

    def test_a_type_that_cannot_be_cast_becomes_unknown(self) -> None:
        text = metadata(schema=to_json(pa.schema({"id": pa.string(), "region": pa.string()})))
        number = metadata(schema=to_json(pa.schema({"id": pa.int64(), "region": pa.string()})))
        before = splits_table([add(min_values={"id": "a"})], text)
        assert conform(before, number, named_by=None)["min"].to_pylist()[0]["id"] is None


def test_statistics_of_every_column_of_the_sample_are_there() -> None:
    assert [field.name for field in splits_schema(metadata()).field("min").type] == EVENTS.names
