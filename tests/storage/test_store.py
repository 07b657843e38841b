"""One contract, every store."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables.config import Config
from indextables.errors import AlreadyExistsError, FileReplacedError, NotFoundError, StorageError, UnsafePathError
from indextables.storage import Store, open_store
from indextables.storage.local import TEMPORARY, LocalStore
from tests.stores.servers import Server


@pytest.fixture(params=["local", "memory", "s3", "azure"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    match request.param:
        case "local":
            return open_store(tmp_path / "my table")
        case "memory":
            return open_store(f"memory://{uuid4().hex}/my table")
        case cloud:
            server: Server = request.getfixturevalue(cloud)
            return open_store(server.new_table() + "/my table", Config.resolve(server.options))


def test_a_file_is_read_by_its_tag(store: Store) -> None:
    store.put("digits", b"0123456789")
    content, tag = store.read_tagged("digits", 2, 5)
    assert content.to_pybytes() == b"234"
    assert [part.to_pybytes() for part in store.read_ranges("digits", [(7, 9), (0, 1)], tag=tag)] == [b"78", b"0"]
    assert store.read_joined("digits", [(7, 9), (0, 1)], tag=tag).to_pybytes() == b"780"
    free = store.free_tag("digits")
    store.put("digits", b"9876543210")
    assert store.free_tag("digits") != free or free is None
    if isinstance(store, LocalStore):
        return
    for read in (store.read_ranges, store.read_joined):
        with pytest.raises(FileReplacedError, match="digits was replaced by another file after it was read"):
            read("digits", [(0, 1)], tag=tag)
    store.delete(["digits"])
    with pytest.raises(NotFoundError):
        store.read_ranges("digits", [(0, 1)], tag=tag)


def test_directories_that_may_not_be_read_are_left_out_of_a_listing() -> None:
    with TemporaryDirectory(dir="/tmp") as place:  # others may enter it, unlike the directories of pytest
        Path(place).chmod(0o755)
        store = open_store(place)
        store.put("a/b", b"1")
        Path(place, "lost+found").mkdir(mode=0o000)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            assert [entry.key for entry in store.list()] == ["a/b"]
        finally:
            os.seteuid(user)


ODD_KEYS = [
    "plain",
    "a/b/c.split",
    "date=2024-01-01/app=%5B%23small%5D/x",
    "p=a%252Fb/x",
    "with space and #/x",
    "_hid=1/x",
    "é=ü/x",
    "e\u0301=1/x",
    "..two-dots/x",
    "x~y/z?",
]


def test_what_is_put_is_read(store: Store) -> None:
    store.put("a/b", b"hello")
    store.put("a/b", b"hello again")
    assert store.read("a/b").to_pybytes() == b"hello again"


@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_key_is_kept_exactly(store: Store, key: str) -> None:
    store.put(key, b"1")
    store.put_if_absent(key + "2", b"22")
    assert store.read(key).to_pybytes() == b"1"
    assert {(entry.key, entry.size) for entry in store.list()} == {(key, 1), (key + "2", 2)}


def test_an_empty_file_is_a_file(store: Store) -> None:
    store.put("empty", b"")
    assert store.read("empty").size == 0
    assert store.head("empty").size == 0


def test_arrow_buffers_are_data(store: Store) -> None:
    store.put("a", pa.py_buffer(b"hello"))
    store.put_if_absent("b", pa.py_buffer(memoryview(b"hello again")[:5]))
    assert store.read("a").to_pybytes() == store.read("b").to_pybytes() == b"hello"


def test_ranges(store: Store) -> None:
    store.put("digits", b"0123456789")
    assert store.read_range("digits", 2, 5).to_pybytes() == b"234"
    assert store.read_range("digits", 8, 100).to_pybytes() == b"89"
    assert [part.to_pybytes() for part in store.read_ranges("digits", [(7, 9), (0, 1)])] == [b"78", b"0"]
    assert store.read_joined("digits", [(7, 9), (0, 1), (2, 4)]).to_pybytes() == b"78023"


def test_a_file_on_this_machine_is_opened(store: Store) -> None:
    store.put("digits", b"0123456789")
    file = store.open_file("digits", [(2, 5)])
    assert (file is None) == (store.location.scheme != "file")
    assert file is None or file.read_at(3, 2) == b"234"


def test_many_files_are_read_in_the_order_asked(store: Store) -> None:
    keys = [f"k{i}" for i in range(40)]
    for key in keys:
        store.put(key, key.encode())
    assert [part.to_pybytes().decode() for part in store.read_all(keys[::-1])] == keys[::-1]


def test_a_local_file_is_put(store: Store, tmp_path: Path) -> None:
    source = tmp_path / "source.bin"
    source.write_bytes(b"x" * 3_000_000)
    store.put_file("big/file", source)
    assert store.head("big/file").size == 3_000_000
    assert source.exists()


def test_head_tells_size_and_time(store: Store) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    store.put("a", b"12345")
    entry = store.head("a")
    assert (entry.key, entry.size) == ("a", 5)
    assert before < entry.modified < datetime.now(UTC) + timedelta(minutes=1)


def test_a_listing_stays_under_its_prefix(store: Store) -> None:
    for key in ("a/1", "a/b/2", "ab/3", "4"):
        store.put(key, b"")
    assert {entry.key for entry in store.list("a")} == {"a/1", "a/b/2"}
    assert {entry.key for entry in store.list("a/")} == {"a/1", "a/b/2"}
    assert {entry.key for entry in store.list()} == {"a/1", "a/b/2", "ab/3", "4"}


def test_a_listing_after_a_key(store: Store) -> None:
    for key in ("a/1", "a/2", "a/2/3", "a/b/4", "a/c", "b"):
        if not (store.location.scheme == "file" and key == "a/2"):  # which is a directory there
            store.put(key, b"")
    assert {entry.key for entry in store.list("a", after="a/2")} == {"a/2/3", "a/b/4", "a/c"}
    assert {entry.key for entry in store.list("a", after="a/b/4")} == {"a/c"}
    assert list(store.list("a", after="a/c")) == []
    assert {entry.key for entry in store.list(after="a/c")} == {"b"}


def test_nothing_there_lists_nothing(store: Store) -> None:
    assert list(store.list()) == []
    assert list(store.list("nowhere")) == []


def test_delete(store: Store) -> None:
    store.put("a", b"")
    store.put("b", b"")
    store.delete(["a", "never there"])
    assert [entry.key for entry in store.list()] == ["b"]


@pytest.mark.parametrize("operation", ["read", "head"])
def test_what_is_not_there_is_not_found(store: Store, operation: str) -> None:
    with pytest.raises(NotFoundError, match="my table/nope does not exist") as caught:
        getattr(store, operation)("nope")
    assert caught.value.path == f"{store.location}/nope"


def test_a_range_of_what_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(NotFoundError):
        store.read_range("nope", 0, 1)
    with pytest.raises(NotFoundError):
        store.read_ranges("nope", [(0, 1)])
    with pytest.raises(NotFoundError):
        store.read_joined("nope", [(0, 1)])
    if store.location.scheme == "file":
        with pytest.raises(NotFoundError):
            store.open_file("nope", [(0, 1)])


def test_put_if_absent_refuses_what_is_there(store: Store) -> None:
    store.put_if_absent("v", b"first")
    with pytest.raises(AlreadyExistsError, match="already exists"):
        store.put_if_absent("v", b"second")
    assert store.read("v").to_pybytes() == b"first"


def test_put_if_absent_has_one_winner(store: Store) -> None:
    contenders = 16
    start = threading.Barrier(contenders)

    def contend(number: int) -> int | None:
        start.wait()
        try:
            store.put_if_absent("v", str(number).encode() * 10_000)
        except AlreadyExistsError:
            return None
        return number

    with ThreadPoolExecutor(contenders) as pool:
        winners = [number for number in pool.map(contend, range(contenders)) if number is not None]
    assert len(winners) == 1
    assert store.read("v").to_pybytes() == str(winners[0]).encode() * 10_000


UNSAFE = [
    *("", "..", "../x", "a/../../x", "a/..", "./a", "a/.", "a//b"),
    *("/etc/passwd", "s3://other/key", "file:/x", "a\0b", "a\nb"),
]


@pytest.mark.parametrize("key", UNSAFE)
def test_a_key_that_leaves_the_table_is_refused(store: Store, key: str, tmp_path: Path) -> None:
    calls = [
        lambda: store.read(key),
        lambda: store.read_range(key, 0, 1),
        lambda: store.read_ranges(key, [(0, 1)]),
        lambda: store.read_joined(key, [(0, 1)]),
        lambda: store.put(key, b""),
        lambda: store.put_if_absent(key, b""),
        lambda: store.put_file(key, Path(__file__)),
        lambda: store.head(key),
        lambda: store.delete([key]),
    ]
    for call in calls:
        with pytest.raises(UnsafePathError):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_listing_outside_the_table_is_refused(store: Store) -> None:
    with pytest.raises(UnsafePathError):
        list(store.list("../"))


class TestLocalDisk:
    def test_a_failed_write_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = open_store(tmp_path)

        def disk_full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", disk_full)
        with pytest.raises(StorageError, match="No space left on device"):
            store.put_if_absent("v", b"x")
        assert list(tmp_path.iterdir()) == []

    def test_a_lost_race_leaves_no_temporary_file(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        store.put_if_absent("log/v", b"x")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("log/v", b"y")
        assert [path.name for path in (tmp_path / "log").iterdir()] == ["v"]

    def test_the_name_is_given_only_to_flushed_bytes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        events: list[str] = []
        real_fsync, real_link = os.fsync, os.link
        monkeypatch.setattr(os, "fsync", lambda fd: (events.append("fsync"), real_fsync(fd)))
        monkeypatch.setattr(os, "link", lambda a, b: (events.append("link"), real_link(a, b)))
        open_store(tmp_path).put_if_absent("v", b"x")
        assert events == ["fsync", "link", "fsync"]  # the file, its name, the directory

    def test_a_file_where_a_directory_should_be(self, tmp_path: Path) -> None:
        store = open_store(tmp_path)
        store.put("a", b"")
        with pytest.raises(StorageError):
            store.put("a/b", b"")
        with pytest.raises(StorageError):
            store.read("a/b")

    def test_a_temporary_file_is_recognisable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        names: list[str] = []
        real_link = os.link
        monkeypatch.setattr(os, "link", lambda a, b: (names.append(Path(a).name), real_link(a, b)))
        open_store(tmp_path).put_if_absent("v", b"x")
        assert names[0].startswith(TEMPORARY)


def test_what_was_listed_is_deleted_unless_it_has_changed(store: Store) -> None:
    for key in ("a/1", "a/2", "a/3"):
        store.put(key, key.encode())
    listed = sorted(store.list("a"), key=lambda entry: entry.key)
    store.put("a/2", b"new")
    store.delete(["a/3"])
    store.delete_unchanged(listed)
    assert [entry.key for entry in store.list("a")] == ["a/2"]
