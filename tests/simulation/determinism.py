"""Time, chance and places as the actor has them whose thread runs."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from indextables.storage import Store
from tests.simulation.scheduler import SimulatedStore, current_actor
from tests.simulation.state import START


class ActorTime:
    """The module `time`, for an actor. A pause needs no time: the next request is a point to switch anyway."""

    @staticmethod
    def time_ns() -> int:
        actor = current_actor()
        return (START if actor is None else actor.clock) * 1_000_000

    @staticmethod
    def monotonic() -> float:
        actor = current_actor()
        return 0.0 if actor is None else actor.now / 1000

    @staticmethod
    def sleep(_: float) -> None:
        return


@dataclass(frozen=True)
class ActorId:
    """What `uuid4` gives an actor."""

    hex: str

    def __str__(self) -> str:
        return self.hex


def new_id() -> ActorId:
    actor = current_actor()
    return ActorId("f" * 32 if actor is None else actor.new_id())


def store_of_actor(*_: Any) -> Store:
    actor = current_actor()
    assert actor is not None, "only actors open stores by their location"
    return SimulatedStore(actor.call)


@contextmanager
def deterministic() -> Iterator[None]:
    """Nothing but the scheduler decides what happens in here; warnings of the log are not shown."""
    logger = logging.getLogger("indextables")
    before = logger.level
    with ExitStack() as patched:
        for module in ("log.clock", "log.commit", "maintain.compact"):
            patched.enter_context(patch(f"indextables.{module}.time", ActorTime))
        for module in ("log.transaction", "log.ownership", "log.cleanup", "write.write_plan", "maintain.compact"):
            patched.enter_context(patch(f"indextables.{module}.uuid4", new_id))
        patched.enter_context(patch("indextables.log.log.open_store", store_of_actor))
        logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            logger.setLevel(before)
