"""Runs inputs in a child process, so that a crash, a hang or a lack of memory is seen and belongs to one input."""

import logging
import os
import resource
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory

from tests.fuzz.child_process import supervised
from tests.fuzz.targets import TARGETS

_MEMORY = 6 * 2**30
_SHARES = {  # of a hundred inputs; the slow ones get fewer
    "predicate": 24,
    "query": 19,
    "split": 17,
    "version": 16,
    "options": 12,
    "checkpoint": 4,
    "cli": 5,
    "import": 3,
}


@dataclass(frozen=True)
class Failure:
    """An input that did not end well. It can be made again from its numbers, or read from the corpus."""

    target: str
    seed: int
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.target}, seed {self.seed}, input {self.number}: {self.reason}"


def shares(inputs: int) -> dict[str, int]:
    """How many inputs each target gets."""
    return {name: max(1, inputs * share // sum(_SHARES.values())) for name, share in _SHARES.items()}


def run_inputs(counts: Mapping[str, int], *, seed: int) -> Iterator[Failure]:
    """Failures among so many inputs of each target. After a crash a new process goes on with the next input."""
    inputs = [(target, number) for target, count in counts.items() for number in range(count)]
    for (target, number), reason in supervised(_work, inputs, seed):
        if reason:
            yield Failure(target, seed, number, reason)


def replayed(target: str, data: bytes) -> str:
    """What is wrong with how an input of the corpus is treated; nothing where all is well."""
    return _wrong(TARGETS[target].replay, data)


def _wrong(run: Callable[[bytes], None], data: bytes) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            run(data)
        except BaseException as error:  # noqa: BLE001 - panics are not Exceptions
            return "".join(traceback.format_exception(error)[-6:])
    return ""


def _work(connection: Connection, inputs: Sequence[tuple[str, int]], seed: int) -> None:
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with TemporaryDirectory(prefix="indextables-fuzz-") as directory:
        os.chdir(directory)  # for relative paths among the inputs
        for target, number in inputs:
            connection.send(_wrong(TARGETS[target].run, TARGETS[target].input(seed, number)))
