"""A transaction: the actions to commit, and what the writer has read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import uuid4

import pyarrow as pa

from indextables.log.actions import Action, Add, DeletionVector, Metadata, Protocol, Remove, ReplaceWhere, Txn
from indextables.log.snapshot import Snapshot


class Operation(StrEnum):
    CREATE = "CREATE TABLE"
    APPEND = "APPEND"
    OVERWRITE = "OVERWRITE"
    REPLACE_WHERE = "REPLACE WHERE"
    REPLACE_TABLE = "REPLACE TABLE"
    MERGE = "MERGE SPLITS"
    REINDEX = "REINDEX"
    DROP = "DROP PARTITIONS"
    ALTER = "ALTER TABLE"
    DELETE = "DELETE"
    UPDATE = "UPDATE"
    MERGE_INTO = "MERGE INTO"
    RESTORE = "RESTORE"


ROW_LEVEL = frozenset({Operation.DELETE, Operation.UPDATE, Operation.MERGE_INTO})
"""The operations that change single rows, where the rows are: they depend on the rows that their condition may match."""

WITHOUT_INPUT = frozenset({Operation.DROP, Operation.RESTORE})
"""The operations that write no rows of their own, so that they can always be planned again."""


MayMatch = Callable[[pa.Table], bool]
"""Whether any of these splits (a splits table) may hold a row that the transaction depends on. Unknown means yes."""


def nothing(_: pa.Table) -> bool:
    """The transaction depends on no row: a plain append."""
    return False


def everything(_: pa.Table) -> bool:
    """The transaction depends on the whole table: an overwrite."""
    return True


Unite = Callable[[Mapping[str, DeletionVector]], Sequence[DeletionVector] | None]
"""From the deletion vectors that a winner gave to splits to those of the transaction that have the deleted rows of both.

None where both delete the same row, or a split would have no row left: then the transaction is planned again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """Actions, and what conflict detection needs if another writer commits first.

    `snapshot` is what the writer read, None where there was no table. `reads` are the rows that it depends on.
    `rewritten` are those removed splits whose remaining rows are in `adds`. `vectors` are the vectors of splits that
    stay, and `unite` combines them with those of a winner.
    """

    operation: Operation
    snapshot: Snapshot | None
    adds: Sequence[Add] = ()
    removes: Sequence[Remove] = ()
    rewritten: frozenset[str] = frozenset()
    vectors: Sequence[DeletionVector] = ()
    unite: Unite | None = None
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
        return [*single, *self.replaced, *self.removes, *self.adds, *self.vectors]

    @property
    def changes_anything(self) -> bool:
        return bool(self.adds or self.removes or self.vectors or self.metadata or self.protocol or self.txn)

    @property
    def new_files(self) -> list[str]:
        """The files that were written for it; those that a restore adds were there before."""
        if self.operation is Operation.RESTORE:
            return []
        return [*(add.path for add in self.adds), *dict.fromkeys(v.file for v in self.vectors if v.file is not None)]
