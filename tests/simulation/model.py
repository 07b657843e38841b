"""What a table holds, as plain Python has it: the naive model that every version must equal."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

Row = tuple[str, str]
"""An id, and the region that the row belongs to."""


@dataclass(frozen=True)
class Table:
    """The rows, each with the number of times that it is there, and what else a snapshot says."""

    rows: Mapping[Row, int] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ("id", "region")
    batches: Mapping[str, int] = field(default_factory=dict)

    def plus(self, *rows: Row) -> "Table":
        return replace(self, rows=dict(Counter(self.rows) + Counter(rows)))

    def without(self, region: str) -> "Table":
        return replace(self, rows={row: count for row, count in self.rows.items() if row[1] != region})

    def count(self, region: str) -> int:
        return sum(count for row, count in self.rows.items() if row[1] == region)
