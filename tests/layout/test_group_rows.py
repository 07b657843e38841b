import pyarrow as pa
import pytest

from indextables.layout import Layout, group

EVENTS = pa.table(
    {
        "region": ["eu", None, "", "eu", "us", None],
        "ts": pa.array([0, 0, 0, 86_400_000_000, -1, 3], pa.timestamp("us", "UTC")),
        "id": range(6),
    }
)


def ids_by_key(rows: pa.Table | pa.RecordBatch, layout: str) -> dict[tuple[str | None, ...], list[int]]:
    groups = list(group(rows, Layout.parse(layout).bind(rows.schema)))
    keyed = {part.key: part.rows.column("id").to_pylist() for part in groups}
    assert len(keyed) == len(groups)
    return keyed


def test_rows_are_grouped_by_typed_tuple_and_keep_their_order() -> None:
    assert ids_by_key(EVENTS, "region") == {("eu",): [0, 3], (None,): [1, 5], ("",): [2], ("us",): [4]}


def test_several_fields_make_one_tuple() -> None:
    assert ids_by_key(EVENTS, "day(ts), region") == {
        ("1970-01-01", "eu"): [0],
        ("1970-01-01", None): [1, 5],
        ("1970-01-01", ""): [2],
        ("1970-01-02", "eu"): [3],
        ("1969-12-31", "us"): [4],
    }


def test_a_group_knows_its_values_its_texts_and_its_directory() -> None:
    first, *_ = group(EVENTS, Layout.parse("day(ts) AS d, region"))
    assert first.values.to_pylist() == [{"d": 0, "region": "eu"}]
    assert first.values.schema == pa.schema({"d": pa.int32(), "region": pa.string()})
    assert first.texts == {"d": "1970-01-01", "region": "eu"}
    assert first.directory == "d=1970-01-01/region=eu"
    assert first.rows.schema == EVENTS.schema


def test_null_and_empty_share_a_directory_but_not_a_group() -> None:
    label = "region=__HIVE_DEFAULT_PARTITION__"
    assert [part.key for part in group(EVENTS, Layout.parse("region")) if part.directory == label] == [(None,), ("",)]


def test_without_fields_there_is_one_group() -> None:
    (everything,) = group(EVENTS, Layout())
    assert everything.rows.equals(EVENTS)
    assert (everything.texts, everything.key, everything.directory) == ({}, (), "")
    assert everything.values.num_columns == 0


@pytest.mark.parametrize("layout", ["", "region"])
def test_without_rows_there_is_no_group(layout: str) -> None:
    assert list(group(EVENTS.slice(0, 0), Layout.parse(layout))) == []


def test_nan_is_one_group_and_zero_has_no_sign() -> None:
    scores = [float("nan"), -0.0, float("-nan"), 0.0, None]
    rows = pa.table({"score": scores, "id": range(5)})
    assert ids_by_key(rows, "score") == {("NaN",): [0, 2], ("0.0",): [1, 3], (None,): [4]}


def test_rows_themselves_stay_as_they_are() -> None:
    (part,) = group(pa.table({"score": [-0.0], "id": [1]}), Layout.parse("score"))
    assert str(part.rows["score"][0].as_py()) == "-0.0"


@pytest.mark.parametrize(
    "rows",
    [
        EVENTS,
        EVENTS.combine_chunks().to_batches()[0],
        pa.concat_tables([EVENTS.slice(0, 2), EVENTS.slice(2)]),
        EVENTS.set_column(0, "region", EVENTS["region"].dictionary_encode()),
        EVENTS.set_column(0, "region", EVENTS["region"].cast(pa.large_string())),
    ],
    ids=["table", "batch", "chunks", "dictionary", "large"],
)
def test_every_shape_of_rows_gives_the_same_groups(rows: pa.Table | pa.RecordBatch) -> None:
    assert ids_by_key(rows, "region") == ids_by_key(EVENTS, "region")
    assert all(type(part.rows) is type(rows) for part in group(rows, Layout.parse("region")))


def test_sorted_rows_are_not_copied() -> None:
    batch = pa.record_batch({"region": ["eu", "eu", "us"], "id": [1, 2, 3]})
    address = batch.column("id").buffers()[1].address
    parts = list(group(batch, Layout.parse("region")))
    assert [part.rows.column("id").to_pylist() for part in parts] == [[1, 2], [3]]
    assert {part.rows.column("id").buffers()[1].address for part in parts} == {address}


def test_void_puts_all_rows_together() -> None:
    assert ids_by_key(EVENTS, "void(region)") == {(None,): [0, 1, 2, 3, 4, 5]}
