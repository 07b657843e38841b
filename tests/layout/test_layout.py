import pickle

import pyarrow as pa
import pytest

from indextables.errors import LayoutError
from indextables.layout import Bucket, Calendar, Identity, Layout, PartitionField, Truncate, Void

SCHEMA = pa.schema(
    {
        "Region": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "user_id": pa.int64(),
        "ts_hour": pa.int32(),
        "score": pa.float64(),
        "payload": pa.large_binary(),
        "tags": pa.list_(pa.string()),
    }
)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", []),
        ("  ", []),
        ("region", [PartitionField("region", Identity(), "region")]),
        ("identity(region)", [PartitionField("region")]),
        ("day( ts )", [PartitionField("ts", Calendar("day"), "ts_day")]),
        ("HOURS(ts)", [PartitionField("ts", Calendar("hour"), "ts_hour")]),
        ("bucket(16, user_id)", [PartitionField("user_id", Bucket(16), "user_id_bucket")]),
        ("bucket(user_id,16)", [PartitionField("user_id", Bucket(16))]),
        ("truncate(4, name) as n", [PartitionField("name", Truncate(4), "n")]),
        ("void(x)", [PartitionField("x", Void(), "x_void")]),
        ("`a, (b)`, `c``d` AS `e f`", [PartitionField("a, (b)"), PartitionField("c`d", Identity(), "e f")]),
        ("event-date,日付", [PartitionField("event-date"), PartitionField("日付")]),
        ("year, day(day)", [PartitionField("year"), PartitionField("day", Calendar("day"))]),
    ],
)
def test_parse(text: str, fields: list[PartitionField]) -> None:
    layout = Layout.parse(text)
    assert layout.fields == tuple(fields)
    assert Layout.parse(str(layout)) == layout
    assert Layout.from_json(layout.to_json()) == layout
    assert pickle.loads(pickle.dumps(layout)) == layout


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("Region,DAY(ts) , bucket(user_id, 16)", "Region, day(ts), bucket(16, user_id)"),
        ("day(ts) as ts_day, `plain`", "day(ts), plain"),
        ("day(ts) AS d, event-date", "day(ts) AS d, `event-date`"),
    ],
)
def test_it_prints_in_one_way(text: str, printed: str) -> None:
    assert str(Layout.parse(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "a,",
        ",a",
        "a b",
        "day(ts",
        "day()",
        "bucket(16)",
        "bucket(a, b)",
        "week(ts)",
        "a AS",
        "`a",
        "bucket(0, a)",
        "day(3, ts)",
    ],
)
def test_a_text_that_is_no_layout_is_refused(text: str) -> None:
    with pytest.raises(LayoutError):
        Layout.parse(text)


def test_a_list_of_terms_is_a_layout_too() -> None:
    assert Layout.of("region", "day(ts), hour", PartitionField("a, b")) == Layout.parse("region, day(ts), hour, `a, b`")


@pytest.mark.parametrize("value", [[{"source": "a"}], [{"source": "a", "transform": "week", "name": "a"}], ["a"]])
def test_json_that_is_no_layout_is_refused(value: list[dict[str, str]]) -> None:
    with pytest.raises(LayoutError):
        Layout.from_json(value)


def test_bind_takes_the_spelling_of_the_schema() -> None:
    assert str(Layout.parse("REGION, day(TS), bucket(4, User_Id) AS B").bind(SCHEMA)) == (
        "Region, day(ts), bucket(4, user_id) AS B"
    )


def test_bind_minds_the_case_when_told_to() -> None:
    assert Layout.parse("Region").bind(SCHEMA, case_sensitive=True).names == ("Region",)
    with pytest.raises(LayoutError, match="not there"):
        Layout.parse("region").bind(SCHEMA, case_sensitive=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day(when)", r"day\(when\) names a column that is not there; the table has Region, ts, day"),
        (
            "hour, Region, day(when)",
            r"hour, day\(when\) name columns that are not there; did you mean 'ts_hour'",
        ),
        ("hour(day)", "'day' has type date;"),
        ("year(region)", "'Region' has type string"),
        ("truncate(4, day)", "'day' has type date;"),
        ("bucket(4, score)", "'score' has type double"),
        ("payload", "'payload' has type large_binary"),
        ("bucket(4, payload)", "'payload' has type large_binary"),
        ("tags", "'tags' has type list"),
        ("region, day(ts), REGION", "Region is there 2 times"),
        ("region, region AS r", "Region is there 2 times"),
        ("day(ts), year(ts)", r"day\(ts\) and year\(ts\) partition the same column"),
        ("hour(ts)", "'ts_hour', which is the name of column 'ts_hour'"),
        ("day(ts) AS ts", "which is the name of column 'ts'"),
        ("region AS Score", "which is the name of column 'score'"),
        ("region AS x, day(ts) AS X", "which is the name of Region"),
        ("bucket(4, user_id), bucket(8, user_id)", r"'user_id_bucket', which is the name of bucket\(4, user_id\)"),
    ],
)
def test_bind_refuses_what_does_not_suit_the_table(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Layout.parse(text).bind(SCHEMA)


def test_bind_leaves_at_least_one_column_out_of_the_directories() -> None:
    two = pa.schema({"a": pa.string(), "b": pa.string()})
    assert Layout.parse("a, bucket(4, b)").bind(two).names == ("a", "b_bucket")
    with pytest.raises(LayoutError, match="takes every column"):
        Layout.parse("a, b").bind(two)


def test_fields_that_only_look_alike_are_allowed() -> None:
    text = "ts, day(ts), truncate(10, user_id), bucket(4, user_id), bucket(8, user_id) AS b, month(day)"
    assert str(Layout.parse(text).bind(SCHEMA)) == text


def test_types() -> None:
    assert Layout.parse("Region, day(ts), truncate(10, user_id)").types(SCHEMA) == (pa.string(), pa.int32(), pa.int64())
