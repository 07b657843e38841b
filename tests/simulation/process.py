"""A process that uses the table: its handle, its splits (small files instead of Parquet), and what it reports."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from indextables.config import Config
from indextables.log import Snapshot, TransactionLog
from indextables.log.actions import Add, DeletionVector
from indextables.log.ownership import split_name
from indextables.read.opener import SplitRef
from indextables.split.deletion_bitmap import decode_bitmap
from indextables.write.write_job import TaskResult
from indextables.write.write_plan import WritePlan
from tests.simulation.model import Row
from tests.simulation.scheduler import Actor, SimulatedStore
from tests.simulation.state import Put

SCHEMA = pa.schema({"id": pa.string(), "region": pa.string()})


@dataclass(frozen=True, slots=True)
class Report:
    """How an operation ended: `done`, `conflict` (it has not happened), `failed` (unknown), `crashed` or `damage`.

    A reader also reports what it has `read`, of which version (its number and its txnId). `began_on` is version 0 of the
    table that was there when its first request was served.
    """

    actor: str
    number: int
    operation: object
    outcome: str
    table_id: str | None = None
    read: tuple[int, str | None, Mapping[Row, int]] | None = None
    error: BaseException | None = None
    began_on: Put | None = None


@dataclass(slots=True)
class Process:
    """The log as an actor has it open, and the snapshot that its next write starts from."""

    actor: Actor
    settings: Mapping[str, str]
    reports: list[Report] = field(default_factory=list)
    read: tuple[int, str | None, Mapping[Row, int]] | None = None
    opened: TransactionLog | None = None
    known: Snapshot | None = None

    @property
    def label(self) -> str:
        return f"{self.actor.name}.{self.actor.operation}"

    @property
    def store(self) -> SimulatedStore:
        return SimulatedStore(self.actor.call)

    def config(self, **more: str) -> Config:
        return Config.resolve({**self.settings, **more})

    def log(self) -> TransactionLog:
        return TransactionLog(self.store, self.config())

    def open(self) -> tuple[TransactionLog, Snapshot]:
        """The handle: its snapshot stays until an operation gives another one, or fails."""
        if self.opened is None or self.known is None:
            log = self.log()
            self.known = log.snapshot()
            self.opened = log.for_table(self.known.metadata.id)
        return self.opened, self.known

    def close(self) -> None:
        self.opened = self.known = None

    def write(self, plan: WritePlan, *rows: Row) -> TaskResult:
        """Splits of these rows, one a region."""
        adds = [self._split(plan, region, [row for row in rows if row[1] == region]) for region in _regions(rows)]
        return TaskResult(adds=adds)

    def rows_of(self, splits: Iterable[SplitRef]) -> list[Row]:
        """The rows that are not deleted."""
        store = self.store
        return [row for split in splits for row in live(store.read(split.path).to_pybytes(), split.deletion_vector)]

    def all_rows_of(self, split: SplitRef) -> list[Row]:
        """Its rows, deleted or not."""
        return decoded(self.store.read(split.path).to_pybytes())

    def _split(self, plan: WritePlan, region: str, rows: list[Row]) -> Add:
        path = f"region={region}/{split_name(plan.table_id, task=0, job=plan.job)}"
        content = json.dumps(rows).encode()
        try:
            self.store.put(path, content)
        except Exception:
            self.store.discard([path])
            raise
        return Add(
            path=path,
            partition_values={"region": region},
            spec_id=plan.spec_id,
            size=len(content),
            modification_time=self.actor.clock,
            num_records=len(rows),
            doc_mapping_id=plan.doc_mapping_id,
        )


def decoded(content: bytes) -> list[Row]:
    return [(name, region) for name, region in json.loads(content)]


def live(content: bytes, vector: DeletionVector | None) -> list[Row]:
    """The rows of a split that are not deleted; the bitmaps of so few rows are in the log."""
    dead = set() if vector is None else set(decode_bitmap(vector.bitmap or b"").tolist())
    return [row for number, row in enumerate(decoded(content)) if number not in dead]


def _regions(rows: Iterable[Row]) -> list[str]:
    return sorted({region for _, region in rows})
