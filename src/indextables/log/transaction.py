"""A transaction: the actions to commit, and what the writer has read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import uuid4

import pyarrow as pa

from indextables.log.actions import Action, Add, Metadata, Protocol, Remove, ReplaceWhere, Txn
from indextables.log.snapshot import Snapshot


class Operation(StrEnum):
    CREATE = "CREATE TABLE"
    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    REPLACE_WHERE = "REPLACE WHERE"
    MERGE = "MERGE SPLITS"
    DROP = "DROP PARTITIONS"
    ALTER = "ALTER TABLE"


MayMatch = Callable[[pa.Table], bool]
"""Whether any of these splits (a splits table) may hold a row that the transaction depends on. Unknown means yes."""


def nothing(_: pa.Table) -> bool:
    """The transaction depends on no row: a plain append."""
    return False


def everything(_: pa.Table) -> bool:
    """The transaction depends on the whole table: an overwrite."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """Actions, and what conflict detection needs if another writer commits first.

    `snapshot` is what the writer read, None where there was no table. `reads` are the rows that it depends on.
    `rewritten` are those removed splits whose remaining rows are in `adds`.
    """

    operation: Operation
    snapshot: Snapshot | None
    adds: Sequence[Add] = ()
    removes: Sequence[Remove] = ()
    rewritten: frozenset[str] = frozenset()
    reads: MayMatch = nothing
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    replaced: Sequence[ReplaceWhere] = ()
    txn: Txn | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    txn_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def actions(self) -> list[Action]:
        """The actions after the commitInfo in the version file."""
        single = [action for action in (self.protocol, self.metadata, self.txn) if action is not None]
        return [*single, *self.replaced, *self.removes, *self.adds]

    @property
    def changes_anything(self) -> bool:
        return bool(self.adds or self.removes or self.metadata or self.protocol or self.txn)
