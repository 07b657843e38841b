import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from indextables.errors import AccessDeniedError, StorageError
from indextables.storage.cache import DirectoryCache
from indextables.storage.local import TEMPORARY


def filler(content: bytes = b"x" * 100) -> Callable[[Path], object]:
    return lambda directory: (directory / "file").write_bytes(content)


def refuse(_: Path) -> None:
    raise AssertionError("it is there already")


def content(directory: Path) -> bytes:
    return (directory / "file").read_bytes()


def test_an_entry_is_made_once(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path / "cache", max_bytes=1000)
    assert cache.opened(("a", 1), filler(b"hello"), content) == b"hello"
    again = DirectoryCache(tmp_path / "cache", max_bytes=1000)
    assert again.opened(("a", 1), refuse, content) == b"hello"
    assert (cache.hits, cache.misses, again.hits, again.misses) == (0, 1, 1, 0)


def test_all_of_the_identity_counts(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=1000)
    identities = [("t", "a", 1), ("t", "a", 2), ("t", "b", 1), ("ta", "", 1), ("t", "a", "1")]
    for number, identity in enumerate(identities):
        cache.opened(identity, filler(bytes([number])), content)
    found = [cache.opened(identity, refuse, content) for identity in identities]
    assert found == [bytes([number]) for number in range(len(identities))]


def use(cache: DirectoryCache, name: str, *, at: int) -> Path:
    """Uses an entry, and sets the clock of its last use, because that of the disk may be coarse."""
    before = set(cache.directory.iterdir())
    found = cache.opened((name,), filler(), lambda directory: directory)
    entry = next(iter(set(cache.directory.iterdir()) - before), found)
    os.utime(entry, (at, at))
    return entry


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=300)
    first, second, third = (use(cache, name, at=at) for at, name in enumerate("abc", start=1))
    use(cache, "a", at=4)
    fourth = use(cache, "d", at=5)
    assert [entry.exists() for entry in (first, second, third, fourth)] == [True, False, True, True]
    assert cache.size() == 300


def test_what_was_just_made_stays_however_large(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=10)
    cache.opened(("small",), filler(b"x"), content)
    cache.opened(("large",), filler(b"x" * 1000), content)
    assert cache.size() == 1000


def test_open_files_outlive_their_entry(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=150)
    with cache.opened(("a",), filler(b"mine"), lambda entry: (entry / "file").open("rb")) as file:
        cache.opened(("b",), filler(b"x" * 200), content)
        assert cache.size() == 200
        assert file.read() == b"mine"


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="No space left on device"):
        DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), fail, content)
    assert list(tmp_path.iterdir()) == []


def test_an_entry_that_the_disk_has_damaged_is_made_again(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=1000)
    cache.opened(("a",), filler(b"good"), content)
    next(tmp_path.glob("*/file")).unlink()
    assert cache.opened(("a",), filler(b"good"), content) == b"good"
    assert cache.opened(("a",), refuse, content) == b"good"
    assert (cache.hits, cache.misses) == (1, 2)


def entry_of(directory: Path) -> Path:
    """The only entry, with the file `file`."""
    [file] = directory.glob("*/file")
    return file.parent


def replace_by_link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def replace_entry_by_link(entry: Path) -> None:
    entry.rename(entry.parent / "elsewhere")
    entry.symlink_to(entry.parent / "elsewhere")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "another byte": lambda entry: (entry / "file").write_bytes(b"gopd"),
    "too long": lambda entry: (entry / "file").write_bytes(b"goodgood"),
    "too short": lambda entry: (entry / "file").write_bytes(b"goo"),
    "missing": lambda entry: (entry / "file").unlink(),
    "a link": lambda entry: replace_by_link(entry / "file"),
    "a pipe": lambda entry: replace_by_pipe(entry / "file"),
    "one more": lambda entry: (entry / "more").write_bytes(b"x"),
    "no checksums": lambda entry: (entry / "checksums.json").unlink(),
    "damaged checksums": lambda entry: (entry / "checksums.json").write_bytes(b"\xff{"),
    "linked checksums": lambda entry: replace_by_link(entry / "checksums.json"),
    "a linked entry": replace_entry_by_link,
    "open to others": lambda entry: entry.chmod(0o770),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_entry_that_is_not_what_was_written_is_made_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    directory = tmp_path / "cache"
    DirectoryCache(directory, max_bytes=1000).opened(("a",), filler(b"good"), content)
    entry = entry_of(directory)
    DAMAGES[damage](entry)
    other_process = DirectoryCache(directory, max_bytes=1000)
    assert other_process.opened(("a",), filler(b"good"), content) == b"good"
    assert (other_process.hits, other_process.misses) == (0, 1)
    assert [record.getMessage().startswith(f"the cache entry {entry} is made anew: ") for record in caplog.records] == [
        True
    ]
    assert DirectoryCache(directory, max_bytes=1000).opened(("a",), refuse, content) == b"good"
    assert not list(directory.glob(f"{TEMPORARY}*"))


