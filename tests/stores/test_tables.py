"""Whole tables in object stores, without Spark."""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import AccessDeniedError, StorageError, TableExistsError
from indextables.storage import open_store
from tests.stores.proxy import Proxy, proxied
from tests.stores.servers import Server

SCHEMA = pa.schema({"day": pa.string(), "id": pa.int64(), "message": pa.string()})


def rows(day: str, *ids: int) -> pa.Table:
    messages = [f"request {number} {'failed' if number % 2 else 'done'}" for number in ids]
    return pa.table({"day": [day] * len(ids), "id": ids, "message": messages}, SCHEMA)


def create(server: Server, table: str, **options: str) -> IndexTable:
    return IndexTable.create(
        table, SCHEMA, partition_by="day", fields={"message": "text"}, options={**server.options, **options}
    )


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def test_a_table_lives_in_an_object_store(cloud: Server) -> None:
    place = cloud.new_table()
    table = create(cloud, place, **{"checkpoint.interval": "3"})
    assert [table.append(rows("mon", 1, 2, 3)), table.append(rows("tue", 4, 5))] == [1, 2]
    assert table.overwrite(rows("wed", 6, 7)) == 3
    assert table.append(rows("a/b %é#?", 8, 9)) == 4

    again = IndexTable.open(place, options=cloud.options)
    assert (again.version, again.path, ids(again.scan().to_arrow())) == (4, place, [6, 7, 8, 9])
    assert ids(again.at(version=2).scan(where="day = 'mon'").to_arrow()) == [1, 2, 3]
    assert ids(again.search("message:failed")) == [7, 9]
    assert (again.count("day = 'a/b %é#?'"), again.count(query="message:failed")) == (2, 2)
    assert len(again.history()) == 5
    with pytest.raises(TableExistsError):
        create(cloud, place)


def test_a_table_is_checked(cloud: Server) -> None:
    place = cloud.new_table()
    table = create(cloud, place, **{"checkpoint.interval": "3", "indexing.exact.id": "hash"})
    for number in range(3):
        table.append(rows("mon", number, number + 10))
    before = table.traffic.requests
    assert table.check().findings == ()
    assert table.traffic.requests - before == 10, (
        "two listings, four versions, two first lines, a checkpoint and the hint"
    )
    result = table.check(deep=True, sample=None, all_versions=True)
    assert (result.findings, result.rows) == ((), 6)
    split = table.splits()["path"][0].as_py()
    open_store(place, Config.resolve(cloud.options)).delete([split])
    [found] = IndexTable.check_path(place, options=cloud.options).findings
    assert (found.kind, found.file) == ("missing-split", split)


def test_a_handle_keeps_up_with_others(cloud: Server) -> None:
    place = cloud.new_table()
    mine = create(cloud, place)
    theirs = IndexTable.open(place, options=cloud.options)
    versions = [handle.append(rows("mon", number)) for number, handle in enumerate([mine, theirs, mine, theirs])]
    assert versions == [1, 2, 3, 4]
    assert ids(mine.refresh().scan().to_arrow()) == [0, 1, 2, 3]


def test_s3_and_s3a_are_one_place(s3: Server) -> None:
    place = s3.new_table()
    create(s3, place).append(rows("mon", 1))
    assert IndexTable.open(place.replace("s3://", "s3a://"), options=s3.options).count() == 1


@pytest.mark.parametrize("root", ["az://tables", "abfs://tables"])
def test_an_azure_account_may_be_named_by_a_setting(azure: Server, root: str) -> None:
    options = {**azure.options, "azure.accountName": "devstoreaccount1"}
    place = f"{root}/{azure.new_table().rpartition('/')[2]}"
    table = IndexTable.create(place, SCHEMA, options=options)
    assert (table.append(rows("mon", 1)), table.path) == (1, place)


