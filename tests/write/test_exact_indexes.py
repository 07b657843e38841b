"""Which exact indexes a write makes, and that splits which are built at the same time fail together."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, IndexTablesError, SchemaError, StorageError
from indextables.split.format import INDEX_KEY, IndexSection
from indextables.write import pipeline
from tests.write.samples import SCHEMA, planned, rows, split_files, written

KEY = "spark.indextables.indexing.exact."


def exact_of(table: IndexTable) -> list[dict[str, str]]:
    """The kinds of exact indexes in each split of a table, by column, as its footer says."""
    return [exact_in(Path(table.path, name)) for name in table.refresh().splits()["path"].to_pylist()]


def exact_in(path: Path) -> dict[str, str]:
    section = msgspec.json.decode(pq.read_metadata(path).metadata[INDEX_KEY.encode()], type=IndexSection)
    assert {column.file for column in section.exact.values()} <= {file.name for file in section.files}
    return {column: known.kind for column, known in section.exact.items()}


def test_a_setting_may_be_an_option_or_a_property(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "option", SCHEMA)
    table.append(rows(1, 2), options={"indexing.exact.ID": "hash", f"{KEY}day": "Dictionary"})
    assert exact_of(table) == [{"day": "dictionary", "id": "hash"}]
    assert table.count("id = 2") == table.count(query="id:2 AND day:mon") == 1

    table = IndexTable.create(tmp_path / "property", SCHEMA, properties={f"{KEY}id": "hash"})
    table.append(rows(1, 2))
    assert exact_of(table) == [{"id": "hash"}]
    assert IndexTable.open(table.path).count("id = 2") == 1


def test_an_option_of_a_write_goes_before_the_property(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA, properties={f"{KEY}id": "hash", f"{KEY}day": "dictionary"})
    table.append(rows(1, 2), options={"indexing.exact.id": "none"})
    assert exact_of(table) == [{"day": "dictionary"}]


def test_an_option_of_an_open_table(tmp_path: Path) -> None:
    IndexTable.create(tmp_path / "t", SCHEMA)
    table = IndexTable.open(tmp_path / "t", options={"indexing.exact.id": "dictionary"})
    table.append(rows(1, 2))
    assert exact_of(table) == [{"id": "dictionary"}]


def test_few_rows_need_no_index(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    table.append(rows(1, 2))
    assert exact_of(table) == [{}]
    assert table.count(query="id:2 AND day:mon") == 1


def test_each_split_gets_the_index_of_its_own_values(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA)
    mixed = [n * 7919 % 5000 for n in range(5000)]
    table.append(rows(*mixed))
    assert exact_of(table) == [{"id": "hash", "message": "hash"}]
    table.overwrite(rows(*range(5000)))
    assert exact_of(table) == [{"message": "hash"}]


def test_a_job_of_many_tasks(tmp_path: Path) -> None:
    job = planned(tmp_path / "t", **{"indexing.exact.id": "hash"})
    written(job, rows(1), rows(2, day="tue"))
    assert [exact_in(tmp_path / "t" / name) for name in split_files(tmp_path / "t")] == [{"id": "hash"}] * 2


REFUSED = [
    (("indexing.exact.id", "btree"), ConfigError, "indexing.exact.id is 'btree'; use auto, dictionary, hash, none"),
    (("indexing.exact.nme", "hash"), SchemaError, "there is no column 'nme' to index"),
    (("indexing.exact.price", "hash"), SchemaError, "has type double and cannot have a hash index"),
    (("indexing.exact.message", "hash"), SchemaError, "'message' is indexed as .* and has no exact index"),
]
PRICED = SCHEMA.append(pa.field("price", pa.float64()))


@pytest.mark.parametrize(("setting", "kind", "words"), REFUSED)
@pytest.mark.parametrize("write", ["append", "overwrite"])
def test_an_option_that_is_refused_before_any_file(
    tmp_path: Path, write: str, setting: tuple[str, str], kind: type[IndexTablesError], words: str
) -> None:
    table = IndexTable.create(tmp_path / "t", PRICED, fields={"message": "text"})
    with pytest.raises(kind, match=words):
        getattr(table, write)(rows(1), options=dict([setting]))
    assert (table.refresh().version, split_files(Path(table.path))) == (0, set())


@pytest.mark.parametrize(("setting", "kind", "words"), REFUSED)
def test_a_job_that_is_refused_before_any_file(
    tmp_path: Path, setting: tuple[str, str], kind: type[IndexTablesError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        planned(tmp_path / "t", schema=PRICED, **{"indexing.typemap.message": "text", **dict([setting])})
    assert not (tmp_path / "t").exists()


class CompiledExpression:
    """Writes of splits of which one fails, while another is under way."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.calls = 0
        self.lock = threading.Lock()
        self.failed = threading.Event()

    def __call__(self, *given: Any, **named: Any) -> Any:
        with self.lock:
            self.calls += 1
            number = self.calls
        if number == self.number:
            self.failed.set()
            raise OSError(28, "No space left on device")
        if number > 1:
            self.failed.wait(5)
        return WRITE_SPLIT(*given, **named)


WRITE_SPLIT = pipeline.write_split


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def memory_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of the disk in memory, which other processes use too."""
    monkeypatch.setattr("indextables.split.word_index._MEMORY_DISK", tmp_path / "memory")
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("words", [True, False])
def test_a_split_that_fails_leaves_no_file_of_any(  # noqa: PLR0917 - cases and fixtures
    tmp_path: Path,
    scratch: Path,
    memory_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    words: bool,  # noqa: FBT001 - a parameter of cases
) -> None:
    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day", fields={"message": "text"} if words else {})
    monkeypatch.setattr(pipeline, "write_split", CompiledExpression(number))
    batches = [rows(n, day=f"day {n}") for n in range(6)]
    with pytest.raises(StorageError, match="No space left on device; make room there"):
        table.append(iter(batches), options={"indexWriter.tempDirectoryPath": str(scratch)})
    assert split_files(Path(table.path)) == set()
    assert list(scratch.iterdir()) == []
    assert list(memory_disk.iterdir()) == []
    assert table.refresh().version == 0


def test_an_index_that_fails_leaves_no_file_in_memory(
    tmp_path: Path, scratch: Path, memory_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the midst of the words of a split, while the rows of it are written by another thread."""

    def failing(*_: Any) -> Iterator[str]:
        yield '{"message": "fine"}'
        raise MemoryError("no more words")

    table = IndexTable.create(tmp_path / "t", SCHEMA, partition_by="day", fields={"message": "text"})
    monkeypatch.setattr("indextables.split.word_index.documents", failing)
    with pytest.raises(MemoryError, match="no more words"):
        table.append(
            iter([rows(n, day=f"day {n}") for n in range(3)]), options={"indexWriter.tempDirectoryPath": str(scratch)}
        )
    assert split_files(Path(table.path)) == set()
    assert list(scratch.iterdir()) == []
    assert list(memory_disk.iterdir()) == []
    monkeypatch.undo()
    assert table.append(rows(1)) == 1
