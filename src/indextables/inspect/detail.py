"""A table in one row."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from indextables.log.snapshot import Snapshot
from indextables.log.splits import live_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDetail:
    """What a table is at a version; `partition_by` are the terms of its layout, `size` the bytes of its splits."""

    id: str
    location: str
    version: int
    partition_by: tuple[str, ...]
    num_splits: int
    num_records: int
    size: int
    properties: Mapping[str, str]


def table_detail(snapshot: Snapshot, location: str) -> TableDetail:
    """From the log alone."""
    splits, metadata = snapshot.splits, snapshot.metadata
    return TableDetail(
        id=metadata.id,
        location=location,
        version=snapshot.version,
        partition_by=tuple(map(str, metadata.layouts[metadata.current_spec_id].fields)),
        num_splits=len(splits),
        num_records=pc.sum(live_rows(splits), min_count=0).as_py(),
        size=pc.sum(splits["size"], min_count=0).as_py(),
        properties=dict(metadata.properties),
    )
