"""What version files say in full, and what readers take an absent field for."""

from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from indextables import IndexTable
from indextables.log.actions import Add, CommitInfo, Metadata, PartitionSpec, Remove, ReplaceWhere
from indextables.log.codec import decode, encode
from tests.log.hand_written import edit_adds, edit_checkpoint

ROWS = pa.table({"id": [1, 2, 3], "region": ["eu", "us", "us"]})
IN_EVERY_ADD = {
    *("path", "partitionValues", "specId", "size", "modificationTime", "dataChange", "numRecords"),
    *("hasFooterOffsets", "splitTags", "numMergeOps"),
}


def logged(table: IndexTable, kind: str) -> list[dict[str, Any]]:
    """All actions of one kind, of all versions, as plain JSON."""
    files = sorted(Path(table.path, "_transaction_log").glob("*.json"))
    lines = (msgspec.json.decode(line) for file in files for line in file.read_bytes().splitlines())
    return [line[kind] for line in lines if kind in line]


def test_entries_of_an_unpartitioned_table_are_explicit(tmp_path: Path) -> None:
    table = IndexTable.create(str(tmp_path), ROWS.schema)
    table.append(ROWS)
    table.overwrite(ROWS)
    adds, removes = logged(table, "add"), logged(table, "remove")
    assert [add.keys() >= IN_EVERY_ADD for add in adds] == [True, True]
    assert [(a["splitTags"], a["deleteOpstamp"], a["numMergeOps"]) for a in adds] == [([], 0, 0)] * 2
    assert [(a["partitionValues"], a["specId"], a["dataChange"], a["numRecords"]) for a in adds] == [
        ({}, 0, True, 3)
    ] * 2
    assert all(add["hasFooterOffsets"] and add["size"] > 0 and add["modificationTime"] > 0 for add in adds)
    assert [(r["dataChange"], r["partitionValues"], r["specId"]) for r in removes] == [(True, {}, 0)]
    assert removes[0]["deletionTimestamp"] > 0
    [metadata] = logged(table, "metaData")
    assert (metadata["partitionSpecs"], metadata["currentSpecId"]) == ([{"specId": 0, "fields": []}], 0)
    assert metadata["properties"] == {}
    assert [mapping["complete"] for mapping in metadata["docMappings"]] == [True]
    assert [
        set(info) >= {"operation", "operationParameters", "operationMetrics"} for info in logged(table, "commitInfo")
    ]


def test_entries_of_a_partitioned_table_are_explicit(tmp_path: Path) -> None:
    table = IndexTable.create(str(tmp_path), ROWS.schema, partition_by="region")
    table.append(ROWS)
    table.append(ROWS)
    table.merge_splits()
    table.replace_where(ROWS.slice(0, 1), "region = 'eu'")
    adds, removes = logged(table, "add"), logged(table, "remove")
    assert all(add.keys() >= IN_EVERY_ADD for add in adds)
    assert [add["dataChange"] for add in adds] == [True] * 4 + [False] * 2 + [True]
    assert [remove["dataChange"] for remove in removes] == [False] * 4 + [True]
    assert [action["dataChange"] for action in logged(table, "replaceWhere")] == [True]


def test_times_of_splits_are_text_and_numbers_of_older_releases_are_read(tmp_path: Path) -> None:
    table = IndexTable.create(str(tmp_path), {"ts": pa.timestamp("us", "UTC")})
    table.append({"ts": [datetime(2024, 1, day, 12, tzinfo=UTC) for day in (1, 2)]})
    [add] = logged(table, "add")
    assert (add["timeRangeStart"], add["timeRangeEnd"]) == ("2024-01-01T12:00:00Z", "2024-01-02T12:00:00Z")
    table.checkpoint()

    def as_before(add: dict[str, Any]) -> None:
        add |= {"timeRangeStart": 1_704_110_400_000_000, "timeRangeEnd": 1_704_196_800_000_000}
        for name in ("splitTags", "numMergeOps"):
            del add[name]

    edit_adds(table.path, 1, as_before)
    assert table.check().findings == ()  # the checkpoint says the same as the version
    table.overwrite({"ts": []})
    table.restore(version=1)
    restored = logged(table, "add")[-1]
    assert {name: restored[name] for name in ("timeRangeStart", "splitTags", "numMergeOps")} == {
        name: add[name] for name in ("timeRangeStart", "splitTags", "numMergeOps")
    }
    assert table.count() == 2


