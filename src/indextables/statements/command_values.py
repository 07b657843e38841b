"""Commands and statements as values."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TableAt:
    """A table that a statement names by its path, at a version or the latest; `name` is its view in the text for Spark."""

    name: str
    path: str
    version: str | None = None
    timestamp: str | None = None


_NEW_TABLE = "path:"  # after the prefix, in the name of a table that a statement creates at a path


def new_table_name(path: str, prefix: str) -> str:
    """The name, in backquotes, that stands for a path in CREATE TABLE.

    >>> new_table_name("/data/logs", "_views_1_")
    '`_views_1_path:/data/logs`'
    """
    return "`" + f"{prefix}{_NEW_TABLE}{path}".replace("`", "``") + "`"


def path_of_new_table(name: str, prefix: str) -> str | None:
    """The path in such a name; None for other names.

    >>> path_of_new_table("_views_1_path:/data/logs", "_views_"), path_of_new_table("logs", "_views_")
    ('/data/logs', None)
    """
    _, found, path = name.partition(_NEW_TABLE) if name.startswith(prefix) else ("", "", "")
    return path if found else None


@dataclass(frozen=True, slots=True)
class Statement:
    """A text for Spark, and the tables whose views it uses."""

    text: str
    tables: tuple[TableAt, ...] = ()


class Subject(Enum):
    """What `DESCRIBE INDEXTABLES` shows: the words after it, none for the columns."""

    COLUMNS = ""
    DETAIL = "DETAIL"
    HISTORY = "HISTORY"
    LOG = "TRANSACTION LOG"
    PARTITIONS = "PARTITIONS"
    SPLITS = "SPLITS"


@dataclass(frozen=True, slots=True)
class TablePath:
    """A table by its path."""

    path: str


@dataclass(frozen=True, slots=True)
class TableName:
    """A table by its name in the catalog: `logs`, `db.logs`."""

    parts: tuple[str, ...]


Table: TypeAlias = TablePath | TableName


@dataclass(frozen=True, slots=True)
class Describe:
    """`limit` is the number of rows that are shown, of the history the newest."""

    table: Table
    subject: Subject
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check for damage; `deep`: of the rows of splits, too."""

    table: Table
    deep: bool = False
    all_versions: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSplits:
    table: Table
    where: str | None = None
    target_size: int | None = None
    max_dest_splits: int | None = None
    max_source_splits_per_merge: int | None = None
    cluster_by: tuple[str, ...] = ()
    rewrite_layout: bool = False
    coalesce: bool = False
    deleted_rows: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """To a version, or to a time as it is written."""

    table: Table
    version: int | None = None
    timestamp: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions:
    table: Table
    where: str
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    table: Table
    older_than: timedelta | None = None
    log_retention: timedelta | None = None
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prewarm:
    table: Table
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindex:
    """`columns` are those whose index is to be current; none for all."""

    table: Table
    columns: tuple[str, ...] = ()
    where: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class SetIndexing:
    """`fields` are pairs of a column and how it is indexed."""

    table: Table
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EvolveLayout:
    """`layout` is the text of the new layout; empty means unpartitioned."""

    table: Table
    layout: str


@dataclass(frozen=True, slots=True)
class AddColumn:
    table: Table
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class WidenColumn:
    table: Table
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class RenameColumn:
    table: Table
    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    table: Table
    name: str


Alteration: TypeAlias = EvolveLayout | AddColumn | WidenColumn | RenameColumn | DropColumn | SetIndexing
Command: TypeAlias = (
    Describe | Check | Checkpoint | MergeSplits | Restore | DropPartitions | Purge | Prewarm | Reindex | Alteration
)
