"""The actions of the transaction log.

A commit is a file of JSON lines, one action a line, each an object with a single key that names its kind. Unknown fields and
unknown actions are ignored. A field that is declared with `always(...)` has a default for readers, and is always written, so
that other readers of the log need no table of defaults. Other optional fields are written where they have a value.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
import pyarrow as pa

from indextables.errors import UnsupportedProtocolError
from indextables.layout import Layout
from indextables.schema import from_json

READER_VERSION = 1
WRITER_VERSION = 1

_Value = TypeVar("_Value")
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A number of bytes or rows, as JSON numbers are exact. msgspec refuses others when it reads a log."""
Millis: TypeAlias = Annotated[int, msgspec.Meta(ge=-62_135_596_800_000, le=253_370_764_800_000)]
"""A time in milliseconds since 1970, of a year from 1 to 9998: Python has no others."""
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
LongNumber: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


def always(default: _Value) -> _Value:
    """The default of a field that may be absent, but is always written.

    msgspec omits a field that holds its default, and never takes the product of a factory for the default.
    """
    field: _Value = msgspec.field(default_factory=lambda: copy(default))
    return field


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A JSON object in the log: camelCase there, snake_case here."""


class CommitInfo(Record, frozen=True, kw_only=True):
    """Provenance of a commit: the first line of every version file. Times are milliseconds since 1970, UTC.

    For the checksums see `indextables.log.version_checksum`.
    """

    timestamp: Millis | None = None
    operation: str = always("UNKNOWN")
    operation_parameters: Mapping[str, Any] = always({})
    operation_metrics: Mapping[str, Any] = always({})
    read_version: LongNumber | None = None
    txn_id: str | None = None
    table_id: str | None = None
    engine: str | None = None
    version: LongNumber | None = None
    previous_checksum: str | None = None
    num_actions: LongNumber | None = None
    actions_checksum: str | None = None
    checksum: str | None = None  # the last field, where readers look for it


class Protocol(Record, frozen=True, kw_only=True):
    """The protocol versions that a reader and a writer must support."""

    min_reader_version: LongNumber
    min_writer_version: LongNumber


class SpecField(Record, frozen=True, kw_only=True):
    source: str
    transform: str
    name: str


class PartitionSpec(Record, frozen=True, kw_only=True):
    spec_id: Number
    fields: Sequence[SpecField] = always([])


class FieldMapping(Record, frozen=True, kw_only=True):
    """The field type of a column in the search index: `text`, `string` or `none`, and the tokenizer of a text."""

    type: str
    tokenizer: str | None = None


class DocMapping(Record, frozen=True, kw_only=True):
    """The field types of the splits that refer to it. `complete`: they have exactly these columns.

    `column_ids` are the ids of the columns, by their names in these splits (see `indextables.log.column_ids`).
    """

    doc_mapping_id: Number
    fields: Mapping[str, FieldMapping] = always({})
    complete: bool = always(False)
    column_ids: Mapping[str, Number] = {}


class Metadata(Record, frozen=True, kw_only=True, dict=True):
    """The table's schema, specs, mappings and properties. Specs and mappings are only added: splits refer to them by id.

    `max_column_id` is the highest id that a column ever had; None before the first rename or drop.
    """

    id: str
    schema: Mapping[str, Any]
    partition_specs: Sequence[PartitionSpec] = always([PartitionSpec(spec_id=0)])
    current_spec_id: int = always(0)
    doc_mappings: Sequence[DocMapping] = always([])
    current_doc_mapping_id: int | None = None
    properties: Mapping[str, str] = always({})
    created_time: Millis | None = None
    max_column_id: Number | None = None

    def arrow_schema(self) -> pa.Schema:
        return self._arrow_schema

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        return from_json(dict(self.schema))

    @cached_property
    def layouts(self) -> Mapping[int, Layout]:
        """The layouts of the table by their ids; the current one is where new splits go."""
        return {spec.spec_id: Layout.from_json(msgspec.to_builtins(spec.fields)) for spec in self.partition_specs}


class LogicalPartitions(Record, frozen=True, kw_only=True):
    """The partition tuples that share a coalesced split: typed text, and how many rows of each."""

    complete: bool
    columns: Sequence[str]
    tuples: Sequence[Sequence[str | None]]
    counts: Sequence[Count] | None = None


class Add(Record, frozen=True, kw_only=True):
    """Adds a split to the table."""

    path: str
    partition_values: Mapping[str, str | None] = always({})
    spec_id: Number = always(0)
    size: Count
    modification_time: Millis
    data_change: bool = always(True)
    num_records: Count | None = None
    min_values: Mapping[str, Any] = {}
    max_values: Mapping[str, Any] = {}
    null_counts: Mapping[str, Count] = {}
    footer_start_offset: Count | None = None
    footer_end_offset: Count | None = None
    has_footer_offsets: bool = always(False)
    index_start_offset: Count | None = None
    index_end_offset: Count | None = None
    time_range_start: str | LongNumber | None = None  # a number is microseconds: release 0.1.0 wrote these
    time_range_end: str | LongNumber | None = None
    split_tags: Sequence[str] = always([])
    delete_opstamp: LongNumber | None = None
    num_merge_ops: Number = always(0)
    doc_mapping_id: Number | None = None
    uncompressed_size_bytes: Count | None = None
    term_filter: bytes | None = None
    logical_partitions: LogicalPartitions | None = None
    physical_partition: Mapping[str, str | None] | None = None
    merge_group: LongNumber | None = None


class DeletionVector(Record, frozen=True, kw_only=True):
    """The deleted rows of a split: the numbers of its rows in a roaring bitmap. It replaces an earlier one of the split.

    The bitmap is in the log if it is small, else in a `file` beside the splits, with others of the same commit. No row is
    deleted where the cardinality is 0: a restore takes deletions back.
    """

    path: str
    cardinality: Count
    bitmap: bytes | None = None
    file: str | None = None
    offset: Count | None = None
    length: Count | None = None
    crc32: Count | None = None


class Remove(Record, frozen=True, kw_only=True):
    """Removes a split from the table; its file stays until a vacuum (PURGE) deletes it."""

    path: str
    deletion_timestamp: Millis
    data_change: bool = always(True)
    partition_values: Mapping[str, str | None] | None = None
    spec_id: Number | None = None
    size: Count | None = None
    merge_group: LongNumber | None = None


class ReplaceWhere(Record, frozen=True, kw_only=True):
    """The removes and adds of the same commit replaced all rows that satisfy the predicate."""

    predicate: str
    timestamp: Millis
    data_change: bool = always(True)
    operation_metrics: Mapping[str, Any] = always({})


class Txn(Record, frozen=True, kw_only=True):
    """An application's own progress mark: its batches up to `version` are in the table."""

    app_id: str
    version: LongNumber
    last_updated: Millis | None = None


Action = CommitInfo | Protocol | Metadata | Add | Remove | DeletionVector | ReplaceWhere | Txn


def refuse_newer_reader(protocol: Protocol, *, table: str, version: int) -> None:
    """Raises an UnsupportedProtocolError for a table that only a newer release can read."""
    _refuse_newer("read", protocol.min_reader_version, READER_VERSION, table=table, version=version)


def refuse_newer_writer(protocol: Protocol, *, table: str, version: int) -> None:
    """Raises an UnsupportedProtocolError for a table that only a newer release can write."""
    _refuse_newer("written", protocol.min_writer_version, WRITER_VERSION, table=table, version=version)


def _refuse_newer(verb: str, required: int, supported: int, *, table: str, version: int) -> None:
    if required > supported:
        raise UnsupportedProtocolError(
            f"{table} can only be {verb} by releases that support protocol {required}; this one supports {supported}: "
            "upgrade indextables",
            table=table,
            version=version,
            required=required,
            supported=supported,
        )
