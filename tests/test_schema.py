import pyarrow as pa
import pytest

from indextables.errors import SchemaError
from indextables.schema import from_json, normalize, to_json
from indextables.write.conform_schema import conformed

EVERY_TYPE = pa.schema(
    [
        pa.field("a_boolean", pa.bool_()),
        pa.field("a_byte", pa.int8()),
        pa.field("a_short", pa.int16()),
        pa.field("an_integer", pa.int32(), nullable=False),
        pa.field("a_long", pa.int64()),
        pa.field("a_float", pa.float32()),
        pa.field("a_double", pa.float64()),
        pa.field("a_decimal", pa.decimal128(38, 10)),
        pa.field("a_string", pa.string()),
        pa.field("a_binary", pa.binary()),
        pa.field("a_date", pa.date32()),
        pa.field("a_timestamp", pa.timestamp("us", "UTC")),
        pa.field("a_timestamp_ntz", pa.timestamp("us")),
    ]
)


class Reading(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.reading")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "Reading":
        return cls()


def test_every_type_survives_the_log() -> None:
    assert from_json(to_json(EVERY_TYPE)).equals(EVERY_TYPE)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (pa.large_string(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.timestamp("ns", "America/New_York"), pa.timestamp("us", "UTC")),
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.uint32(), pa.int64()),
        (pa.decimal256(20, 3), pa.decimal128(20, 3)),
        (pa.date64(), pa.date32()),
        (pa.binary(16), pa.binary()),
        *([(pa.uuid(), pa.binary())] if hasattr(pa, "uuid") else []),  # since pyarrow 18
        *([(pa.json_(), pa.string())] if hasattr(pa, "json_") else []),  # since pyarrow 19
        (Reading(), pa.float64()),
    ],
)
def test_types_that_hold_the_same_values_are_accepted(given: pa.DataType, kept: pa.DataType) -> None:
    assert normalize(pa.schema({"c": given})).field("c").type == kept
    table = pa.schema({"c": kept})
    assert next(conformed([pa.record_batch({"c": pa.nulls(2, given)})], table)).schema == table


@pytest.mark.parametrize(
    "given",
    [
        pa.list_(pa.int32()),
        pa.map_(pa.string(), pa.int32()),
        pa.struct({"x": pa.int8()}),
        pa.uint64(),
        pa.null(),
        pa.decimal128(5, -2),
    ],
)
def test_a_type_that_cannot_be_held_is_refused_by_name(given: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="'odd'") as caught:
        normalize(pa.schema({"fine": pa.int64(), "odd": given}))
    assert caught.value.column == "odd"


def test_names_that_differ_only_by_case_are_refused() -> None:
    with pytest.raises(SchemaError, match="'a', 'A'"):
        normalize(pa.schema({"a": pa.int64(), "A": pa.int64()}))


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(SchemaError, match="empty name"):
        normalize(pa.schema({"": pa.int64()}))
