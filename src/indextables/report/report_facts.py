"""The facts of a report, and partition values as people read them.

>>> readable_value(Calendar("hour"), "2024-05-01-13"), readable_value(Bucket(16), "3"), readable_value(Bucket(16), None)
('2024-05-01 13:00', '3 of 16', 'null')
>>> readable_value(Truncate(10), "120"), readable_value(Truncate(2), "he")
('120 to 129', 'he…')
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from indextables.layout import Bucket, Calendar, PartitionField, Transform, Truncate

_NUMBER = re.compile(r"(\d+)")


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


def readable_values(fields: Sequence[PartitionField], values: Mapping[str, str | None]) -> dict[str, str]:
    """The values of a partition by the terms of its layout, such as `day(ts)`."""
    return {field.term: readable_value(field.transform, values[field.name]) for field in fields}


def readable_value(transform: Transform, text: str | None) -> str:
    """A partition value, from the text that the log has."""
    match transform:
        case _ if text is None:
            return "null"
        case Calendar("hour"):
            day, _, hour = text.rpartition("-")
            return f"{day} {hour}:00"
        case Bucket(count):
            return f"{text} of {count}"
        case Truncate(width) if text.lstrip("-").isdecimal():
            return f"{text} to {int(text) + width - 1}"
        case Truncate(width) if len(text) == width:
            return f"{text}…"
        case _:
            return text or "''"


def natural_order(labels: Sequence[str]) -> list[tuple[str | int, ...]]:
    """A key to sort texts by in which numbers count as numbers.

    >>> sorted(["10 of 16", "9 of 16"], key=lambda label: natural_order([label]))
    ['9 of 16', '10 of 16']
    """
    parts = (_NUMBER.split(label) for label in labels)
    return [tuple(int(part) if at % 2 else part for at, part in enumerate(some)) for some in parts]


def chart_labels(partitions: Sequence[Mapping[str, str]]) -> tuple[str, list[str]]:
    """The name of an axis of partitions, and a label for each: what neighbours have in common, without what all have.

    >>> chart_labels([{"day(ts)": "mon", "app": "a"}, {"day(ts)": "mon", "app": "b"}, {"day(ts)": "tue", "app": "a"}])
    ('day(ts), app', ['mon', 'mon', 'tue'])
    >>> chart_labels([{"day(ts)": "mon", "app": "a"}, {"day(ts)": "mon", "app": "b"}])
    ('app', ['a', 'b'])
    """
    terms = list(partitions[0]) if partitions else []
    if any(list(one) != terms for one in partitions):
        return "partition", [", ".join(one.values()) for one in partitions]
    varying = [term for term in terms if len({one[term] for one in partitions}) > 1] or terms[-1:]
    return ", ".join(varying), [one[varying[0]] if varying else "" for one in partitions]
