"""The facts of a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ColumnFact:
    name: str
    type: str
    indexed: str
    """`text` (with its tokenizer), `string`, the name of another type, or `none`."""


@dataclass(frozen=True, slots=True)
class PartitionFact:
    """`values` are as the log has them, `labels` as people read them, by the terms of the layout.

    `complete` if the log lists the partitions that share its splits; `rows` is None if unknown.
    """

    values: Mapping[str, str | None]
    labels: Mapping[str, str]
    rows: int | None
    splits: int
    bytes: int
    complete: bool

    @property
    def label(self) -> str:
        """Its values as text.

        >>> PartitionFact({"day": "mon"}, {"day": "mon"}, 3, 1, 99, complete=True).label
        'mon'
        >>> PartitionFact({}, {"day(ts)": "2024-05-01", "app": "null"}, 3, 1, 99, complete=False).label
        'day(ts) = 2024-05-01, app = null and others'
        """
        texts = self.labels.values() if len(self.labels) == 1 else map(" = ".join, self.labels.items())
        label = ", ".join(texts) or "the whole table"
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
