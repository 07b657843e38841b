"""What a log cannot say: refused where it is read, with the version and the line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import CorruptLogError, UnsupportedProtocolError
from tests.log.hand_written import Lines, edit_checkpoint, edit_version

SCHEMA = pa.schema({"day": pa.string(), "n": pa.int64()})
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day")
    table.append(pa.table({"day": ["mon", "tue"], "n": [1, None]}, schema=SCHEMA))
    return table


def in_metadata(edit: Edit) -> tuple[int, Callable[[Lines], object]]:
    return 0, lambda lines: edit(next(line["metaData"] for line in lines if "metaData" in line))


def in_add(edit: Edit) -> tuple[int, Callable[[Lines], object]]:
    return 1, lambda lines: edit(next(line["add"] for line in lines if "add" in line))


def in_info(edit: Edit) -> tuple[int, Callable[[Lines], object]]:
    return 1, lambda lines: edit(lines[0]["commitInfo"])


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def field(metadata: dict[str, Any]) -> dict[str, Any]:
    return metadata["schema"]["fields"][0]


def spec(metadata: dict[str, Any]) -> dict[str, Any]:
    return metadata["partitionSpecs"][0]


REFUSED = {
    "a path twice": ((1, lambda lines: lines.append(lines[-1])), "line 4 .* the path .* is there twice"),
    "metadata twice": ((0, lambda lines: lines.append(lines[-1])), "line 4 .* a second metaData"),
    "two actions in a line": (
        (1, lambda lines: lines[-1].update(remove={"path": "x", "deletionTimestamp": 1})),
        "line 3 .* more than one action",
    ),
    "a path out of the table": (in_add(lambda add: add.update(path="../x")), "line 2 .* would leave"),
    "a spec that is not there": (in_add(lambda add: add.update(specId=7)), "spec 7, and the table has none"),
    "a mapping that is not there": (in_add(lambda add: add.update(docMappingId=7)), "doc mapping 7, and the table has"),
    "more nulls than rows": (in_add(lambda add: add["nullCounts"].update(n=9)), "line 2 .* more nulls than rows"),
    "a time that is none": (in_add(lambda add: add.update(modificationTime=2**63)), "line 2 .*modificationTime"),
    "a number beyond 32 bits": (in_add(lambda add: add.update(specId=2**31)), "line 2 .*specId"),
    "a year beyond 9999": (in_info(lambda info: info.update(timestamp=2**53)), "line 1 .*timestamp"),
    "deep parameters": (in_info(lambda info: info.update(operationParameters=nested(300))), "line 1 .* deep"),
    "deeper ones": (in_info(lambda info: info.update(operationParameters=nested(900))), "line 1 .* deep"),
    "a column that is a text": (in_metadata(lambda m: m["schema"].update(fields=["day"])), "line 3 .*name, type"),
    "a column without a name": (in_metadata(lambda m: field(m).pop("name")), "line 3 .*name, type"),
    "a name that is a number": (in_metadata(lambda m: field(m).update(name=7)), "line 3 .*name, type"),
    "a type that is none": (
        in_metadata(lambda m: field(m).update(type="decimal(99999999999999999999,1)")),
        "line 3 .*type",
    ),
    "two columns of one name": (in_metadata(lambda m: field(m).update(name="N")), "line 3 .* same name"),
    "no list of columns": (in_metadata(lambda m: m["schema"].pop("fields")), "line 3 .* no list of fields"),
    "a transform that is none": (
        in_metadata(lambda m: spec(m)["fields"][0].update(transform="bucket[" + "9" * 5000 + "]")),
        "line 3 .* not a transform",
    ),
    "a transform of another type": (
        in_metadata(lambda m: spec(m)["fields"][0].update(transform="hour")),
        "line 3 .* cannot be applied",
    ),
    "a spec twice": (in_metadata(lambda m: m["partitionSpecs"].append(spec(m))), "line 3 .* the spec 0 is there twice"),
    "a current spec that is not there": (in_metadata(lambda m: m.update(currentSpecId=3)), "line 3 .* no spec of this"),
    "a current mapping that is not there": (
        in_metadata(lambda m: m.update(currentDocMappingId=3)),
        "line 3 .* no mapping",
    ),
}


@pytest.mark.parametrize(("edit", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be(table: IndexTable, edit: tuple[int, Callable[[Lines], None]], message: str) -> None:
    number, change = edit
    edit_version(table.path, number, lambda lines: change(lines) and None)
    with pytest.raises(CorruptLogError, match=f"version {number} of .* is damaged: .*{message}") as caught:
        IndexTable.open(table.path)
    assert (caught.value.table, caught.value.version) == (table.path, number)


def test_a_line_is_counted_with_empty_and_unknown_ones(table: IndexTable) -> None:
    file = edit_version(table.path, 1, lambda lines: None)
    info, *adds = file.read_text().splitlines()
    file.write_text("\n".join([info, "", '{"later":{}}', *adds, adds[-1], ""]))
    with pytest.raises(CorruptLogError, match="line 6 .* is there twice"):
        IndexTable.open(table.path)


def test_what_newer_releases_write_is_ignored(table: IndexTable) -> None:
    def edit(lines: Lines) -> Lines:
        for line in lines:
            if "add" in line:
                line["add"]["later"] = nested(50)
        return [*lines, {"later": {"deep": nested(50)}}, {}]

    edit_version(table.path, 1, edit)
    assert IndexTable.open(table.path).count() == 2


def test_a_newer_protocol_is_named_before_what_is_not_understood(table: IndexTable) -> None:
    def edit(lines: Lines) -> None:
        for line in lines:
            line.get("protocol", {}).update(minReaderVersion=9)
            if "metaData" in line:
                field(line["metaData"])["type"] = "variant"

    edit_version(table.path, 0, edit)
    with pytest.raises(UnsupportedProtocolError, match="protocol 9"):
        IndexTable.open(table.path)


def test_specs_are_only_added(table: IndexTable) -> None:
    table.evolve_layout("n")
    edit_version(table.path, 2, lambda lines: lines[-1]["metaData"]["partitionSpecs"].pop(0) and None)
    with pytest.raises(CorruptLogError, match="version 2 .* leaves out the spec 0; specs are only added"):
        IndexTable.open(table.path)


CHECKPOINTS = {
    "a split twice": (lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]), "damaged"),
    "a split without a path": (
        lambda rows: rows.set_column(0, "path", pa.array([None] * len(rows), pa.string())),
        "a split has no path",
    ),
    "a spec that is not there": (
        lambda rows: rows.set_column(
            rows.schema.get_field_index("spec_id"), "spec_id", pa.array([7] * len(rows), pa.int32())
        ),
        "spec_id 7, and the table has none",
    ),
    "a negative size": (
        lambda rows: rows.set_column(
            rows.schema.get_field_index("size"), "size", pa.array([-1] * len(rows), pa.int64())
        ),
        "a split has the size -1",
    ),
}


@pytest.mark.parametrize(("edit", "message"), CHECKPOINTS.values(), ids=CHECKPOINTS.keys())
def test_a_checkpoint_that_cannot_be(table: IndexTable, edit: Callable[[pa.Table], pa.Table], message: str) -> None:
    table.checkpoint()
    log = Path(table.path, "_transaction_log")
    edit_checkpoint(log / f"{1:018}.checkpoint.parquet", edit)
    for file in log.glob("*.json"):
        file.unlink()
    with pytest.raises(CorruptLogError, match=f"the checkpoint .* is damaged: .*{message}|{message}"):
        IndexTable.open(table.path)


def test_history_does_not_leave_out_a_version(table: IndexTable) -> None:
    for n in range(3):
        table.append(pa.table({"day": ["mon"], "n": [n]}, schema=SCHEMA))
    table.checkpoint()
    Path(table.path, "_transaction_log", f"{2:018}.json").unlink()
    with pytest.raises(CorruptLogError, match="version 2 of .* is missing"):
        IndexTable.open(table.path).history()


def test_partition_columns_may_have_any_character_in_their_names(tmp_path: Path) -> None:
    schema = pa.schema({"a\0b": pa.string(), "n": pa.int64()})
    table = IndexTable.create(tmp_path / "t", schema, partition_by=["`a\0b`"])
    rows = pa.Table.from_arrays([pa.array(["x", "y", "y"]), pa.array([1, 2, 3])], schema=schema)
    table.append(rows, options={"coalesce.enabled": "true"})
    assert table.count("`a\0b` = 'y'") == 2
