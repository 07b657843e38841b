"""Small tables for tests of the log: an events table partitioned by region, and splits for it."""

from uuid import uuid4

import pyarrow as pa

from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Metadata, PartitionSpec, Protocol, SpecField
from indextables.log.commit import Committed
from indextables.log.splits import removes_for
from indextables.log.transaction import everything
from indextables.schema import to_json

EVENTS = pa.schema(
    {
        "id": pa.int64(),
        "region": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "score": pa.float64(),
        "note": pa.string(),
    }
)
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=1)
BY_REGION = PartitionSpec(spec_id=0, fields=[SpecField(source="region", transform="identity", name="region")])
BY_DAY = PartitionSpec(spec_id=1, fields=[SpecField(source="ts", transform="day", name="ts_day")])


def metadata(**changes: object) -> Metadata:
    given = {"id": "t", "schema": to_json(EVENTS), "partition_specs": [BY_REGION]}
    return Metadata(**{**given, **changes})


def add(path: str | None = None, *, region: str | None = "eu", rows: int = 1, **changes: object) -> Add:
    given = {
        "path": path or f"region={region}/{uuid4().hex}.split",
        "partition_values": {"region": region},
        "size": 100 * rows,
        "modification_time": 1_700_000_000_000,
        "num_records": rows,
    }
    return Add(**{**given, **changes})


def created(log: TransactionLog, *adds: Add, **changes: object) -> Snapshot:
    """The table after its first version."""
    first = Transaction(
        operation=Operation.CREATE, snapshot=None, protocol=PROTOCOL, metadata=metadata(**changes), adds=adds
    )
    return log.commit(first).snapshot


def append(log: TransactionLog, *adds: Add) -> Committed:
    return log.commit(Transaction(operation=Operation.APPEND, snapshot=log.snapshot(), adds=adds))


def overwriting(snapshot: Snapshot, *adds: Add) -> Transaction:
    removes = removes_for(snapshot.splits, snapshot.metadata, deletion_timestamp=snapshot.timestamp + 1)
    return Transaction(operation=Operation.OVERWRITE, snapshot=snapshot, adds=adds, removes=removes, reads=everything)


def paths(snapshot: Snapshot) -> set[str]:
    return set(snapshot.splits["path"].to_pylist())
