"""What a write takes out of the table beside what it adds: the one thing in which the ways to write differ.

An overwrite takes out everything. What takes out some rows has to copy the others of the same splits, and so lives above
this layer (`indextables.maintain`): it is anything that is `Replacing`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from indextables.config import PREFIX, Config, canonical
from indextables.errors import ConfigError
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import Add, Metadata, Remove, ReplaceWhere
from indextables.log.clock import now
from indextables.log.splits import removes_for
from indextables.log.transaction import MayMatch, everything, nothing
from indextables.write.write_plan import WritePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """The splits that go, and `copies` of their rows that stay; see `Transaction` for `rewritten` and `reads`."""

    removes: Sequence[Remove] = ()
    copies: Sequence[Add] = ()
    rewritten: frozenset[str] = frozenset()
    reads: MayMatch = nothing
    replaced: Sequence[ReplaceWhere] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, int] = field(default_factory=dict)


class Replacing(Protocol):
    """Which rows of the table a write replaces; it travels to executors."""

    @property
    def operation(self) -> Operation: ...

    def admitted(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterable[pa.RecordBatch]:
        """The rows to be written; an error where there is one that does not belong to what is replaced."""

    def outgoing(
        self, log: TransactionLog, snapshot: Snapshot | None, plan: WritePlan, adds: Sequence[Add]
    ) -> Outgoing:
        """What leaves the table, now that the splits of `adds` are written; copies are written here."""


@dataclass(frozen=True, slots=True)
class Everything:
    """An overwrite of the whole table."""

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE

    def admitted(self, batches: Iterable[pa.RecordBatch], _: pa.Schema) -> Iterable[pa.RecordBatch]:
        return batches

    def outgoing(self, _: TransactionLog, snapshot: Snapshot | None, __: WritePlan, ___: Sequence[Add]) -> Outgoing:
        removes = removes_for(snapshot.splits, snapshot.metadata, deletion_timestamp=now()) if snapshot else []
        return Outgoing(removes=removes, reads=everything, metrics={"numRemovedSplits": len(removes)})


class Scope(Protocol):
    """From settings and the description of a table to what an overwrite of it replaces."""

    def __call__(self, config: Config, metadata: Metadata, *, table: str) -> Replacing: ...


def whole_table(config: Config, metadata: Metadata, *, table: str) -> Replacing:  # noqa: ARG001 - a Scope
    """Everything; settings that ask for less are refused, because an overwrite must never replace more than it was told."""
    if config.write.replace_where is not None or config.write.partition_overwrite_mode == "dynamic":
        raise ConfigError(
            "this way of writing replaces whole tables only; leave replaceWhere and partitionOverwriteMode out",
            key="replaceWhere" if config.write.replace_where is not None else "partitionOverwriteMode",
            value=config.write.replace_where or "dynamic",
        )
    return Everything()


def refuse_contradictions(options: Mapping[str, str], *, overwrites: bool) -> None:
    """Options of one call that say two things: a part of the table to an append, or two parts to an overwrite."""
    given = canonical(options)
    where, mode = given.get(f"{PREFIX}replaceWhere"), given.get(f"{PREFIX}partitionOverwriteMode", "")
    if where is not None and not overwrites:
        raise ConfigError(
            "replaceWhere goes with mode overwrite, and this write does not overwrite; leave it out, or overwrite",
            key="replaceWhere",
            value=where,
        )
    if where is not None and mode.strip().lower() == "dynamic":
        raise ConfigError(
            "replaceWhere says what is replaced, and so does partitionOverwriteMode=dynamic; give one of them",
            key="partitionOverwriteMode",
            value=mode,
        )
