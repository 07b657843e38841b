"""A small table with a bit of everything, in memory; targets read it with one file replaced."""

import json
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from indextables import IndexTable
from indextables.storage import open_store

SCHEMA = pa.schema(
    {
        "day": pa.string(),
        "n": pa.int64(),
        "message": pa.string(),
        "level": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "price": pa.decimal128(9, 2),
        "ratio": pa.float64(),
        "ok": pa.bool_(),
        "born": pa.date32(),
        "raw": pa.binary(),
    }
)
LOCATION = "memory://fuzz/table"


@dataclass(frozen=True)
class SampleTable:
    """The files of the table by key; the splits are in the order in which they were written."""

    files: dict[str, bytes]

    @property
    def splits(self) -> list[str]:
        return [key for key in self.files if key.endswith(".split")]

    def version(self, number: int) -> bytes:
        return self.files[f"_transaction_log/{number:018}.json"]


def rows(start: int, count: int = 12) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "day": [("mon", "tue", None)[n % 3] for n in numbers],
            "n": [None if n % 7 == 0 else n for n in numbers],
            "message": [None if n % 5 == 0 else f"disk {n % 4} full of word{n % 3}" for n in numbers],
            "level": [("INFO", "ERROR")[n % 2] for n in numbers],
            "ts": [n * 3_600_000_000 for n in numbers],
            "price": pa.array([f"{n}.25" for n in numbers]).cast(pa.decimal128(9, 2)),
            "ratio": [float("nan") if n % 6 == 0 else n / 4 for n in numbers],
            "ok": [n % 2 == 0 for n in numbers],
            "born": pa.array(list(numbers), pa.int32()).cast(pa.date32()),
            "raw": [b"%d" % n for n in numbers],
        },
        schema=SCHEMA,
    )


@cache
def sample_table() -> SampleTable:
    """Two layouts, coalesced splits, an added column, and a merge; no checksums, so that what is behind them is reached."""
    location = "memory://fuzz/original"
    exact = {"spark.indextables.indexing.exact.n": "hash", "spark.indextables.indexing.exact.level": "dictionary"}
    table = IndexTable.create(location, SCHEMA, partition_by="day", fields={"message": "text"}, properties=exact)
    options = {"coalesce.enabled": "true", "txnAppId": "loader", "txnVersion": "1"}
    table.append(rows(0), options=options)
    table.evolve_layout("day(ts), bucket(4, level)")
    table.append(rows(12))
    table.add_column("extra", "string")
    table.append(rows(24))
    table.merge_splits(rewrite_layout=True)
    table.evolve_layout("day")
    table.append(rows(36), options={"coalesce.enabled": "true"})
    store = open_store(location)
    files = {entry.key: store.read(entry.key).to_pybytes() for entry in store.list()}
    return SampleTable({key: _unsealed(data) if key.endswith(".json") else data for key, data in files.items()})


def _unsealed(version: bytes) -> bytes:
    """The version file as another writer would have written it."""
    lines = [json.loads(line) for line in version.splitlines()]
    for line in lines:
        for field in _CHECKSUMS:
            line.get("commitInfo", {}).pop(field, None)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


_CHECKSUMS = ("version", "previousChecksum", "numActions", "actionsChecksum", "checksum")


def put_table(changed: dict[str, bytes | None], location: str = LOCATION) -> None:
    """The table with some files changed; None is a file that is not there."""
    store = open_store(location)
    wanted = {key: data for key, data in {**sample_table().files, **changed}.items() if data is not None}
    there = {entry.key for entry in store.list()}
    store.delete(sorted(there - wanted.keys()))
    for key in (
        wanted.keys() - there | (wanted.keys() & changed.keys()) | (wanted.keys() & _changed.get(location, set()))
    ):
        store.put(key, wanted[key])
    _changed[location] = set(changed)


_changed: dict[str, set[str]] = {}
