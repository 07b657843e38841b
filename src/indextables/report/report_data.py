"""The data of a report, from the log, limited to what fits a page. No split is opened."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.inspect.health import Health, health
from indextables.inspect.listing import list_partitions
from indextables.layout import Layout
from indextables.log import Snapshot, TransactionLog
from indextables.schema import type_name
from indextables.search import FieldRule

MAX_PARTITIONS = 40
MAX_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class ColumnFact:
    name: str
    type: str
    indexed: str
    """`text` (with its tokenizer), `string`, the name of another type, or `none`."""


@dataclass(frozen=True, slots=True)
class PartitionFact:
    """`complete` if the log lists the partitions that share its splits; `rows` is None if unknown."""

    values: Mapping[str, str | None]
    rows: int | None
    splits: int
    bytes: int
    complete: bool

    @property
    def label(self) -> str:
        """Its values as text.

        >>> PartitionFact({"day": "mon"}, 3, 1, 99, complete=True).label
        'mon'
        >>> PartitionFact({"day": "mon", "hour": None}, 3, 1, 99, complete=False).label
        'day=mon, hour=null and others'
        """
        texts = {name: "null" if value is None else value for name, value in self.values.items()}
        values = texts.values() if len(texts) == 1 else (f"{name}={text}" for name, text in texts.items())
        label = ", ".join(values) or "the whole table"
        return label if self.complete else f"{label} and others"


@dataclass(frozen=True, slots=True)
class SizeFact:
    """A histogram bucket: `splits` splits have from `least` to less than twice `least` bytes."""

    least: int
    splits: int


@dataclass(frozen=True, slots=True)
class VersionFact:
    version: int
    timestamp: datetime
    operation: str
    parameters: Mapping[str, str]
    metrics: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A table at a version; `partitions` are the largest ones, `history` the newest versions."""

    table: str
    version: int
    layout: str
    columns: tuple[ColumnFact, ...]
    properties: Mapping[str, str]
    partitions: tuple[PartitionFact, ...]
    split_sizes: tuple[SizeFact, ...]
    history: tuple[VersionFact, ...]
    health: Health


def report(log: TransactionLog, snapshot: Snapshot, config: Config, rules: Mapping[str, FieldRule]) -> Report:
    metadata = snapshot.metadata
    schema = metadata.arrow_schema()
    return Report(
        table=log.table,
        version=snapshot.version,
        layout=str(metadata.layouts[metadata.current_spec_id]),
        columns=tuple(ColumnFact(field.name, type_name(field.type), str(rules[field.name])) for field in schema),
        properties=dict(metadata.properties),
        partitions=_largest(list_partitions(snapshot), metadata.layouts),
        split_sizes=split_sizes(snapshot.splits["size"]),
        history=_newest(log.history(), snapshot.version),
        health=health(log, snapshot, config),
    )


def split_sizes(sizes: pa.ChunkedArray) -> tuple[SizeFact, ...]:
    """A histogram of split sizes by powers of two, without gaps.

    >>> split_sizes(pa.chunked_array([[1500, 1025, 5000]]))
    (SizeFact(least=1024, splits=2), SizeFact(least=2048, splits=0), SizeFact(least=4096, splits=1))
    """
    exponents = pc.floor(pc.log2(pc.max_element_wise(sizes, 1))).cast(pa.int64())
    counted = {entry["values"]: entry["counts"] for entry in pc.value_counts(exponents).to_pylist()}
    if not counted:
        return ()
    return tuple(SizeFact(2**power, counted.get(power, 0)) for power in range(min(counted), max(counted) + 1))


def _largest(partitions: pa.Table, layouts: Mapping[int, Layout]) -> tuple[PartitionFact, ...]:
    """The partitions with the most rows; each has the values of its own layout."""
    order = pc.sort_indices(partitions, sort_keys=[("num_records", "descending"), ("size", "descending")])
    facts = [
        PartitionFact(
            {name: row["partition"][name] for name in layouts[row["spec_id"]].names},
            row["num_records"],
            row["num_splits"],
            row["size"],
            row["complete"],
        )
        for row in partitions.take(order.slice(0, MAX_PARTITIONS)).to_pylist()
    ]
    return tuple(sorted(facts, key=lambda fact: (-(fact.rows or 0), fact.label)))


def _newest(history: pa.Table, version: int) -> tuple[VersionFact, ...]:
    known = history.filter(pc.field("version") <= version).slice(0, MAX_VERSIONS)
    return tuple(
        VersionFact(
            row["version"], row["timestamp"], row["operation"] or "", dict(row["parameters"]), dict(row["metrics"])
        )
        for row in known.to_pylist()
    )
