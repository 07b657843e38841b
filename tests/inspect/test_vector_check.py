"""A check finds deletion vectors that are missing or damaged, and nothing in tables with sound ones."""

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.inspect.check_findings import Problem
from indextables.split.deletion_bitmap import encode_bitmap
from tests.log.hand_written import Lines, edit_version

ROWS = 30_000


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Two splits, both with a deletion vector in one file; a third has one in the log. Versions 1 to 3, 4 and 5."""
    table = IndexTable.create(tmp_path / "t", {"k": pa.int64(), "n": pa.int64()})
    for first in (0, 100):
        table.append(pa.table({"k": [first + n % 11 for n in range(ROWS)], "n": range(ROWS)}))
    table.append(pa.table({"k": [1000] * 10, "n": range(10)}))
    assert table.delete("k IN (0, 100)").vectors == 2
    assert table.delete("k = 1000 AND n = 7").vectors == 1
    return table


@pytest.fixture
def vectors(table: IndexTable) -> Path:
    [file] = Path(table.path).glob("vectors-*.bin")
    return file


def edit_vectors(table: IndexTable, version: int, **changes: Any) -> None:
    def edit(lines: Lines) -> None:
        for line in lines:
            if "deletionVector" in line:
                line["deletionVector"].update(changes)

    edit_version(table.path, version, edit)


def found(table: IndexTable, *, deep: bool = False) -> list[tuple[Problem, str]]:
    return [(one.kind, one.file) for one in IndexTable.check_path(table.path, deep=deep, sample=1).findings]


@pytest.mark.parametrize("deep", [False, True])
def test_there_is_nothing_to_find_in_sound_ones(table: IndexTable, *, deep: bool) -> None:
    assert found(table, deep=deep) == []
    table.checkpoint()
    table.delete("k = 1")
    table.merge_splits(deleted_rows=True)
    table.restore(version=5)
    assert found(table, deep=deep) == []


def test_a_file_is_missing(table: IndexTable, vectors: Path) -> None:
    vectors.unlink()
    [one] = table.check().findings
    assert (one.kind, one.file) == (Problem.MISSING_VECTOR, vectors.name)
    assert one.message.endswith("and of 1 other splits")
    assert "restore a version before the rows were deleted" in one.repair()


def test_a_flipped_bit_in_a_file(table: IndexTable, vectors: Path) -> None:
    content = bytearray(vectors.read_bytes())
    content[len(content) // 4] ^= 1
    vectors.write_bytes(content)
    assert found(table) == []
    [one] = [one for one in table.check(deep=True).findings if one.kind is Problem.DAMAGED_VECTOR]
    assert (one.file, "the checksum that the log says" in one.message) == (vectors.name, True)
    assert one.place.startswith("the deleted rows of part-")


def test_a_file_that_was_cut(table: IndexTable, vectors: Path) -> None:
    vectors.write_bytes(vectors.read_bytes()[:100])
    kinds = {kind for kind, _ in found(table, deep=True)}
    assert kinds <= {Problem.DAMAGED_VECTOR, Problem.UNREADABLE_FILE}
    assert kinds


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cardinality": 2}, "its bitmap has 1 rows where the log says 2"),
        ({"crc32": 1}, "the checksum that the log says"),
        ({"bitmap": b64encode(b"no bitmap").decode(), "crc32": None}, "cannot be read"),
        ({"bitmap": b64encode(encode_bitmap(np.array([10]))).decode(), "crc32": None}, "row 10 is deleted"),
    ],
)
def test_one_in_the_log_says_something_else(table: IndexTable, changes: dict[str, Any], message: str) -> None:
    edit_vectors(table, 5, **changes)
    [one] = IndexTable.check_path(table.path).findings
    assert one.kind is Problem.DAMAGED_VECTOR
    assert one.file.endswith(".split")
    assert message in one.message


def test_the_log_keeps_small_ones_as_portable_bitmaps(table: IndexTable) -> None:
    seen: list[dict[str, Any]] = []
    edit_version(
        table.path, 5, lambda lines: seen.extend(line["deletionVector"] for line in lines if "deletionVector" in line)
    )
    [vector] = seen
    bitmap = b64decode(vector["bitmap"])
    assert (bitmap, vector["crc32"]) == (encode_bitmap(np.array([7])), crc32(bitmap))
