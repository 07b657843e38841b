"""The rows of a scan, taken by Python, Arrow, pandas, polars and DuckDB; what a scan is, in one line."""

import subprocess
import sys
from typing import Any
from uuid import uuid4

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import indextables
from indextables import IndexTable
from indextables.errors import ConfigError
from indextables.read.scan import Scan

ROWS = [{"id": number, "name": f"n{number}", "day": "mon" if number % 2 else None} for number in range(50)]


@pytest.fixture(scope="module")
def table() -> IndexTable:
    schema = pa.schema({"id": pa.int64(), "name": pa.string(), "day": pa.string()})
    table = IndexTable.create(f"memory://{uuid4().hex}/rows", schema, partition_by="day")
    table.append(ROWS)
    return table


@pytest.mark.parametrize("arguments", [{}, {"order_by": "id"}, {"order_by": "id", "limit": 7, "offset": 3}])
def test_every_library_gets_the_same_rows(table: IndexTable, arguments: dict[str, object]) -> None:
    def scan() -> Scan:
        return table.scan(where="id < 40", **arguments)

    rows = scan().to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(40))[slice(3, 10) if "limit" in arguments else slice(None)]
    assert list(scan()) == rows
    assert pa.table(scan()).to_pylist() == rows
    assert pa.RecordBatchReader.from_stream(scan()).schema == scan().schema
    assert pl.DataFrame(scan()).to_dicts() == rows
    assert scan().to_polars().to_dicts() == rows
    assert scan().to_pandas()["name"].tolist() == [row["name"] for row in rows]
    with duckdb.connect() as connection:
        relation = scan().to_duckdb(connection)
        assert relation.fetchall() == [tuple(row.values()) for row in rows]
        assert relation.aggregate("count(*)").fetchall() == [(len(rows),)]  # a relation can be run again
    assert not hasattr(scan(), "__len__")


def test_a_table_is_all_of_its_rows(table: IndexTable) -> None:
    rows = table.scan().to_arrow()
    assert len(table) == len(rows) == 50
    assert table.to_arrow() == rows
    assert list(table) == pa.table(table).to_pylist() == table.to_reader().read_all().to_pylist() == rows.to_pylist()
    assert pl.DataFrame(table).equals(table.to_polars())
    assert table.to_pandas()["id"].tolist() == rows["id"].to_pylist()
    assert len(table.at(version=0)) == 0
    copy = IndexTable.write(f"memory://{uuid4().hex}/copy", table)
    assert copy.append(table) == 1
    assert len(copy) == 100


def test_an_empty_table_is_true() -> None:
    empty = IndexTable.create(f"memory://{uuid4().hex}/empty", {"n": pa.int64()})
    assert empty
    assert (len(empty), list(empty), empty.to_pandas().shape) == (0, [], (0, 1))


@pytest.mark.parametrize("arguments", [{}, {"order_by": "id desc", "offset": 3}])
def test_a_limit_can_be_given_later(table: IndexTable, arguments: dict[str, Any]) -> None:
    scan = table.scan(columns=["id"], **arguments)
    assert scan.limit(7).to_arrow() == table.scan(columns=["id"], limit=7, **arguments).to_arrow()
    assert [scan.limit(given).count() for given in (0, 7, 99)] == [0, 7, scan.count()]
    assert scan.limit(7).limit(9).row_limit == scan.limit(9).limit(7).row_limit == 7
    assert scan.row_limit is None
    with pytest.raises(ConfigError, match="the limit is -1"):
        scan.limit(-1)


def test_a_table_is_not_made_of_a_path() -> None:
    with pytest.raises(TypeError, match=r"open a table with IndexTable.open\('logs'\)"):
        IndexTable("logs")  # type: ignore[arg-type]


def test_the_first_rows_do_not_read_every_split(table: IndexTable) -> None:
    scan = table.scan()
    next(iter(scan))
    assert len(scan.opened_splits) < 3
    assert table.scan(columns=["id"]).to_reader().read_next_batch().num_rows > 0


def test_the_demo_without_pyspark_says_what_to_install() -> None:
    program = """
import sys
sys.modules["pyspark"] = None
from indextables.cli.app import main
sys.argv = ["indextables", "demo"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'indextables[spark]'" in done.stderr
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (1, "", False)


def test_a_missing_library_is_named_with_the_command_that_installs_it() -> None:
    """In another process, where the imports of polars and pandas fail."""
    program = """
import sys
import pyarrow as pa
from indextables import IndexTable
table = IndexTable.create("memory://missing/t", {"n": pa.int64()})
sys.modules["polars"] = sys.modules["pandas"] = None
for convert in (table.scan().to_polars, table.to_polars, table.to_pandas):
    try:
        convert()
    except ImportError as error:
        print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"MissingPackageError {package} is not installed; install it with: pip install {package}"
        for package in ("polars", "polars", "pandas")
    ]


def test_a_repr_is_one_short_line(table: IndexTable) -> None:
    many = " OR ".join(f"id = {number}" for number in range(1000))
    scan = table.scan(where=many, columns=["id"], order_by="id", limit=3)
    assert repr(table.scan()) == f"Scan({table.path!r}, version=1)"
    assert "columns=['id']" in repr(scan)
    assert "order_by='id ASC NULLS FIRST', limit=3" in repr(scan)
    for value in (scan, scan.explain(), table.health(), table.advise(["id = 1"])):
        assert repr(value).startswith(type(value).__name__ + "(")
        assert len(repr(value)) < 400
        assert "\n" not in repr(value)
        assert isinstance(value, Scan) or str(value) != repr(value)


def test_the_package_lists_its_names() -> None:
    lazy = {"IndexTablesDataSource", "check_workers", "col", "disable", "enable", "explain", "sql"}
    assert lazy | {"IndexTable", "IndexTablesError", "Layout", "Transform", "__version__"} <= {*dir(indextables)}
    assert all(hasattr(indextables, name) for name in (*indextables.__all__, *lazy))