def test_a_file_in_the_place_of_an_entry_is_replaced(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=1000)
    cache.opened(("a",), filler(b"good"), content)
    entry = entry_of(tmp_path)
    cache.clear()
    entry.write_bytes(b"no directory")
    assert cache.opened(("a",), filler(b"good"), content) == b"good"
    assert cache.opened(("a",), refuse, content) == b"good"


def test_an_entry_of_somebody_else_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), filler(b"good"), content)
    entry, facts = entry_of(tmp_path), Path.lstat

    def lstat(path: Path) -> os.stat_result:
        mine = facts(path)
        return os.stat_result((*mine[:4], mine.st_uid + 1, *mine[5:])) if path == entry else mine

    monkeypatch.setattr(Path, "lstat", lstat)
    other_process = DirectoryCache(tmp_path, max_bytes=1000)
    assert other_process.opened(("a",), filler(b"good"), content) == b"good"
    assert other_process.misses == 1


def test_locks_that_appear_later_are_no_damage(tmp_path: Path) -> None:
    DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), filler(b"good"), content)
    (entry_of(tmp_path) / ".tantivy-meta.lock").touch()
    assert DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), refuse, content) == b"good"


def test_links_and_leftovers_of_links_do_not_stop_the_removal_of_old_entries(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    filler()(outside)
    directory = tmp_path / "cache"
    cache = DirectoryCache(directory, max_bytes=10)
    cache.opened(("a",), filler(), content)
    (directory / ("0" * 40)).symlink_to(outside)
    (directory / f"{TEMPORARY}old").symlink_to(outside)
    os.utime(directory / f"{TEMPORARY}old", (0, 0), follow_symlinks=False)
    cache.opened(("b",), filler(), content)
    assert cache.size() == 100
    assert not (directory / f"{TEMPORARY}old").is_symlink()
    assert (outside / "file").exists()


def test_an_entry_that_cannot_be_opened_is_not_kept(tmp_path: Path) -> None:
    def never(_: Path) -> None:
        raise OSError("not an index")

    with pytest.raises(StorageError, match="not an index"):
        DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), filler(), never)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_after_a_day(tmp_path: Path) -> None:
    old, recent = tmp_path / f"{TEMPORARY}old", tmp_path / f"{TEMPORARY}recent"
    for directory in (old, recent):
        directory.mkdir()
        filler()(directory)
    os.utime(old, (0, 0))
    DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), filler(), content)
    assert (old.exists(), recent.exists()) == (False, True)


def test_a_directory_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    with pytest.raises(AccessDeniedError, match="belongs to another user"):
        DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), filler(), content)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_directory_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(AccessDeniedError, match="may be written to by other users"):
        DirectoryCache(tmp_path, max_bytes=1000).opened(("a",), filler(), content)
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AccessDeniedError, match="is a symbolic link"):
        DirectoryCache(tmp_path / "cache", max_bytes=1000).opened(("a",), filler(), content)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_new_directory_is_closed_to_others(tmp_path: Path) -> None:
    DirectoryCache(tmp_path / "new", max_bytes=1000).opened(("a",), filler(), content)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_clear(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, max_bytes=1000)
    cache.opened(("a",), filler(), content)
    cache.clear()
    assert (cache.size(), list(tmp_path.iterdir())) == (0, [])


def test_many_threads_want_the_same_entry(tmp_path: Path) -> None:
    cache, start = DirectoryCache(tmp_path, max_bytes=1000), threading.Barrier(8)

    def want(_: int) -> bytes:
        start.wait()
        return cache.opened(("a",), filler(b"same"), content)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(want, range(8))) == {b"same"}
    assert [path.name[0] != "." for path in tmp_path.iterdir()] == [True]


PROCESS = """
import random, sys
from pathlib import Path
from indextables.storage.cache import DirectoryCache

cache, chance = DirectoryCache(Path(sys.argv[1]), max_bytes=2_500), random.Random(sys.argv[2])

def fill(number):
    def write(directory):
        for part in range(4):
            (directory / str(part)).write_bytes(bytes([number]) * 250)
    return write

def load(directory):
    return b"".join((directory / str(part)).read_bytes() for part in range(4))

for _ in range(200):
    number = chance.randrange(6)
    assert cache.opened((number,), fill(number), load) == bytes([number]) * 1000
print("done", cache.hits > 0, cache.misses > 6)
"""


def test_processes_that_evict_each_other_always_get_what_they_asked_for(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS, tmp_path, str(n)], stdout=subprocess.PIPE) for n in range(4)
    ]
    assert [process.communicate()[0] for process in processes] == [b"done True True\n"] * 4
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(TEMPORARY)]
