"""Offsets of streams and their JSON."""

import json
from typing import Any

import pytest

from indextables.errors import ConfigError
from indextables.read.stream_offset import StreamOffset


@pytest.mark.parametrize("initial_snapshot", [False, True])
@pytest.mark.parametrize(("version", "position"), [(0, 0), (7, 2), (2**40, 10**6)])
def test_an_offset_survives_json(version: int, position: int, *, initial_snapshot: bool) -> None:
    offset = StreamOffset(table_id="a", version=version, position=position, initial_snapshot=initial_snapshot)
    assert StreamOffset.of(json.loads(json.dumps(offset.to_json()))) == offset


def test_what_is_not_said_is_the_start_of_a_version() -> None:
    assert StreamOffset.of({"tableId": "a", "version": 3}) == StreamOffset(table_id="a", version=3)


def test_fields_of_later_releases_are_ignored() -> None:
    assert StreamOffset.of({"tableId": "a", "version": 3, "reads": "much"}) == StreamOffset(table_id="a", version=3)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"version": 3},
        {"tableId": "a"},
        {"tableId": "a", "version": "3"},
        {"tableId": "a", "version": -1},
        {"tableId": "a", "version": 3, "position": -1},
        {"tableId": "a", "version": 3, "initialSnapshot": None},
        7,
    ],
)
def test_what_is_no_offset_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"which is none of a table; .* new checkpoint"):
        StreamOffset.of(given)