class TestEnvironment:
    def test_the_usual_variables_are_honoured(self, s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        names = {
            "s3.endpoint": "AWS_ENDPOINT_URL",
            "s3.region": "AWS_REGION",
            "s3.accessKey": "AWS_ACCESS_KEY_ID",
            "s3.secretKey": "AWS_SECRET_ACCESS_KEY",
        }
        for key, name in names.items():
            monkeypatch.setenv(name, s3.options[key])
        assert IndexTable.create(s3.new_table(), SCHEMA).append(rows("mon", 1)) == 1

    def test_the_usual_variables_of_azure(self, azure: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", azure.options["azure.endpoint"])
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", azure.options["azure.accountKey"])
        assert IndexTable.create(azure.new_table(), SCHEMA).append(rows("mon", 1)) == 1


class TestRefusals:
    def test_a_wrong_key(self, azure: Server) -> None:
        wrong = {**azure.options, "azure.accountKey": "d3Jvbmc="}
        with pytest.raises(AccessDeniedError, match="check the credentials"):
            IndexTable.open(azure.new_table(), options=wrong)

    def test_a_bucket_that_is_not_there(self, s3: Server) -> None:
        with pytest.raises(StorageError, match="s3://nowhere/t"):
            IndexTable.create("s3://nowhere/t", SCHEMA, options=s3.options)


class TestRequests:
    """What a question costs; the proxy counts what the meter claims."""

    @pytest.fixture
    def proxy(self, s3: Server) -> Proxy:  # type: ignore[misc]
        with proxied(s3) as proxy:
            yield proxy

    def test_a_footer_is_one_request(self, proxy: Proxy, tmp_path: Path) -> None:
        table = create(proxy.server, proxy.server.new_table(), **{"cache.directory": str(tmp_path)})
        table.append(rows("mon", *range(100)))
        proxy.requests.clear()
        assert table.count("id >= 10") == 90
        assert [method for method, _ in proxy.requests] == ["GET", "GET"]  # the footer, the column

    def test_the_meter_counts_what_the_server_sees(self, proxy: Proxy, tmp_path: Path) -> None:
        table = create(proxy.server, proxy.server.new_table(), **{"cache.directory": str(tmp_path)})
        table.append(rows("mon", *range(100)))
        table.append(rows("tue", *range(100)))
        marks = [(table.traffic, len(proxy.requests), proxy.bytes_sent)]
        for question in (
            lambda: table.search("message:failed", limit=5),
            lambda: table.search("message:failed", limit=5),
            lambda: table.scan(where="day = 'mon' AND id = 7").to_arrow(),
            lambda: table.count("day = 'mon'"),
        ):
            question()
            marks.append((table.traffic, len(proxy.requests), proxy.bytes_sent))
        for (before, requests, sent), (after, more, farther) in pairwise(marks):
            assert (after - before).requests == more - requests
            assert (after - before).bytes_read == farther - sent
        costs = [after[1] - before[1] for before, after in pairwise(marks)]
        assert costs[1] < costs[0]  # footers and indexes are known
        assert costs[3] == 0  # the log knew

    def test_a_table_is_warmed_before_it_is_searched(self, proxy: Proxy, tmp_path: Path) -> None:
        """A footer and an index section each, with all indexes."""
        options = {"cache.directory": str(tmp_path), "indexing.exact.id": "hash"}
        table = create(proxy.server, proxy.server.new_table(), **options)
        for day in ("mon", "tue", "wed"):
            table.append(rows(day, *range(10)))
        assert table.cache.hit_rate == 1.0
        warmed = table.prewarm("day IN ('mon', 'tue')")
        assert (warmed.splits, warmed.unpacked, warmed.traffic.requests) == (2, 2, 4)
        assert (table.prewarm().splits, table.prewarm().unpacked) == (3, 0)
        proxy.requests.clear()
        assert table.count(query="message:failed") == 15
        assert table.count(query="id:7") == 3
        assert len(proxy.requests) == 3  # the pages with the candidates
        assert (table.cache.misses, table.cache.bytes > 0) == (6, True)


class TestUploads:
    """Parts of 5 MB, the least that S3 allows."""

    CONFIG = {"s3.multipartThreshold": "8M", "s3.partSize": "5M", "s3.maxConcurrency": "2"}  # noqa: RUF012

    @pytest.mark.parametrize(("size", "requests"), [(8 * 1024**2 - 1, 1), (8 * 1024**2, 4), (12_000_000, 5)])
    def test_a_large_file_goes_in_parts(self, cloud: Server, tmp_path: Path, size: int, requests: int) -> None:
        source = tmp_path / "large"
        source.write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
        with proxied(cloud) as proxy:
            store = open_store(cloud.new_table(), Config.resolve(proxy.server.options, self.CONFIG))
            store.put_file("large", source)
            assert len(proxy.requests) <= store.traffic.requests == requests  # Azure needs no request to begin
            assert store.head("large").size == size
            assert store.read_range("large", size - 300, size).to_pybytes() == source.read_bytes()[-300:]
