"""What must hold whatever the load is."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class BrokenInvariantError(AssertionError):
    """The table or the growth of a run is not as it should be."""


def require(holds: bool, message: str) -> None:  # noqa: FBT001 - a condition
    if not holds:
        raise BrokenInvariantError(message)


def each_once(ids: pa.ChunkedArray, rows: int) -> None:
    """The ids are 0 to `rows`, each of them once."""
    distinct = len(pc.unique(ids))
    require(len(ids) == distinct, f"{len(ids) - distinct} of {len(ids)} rows are doubled")
    require(len(ids) == rows, f"{rows - len(ids)} of {rows} rows are lost")
    ends = pc.min_max(ids).as_py() if rows else None
    require(ends in (None, {"min": 0, "max": rows - 1}), f"the ids are {ends}, and {rows} rows were written")


def bounded(what: str, values: Sequence[float], *, factor: float = 1.0, slack: float) -> None:
    """The last third of some values is at most `factor` times the first third plus `slack`, by their medians."""
    if len(values) < 3:
        return
    third = len(values) // 3
    first, last = float(np.median(values[:third])), float(np.median(values[-third:]))
    allowed = factor * first + slack
    require(last <= allowed, f"{what} grew from {first:.4g} to {last:.4g}; {allowed:.4g} is explained")
