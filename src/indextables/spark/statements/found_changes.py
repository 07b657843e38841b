"""What the query of a statement that changes rows has found, collected from Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from indextables.spark.statements.row_queries import CLAUSE, PATH, ROW
from indextables.split.deletion_bitmap import RowNumbers
from indextables.statements.row_level_statements import MergeClause

_ROWS, _COUNT = "rows", "count"


@dataclass(frozen=True, slots=True)
class FoundChanges:
    """What a query has found: the numbers of the rows of each split that go, and how many rows each clause concerns."""

    rows: Mapping[str, RowNumbers]
    counts: Mapping[int, int]

    @classmethod
    def of(cls, changes: DataFrame) -> "FoundChanges":
        groups = changes.groupBy(PATH, CLAUSE).agg(F.collect_list(ROW).alias(_ROWS), F.count(F.lit(1)).alias(_COUNT))
        found = groups.toArrow()
        rows: dict[str, list[RowNumbers]] = {}
        counts: dict[int, int] = {}
        columns = (found[name].to_pylist() for name in (PATH, CLAUSE, _COUNT))
        for path, clause, count, numbers in zip(*columns, found[_ROWS], strict=True):  # a split, or one clause in it
            counts[clause] = counts.get(clause, 0) + count
            if path is not None:
                rows.setdefault(path, []).append(np.asarray(numbers.values, np.int64))
        return cls({path: np.sort(np.concatenate(parts)) for path, parts in rows.items()}, counts)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def twice(self) -> dict[str, RowNumbers]:
        """The rows that were found more than once."""
        repeated = {path: np.unique(rows[1:][rows[1:] == rows[:-1]]) for path, rows in self.rows.items()}
        return {path: rows for path, rows in repeated.items() if len(rows)}

    def of_actions(self, clauses: Sequence[MergeClause], *actions: type) -> int:
        return sum(count for clause, count in self.counts.items() if isinstance(clauses[clause].action, actions))
