import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables.arrow_features import HAS_ROW_LIMIT_OF_PAGES
from indextables.errors import DamagedSplitError
from indextables.split import SplitOptions, SplitReader, writer
from indextables.split import pages as pages_module
from indextables.split.fetched_rows import decode_rows
from tests.split.samples import EVERY_TYPE, counted, numbered, reader, split_of, write

TINY = SplitOptions(row_group_rows=150, page_bytes=1024, page_rows=16)
ROWS = numbered(400)
ENCODINGS = {"n": "DELTA_BINARY_PACKED", "level": "RLE_DICTIONARY", "message": "DELTA_LENGTH_BYTE_ARRAY"}

pages_of_rows = pytest.mark.skipif(not HAS_ROW_LIMIT_OF_PAGES, reason="this pyarrow bounds pages by their bytes alone")


def test_each_column_has_the_encoding_of_its_values(tmp_path: Path) -> None:
    split_of(ROWS, tmp_path, options=TINY)
    group = pq.read_metadata(tmp_path / "part-0.split").row_group(0)
    found = {group.column(n).path_in_schema: group.column(n).encodings for n in range(group.num_columns)}
    assert all(encoding in found[name] for name, encoding in ENCODINGS.items())
    assert "DELTA_BINARY_PACKED" in found["at"]
    assert all("RLE_DICTIONARY" not in found[name] for name in ("n", "message", "at"))


@pages_of_rows
def test_a_row_costs_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_of(ROWS, tmp_path, options=TINY)
    whole = sum(end - start for start, end in split.footer.chunks[1])
    requests = counted(split._store, monkeypatch)
    assert split.take(pa.array([200])).equals(ROWS.slice(200, 1))
    (ranges,) = requests
    assert len(ranges) == 5  # a page of each of four columns, and a dictionary
    assert sum(end - start for start, end in ranges) < whole / 4


@pages_of_rows
def test_pages_that_follow_each_other_are_one_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = split_of(ROWS, tmp_path, options=TINY)
    requests = counted(split._store, monkeypatch)
    split.take(pa.array([0, 17, 40]), ["n"])  # the first three pages
    split.take(pa.array([0, 40]), ["n"])
    split.take(pa.array([149, 150]), ["n"])  # of two row groups
    split.take(pa.array([0, 17]), ["level"])
    assert [len(ranges) for ranges in requests[1:]] == [1, 2, 2, 2]  # after the footer


def test_a_dictionary_that_became_too_large(tmp_path: Path) -> None:
    """The writer goes by the first rows, and Parquet's dictionaries end where they have grown to 1 MB."""
    texts = ["a", None, "b"] * 3000 + [f"{n:01000}" for n in range(1500)]
    rows = pa.table({"n": range(len(texts)), "name": texts})
    split = split_of(rows, tmp_path, options=SplitOptions(page_rows=512))
    encodings = pq.read_metadata(tmp_path / "part-0.split").row_group(0).column(1).encodings
    assert {"PLAIN", "RLE_DICTIONARY"} < set(encodings)
    for wanted in ([0, 1, 2], [8999, 9000, 9001], [10499], [5, 9100, 10300, 10499], list(range(8000, 10500, 7))):
        assert split.take(pa.array(wanted)).equals(rows.take(wanted))
    assert pa.Table.from_batches(split.read()).equals(rows)


@pytest.mark.parametrize("columns", [["line", "n"], ["n", "line"], ["line"], ["n"]])
def test_columns_have_pages_of_other_lengths(tmp_path: Path, columns: list[str]) -> None:
    """Long texts fill a page with fewer rows than numbers do."""
    rows = pa.table({"line": [f"{n:0200}" for n in range(3000)], "n": range(3000)})
    split = split_of(rows, tmp_path, options=SplitOptions(row_group_rows=1000, page_bytes=8192))
    assert len(split.footer.pages("line").sizes) > 4 * len(split.footer.pages("n").sizes)
    for wanted in ([0], [999], [2500], [0, 999], [100, 1100, 2100], [127, 128, 1999, 2000, 2999]):
        assert split.take(pa.array(wanted), columns).equals(rows.select(columns).take(wanted))


def test_pages_of_splits_that_are_written_in_other_ways(tmp_path: Path) -> None:
    """In one of them a column is nullable, in another its values repeat, in a third it has another type."""
    fixed = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("name", pa.string())])
    tables = [
        pa.table({"n": range(100), "name": [f"name {n}" for n in range(100)]}),
        pa.table({"n": [7] * 100, "name": ["same", None] * 50}),
        pa.table([pa.array(range(100)), pa.array(["x"] * 100)], schema=fixed),
        pa.table({"n": pa.array(range(100), pa.int32()), "name": ["y"] * 100}),
        pa.table({"n": range(100, 200), "name": [f"other {n}" for n in range(100)]}),
    ]
    splits = []
    for number, table in enumerate(tables):
        path = tmp_path / f"{number}.split"
        splits.append(reader(path, write(table, path, options=TINY)))
    wanted = [np.array(rows) for rows in ([3, 50, 99], [0, 1], [98], [10, 20, 21, 22], [5])]
    fetched = [split.fetch(rows, ["name", "n"]) for split, rows in zip(splits, wanted, strict=True)]
    for found, table, rows in zip(decode_rows(fetched), tables, wanted, strict=True):
        assert found.equals(table.select(["name", "n"]).take(rows))
    assert decode_rows([]) == []


