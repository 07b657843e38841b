"""What a text of SQL can say to us."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TableAt:
    """A table that a text names by its path, now or in the past; `name` stands for it in the text that Spark gets."""

    name: str
    path: str
    version: str | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A text that Spark understands, and the tables that it has to be told of."""

    text: str
    tables: tuple[TableAt, ...] = ()


class Subject(Enum):
    """What `DESCRIBE INDEXTABLES` tells of: the words after it, none for the columns."""

    COLUMNS = ""
    HISTORY = "HISTORY"
    LOG = "TRANSACTION LOG"
    PARTITIONS = "PARTITIONS"
    SPLITS = "SPLITS"


@dataclass(frozen=True, slots=True)
class Describe:
    path: str
    subject: Subject


@dataclass(frozen=True, slots=True)
class Checkpoint:
    path: str


Command: TypeAlias = Describe | Checkpoint
