"""`make demo`: what a table remembers, on a table made for the occasion."""

import tempfile
from collections.abc import Iterator

import pyarrow as pa

from indextables.errors import ConflictError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Metadata, PartitionSpec, Protocol, SpecField
from indextables.log.splits import removes_for
from indextables.log.transaction import everything
from indextables.schema import to_json


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="indextables-demo-") as directory:
        for line in story(TransactionLog.open(directory)):
            print(line)  # noqa: T201 - a demo speaks


def story(log: TransactionLog) -> Iterator[str]:
    yield "A table is a directory with a transaction log. Version 0 says what it is:"
    table = log.commit(_creation()).snapshot
    yield f"  version {table.version}, columns {', '.join(table.metadata.arrow_schema().names)}, partitioned by day"

    yield "Each write is one new version: all of its splits appear together, or none."
    for day in range(1, 13):
        splits = [_split(day, part, rows=1000 * day) for part in range(3)]
        table = log.commit(Transaction(operation=Operation.APPEND, snapshot=table, adds=splits)).snapshot
    rows = sum(table.splits["num_records"].to_pylist())
    yield f"  version {table.version}: {len(table.splits)} splits, {rows:,} rows (counted without opening a split)"

    yield "Two writers that do not disturb each other both succeed; two that do are told who was first:"
    stale = log.snapshot()
    log.commit(Transaction(operation=Operation.APPEND, snapshot=stale, adds=[_split(13, 0, rows=5)]))
    both = log.commit(Transaction(operation=Operation.APPEND, snapshot=stale, adds=[_split(13, 1, rows=5)]))
    yield f"  both appends planned on version {stale.version} landed; the table is at version {both.version}"
    try:
        log.commit(_overwrite(stale))
    except ConflictError as error:
        yield f"  {type(error).__name__}: {str(error).replace(log.table, 'the table')}"

    yield "Every version stays readable:"
    for version in (0, 6, both.version):
        yield f"  at version {version:2}: {len(log.snapshot(version).splits):2} splits"
    newest = log.history().slice(0, 3).to_pylist()
    yield "  newest in its history: " + ", ".join(f"{row['version']} {row['operation']}" for row in newest)


def _creation() -> Transaction:
    schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "level": pa.string(), "message": pa.string()})
    by_day = PartitionSpec(spec_id=0, fields=[SpecField(source="ts", transform="day", name="ts_day")])
    return Transaction(
        operation=Operation.CREATE,
        snapshot=None,
        protocol=Protocol(min_reader_version=1, min_writer_version=1),
        metadata=Metadata(id="demo", schema=to_json(schema), partition_specs=[by_day]),
    )


def _split(day: int, part: int, *, rows: int) -> Add:
    date = f"2024-01-{day:02}"
    return Add(
        path=f"ts_day={date}/part-{part:05}.split",
        partition_values={"ts_day": date},
        size=rows * 80,
        modification_time=0,
        num_records=rows,
    )


def _overwrite(snapshot: Snapshot) -> Transaction:
    removes = removes_for(snapshot.splits, snapshot.metadata, deletion_timestamp=0)
    return Transaction(operation=Operation.OVERWRITE, snapshot=snapshot, removes=removes, reads=everything)


if __name__ == "__main__":
    main()
