"""Bounds of columns in many files, one array element per file.

>>> prices = ColumnBounds(lower=pa.array([1, 10]), upper=pa.array([5, 20]), may_be_null=False)
>>> Bounds(2, {"price": (prices,)}).facts("price") == (prices,)
True

A fact must be true of every row, and may be as weak as it likes: null means not known. Several facts about a column
hold at once (its statistics, and each partition value that was computed from it).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from indextables.predicate.file_flags import Flag


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBounds:
    """Every value of the column lies from `lower` to `upper`; null or NaN in a bound means that there is none.

    Arrays may be dictionary-encoded: repeated texts are then compared once. `upper_inclusive=False` means that `upper`
    itself is out: all texts that start with 'he' are from 'he' to before 'hf'.

    Null rows are outside of the bounds: `may_be_null` is false where no row is null, `may_be_value` is false where all
    are. NaN rows are outside of the bounds too, because statistics leave them out: `may_be_nan` is false where none is.
    """

    lower: pa.Array | pa.ChunkedArray
    upper: pa.Array | pa.ChunkedArray
    upper_inclusive: Flag = True
    may_be_null: Flag = True
    may_be_value: Flag = True
    may_be_nan: Flag = True


@dataclass(frozen=True, slots=True, eq=False)
class ColumnImage:
    """Every row of the file has the same image under `apply`: its bucket. Images have no order.

    `apply` maps an array of the column's values to an array of images, and null to null: a null in `values` means that
    all rows are null, any other value that none is. Where `known` is false, nothing is known of the file.
    """

    apply: Callable[[pa.Array], pa.Array]
    values: pa.Array | pa.ChunkedArray
    known: Flag = True


Fact = ColumnBounds | ColumnImage


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    files: int
    columns: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)

    def facts(self, column: str) -> tuple[Fact, ...]:
        """All that is known of a column; nothing where it is not there."""
        return self.columns.get(column, ())
