"""What users are told where there is no table: what is there, and what to do."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable, IndexTablesError
from indextables.errors import StorageError, TableNotFoundError


def table(root: Path) -> Path:
    IndexTable.create(root / "logs", {"day": pa.string(), "n": pa.int64()}, partition_by="day").append(
        [{"day": "mon", "n": 1}]
    )
    return root / "logs"


def touched(file: Path) -> Path:
    file.parent.mkdir(parents=True)
    file.touch()
    return file


def parquet(file: Path) -> Path:
    pq.write_table(pa.table({"n": [1]}), file)
    return file


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (lambda root: table(root).with_name("log"), "nothing is there; did you mean {root}/logs?"),
        (lambda root: root / "nowhere", "nothing is there; check the path"),
        (lambda root: table(root).parent, "it is a directory with a table in it; open {root}/logs"),
        (lambda root: table(root) / "day=mon", "it is a directory of the table at {root}/logs; open that one"),
        (lambda root: table(root) / "day=tue", "nothing is there, and {root}/logs is a table; open that one"),
        (lambda root: touched(root / "d/_delta_log/0.json").parents[1], "it is a Delta table"),
        (lambda root: touched(root / "i/metadata/v1.metadata.json").parents[1], "it is an Iceberg table"),
        (lambda root: touched(root / "h/.hoodie/hoodie.properties").parents[1], "it is a Hudi table"),
        (lambda root: parquet(root / "a.parquet").parent, "it is a directory of Parquet files; `indextables import"),
        (lambda root: parquet(root / "a.parquet"), "is a file, and a table is a directory; `indextables import"),
    ],
)
def test_what_is_there_is_said(place: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError) as caught:
        IndexTable.open(place(tmp_path))
    assert message.format(root=tmp_path) in str(caught.value)


def test_a_table_in_memory_is_looked_for_beside_the_path() -> None:
    IndexTable.create("memory://missing/events", {"n": pa.int64()})
    with pytest.raises(TableNotFoundError, match="did you mean memory://missing/events?"):
        IndexTable.open("memory://missing/event")


def test_a_home_directory_is_not_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StorageError, match=f"only a shell expands; write {tmp_path}/logs"):
        IndexTable.create("~/logs", {"n": pa.int64()})
    with pytest.raises(IndexTablesError):
        IndexTable.open("~/logs")
