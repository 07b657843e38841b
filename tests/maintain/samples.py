"""Tables partitioned by year and month, and what is in them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
from msgspec import structs

from indextables import IndexTable, Layout
from indextables.log import Operation, Transaction, TransactionLog
from indextables.write.write_plan import partition_spec

SCHEMA = pa.schema({"year": pa.int32(), "month": pa.string(), "n": pa.int64()})


def rows(year: Sequence[int | None], month: Sequence[str | None], n: Iterable[int]) -> pa.Table:
    return pa.table([list(year), list(month), list(n)], schema=SCHEMA)


def made(path: str | Path, partition_by: str) -> IndexTable:
    return IndexTable.create(path, SCHEMA, partition_by=partition_by)


def numbers(table: IndexTable, where: str | None = None) -> list[int]:
    return sorted(table.scan(where=where, columns=["n"]).to_arrow()["n"].to_pylist())


def evolved(table: IndexTable, layout: str) -> None:
    """Gives the table another layout; what is there keeps its own."""
    log = TransactionLog.open(table.path)
    snapshot = log.snapshot()
    specs = list(snapshot.metadata.partition_specs)
    spec = partition_spec(Layout.parse(layout).bind(table.schema), len(specs))
    metadata = structs.replace(snapshot.metadata, partition_specs=[*specs, spec], current_spec_id=spec.spec_id)
    log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=metadata))
    table.refresh()


def split_files(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*.split")}


def litter(path: Path) -> set[str]:
    """Split files that no version of the table has."""
    snapshot = TransactionLog.open(path).snapshot()
    return split_files(path) - {*snapshot.splits["path"].to_pylist(), *snapshot.tombstones["path"].to_pylist()}
