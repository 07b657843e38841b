import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.errors import DamagedSplitError, OversizedSplitError
from indextables.search import documents
from indextables.split import SplitCache
from indextables.storage.cache import DirectoryCache
from tests.split.samples import numbered, private_cache, query, reader, write


def test_an_index_that_numbers_rows_otherwise_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reversed_documents(*given: object) -> Iterator[str]:
        return reversed(list(documents(*given)))

    (memory := tmp_path / "memory").mkdir()
    monkeypatch.setattr("indextables.split.word_index._MEMORY_DISK", memory)
    monkeypatch.setattr("indextables.split.word_index.documents", reversed_documents)
    with pytest.raises(DamagedSplitError, match="does not number the rows in the order"):
        write(numbered(100), tmp_path / "a.split", rows_per_group=10)
    assert [*tmp_path.iterdir(), *memory.iterdir()] == [memory]


@pytest.mark.parametrize("column", ["n", "level", "message"])
def test_one_column_is_enough_to_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    def shifted_documents(*given: object) -> list[str]:
        first, *rest = documents(*given)
        return [*rest, first]

    monkeypatch.setattr("indextables.split.word_index.documents", shifted_documents)
    rows = pa.table({"message": numbered(1000)[column].cast(pa.string())})
    with pytest.raises(DamagedSplitError):
        write(rows, tmp_path / "a.split", rows_per_batch=25)


def test_an_index_that_lost_rows_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.split.word_index.documents", lambda *given: list(documents(*given))[:-1])
    with pytest.raises(DamagedSplitError):
        write(numbered(10).select(["message"]), tmp_path / "a.split")


def test_more_rows_than_an_index_holds_in_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indextables.split.word_index._MAX_MEMORY", 15_000_000)
    rows = pa.table({"message": [f"{n:030}" for n in range(150_000)]})
    with pytest.raises(OversizedSplitError, match="write fewer rows to each split") as caught:
        write(rows, tmp_path / "a.split")
    assert caught.value.rows == 150_000
    assert list(tmp_path.iterdir()) == []


def search(path: Path, cache: SplitCache) -> list[int]:
    split = reader(path, None, cache=cache)
    found: list[int] = split.search(query(split, "message:3")).tolist()
    return found


def expected(rows: int) -> list[int]:
    """The rows in which `search` finds the word: the number of the request, or how long it took."""
    return [n for n in range(rows) if n == 3 or n % 7 == 3]


def test_an_index_is_unpacked_once(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.split", private_cache(tmp_path)
    write(numbered(100), path)
    first, again = search(path, cache), search(path, cache)
    other_process = SplitCache(DirectoryCache(cache.directories.directory, max_bytes=10**9))
    assert first == again == search(path, other_process) == expected(100)
    assert (cache.directories.misses, cache.directories.hits) == (1, 0)  # the second time it was still open
    assert (other_process.directories.misses, other_process.directories.hits) == (0, 1)


def test_a_replaced_split_is_not_confused_with_the_old_one(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.split", private_cache(tmp_path)
    write(numbered(100), path)
    search(path, cache)
    write(numbered(100).slice(50), path)
    assert search(path, cache) == [n - 50 for n in range(50, 100) if n % 7 == 3]


def test_an_open_index_outlives_its_files(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.split", private_cache(tmp_path)
    write(numbered(100), path)
    split = reader(path, None, cache=cache)
    _ = split.word_index
    cache.directories.clear()
    assert split.count(query(split, "took")) == 100
    assert split.count(query(split, "took AND n:[10 TO 19]")) == 10


def test_an_index_that_the_disk_has_damaged_is_unpacked_again(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.split", private_cache(tmp_path)
    write(numbered(100), path)
    search(path, cache)
    for file in cache.directories.directory.glob("*/*"):
        file.write_bytes(b"")
    assert search(path, SplitCache(cache.directories)) == expected(100)


@pytest.mark.parametrize("kind", ["term", "fast", "pos"])
def test_an_index_that_makes_no_sense_is_unpacked_again(tmp_path: Path, kind: str) -> None:
    path, cache = tmp_path / "a.split", private_cache(tmp_path)
    write(numbered(100), path)
    search(path, cache)
    (file,) = cache.directories.directory.glob(f"*/*.{kind}")
    content = file.read_bytes()
    file.write_bytes(b"\xff" * (len(content) - 120) + content[-120:])  # tantivy looks at the end when it opens a file
    assert search(path, SplitCache(cache.directories)) == expected(100)


def test_no_bit_of_an_unpacked_index_can_change_the_rows(tmp_path: Path) -> None:
    path, cache = tmp_path / "a.split", private_cache(tmp_path)
    write(numbered(100), path)
    search(path, cache)
    [entry] = cache.directories.directory.iterdir()
    for name in sorted(file.name for file in entry.iterdir()):
        content = (entry / name).read_bytes()
        for position in {0, len(content) // 3, len(content) // 2, len(content) - 1} if content else set[int]():
            flipped = bytes([content[position] ^ 1 << position % 8])
            (entry / name).write_bytes(content[:position] + flipped + content[position + 1 :])
            other_process = SplitCache(DirectoryCache(cache.directories.directory, max_bytes=10**9))
            assert search(path, other_process) == expected(100), (name, position)
            assert other_process.misses == 1, (name, position)


def test_an_exact_index_on_disk_is_verified(tmp_path: Path) -> None:
    cache = private_cache(tmp_path)
    cache.file(("a",), lambda: pa.py_buffer(b"values"))
    [file] = cache.directories.directory.glob("*/file")
    file.write_bytes(b"valves")
    other_process = SplitCache(DirectoryCache(cache.directories.directory, max_bytes=10**9))
    assert other_process.file(("a",), lambda: pa.py_buffer(b"values")).to_pybytes() == b"values"


def test_few_indexes_are_held_open(tmp_path: Path) -> None:
    cache = private_cache(tmp_path)
    for number in range(140):
        write(numbered(10 + number), tmp_path / f"{number}.split")
        search(tmp_path / f"{number}.split", cache)
    maps = Path("/proc/self/maps").read_text()
    assert 0 < len({line.rsplit("/", 2)[1] for line in maps.splitlines() if str(tmp_path) in line}) <= 128


PROCESS = """
import random, sys
from pathlib import Path
from tests.split.test_word_index import expected, search
from indextables.split import SplitCache
from indextables.storage.cache import DirectoryCache

directory, chance = Path(sys.argv[1]), random.Random(sys.argv[2])
for _ in range(40):
    cache = SplitCache(DirectoryCache(directory / "cache", max_bytes=12_000))
    number = chance.randrange(4)
    assert search(directory / f"{number}.split", cache) == expected(100 + number), number
print("done")
"""


def test_processes_that_share_a_small_cache_find_the_right_rows(tmp_path: Path) -> None:
    for number in range(4):
        write(numbered(100 + number), tmp_path / f"{number}.split")
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS, tmp_path, str(n)], stdout=subprocess.PIPE) for n in range(3)
    ]
    assert [process.communicate()[0] for process in processes] == [b"done\n"] * 3