def test_a_checkpoint_is_explicit(tmp_path: Path) -> None:
    table = IndexTable.create(str(tmp_path), ROWS.schema)
    table.append(ROWS)
    table.checkpoint()
    [file] = Path(tmp_path, "_transaction_log").glob("*.checkpoint.parquet")
    state = msgspec.json.decode(pq.read_metadata(file).metadata[b"indextables.snapshot"])
    assert (state["txns"], state["numTombstones"]) == ([], 0)
    assert state["metaData"].keys() >= {"partitionSpecs", "currentSpecId", "docMappings", "properties"}
    [row] = pq.read_table(file).to_pylist()
    assert (row["data_change"], row["spec_id"], row["num_records"]) == (True, 0, 3)


def test_a_term_filter_is_text_in_a_version_and_bytes_in_a_checkpoint(tmp_path: Path) -> None:
    table = IndexTable.create(str(tmp_path), ROWS.schema)
    table.append(ROWS)
    table.checkpoint()
    [file] = Path(tmp_path, "_transaction_log").glob("*.checkpoint.parquet")
    [add] = logged(table, "add")
    [row] = pq.read_table(file).to_pylist()
    assert b64decode(add["termFilter"]) == row["term_filter"]
    assert "term_filter" not in table.splits().column_names


def test_a_checkpoint_without_term_filters_is_read(tmp_path: Path) -> None:
    table = IndexTable.create(str(tmp_path), ROWS.schema)
    table.append(ROWS)
    table.checkpoint()
    [file] = Path(tmp_path, "_transaction_log").glob("*.checkpoint.parquet")
    edit_checkpoint(file, lambda rows: rows.drop_columns("term_filter"))
    for version in Path(tmp_path, "_transaction_log").glob("*.json"):
        version.unlink()
    assert IndexTable.open(str(tmp_path)).count("region = 'us'") == 2


def test_absent_fields_have_their_defaults() -> None:
    data = b"""{"commitInfo":{}}
        {"metaData":{"id":"t","schema":{"type":"struct","fields":[]}}}
        {"add":{"path":"a.split","size":1,"modificationTime":2}}
        {"remove":{"path":"b.split","deletionTimestamp":3}}
        {"replaceWhere":{"predicate":"1 = 1","timestamp":4}}"""
    info, metadata, add, remove, replaced = decode(data)
    assert isinstance(info, CommitInfo)
    assert (info.operation, info.operation_parameters, info.operation_metrics) == ("UNKNOWN", {}, {})
    assert isinstance(metadata, Metadata)
    assert (metadata.partition_specs, metadata.current_spec_id) == ([PartitionSpec(spec_id=0)], 0)
    assert (metadata.doc_mappings, metadata.properties) == ([], {})
    assert add == Add(path="a.split", size=1, modification_time=2)
    assert isinstance(add, Add)
    assert (add.partition_values, add.spec_id, add.data_change, add.num_records) == ({}, 0, True, None)
    assert isinstance(remove, Remove)
    assert (remove.data_change, remove.partition_values) == (True, None)
    assert isinstance(replaced, ReplaceWhere)
    assert (replaced.data_change, replaced.operation_metrics) == (True, {})


def test_defaults_are_not_shared() -> None:
    first, second = Add(path="a", size=1, modification_time=1), Add(path="b", size=1, modification_time=1)
    assert first.partition_values == second.partition_values
    assert first.partition_values is not second.partition_values


def test_metadata_with_defaults_is_read_back_equal() -> None:
    """Else a transaction would take the table's own metadata for a change of it."""
    metadata = Metadata(id="t", schema={"type": "struct", "fields": []})
    assert decode(encode([metadata])) == [metadata]


def test_what_is_unknown_is_left_out() -> None:
    [line] = encode([Add(path="a.split", size=1, modification_time=2)]).splitlines()
    assert msgspec.json.decode(line)["add"].keys() == IN_EVERY_ADD - {"numRecords"}
