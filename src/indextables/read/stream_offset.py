"""Offsets of streams: positions in the rows that a table gains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """How far a stream has read: all that comes before `version`, and the first `position` splits of it, by path.

    These are the splits that the version added; with `initial_snapshot`, all splits that the table had at that version.

    >>> offset = StreamOffset(table_id="d2c0", version=7, position=2)
    >>> offset.to_json()
    {'tableId': 'd2c0', 'version': 7, 'position': 2, 'initialSnapshot': False}
    >>> StreamOffset.of(offset.to_json()) == offset
    True
    """

    table_id: str
    version: int
    position: int = 0
    initial_snapshot: bool = False

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Self:
        names = {"table_id": "tableId", "version": "version", "position": "position"}
        given = {name: offset[key] for name, key in names.items() if key in offset}
        return msgspec.convert({**given, "initial_snapshot": offset.get("initialSnapshot", False)}, cls)

    def to_json(self) -> dict[str, Any]:
        return {
            "tableId": self.table_id,
            "version": self.version,
            "position": self.position,
            "initialSnapshot": self.initial_snapshot,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """What one batch reads at most; a split that is larger than `max_bytes` is read alone."""

    max_files: int | None = None
    max_bytes: int | None = None
