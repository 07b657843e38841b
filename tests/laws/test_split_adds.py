"""Adds and rows of the splits table are the same facts: none is lost from one to the other and back."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from indextables.log.actions import Add, DocMapping, LogicalPartitions, Metadata, PartitionSpec, SpecField
from indextables.log.codec import decode, encode
from indextables.log.split_adds import adds_of
from indextables.log.splits import splits_table
from indextables.schema import to_json
from indextables.split.statistics import Statistics
from indextables.values import encode as encode_values
from tests.laws import strategies as its

TYPES = {
    "flag": pa.bool_(),
    "tiny": pa.int8(),
    "n": pa.int64(),
    "x": pa.float32(),
    "y": pa.float64(),
    "price": pa.decimal128(12, 3),
    "d": pa.date32(),
    "t": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "s": pa.string(),
    "raw": pa.binary(),
}
SPECS = [
    PartitionSpec(spec_id=0),
    PartitionSpec(spec_id=1, fields=[SpecField(source="s", transform="identity", name="s")]),
    PartitionSpec(
        spec_id=2,
        fields=[
            SpecField(source="t", transform="day", name="t_day"),
            SpecField(source="n", transform="bucket[16]", name="n_bucket"),
            SpecField(source="s", transform="identity", name="area"),
        ],
    ),
]
TABLE = Metadata(
    id="t",
    schema=to_json(pa.schema(TYPES)),
    partition_specs=SPECS,
    current_spec_id=2,
    doc_mappings=[DocMapping(doc_mapping_id=0, complete=True), DocMapping(doc_mapping_id=1)],
)
IDS = {name: number for number, name in enumerate(TYPES, 1)}
SWAPPED = {**IDS, "n": IDS["tiny"], "tiny": IDS["n"]}
RENAMED = structs.replace(
    TABLE,
    doc_mappings=[
        DocMapping(doc_mapping_id=0, complete=True, column_ids=SWAPPED),
        DocMapping(doc_mapping_id=1, column_ids={("local time" if n == "local" else n): i for n, i in IDS.items()}),
        DocMapping(doc_mapping_id=2, column_ids=IDS),
    ],
    current_doc_mapping_id=2,
    max_column_id=len(IDS),
)
FIELDS = {0: [], 1: ["s"], 2: ["t_day", "n_bucket", "area"]}
counts = st.integers(0, 2**53)
longs = st.integers(-(2**63), 2**63 - 1)
times = longs.map(lambda number: encode_values(pa.array([number]).view(pa.timestamp("us", "UTC")))[0].as_py())
texts = st.text(max_size=5)
values = {
    "t_day": st.sampled_from(["2024-02-29", "1969-12-31", "no day"]),
    "n_bucket": st.sampled_from(["0", "15", "x"]),
}


@st.composite
def rows(draw: st.DrawFn) -> pa.Table:
    size = draw(st.integers(0, 3))
    columns = {}
    for name, kind in TYPES.items():
        of_type = st.binary(max_size=3) if name == "raw" else its.values(kind)
        given_values = draw(st.lists(st.none() | of_type, min_size=size, max_size=size))
        columns[name] = its.array(given_values, kind)
    return pa.table(columns)


@st.composite
def partition_values(draw: st.DrawFn, spec: int) -> dict[str, str | None]:
    names = draw(st.sets(st.sampled_from(FIELDS[spec]))) if FIELDS[spec] else set()
    return {name: draw(st.none() | values.get(name, texts)) for name in names}


@st.composite
def adds(draw: st.DrawFn, path: str) -> Add:
    spec, found = draw(st.integers(0, 2)), Statistics.of(draw(rows()))
    logical = st.builds(
        LogicalPartitions,
        complete=st.booleans(),
        columns=st.just(["s"]),
        tuples=st.just([["a"], [None]]),
        counts=st.none() | st.just([1, 2]),
    )
    optional: dict[str, Any] = {
        "num_records": st.just(max(found.rows, 1)),
        "footer_start_offset": counts,
        "footer_end_offset": counts,
        "index_start_offset": counts,
        "index_end_offset": counts,
        "time_range_start": times,
        "time_range_end": times,
        "split_tags": st.lists(texts, min_size=1, max_size=2),
        "delete_opstamp": longs,
        "num_merge_ops": st.integers(0, 9),
        "doc_mapping_id": st.sampled_from([0, 1]),
        "uncompressed_size_bytes": counts,
        "term_filter": st.binary(max_size=9),
        "logical_partitions": logical,
        "physical_partition": st.dictionaries(texts, st.none() | texts, max_size=2),
        "min_values": st.just(found.min_values()),
        "max_values": st.just(found.max_values()),
        "null_counts": st.just(found.null_counts()),
    }
    return Add(
        path=path,
        spec_id=spec,
        partition_values=draw(partition_values(spec)),
        size=draw(counts),
        modification_time=draw(st.integers(0, 2**40)),
        data_change=draw(st.booleans()),
        has_footer_offsets=draw(st.booleans()),
        **draw(st.fixed_dictionaries({}, optional=optional)),
    )


@given(st.data(), st.integers(1, 3), st.sampled_from([TABLE, RENAMED]))
def test_adds_of_a_splits_table_give_the_same_table(data: st.DataObject, size: int, metadata: Metadata) -> None:
    table = splits_table([data.draw(adds(f"{number}.split")) for number in range(size)], metadata)
    again = adds_of(table, metadata)
    assert splits_table(again, metadata).equals(table)
    assert splits_table(decode(encode(again)), metadata).equals(table)
