"""The time column of a table: its values as whole numbers, and as text."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables.errors import ConfigError
from indextables.layout import Layout
from indextables.schema import column_named, type_name
from indextables.values import decode, encode

_INSTANT = pa.timestamp("us", "UTC")
_MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column of dates, counted in days, or of timestamps, counted in microseconds, since 1970."""

    name: str
    type: pa.DataType

    @property
    def counts_days(self) -> bool:
        return bool(pa.types.is_date(self.type))

    def numbers(self, values: pa.Array) -> pa.Array:
        return values.view(pa.int32()).cast(pa.int64()) if self.counts_days else values.view(pa.int64())

    def scalar(self, number: int) -> pa.Scalar:
        width = pa.int32() if self.counts_days else pa.int64()
        return pa.array([number], width).view(self.type)[0]

    def texts(self, numbers: Any) -> list[str]:
        """Numbers as ISO texts."""
        width = pa.int32() if self.counts_days else pa.int64()
        return list(encode(pa.array(numbers, pa.int64()).cast(width).view(self.type)).to_pylist())

    def parse(self, text: str, *, parameter: str) -> int:
        """The least number that is not before an instant; a time without a zone is in UTC.

        >>> TimeColumn("day", pa.date32()).parse("2024-01-01T12:00:00Z", parameter="from")
        19724
        """
        instant = decode(pa.array([text], pa.string()), _INSTANT)[0]
        if not instant.is_valid:
            raise ConfigError(
                f"{parameter} is {text!r}; write an instant like 2024-01-31T12:00:00Z", key=parameter, value=text
            )
        number = int(instant.value)
        return -(-number // _MICROSECONDS_A_DAY) if self.counts_days else number


def choose_time_column(schema: pa.Schema, layout: Layout, named: str | None) -> TimeColumn | None:
    """The time column: the named one, else a timestamp, else a date; first those that the table is partitioned by.

    >>> choose_time_column(pa.schema({"day": pa.date32(), "at": pa.timestamp("us")}), Layout.parse("day"), None).name
    'at'
    """
    if named is not None:
        return _named(schema, named)
    names = dict.fromkeys([*(field.source for field in layout.fields), *schema.names])
    timed = [
        TimeColumn(name, schema.field(name).type) for name in names if pa.types.is_temporal(schema.field(name).type)
    ]
    return min(timed, key=lambda column: column.counts_days, default=None)


def _named(schema: pa.Schema, named: str) -> TimeColumn:
    name = column_named(schema, named)
    kind = schema.field(name).type
    if not pa.types.is_temporal(kind):
        raise ConfigError(
            f"--time {named} is a column of type {type_name(kind)}; name a timestamp or a date",
            key="--time",
            value=named,
        )
    return TimeColumn(name, kind)
