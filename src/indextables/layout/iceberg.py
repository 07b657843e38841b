"""Iceberg's own computation of its transforms; loaded with the first one, for most tables and questions need none."""

from functools import cache
from typing import Any

import pyarrow as pa


def bucket(values: pa.Array, n: int) -> pa.Array:
    return _core().bucket(values, n)


def truncate(values: pa.Array, width: int) -> pa.Array:
    return _core().truncate(values, width)


@cache
def _core() -> Any:
    from pyiceberg_core import transform  # noqa: PLC0415 - 10 ms of each start

    return transform
