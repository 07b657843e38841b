import pytest

from indextables.log.actions import (
    Add,
    CommitInfo,
    LogicalPartitions,
    Metadata,
    PartitionSpec,
    Protocol,
    Remove,
    ReplaceWhere,
    SpecField,
    Txn,
)
from indextables.log.codec import BrokenLineError, decode, encode

GOLDEN = rb"""
{"commitInfo":{"timestamp":1704067200000,"operation":"APPEND","operationParameters":{"mode":"append"},"operationMetrics":{"rows":25},"readVersion":4,"txnId":"c0ffee","engine":"indextables/1"}}
{"protocol":{"minReaderVersion":1,"minWriterVersion":1}}
{"metaData":{"id":"a-table","schema":{"type":"struct","fields":[]},"partitionSpecs":[{"specId":0,"fields":[{"source":"ts","transform":"day","name":"ts_day"}]}],"currentSpecId":0,"docMappings":[],"properties":{"k":"v"}}}
{"txn":{"appId":"loader","version":7}}
{"replaceWhere":{"predicate":"year = 2023","timestamp":1704067200000,"dataChange":true,"operationMetrics":{}}}
{"remove":{"path":"a/b.split","deletionTimestamp":1704067200000,"dataChange":false,"partitionValues":{"a":null}}}
{"add":{"path":"a=%5B%23small%5D/b.split","partitionValues":{"dt":"2024-01-01","gone":null},"specId":2,"size":104,"modificationTime":1704067200000,"dataChange":true,"numRecords":3,"minValues":{"n":-1,"s":"a"},"maxValues":{"n":1.5,"s":"z"},"nullCounts":{"n":0},"footerStartOffset":90,"footerEndOffset":104,"hasFooterOffsets":true,"indexStartOffset":50,"indexEndOffset":90,"timeRangeStart":"2024-01-01T00:00:00Z","timeRangeEnd":"2024-01-01T12:00:00Z","splitTags":["x"],"deleteOpstamp":0,"numMergeOps":1,"docMappingId":0,"termFilter":"AQEAAf8=","logicalPartitions":{"complete":true,"columns":["app"],"tuples":[["A"],[null]],"counts":[2,1]},"physicalPartition":{"app":"[#small]"}}}
"""[1:]
ACTIONS = [
    CommitInfo(
        timestamp=1_704_067_200_000,
        operation="APPEND",
        operation_parameters={"mode": "append"},
        operation_metrics={"rows": 25},
        read_version=4,
        txn_id="c0ffee",
        engine="indextables/1",
    ),
    Protocol(min_reader_version=1, min_writer_version=1),
    Metadata(
        id="a-table",
        schema={"type": "struct", "fields": []},
        partition_specs=[PartitionSpec(spec_id=0, fields=[SpecField(source="ts", transform="day", name="ts_day")])],
        properties={"k": "v"},
    ),
    Txn(app_id="loader", version=7),
    ReplaceWhere(predicate="year = 2023", timestamp=1_704_067_200_000),
    Remove(path="a/b.split", deletion_timestamp=1_704_067_200_000, data_change=False, partition_values={"a": None}),
    Add(
        path="a=%5B%23small%5D/b.split",
        partition_values={"dt": "2024-01-01", "gone": None},
        spec_id=2,
        size=104,
        modification_time=1_704_067_200_000,
        num_records=3,
        min_values={"n": -1, "s": "a"},
        max_values={"n": 1.5, "s": "z"},
        null_counts={"n": 0},
        footer_start_offset=90,
        footer_end_offset=104,
        has_footer_offsets=True,
        index_start_offset=50,
        index_end_offset=90,
        time_range_start="2024-01-01T00:00:00Z",
        time_range_end="2024-01-01T12:00:00Z",
        split_tags=["x"],
        delete_opstamp=0,
        num_merge_ops=1,
        doc_mapping_id=0,
        term_filter=b"\1\1\0\1\xff",
        logical_partitions=LogicalPartitions(complete=True, columns=["app"], tuples=[["A"], [None]], counts=[2, 1]),
        physical_partition={"app": "[#small]"},
    ),
]


def test_the_bytes_of_every_action_are_as_they_always_were() -> None:
    assert encode(ACTIONS) == GOLDEN


def test_every_action_is_read_back() -> None:
    assert decode(GOLDEN) == ACTIONS


def test_unknown_fields_and_actions_are_ignored() -> None:
    data = b"""{"txn":{"appId":"a","version":1,"colour":"red"}}
        {"futureAction":{"x":1}}
        {"txn":{"appId":"b","version":2},"y":2}"""
    assert decode(data) == [Txn(app_id="a", version=1), Txn(app_id="b", version=2)]


def test_empty_lines_are_no_actions() -> None:
    assert decode(b'\n{"txn":{"appId":"a","version":1}}\r\n\n') == [Txn(app_id="a", version=1)]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b'{"txn":{"appId":"a","version":1}}\n{"add":{"path":"x","si', "line 2 cannot be read"),
        (b'{"add":{"path":"x"}}\n', "line 1 .* missing required field"),
        (b'{"txn":{"appId":"a","version":"one"}}\n', "line 1 .* Expected `int`"),
        (b"[]\n", "line 1 .* Expected `object`"),
        (b'{"add":{"path":"x","size":1,"modificationTime":1,"termFilter":"?"}}\n', "line 1 .* base64"),
        (b'{"txn":{"appId":"\xff","version":1}}\n', "line 1"),
        (b"\x00\x01\x02", "line 1"),
    ],
)
def test_a_broken_line_is_named(data: bytes, complaint: str) -> None:
    with pytest.raises(BrokenLineError, match=complaint):
        decode(data)
