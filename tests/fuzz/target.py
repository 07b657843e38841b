"""What is fuzzed: a maker of inputs, and code that may refuse them with an IndexTablesError only."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from indextables.errors import IndexTablesError

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """`run` raises what no user should see; refusals stay inside. Inputs are bytes, so that each can be kept as a file.

    `replay` is the same for the inputs of the corpus, which may take longer.
    """

    name: str
    generate: Callable[[Random], bytes]
    run: Callable[[bytes], None]
    replay: Callable[[bytes], None]

    def input(self, seed: int, number: int) -> bytes:
        """The same bytes for the same numbers."""
        return self.generate(Random(f"{self.name}-{seed}-{number}"))


def attempt(action: Callable[[], T]) -> T | None:
    """What an action gives, None where it is refused; a message that would help nobody is a failure too."""
    try:
        return action()
    except IndexTablesError as error:
        if not str(error).strip():
            raise AssertionError(f"{type(error).__name__} without a message") from error
        return None
