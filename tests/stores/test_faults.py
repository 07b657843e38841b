"""Object stores that fail: nothing is lost, doubled or torn; what cannot be done is said, and soon."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import StorageError, UnsafeStoreError
from indextables.log.log_files import list_log
from indextables.storage import open_store
from tests.stores.proxy import Fault, Proxy, always, no_faults, proxied
from tests.stores.servers import Server
from tests.tiers import slow, slow_after
from tests.torture.stores import append_from_processes, write_through_faults

DATA = pa.table({"id": [1, 2, 3]})
FAULTS = "more faults of object stores"
COMMIT = "_transaction_log/000000000000000001.json"


@pytest.fixture
def proxy(cloud: Server) -> Iterator[Proxy]:
    with proxied(cloud) as proxy:
        yield proxy


def options(proxy: Proxy, retries: int) -> dict[str, str]:
    return {**proxy.server.options, "store.requestTimeout": "1s", "store.maxRetries": str(retries)}


def created(proxy: Proxy, *, retries: int = 3) -> IndexTable:
    return IndexTable.create(proxy.server.new_table(), DATA.schema, options=options(proxy, retries))


def kept(table: IndexTable, proxy: Proxy) -> list[int]:
    """What a reader without a proxy finds."""
    proxy.plan = no_faults
    found = IndexTable.open(table.path, options=proxy.server.options).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


@pytest.mark.parametrize("retries", slow_after(1, [0, 3], FAULTS))
@pytest.mark.parametrize("fault", [Fault.DROPPED, Fault.LOST, Fault.DELAYED, Fault.ERROR, Fault.BUSY])
def test_a_commit_happens_once_whatever_becomes_of_its_answer(proxy: Proxy, fault: Fault, retries: int) -> None:
    table = created(proxy, retries=retries)
    proxy.plan = always(fault, "PUT", COMMIT, times=2)
    assert table.append(DATA) == 1
    assert proxy.faults != []
    assert kept(table, proxy) == [1, 2, 3]
    assert list_log(table._log.store).latest == 1


@pytest.mark.parametrize("asked", slow_after(1, [".split", "list"], FAULTS))  # a file, a listing
@pytest.mark.parametrize("fault", [Fault.DROPPED, Fault.LOST, Fault.TRUNCATED, Fault.DELAYED, Fault.ERROR])
def test_a_read_is_whole(proxy: Proxy, fault: Fault, asked: str) -> None:
    table = created(proxy)
    table.append(DATA)
    proxy.plan = always(fault, "GET", asked, times=2)
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    assert len(proxy.faults) == 2


def test_a_listing_that_never_arrives_is_given_up(proxy: Proxy) -> None:
    table = created(proxy)
    proxy.plan = always(Fault.TRUNCATED, "GET", "list")
    with pytest.raises(StorageError, match="could not be processed"):
        table.refresh()
    assert len(proxy.faults) == 4


def test_a_store_that_does_not_take_commits_is_given_up(proxy: Proxy) -> None:
    table = created(proxy, retries=1)
    proxy.plan = always(Fault.BUSY, "PUT", COMMIT)
    with pytest.raises(StorageError, match="000000000000000001.json could not be processed.*503") as caught:
        table.append(DATA)
    assert caught.value.path.endswith(COMMIT)
    assert len(proxy.faults) == 12  # six attempts, each sent twice
    assert kept(table, proxy) == []


def test_a_split_that_cannot_be_stored_leaves_nothing(proxy: Proxy) -> None:
    table = created(proxy, retries=1)
    proxy.plan = always(Fault.ERROR, "PUT", ".split")
    with pytest.raises(StorageError, match=r"\.split could not be processed"):
        table.append(DATA)
    assert len(proxy.faults) == 2
    assert kept(table, proxy) == []
    assert not [entry.key for entry in table._log.store.list() if entry.key.endswith(".split")]


def test_a_store_that_is_gone(proxy: Proxy) -> None:
    table = created(proxy, retries=1)
    proxy.close()
    with pytest.raises(StorageError, match="could not be processed"):
        table.append(DATA)


class TestConditionalPut:
    @pytest.fixture
    def proxy(self, s3: Server) -> Iterator[Proxy]:
        """S3 alone: a request to Azure is signed with its conditions, so that nobody between could take them away."""
        with proxied(s3) as proxy:
            yield proxy

    @pytest.mark.parametrize("fault", [Fault.UNCONDITIONAL, Fault.UNSUPPORTED])
    def test_a_store_without_it_is_refused(self, proxy: Proxy, fault: Fault) -> None:
        proxy.plan = always(fault, "PUT", "_transaction_log")
        with pytest.raises(UnsafeStoreError, match="If-None-Match.*unsafeSingleWriter") as caught:
            created(proxy, retries=0)
        store = open_store(caught.value.path, Config.resolve(proxy.server.options))
        assert list_log(store).latest == -1

    def test_a_table_in_such_a_store_is_not_written(self, proxy: Proxy, s3: Server) -> None:
        place = IndexTable.create(s3.new_table(), DATA.schema, options=s3.options).path
        proxy.plan = always(Fault.UNCONDITIONAL, "PUT", "_transaction_log")
        table = IndexTable.open(place, options=options(proxy, 0))  # by another address, to which nothing was proved
        with pytest.raises(UnsafeStoreError):
            table.append(DATA)
        assert kept(table, proxy) == []
        assert not [entry.key for entry in table._log.store.list() if entry.key.endswith(".split")]

    def test_a_single_writer_may_do_without(self, proxy: Proxy) -> None:
        proxy.plan = always(Fault.UNSUPPORTED, "PUT", "_put_if_absent")
        alone = {**options(proxy, 0), "commit.unsafeSingleWriter": "true"}
        table = IndexTable.create(proxy.server.new_table(), DATA.schema, options=alone)
        assert table.append(DATA) == 1
        assert kept(table, proxy) == [1, 2, 3]

    def test_it_is_proved_once_in_a_process(self, proxy: Proxy) -> None:
        table = created(proxy)
        table.append(DATA)
        table.append(DATA)
        assert len([path for _, path in proxy.requests if path.endswith("_put_if_absent")]) == 2


@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_an_upload_that_fails_is_cleaned_up(s3: Server, tmp_path: Path, concurrency: str) -> None:
    source = tmp_path / "large"
    source.write_bytes(b"x" * 12_000_000)
    parts = {"s3.multipartThreshold": "5M", "s3.partSize": "5M", "s3.maxConcurrency": concurrency}
    with proxied(s3, always(Fault.ERROR, "PUT", "partNumber=2")) as proxy:
        store = open_store(s3.new_table(), Config.resolve(options(proxy, 1), parts))
        with pytest.raises(StorageError, match="large could not be processed"):
            store.put_file("large", source)
        assert proxy.requests[-1][0] == "DELETE"  # of the upload, with the parts that were stored
        assert list(store.list()) == []
        proxy.plan = always(Fault.ERROR, "PUT", "partNumber=2", times=1)
        store.put_file("large", source)
        assert store.head("large").size == 12_000_000


@slow(FAULTS)
def test_faults_of_all_kinds(s3: Server) -> None:
    outcome = write_through_faults(s3, faults=40)
    assert outcome["appends"] > 0
    assert outcome["reads"] > 0


@slow(FAULTS)
def test_processes_lose_nothing_in_s3(s3: Server) -> None:
    assert append_from_processes(s3, writers=4, appends=3) == 36
