"""A snapshot as one Parquet file, so that a table opens without its whole history.

Rows are the live splits, in the columns of `indextables.log.splits`, and after them the tombstones: rows with a
`deletion_timestamp`, in row groups of their own. What is not a row (version, protocol, metadata, application progress) is
JSON in the file's key-value metadata, under `indextables.snapshot`. It ends with the checksum of the whole file, computed
with zeros in its place.
"""

import io
import re
from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.errors import AlreadyExistsError, CorruptLogError, UnsupportedProtocolError
from indextables.log.action_validation import check_metadata, check_rows
from indextables.log.actions import Metadata, Millis, Protocol, Record, Txn, always, refuse_newer_reader
from indextables.log.log_files import HINT_KEY, checkpoint_key
from indextables.log.snapshot import TOMBSTONES, Rows, Snapshot
from indextables.log.splits import splits_schema
from indextables.log.version_checksum import ZEROS, unsealed_checksum
from indextables.storage import Store

_STATE_KEY = b"indextables.snapshot"
_DELETED = "deletion_timestamp"
_ROW_GROUP = 131_072
_TRAILER = 8  # bytes of a Parquet file after its footer
_SEAL = re.compile(rb'"checksum":"([0-9a-f]{64})"\}')


class _State(Record, frozen=True, kw_only=True):
    version: int
    timestamp: Millis
    txn_id: str | None = None
    protocol: Protocol
    meta_data: Metadata
    txns: Sequence[Txn] = always([])
    num_splits: int
    num_tombstones: int = always(0)
    split_row_groups: int
    version_checksum: str | None = None
    checksum: str | None = None  # the last field


class _Hint(Record, frozen=True, kw_only=True):
    version: int
    num_splits: int
    size_in_bytes: int


def write_checkpoint(
    store: Store, snapshot: Snapshot, *, tombstones_after: int, verify: Callable[[], object] = lambda: None
) -> int:
    """Writes the checkpoint of a snapshot and points the hint to it; gives its size in bytes.

    Tombstones older than `tombstones_after` (milliseconds since 1970) are left out: their files may have been purged. A
    checkpoint that is there may be of a table that took the place of this one: `verify` raises an error then.
    """
    unexpired = snapshot.tombstones.filter(pc.field(_DELETED) >= tombstones_after)
    data = _encode(snapshot, unexpired)
    try:
        store.put_if_absent(checkpoint_key(snapshot.version), data)
    except AlreadyExistsError:
        if not _is_there(store, snapshot):  # but a damaged one is, or one of another table
            verify()
            store.put(checkpoint_key(snapshot.version), data)
    hint = _Hint(version=snapshot.version, num_splits=len(snapshot.splits), size_in_bytes=data.size)
    store.put(HINT_KEY, msgspec.json.encode(hint))
    return int(data.size)


def _is_there(store: Store, snapshot: Snapshot) -> bool:
    try:
        found = read_checkpoint(store, checkpoint_key(snapshot.version), snapshot.version)
    except CorruptLogError:
        return False
    return (found.metadata.id, found.txn_id) == (snapshot.metadata.id, snapshot.txn_id)


def read_checkpoint(store: Store, key: str, version: int) -> Snapshot:
    """The snapshot in a checkpoint, or a CorruptLogError where it is damaged."""
    data, table = store.read(key), str(store.location)
    try:
        return _decode(data, version, table)
    except UnsupportedProtocolError:
        raise
    except Exception as error:  # whatever Arrow and msgspec make of damaged bytes
        raise CorruptLogError(
            f"the checkpoint {store.name_of(key)} is damaged: {error}", table=table, version=version
        ) from error


def _encode(snapshot: Snapshot, tombstones: pa.Table) -> pa.Buffer:
    schema = splits_schema(snapshot.metadata).append(pa.field(_DELETED, pa.int64()))
    state = _State(
        version=snapshot.version,
        timestamp=snapshot.timestamp,
        txn_id=snapshot.txn_id,
        protocol=snapshot.protocol,
        meta_data=snapshot.metadata,
        txns=list(snapshot.txns.values()),
        num_splits=len(snapshot.splits),
        num_tombstones=len(tombstones),
        split_row_groups=-(-len(snapshot.splits) // _ROW_GROUP),
        version_checksum=snapshot.checksum,
        checksum=ZEROS,
    )
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        schema.with_metadata({_STATE_KEY: msgspec.json.encode(state)}),
        compression="zstd",
        compression_level=1,
        write_page_checksum=True,
        store_schema=True,
    ) as writer:
        for rows in (snapshot.splits, tombstones):
            if len(rows):
                writer.write_table(_pad(rows, schema), row_group_size=_ROW_GROUP)
    return pa.py_buffer(_sealed(sink.getbuffer()))


def _sealed(data: memoryview) -> memoryview:
    """The file with its checksum in the place of the zeros."""
    start, end = _checksum_place(data) or (0, 0)
    data[start:end] = unsealed_checksum(data, start, end).encode()
    return data


def _verify(data: memoryview, state: _State) -> None:
    """Raises a ValueError where a file does not have the checksum that it says; one that says none is not verified."""
    place = _checksum_place(data)
    if place is None or state.checksum is None:
        if state.version_checksum is not None:
            raise ValueError("it has lost its checksum")
    elif unsealed_checksum(data, *place) != state.checksum:
        raise ValueError("it does not have the checksum that was written")


def _checksum_place(data: memoryview) -> tuple[int, int] | None:
    """Where the checksum is: in the footer, after all that may look like it."""
    footer = len(data) - _TRAILER - int.from_bytes(data[-_TRAILER:-4], "little")
    places = list(_SEAL.finditer(data, max(0, footer)))
    return places[-1].span(1) if places else None


def _pad(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows in the columns of a schema; one that they do not have is null."""
    have = set(rows.schema.names)
    columns = [rows[f.name].cast(f.type) if f.name in have else pa.nulls(len(rows), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def _decode(data: pa.Buffer, version: int, table: str) -> Snapshot:
    file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    state = msgspec.json.decode(file.metadata.metadata[_STATE_KEY], type=_State)
    _verify(memoryview(data).cast("B"), state)
    if state.version != version:
        raise ValueError(f"it is of version {state.version}")
    refuse_newer_reader(state.protocol, table=table, version=version)
    check_metadata(state.meta_data)
    schema = splits_schema(state.meta_data)
    live, dead = range(state.split_row_groups), range(state.split_row_groups, file.num_row_groups)
    rows = Rows(
        _pad(file.read_row_groups(live, columns=schema.names), schema) if live else schema.empty_table(),
        file.read_row_groups(dead, columns=TOMBSTONES.names).cast(TOMBSTONES) if dead else TOMBSTONES.empty_table(),
        state.meta_data.current_doc_mapping_id,
    )
    if (len(rows.splits), len(rows.tombstones)) != (state.num_splits, state.num_tombstones):
        raise ValueError(f"it holds {len(rows.splits)} splits where {state.num_splits} were written")
    check_rows(rows.splits, state.meta_data, sealed=state.checksum is not None)
    txns = {txn.app_id: txn for txn in state.txns}
    return Snapshot(
        version,
        state.timestamp,
        state.protocol,
        state.meta_data,
        txns,
        rows,
        {},
        state.txn_id,
        state.version_checksum,
    )
