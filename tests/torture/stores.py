"""Tables in object stores behind a network that fails, and under many writers."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

import pyarrow as pa

from indextables import IndexTable
from indextables.errors import StorageError
from tests.stores.proxy import Proxy, proxied, some_faults
from tests.stores.servers import Server
from tests.torture.race import in_parallel

SCHEMA = pa.schema({"writer": pa.int64(), "id": pa.int64(), "message": pa.string()})
IMPATIENT = {"store.requestTimeout": "1s", "store.maxRetries": "4", "checkpoint.interval": "4"}


def rows(writer: int, first: int, count: int = 3) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table([[writer] * count, numbers, [f"row {n} of {writer}" for n in numbers]], schema=SCHEMA)


def write_through_faults(server: Server, *, faults: int, share: float = 0.25, seed: int = 0) -> dict[str, int]:
    """Appends and reads until so many faults were injected; what became of them, once the table has been checked.

    An append that is reported is there once. One that failed is there once or not at all, and never in part.
    """
    place = server.new_table()
    IndexTable.create(place, SCHEMA, fields={"message": "text"}, options=server.options)
    outcome = {"appends": 0, "unclear appends": 0, "reads": 0, "failed reads": 0}
    reported: set[int] = set()
    tried = 0
    with proxied(server, some_faults(seed, share)) as proxy:
        while len(proxy.faults) < faults:
            tried += 1
            try:
                _append(proxy, place, tried)
                reported.add(tried)
            except StorageError:
                outcome["unclear appends"] += 1
            _read(proxy, place, reported, outcome)
        kinds = Counter(fault.name.lower() for fault in proxy.faults)
        requests = len(proxy.requests)
    outcome["appends"] = len(reported)
    _check(server, place, reported, tried)
    return {"requests": requests, **kinds, **outcome}


def _append(proxy: Proxy, place: str, number: int) -> None:
    table = IndexTable.open(place, options={**proxy.server.options, **IMPATIENT})
    table.append(rows(0, 3 * number))


def _read(proxy: Proxy, place: str, reported: set[int], outcome: dict[str, int]) -> None:
    """A read sees whole appends, and all that were reported before; or it fails."""
    try:
        table = IndexTable.open(place, options={**proxy.server.options, **IMPATIENT})
        found = Counter(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
        assert table.count(query="message:row") == found.total()
    except StorageError:
        outcome["failed reads"] += 1
        return
    outcome["reads"] += 1
    assert set(found.values()) <= {1}, "a row was doubled"
    assert {number // 3 for number in found} >= reported, "an append was lost"
    assert len(found) == 3 * len({number // 3 for number in found}), "an append was torn"


def _check(server: Server, place: str, reported: set[int], tried: int) -> None:
    table = IndexTable.open(place, options=server.options)
    found = Counter(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
    appends = {number // 3 for number in found}
    assert set(found.values()) <= {1}
    assert reported <= appends <= set(range(1, tried + 1))
    assert len(found) == 3 * len(appends)
    assert table.version == len(appends), "a commit was doubled"


def append_from_processes(server: Server, *, writers: int, appends: int) -> int:
    """The number of rows that so many processes have appended at once, once each has been found."""
    place = server.new_table()
    IndexTable.create(place, SCHEMA, fields={"message": "text"}, options=server.options)
    in_parallel(_append_often, [(place, dict(server.options), writer, appends) for writer in range(writers)])
    table = IndexTable.open(place, options=server.options)
    found = Counter(zip(*table.scan(columns=["writer", "id"]).to_arrow().to_pydict().values(), strict=True))
    assert found == Counter((writer, number) for writer in range(writers) for number in range(3 * appends))
    assert table.version == writers * appends
    return found.total()


def _append_often(place: str, options: Mapping[str, str], writer: int, appends: int) -> None:
    table = IndexTable.open(place, options=options)
    for number in range(appends):
        table.append(rows(writer, 3 * number), options={"commit.maxRetries": "1000"})
        with suppress(StorageError):
            table.refresh()