def test_a_damaged_split_among_others_is_named(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.split" for number in range(3)]
    facts = [write(ROWS, path, options=TINY) for path in paths]
    splits = [reader(path, one) for path, one in zip(paths, facts, strict=True)]
    place = splits[1].footer.pages("n").offsets[0] + 40
    damage(paths[1], int(place))
    fetched = [split.fetch(np.array([0, 1]), ["n"]) for split in splits]
    with pytest.raises(DamagedSplitError, match=r"1\.split is damaged: its pages cannot be read") as caught:
        decode_rows(fetched)
    assert caught.value.path == str(paths[1])


def damage(path: Path, place: int, bit: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


@pages_of_rows
@pytest.mark.parametrize("page", [0, 1, 2, 3])
@pytest.mark.parametrize("wanted", [[17], [17, 21], [3, 17, 39]])
def test_a_page_that_seems_to_be_of_another_kind(tmp_path: Path, page: int, wanted: list[int]) -> None:
    """The checksum of a page does not cover its header, and Arrow leaves pages of unknown kinds out."""
    path, rows = tmp_path / "a.split", pa.table({"n": range(40)})
    facts = write(rows, path, options=SplitOptions(row_group_rows=20, page_rows=16))
    pages = reader(path, facts).footer.pages("n")
    assert pages.num_rows.tolist() == [16, 4, 16, 4]
    damage(path, int(pages.offsets[page]) + 1, bit=3)
    split = reader(path, facts)
    with pytest.raises(DamagedSplitError):
        list(split.read(["n"]))
    with pytest.raises(DamagedSplitError):
        split.values("n")
    if page in {int(np.searchsorted(pages.first_rows, row, side="right")) - 1 for row in wanted}:
        with pytest.raises(DamagedSplitError):
            split.take(pa.array(wanted))


def test_every_flipped_byte_of_a_page_is_noticed_or_harmless(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.split", random.Random(5)
    facts = write(EVERY_TYPE, path, options=SplitOptions(page_rows=2))
    data, wanted = path.read_bytes(), pa.array([1, 3])
    expected = repr(EVERY_TYPE.take(wanted).to_pydict())
    pages = range(4, facts.index[0])
    unnoticed = 0
    for place in chance.sample(pages, 400):
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            found = reader(path, facts).take(wanted)
        except DamagedSplitError:
            continue
        assert repr(found.to_pydict()) == expected, f"byte {place} was flipped, and the rows are other ones"
        unnoticed += 1
    assert unnoticed < 200  # bytes of pages without these rows, and of headers that say what is known already


def test_every_flipped_byte_of_the_tail_is_noticed(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.split", random.Random(6)
    facts = write(ROWS, path, options=TINY)
    data = path.read_bytes()
    for place in chance.sample(range(*facts.footer), 200):
        changed = bytearray(data)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        for known in (facts, None):
            with pytest.raises(DamagedSplitError):
                reader(path, known).take(pa.array([3]))
            with pytest.raises(DamagedSplitError):
                reader(path, known).blocks(["n"])


@pytest.fixture
def without_page_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitReader:
    options = writer._parquet_options

    def changed(*given: Any) -> dict[str, object]:
        return options(*given) | {"write_page_index": False}

    monkeypatch.setattr(writer, "_parquet_options", changed)
    return split_of(ROWS, tmp_path, options=TINY)


def test_a_split_without_page_indexes(without_page_index: SplitReader) -> None:
    with pytest.raises(DamagedSplitError, match="its page index cannot be read"):
        without_page_index.take(pa.array([3]))
    assert pa.Table.from_batches(without_page_index.read()).equals(ROWS)


LIES = {
    "other rows": lambda locations: [(offset, size, row + 1) for offset, size, row in locations],
    "rows that do not ascend": lambda locations: [(offset, size, 0) for offset, size, _ in locations],
    "a page outside of the file": lambda locations: [(2**40, size, row) for _, size, row in locations],
    "pages of no size": lambda locations: [(offset, 0, row) for offset, _, row in locations],
    "no pages": lambda _: [],
    "pages that begin later": lambda locations: [(offset + 1, size, row) for offset, size, row in locations],
}


@pytest.mark.parametrize("lie", LIES)
def test_a_page_index_that_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    """A checksum covers it, so only a writer could tell such lies."""
    path = tmp_path / "a.split"
    split = reader(path, write(ROWS, path, options=TINY))
    true = pages_module._page_locations

    def lying(index: bytes) -> Any:
        told = LIES[lie](list(zip(*(part.tolist() for part in true(index)), strict=True)))
        if not told:
            raise ValueError("a page index has no page locations")
        return tuple(np.array(part, np.int64) for part in zip(*told, strict=True))

    monkeypatch.setattr(pages_module, "_page_locations", lying)
    wanted = pa.array([100, 390])
    try:
        found = split.take(wanted, ["n"])
    except DamagedSplitError:
        return
    assert found.equals(ROWS.select(["n"]).take(wanted))
