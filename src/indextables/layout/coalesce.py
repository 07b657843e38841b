"""Small partitions that share a directory, and in it their splits.

In a field that is coalesced, a partition has two values: the logical one, which users filter by (`app = 'A'`), and the
physical one, which its directory is named after.

>>> sharing = Coalescing(columns=("app",), small_below=1000, rules={"b": "logs", "c": ""})
>>> [sharing.group_of({"day": "mon", "app": app}, rows=7) for app in "ABC"]
['[#small]', '[#logs]', None]
>>> sharing.group_of({"day": "mon", "app": "A"}, rows=1000) is None
True
>>> sharing.physical({"day": "mon", "app": "A"}, "[#small]")
{'day': 'mon', 'app': '[#small]'}

Where a row is kept never decides whether it is found: the log lists what each shared split holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from indextables.errors import ConfigError
from indextables.layout.layout import Layout, PartitionField
from indextables.layout.partition_paths import NULL
from indextables.layout.transforms import Void

Texts: TypeAlias = Mapping[str, str | None]
"""The values of a partition by the names of the fields, as the log writes them."""

SMALL = "[#small]"


@dataclass(frozen=True, slots=True)
class Coalescing:
    """The rules by which partitions share splits.

    Small are those of fewer than `small_below` rows, unless they are among the `large`: these are known to be large,
    whatever a write brings. `rules` send a value, in any letter case, to a group of its own, and with an empty text to none;
    the others share `group`.
    """

    columns: tuple[str, ...]
    small_below: int
    max_tuples: int = 10_000
    rules: Mapping[str, str] = field(default_factory=dict)
    large: frozenset[tuple[str | None, ...]] = frozenset()
    group: str = SMALL

    def group_of(self, texts: Texts, *, rows: int) -> str | None:
        """The group whose splits a partition shares, None if it has its own."""
        rule = self.rules.get("/".join(text or NULL for text in self.logical(texts)).lower())
        if rule is not None:
            return _group_value(rule)
        is_small = rows < self.small_below and tuple(texts.values()) not in self.large
        return self.group if is_small else None

    def logical(self, texts: Texts) -> tuple[str | None, ...]:
        """The values in which partitions of one group may differ."""
        return tuple(texts[column] for column in self.columns)

    def common(self, texts: Texts) -> dict[str, str | None]:
        """The values that all partitions of one group have."""
        return {name: text for name, text in texts.items() if name not in self.columns}

    def physical(self, texts: Texts, group: str) -> dict[str, str | None]:
        """The values that name the directory."""
        return {name: group if name in self.columns else text for name, text in texts.items()}


def coalesced_columns(layout: Layout, requested: Sequence[str]) -> tuple[str, ...]:
    """The names of the partition fields to coalesce: the requested ones, which must be the last ones, or the last one.

    >>> coalesced_columns(Layout.parse("day(ts), region, app"), ["Region", "app"])
    ('region', 'app')
    >>> coalesced_columns(Layout.parse("day(ts), region, app"), ["region"])
    Traceback (most recent call last):
    indextables.errors.ConfigError: coalesce.columns is region, but only the last fields of a layout can be coalesced...
    """
    fields = [part for part in layout.fields if not isinstance(part.transform, Void)]
    if not requested:
        return tuple(part.name for part in fields[-1:])
    last = fields[-len(requested) :]
    if {name.lower() for name in requested} != {_field_name(part, requested) for part in last}:
        raise ConfigError(
            f"coalesce.columns is {', '.join(requested)}, but only the last fields of a layout can be coalesced; this one "
            f"is {str(layout) or 'empty'}; name its last field, or several from there",
            key="coalesce.columns",
            value=", ".join(requested),
        )
    return tuple(part.name for part in last)


def _field_name(part: PartitionField, requested: Sequence[str]) -> str:
    """The name of a field: its column or its term if one of these was requested, otherwise its name."""
    names = {name.lower() for name in requested}
    return next((name for name in (part.source.lower(), part.term.lower()) if name in names), part.name.lower())


def _group_value(group: str) -> str | None:
    """The name of a group as a value of its own kind; it may be written with the mark or without."""
    if not group.strip():
        return None
    return group if group.startswith("[#") else f"[#{group}]"
