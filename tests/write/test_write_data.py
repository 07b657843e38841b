"""`IndexTable.write`: data of any form becomes a table in one call, or is refused and leaves nothing."""

import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, IndexTablesError, LayoutError, SchemaError, TableExistsError

ROWS = [
    {"id": 1, "level": "INFO", "message": "disk full", "at": datetime(2024, 5, 1, tzinfo=UTC), "share": 0.5},
    {"id": 2, "level": None, "message": "all is well", "at": None, "share": None},
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
ARROW = pa.Table.from_pylist(ROWS, pa.schema({"id": pa.int64(), "level": pa.string(), "message": pa.string()} | {
    "at": pa.timestamp("us", "UTC"), "share": pa.float64()}))  # fmt: skip


def related() -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.from_arrow(ARROW)


FORMS: dict[str, Callable[[], Any]] = {
    "rows": lambda: ROWS,
    "columns": lambda: COLUMNS,
    "arrays": lambda: {
        **COLUMNS,
        "id": np.array([1, 2]),
        "level": pl.Series(["INFO", None]),
        "share": pd.Series([0.5, None]),
    },
    "table": lambda: ARROW,
    "batch": lambda: ARROW.to_batches()[0],
    "reader": ARROW.to_reader,
    "batches": lambda: iter(ARROW.to_batches(max_chunksize=1)),
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[7, 3]),
    "pandas in Arrow": lambda: pa.Table.from_pandas(pd.DataFrame(COLUMNS, index=[7, 3])),
    "pandas in a stream": lambda: pa.Table.from_pandas(pd.DataFrame(COLUMNS, index=[7, 3])).to_reader(),
    "polars": lambda: pl.from_arrow(ARROW),
    "lazy polars": lambda: pl.from_arrow(ARROW).lazy().filter(pl.col("id") < 3),
    "duckdb": related,
}


def rows_of(table: IndexTable) -> list[dict[str, Any]]:
    return table.scan().to_arrow().sort_by("id").to_pylist()


@pytest.mark.parametrize("form", FORMS)
def test_data_of_any_form_becomes_a_table(form: str) -> None:
    path = f"memory://writes/{form}"
    table = IndexTable.write(path, FORMS[form](), partition_by="level", text="message")
    assert (table.version, table.schema, str(table.layout)) == (0, ARROW.schema, "level")
    assert (rows_of(table), table.count(query="message:disk")) == (ROWS, 1)
    assert IndexTable.write(path, FORMS[form](), mode="append", partition_by=["level"], fields=["message"]).count() == 4
    again = IndexTable.write(path, FORMS[form](), mode="Overwrite", fields={"message": "text:default"})
    assert (again.version, rows_of(again)) == (2, ROWS)
    assert IndexTable.write(path, FORMS[form](), mode="ignore").version == 2
    with pytest.raises(TableExistsError, match="append to it, overwrite it"):
        IndexTable.write(path, FORMS[form]())


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        ([], {}, "the data is empty, so the columns of the new table are not known"),
        ({}, {}, "the data is empty"),
        (ROWS, {"text": "mesage"}, "no column 'mesage' to index; did you mean 'message'"),
        (ROWS, {"partition_by": "levl"}, "did you mean 'level'"),
        (ROWS, {"mode": "apend"}, "'apend' is not a mode; did you mean 'append'"),
        (ROWS, {"text": "id"}, "'id' has type long and cannot be indexed as 'text'"),
        (ROWS, {"text": "level", "fields": {"level": "string"}}, "leave one of them out"),
        (ROWS, {"partition_by": "level", "options": {"partitionBy": "id"}}, "partitionBy is 'id' in the options"),
        ([{"a": [1]}], {}, "'a' has type list"),
        ([{"a": None}], {}, "'a' has only nulls"),
        (pd.DataFrame({0: [1]}), {}, "named by text"),
        (pd.DataFrame({"ok": [1, 2], "a": [1, "x"]}), {}, "column 'a' of the DataFrame has values of different types"),
        ("rows.parquet", {}, "read the file first"),
        (iter([pa.record_batch({"a": [1]}), pa.record_batch({"a": ["x"]})]), {}, "is long, and the data has string"),
        (iter([pa.record_batch({"a": [1] * 9}), 7]), {"options": {"targetRecordsPerSplit": "1"}}, "a int is no data"),
    ],
)  # fmt: skip
def test_bad_data_leaves_nothing_behind(tmp_path: Path, data: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(IndexTablesError, match=message):
        IndexTable.write(tmp_path / "t", data, **arguments)
    assert list(tmp_path.rglob("*")) == []


def test_an_empty_table_with_columns_is_made() -> None:
    assert IndexTable.write("memory://writes/empty", ARROW.slice(0, 0)).schema == ARROW.schema
    assert IndexTable.write("memory://writes/empty", [], mode="append").version == 0


def test_what_contradicts_the_table_is_refused() -> None:
    path = "memory://writes/other"
    IndexTable.write(path, ROWS, partition_by="level", text="message", properties={"owner": "ops"})
    for arguments, error, message in (
        ({"partition_by": "id"}, LayoutError, "partitioned by level, and partitionBy asks for id"),
        ({"text": "level"}, SchemaError, "'level' is indexed as string in this table, and the write asks for text"),
        ({"fields": {"message": "string"}}, SchemaError, "'message' is indexed as text"),
        ({"properties": {"owner": "dev"}}, ConfigError, "owner is 'ops' in the table .* set_properties"),
    ):
        for mode in ("append", "overwrite"):
            with pytest.raises(error, match=message):
                IndexTable.write(path, ROWS, mode=mode, **arguments)
    for arguments in ({"partition_by": "id"}, {"text": "level"}):
        for options, is_hinted in (({}, True), ({"partitionOverwriteMode": "dynamic"}, False)):
            with pytest.raises((LayoutError, SchemaError)) as refused:
                IndexTable.write(path, ROWS, mode="overwrite", options=options, **arguments)
            assert ("give overwriteSchema with the overwrite" in str(refused.value)) is is_hinted
    assert IndexTable.write(path, ROWS, mode="append", properties={"owner": "ops"}).version == 1


def test_a_schema_may_be_replaced() -> None:
    path = "memory://writes/replaced"
    IndexTable.write(path, ROWS, partition_by="level", text="message")
    table = IndexTable.write(
        path, {"title": ["a b"]}, mode="overwrite", partition_by="", text="title", options={"overwriteSchema": "true"}
    )
    assert (table.schema.names, table.count(query="title:b")) == (["title"], 1)


def test_the_index_of_pandas_is_left_out_and_a_named_one_is_mentioned() -> None:
    frame = pd.DataFrame({"n": [1, 2], "id": [5, 6]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert IndexTable.write("memory://writes/unnamed", frame).schema.names == ["n", "id"]
    with pytest.warns(UserWarning, match=r"index of the DataFrame \(id\) is not written; .*reset_index") as caught:
        table = IndexTable.write("memory://writes/named", frame.set_index("id"))
    assert (table.schema.names, caught[0].filename) == (["n"], __file__)


def test_integers_with_gaps_of_pandas_fit_a_column_of_integers() -> None:
    table = IndexTable.create("memory://writes/gaps", {"n": "int", "at": "timestamp_ntz"})
    frame = pd.DataFrame({"n": [1, None, 3], "at": pd.to_datetime(["2024-05-01", None, "2024-05-03"])})
    table.append(frame)
    assert table.scan().to_arrow()["n"].to_pylist() == [1, None, 3]
