from base64 import b64decode
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.split.thrift import BINARY, BYTE, DOUBLE, I16, I32, I64, LIST, STRUCT, encoded, parse_struct, struct
from tests.split.samples import EVERY_TYPE


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (b"\x00", {}),
        (b"\x15\x01\x00", {1: -1}),
        (b"\x15\x02\x00", {1: 1}),
        (b"\x05\x28\x02\x00", {20: 1}),  # a field far from the last one has its number in a byte of its own
        (b"\xf6\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", {15: -(2**63)}),
        (b"\x11\x12\x00", {1: True, 2: False}),  # the type of a field is its value
        (b"\x13\x7f\x00", {1: 127}),
        (b"\x17" + bytes(range(8)) + b"\x00", {1: bytes(range(8))}),
        (b"\x18\x03abc\x00", {1: b"abc"}),
        (b"\x19\x35\x02\x04\x06\x00", {1: [1, 2, 3]}),
        (b"\x1a\x21\x01\x02\x00", {1: [True, False]}),
        (b"\x19\xf3\x10" + bytes(range(16)) + b"\x00", {1: list(range(16))}),
        (b"\x1c\x15\x02\x00\x15\x04\x00", {1: {1: 1}, 2: 2}),
    ],
)
def test_structs(data: bytes, fields: dict[int, object]) -> None:
    assert parse_struct(data) == fields


WHOLE = struct(
    [
        (1, I32, 7),
        (3, BINARY, b"a column"),
        (19, LIST, (STRUCT, [struct([(1, I64, n), (2, BINARY, b"x" * n)]) for n in range(20)])),
        (40, I16, -300),
    ]
)


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_struct_that_was_cut(length: int) -> None:
    with pytest.raises((IndexError, ValueError)):
        parse_struct(WHOLE[:length])


@pytest.mark.parametrize("header", [b"\x1b\x00", b"\x1d\x00", b"\x1f\x00"])
def test_types_that_parquet_does_not_use(header: bytes) -> None:
    with pytest.raises(ValueError, match="there is no type"):
        parse_struct(header + b"\x00")


@pytest.mark.parametrize("kind", [BYTE, DOUBLE])
def test_values_that_are_not_written(kind: int) -> None:
    with pytest.raises(ValueError, match=f"values of type {kind} are not written"):
        encoded(kind, 1)


def test_the_footer_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(EVERY_TYPE, path, row_group_size=3, write_page_index=True)
    data, metadata = path.read_bytes(), pq.read_metadata(path)
    footer = parse_struct(data, len(data) - 8 - metadata.serialized_size)
    assert (footer.end, footer[3], len(footer[4])) == (len(data) - 8, 4, 2)
    assert [leaf[4].decode() for leaf in footer[2][1:]] == EVERY_TYPE.column_names
    for number, group in enumerate(footer[4]):
        chunks = [metadata.row_group(number).column(n) for n in range(len(EVERY_TYPE.column_names))]
        assert [chunk[3][9] for chunk in group[1]] == [chunk.data_page_offset for chunk in chunks]
        assert [chunk[3][7] for chunk in group[1]] == [chunk.total_compressed_size for chunk in chunks]
        assert group[3] == metadata.row_group(number).num_rows
    pairs = {pair[1]: pair[2] for pair in footer[5]}
    assert pa.ipc.read_schema(pa.py_buffer(b64decode(pairs[b"ARROW:schema"]))) == EVERY_TYPE.schema
