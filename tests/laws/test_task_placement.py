from hypothesis import given
from hypothesis import strategies as st

from indextables.write.task_placement import place, task_count

counts = st.lists(st.integers(0, 5000), max_size=60)
targets = st.integers(1, 1000)


@given(counts, targets)
def test_every_part_fits_a_split_and_has_its_own_task(counts: list[int], target: int) -> None:
    placement = place(counts, target=target)
    assert placement.tasks == task_count(sum(counts), target=target)
    for count, tasks in zip(counts, placement.by_partition, strict=True):
        assert 1 <= len(tasks) == len(set(tasks)) == task_count(count, target=target)
        assert all(0 <= task < placement.tasks for task in tasks)
        assert count / len(tasks) <= target


@given(counts, targets)
def test_no_task_has_more_than_twice_its_share_and_one_split(counts: list[int], target: int) -> None:
    placement = place(counts, target=target)
    loads = [0.0] * placement.tasks
    for count, tasks in zip(counts, placement.by_partition, strict=True):
        for task in tasks:
            loads[task] += count / len(tasks)
    assert max(loads) <= sum(counts) / placement.tasks + target + 1e-6
