"""What an overwrite replaces: the whole table, or a part of it.

An overwrite of a part has to copy the other rows of the splits that it rewrites, and so its kinds live above this layer
(`indextables.maintain.replace_where`): a kind is anything that is an `Overwrite`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec
import pyarrow as pa

from indextables.config import PREFIX, Config, canonical
from indextables.errors import ConfigError
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import Add, DeletionVector, Metadata, Remove, ReplaceWhere
from indextables.log.clock import now
from indextables.log.splits import removes_for
from indextables.log.transaction import MayMatch, Unite, everything, nothing
from indextables.read.opener import SplitRef
from indextables.write.write_plan import WritePlan

CopyTask: TypeAlias = Callable[[int, Iterable[SplitRef]], Iterable[Add]]
"""Copies the rows of some splits that are kept, as the task with a number; it travels to executors."""
RunCopies: TypeAlias = Callable[[CopyTask, Sequence[SplitRef]], Sequence[Add]]
"""Runs a CopyTask on splits, in this process or in tasks of Spark."""


def copy_here(task: CopyTask, splits: Sequence[SplitRef]) -> Sequence[Add]:
    """Copies all splits in this process."""
    return list(task(0, splits))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedSplits:
    """The splits that an overwrite removes, and `copies` of those of their rows that are kept.

    See `Transaction` for `rewritten`, `vectors`, `unite` and `reads`.
    """

    removes: Sequence[Remove] = ()
    copies: Sequence[Add] = ()
    rewritten: frozenset[str] = frozenset()
    vectors: Sequence[DeletionVector] = ()
    unite: Unite | None = None
    reads: MayMatch = nothing
    replaced: Sequence[ReplaceWhere] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class Overwrite(Protocol):
    """Which rows of the table a write replaces; it travels to executors."""

    @property
    def operation(self) -> Operation: ...

    def checked(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterable[pa.RecordBatch]:
        """The rows to be written; an error where one of them is outside what is replaced."""

    def removed_splits(
        self, log: TransactionLog, snapshot: Snapshot | None, plan: WritePlan, adds: Sequence[Add], *, run: RunCopies
    ) -> RemovedSplits:
        """What is removed from the table, given the new splits (`adds`); many rows that are kept are copied by `run`."""


class FullOverwrite(msgspec.Struct, frozen=True, tag=True):
    """An overwrite of all rows; with `replaces_table`, of the columns, the layout and the properties too."""

    replaces_table: bool = False

    @property
    def operation(self) -> Operation:
        return Operation.REPLACE_TABLE if self.replaces_table else Operation.OVERWRITE

    def checked(self, batches: Iterable[pa.RecordBatch], _: pa.Schema) -> Iterable[pa.RecordBatch]:
        return batches

    def removed_splits(
        self,
        log: TransactionLog,  # noqa: ARG002 - the interface of all kinds
        snapshot: Snapshot | None,
        plan: WritePlan,  # noqa: ARG002
        adds: Sequence[Add],  # noqa: ARG002
        *,
        run: RunCopies,  # noqa: ARG002
    ) -> RemovedSplits:
        removes = removes_for(snapshot.splits, snapshot.metadata, deletion_timestamp=now()) if snapshot else []
        return RemovedSplits(removes=removes, reads=everything, metrics={"numRemovedSplits": len(removes)})


class OverwriteResolver(Protocol):
    """From the settings and the metadata of a table to what an overwrite of it replaces."""

    def __call__(self, config: Config, metadata: Metadata, *, table: str) -> Overwrite: ...


def full_overwrite_only(config: Config, metadata: Metadata, *, table: str) -> Overwrite:  # noqa: ARG001 - a resolver
    """The whole table; settings that limit the overwrite are refused, because it must never replace more than they say."""
    if config.write.replace_where is not None or config.write.partition_overwrite_mode == "dynamic":
        raise ConfigError(
            "this write can only replace the whole table; leave replaceWhere and partitionOverwriteMode out",
            key="replaceWhere" if config.write.replace_where is not None else "partitionOverwriteMode",
            value=config.write.replace_where or "dynamic",
        )
    return FullOverwrite()


def refuse_contradictory_options(options: Mapping[str, str], *, overwrites: bool) -> None:
    """Refuses options of one call that contradict each other.

    replaceWhere does not go with an append or with dynamic overwrite, and overwriteSchema with none of them.
    """
    settings = canonical(options)
    _refuse_with_schema(settings, overwrites=overwrites)
    where, mode = settings.get(f"{PREFIX}replaceWhere"), settings.get(f"{PREFIX}partitionOverwriteMode", "")
    if where is not None and not overwrites:
        raise ConfigError(
            "replaceWhere needs mode overwrite, and this write does not overwrite; leave it out, or use mode overwrite",
            key="replaceWhere",
            value=where,
        )
    if where is not None and mode.strip().lower() == "dynamic":
        raise ConfigError(
            "replaceWhere says what is replaced, and so does partitionOverwriteMode=dynamic; give one of them",
            key="partitionOverwriteMode",
            value=mode,
        )


def _refuse_with_schema(settings: Mapping[str, str], *, overwrites: bool) -> None:
    given = settings.get(f"{PREFIX}overwriteSchema", "")
    if given.strip().lower() != "true":
        return
    if not overwrites:
        raise ConfigError(
            "overwriteSchema needs mode overwrite, and this write does not overwrite; use mode overwrite, or mergeSchema to "
            "add columns",
            key="overwriteSchema",
            value=given,
        )
    dynamic = settings.get(f"{PREFIX}partitionOverwriteMode", "").strip().lower() == "dynamic"
    if dynamic or f"{PREFIX}replaceWhere" in settings:
        raise _partial("partitionOverwriteMode=dynamic" if dynamic else "replaceWhere")


def refuse_partial_overwrite(overwrite: Overwrite) -> None:
    """Refuses a schema that would be replaced together with a part of the rows, whoever asked for that part."""
    if not isinstance(overwrite, FullOverwrite):
        partial = "replaceWhere" if overwrite.operation is Operation.REPLACE_WHERE else "partitionOverwriteMode=dynamic"
        raise _partial(partial)


def _partial(setting: str) -> ConfigError:
    return ConfigError(
        f"overwriteSchema replaces the whole table, and {setting} a part of it; give one of them",
        key="overwriteSchema",
        value="true",
    )
