"""Each split has a host of its own, whatever else a query opens."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.read.opener import SplitRef
from indextables.read.scan_plan import SplitTask
from indextables.spark.planner.split_placement import busiest, host_of, placed

HOSTS = [f"10.0.0.{number}" for number in range(5)]


def tasks_of(numbers: Iterable[int]) -> list[SplitTask]:
    return [SplitTask(SplitRef(f"part-{n}.split", n + 1, None, None), all_rows_match=False) for n in numbers]


def in_pairs(tasks: Iterable[SplitTask]) -> list[list[SplitTask]]:
    listed = list(tasks)
    return [listed[first : first + 2] for first in range(0, len(listed), 2)]


@given(st.sets(st.integers(0, 200)), st.sets(st.sampled_from(HOSTS)))
def test_every_split_is_read_once_and_on_its_host(numbers: set[int], chosen: set[str]) -> None:
    hosts = sorted(chosen)
    groups = list(placed(tasks_of(numbers), hosts, in_pairs))
    read = [task.split.path for group in groups for task in group.tasks]
    assert sorted(read) == sorted(task.split.path for task in tasks_of(numbers))
    for group in groups:
        expected = {host_of(task.split.path, hosts) for task in group.tasks} if len(hosts) > 1 else {None}
        assert {group.host} == expected


def test_the_host_of_a_split_does_not_depend_on_the_query() -> None:
    all_splits = {task: group.host for group in placed(tasks_of(range(100)), HOSTS, in_pairs) for task in group.tasks}
    some = {task: group.host for group in placed(tasks_of(range(0, 100, 7)), HOSTS, in_pairs) for task in group.tasks}
    assert some.items() <= all_splits.items()


@pytest.mark.parametrize("gone", HOSTS)
def test_only_the_splits_of_a_lost_host_move(gone: str) -> None:
    left = [host for host in HOSTS if host != gone]
    paths = [f"part-{number}.split" for number in range(500)]
    moved = [path for path in paths if host_of(path, HOSTS) != host_of(path, left)]
    assert moved == [path for path in paths if host_of(path, HOSTS) == gone]
    assert 50 < len(moved) < 150  # about a fifth of them


def test_one_task_runs_where_most_of_its_bytes_are() -> None:
    tasks = tasks_of(range(10))
    sizes = dict.fromkeys(HOSTS, 0)
    for task in tasks:
        sizes[host_of(task.split.path, HOSTS)] += task.split.size
    host = busiest(tasks, HOSTS)
    assert host is not None
    assert sizes[host] == max(sizes.values())
    assert busiest(tasks, HOSTS[:1]) is None
    assert busiest([], HOSTS) is None
