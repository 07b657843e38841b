"""Which host reads which split: always the same one, so that it finds the split's index in its cache.

The host of a split depends on the split and on the hosts, not on the query (rendezvous hashing): queries that open different
splits agree about each of them, and where a host joins or leaves, only its own splits move.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from indextables.read.scan_plan import SplitTask


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """The splits of one Spark task, and the host that has or will have their indexes; None where any will do."""

    tasks: tuple[SplitTask, ...]
    host: str | None


def host_of(path: str, hosts: Sequence[str]) -> str:
    """The host of a split.

    >>> [host_of(f"part-{n}.split", ["a", "b", "c"]) for n in range(5)]
    ['b', 'a', 'a', 'a', 'b']
    >>> [host_of(f"part-{n}.split", ["a", "c"]) for n in range(5)]
    ['c', 'a', 'a', 'a', 'a']
    """
    return max(hosts, key=lambda host: blake2b(f"{host}\0{path}".encode(), digest_size=8).digest())


def placed(
    tasks: Iterable[SplitTask],
    hosts: Sequence[str],
    pack: Callable[[Iterable[SplitTask]], Iterable[Sequence[SplitTask]]],
) -> Iterator[PlacedGroup]:
    """The splits of each host, packed into groups; with one host, or none, they are packed as if there were no hosts."""
    if len(hosts) < 2:  # noqa: PLR2004 - a choice needs two
        yield from (PlacedGroup(tuple(group), None) for group in pack(tasks))
        return
    for host, own in _by_host(tasks, hosts).items():
        yield from (PlacedGroup(tuple(group), host) for group in pack(own))


def busiest(tasks: Sequence[SplitTask], hosts: Sequence[str]) -> str | None:
    """The host that has most of the bytes of some splits."""
    if len(hosts) < 2:  # noqa: PLR2004 - a choice needs two
        return None
    sizes = {host: sum(task.split.size for task in own) for host, own in _by_host(tasks, hosts).items()}
    return max(sizes, key=lambda host: (sizes[host], host), default=None)


def _by_host(tasks: Iterable[SplitTask], hosts: Sequence[str]) -> Mapping[str, list[SplitTask]]:
    found: dict[str, list[SplitTask]] = defaultdict(list)
    for task in tasks:
        found[host_of(task.split.path, hosts)].append(task)
    return found
