import pytest

from indextables.write.task_placement import is_balanced, place, target_with_slack, task_count


@pytest.mark.parametrize(
    ("rows", "target", "tasks"),
    [(5_000_000, 1_000_000, 5), (5_000_001, 1_000_000, 6), (1, 1_000_000, 1), (0, 1_000_000, 1)],
)
def test_as_many_tasks_as_full_splits(rows: int, target: int, tasks: int) -> None:
    assert task_count(rows, target=target) == tasks


def test_a_hot_partition_is_spread_and_tiny_ones_stay_whole() -> None:
    placement = place([50_000, *[10] * 100], target=10_000)
    hot, *tiny = placement.by_partition
    assert placement.tasks == 6
    assert len(hot) == len(set(hot)) == 5
    assert {len(tasks) for tasks in tiny} == {1}
    assert {task for tasks in tiny for task in tasks} == {5}


def test_tasks_get_about_the_same() -> None:
    counts = [700, 10, 300, 990, 40, 5, 600, 300, 55, 1000]
    placement = place(counts, target=1000)
    loads = [0.0] * placement.tasks
    for count, tasks in zip(counts, placement.by_partition, strict=True):
        for task in tasks:
            loads[task] += count / len(tasks)
    assert placement.tasks == 4
    assert max(loads) <= 1.1 * sum(counts) / 4


def test_one_large_partition_takes_every_task() -> None:
    assert place([30_000], target=10_000).by_partition == ((0, 1, 2),)


def test_rows_of_partitions_that_are_not_listed_need_tasks_too() -> None:
    assert place([10, 10], target=10, unlisted_rows=35).tasks == 6


@pytest.mark.parametrize(("parallelism", "tasks"), [(1, 1), (2, 2), (8, 3)])
def test_small_partitions_use_the_tasks_that_can_run_parallelism(parallelism: int, tasks: int) -> None:
    placement = place([2, 2, 2], target=10, parallelism=parallelism)
    assert placement.tasks == tasks == len({task for of in placement.by_partition for task in of})


def test_nothing_to_place() -> None:
    assert place([], target=10).tasks == 1


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([1000], True),
        ([], True),
        ([0, 0, 0], True),
        ([900, 1000, 1000], True),
        ([0, 1000, 0, 0], True),
        ([1099, 901], True),
        ([1101, 899], False),  # one split would be too large
        ([300, 300, 300], False),  # three splits where one would do
        ([2000], False),
    ],
)
def test_rows_that_need_no_repartitioning(rows: list[int], *, expected: bool) -> None:
    assert is_balanced(rows, target=1000) is expected


def test_slack() -> None:
    assert (target_with_slack(10_000), target_with_slack(3)) == (11_000, 3)
