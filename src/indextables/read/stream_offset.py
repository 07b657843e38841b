"""Offsets of streams: positions in the rows that a table gains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self, TypeAlias

import msgspec

from indextables.errors import ConfigError

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


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
    version: _Number
    position: _Number = 0
    initial_snapshot: bool = False

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Self:
        """The offset that a checkpoint has. A ConfigError where it is not one of ours."""
        names = {"tableId": "table_id", "initialSnapshot": "initial_snapshot"}
        try:
            return msgspec.convert({names.get(key, key): value for key, value in offset.items()}, cls)
        except (AttributeError, msgspec.ValidationError) as error:
            raise ConfigError(
                f"the checkpoint has {offset!r} as the offset of a stream, which is none of a table; was it edited, or is "
                "it that of a query with another source? Start with a new checkpoint",
                key="checkpointLocation",
                value=str(offset),
            ) from error

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
