"""Replacements by many tasks: what travels, what is committed, and what a failure leaves behind."""

import pickle
from functools import partial
from pathlib import Path

import pytest

from indextables import IndexTable
from indextables.errors import ConflictError, RowsOutsideError
from indextables.maintain.replace_where import resolve_overwrite
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, TaskResult, WriteJob, abort_job, commit_job, write_task
from tests.maintain.samples import SCHEMA, evolved, litter, made, numbers, rows, split_files


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """One split of an older layout, which holds two years."""
    table = made(tmp_path, "")
    table.append(rows([2023, 2023, 2024], ["1", "2", "1"], [1, 2, 3]))
    evolved(table, "year")
    return table


def planned(path: Path, **settings: str) -> WriteJob:
    job = plan_job(path, SCHEMA, mode=Mode.OVERWRITE, sources=[settings], overwrite=resolve_overwrite)
    return pickle.loads(pickle.dumps(job))  # type: ignore[no-any-return]  # as it comes to an executor


def written(job: WriteJob, *years: int) -> list[TaskResult]:
    """One task for each year, with one row."""
    return [write_task(job, rows([y], ["1"], [y]).to_batches(), task=task) for task, y in enumerate(years)]


@pytest.mark.parametrize("settings", [{"replaceWhere": "year = 2023"}, {"partitionOverwriteMode": "dynamic"}])
class TestBothWays:
    def test_one_commit(self, table: IndexTable, tmp_path: Path, settings: dict[str, str]) -> None:
        job = planned(tmp_path, **settings)
        assert commit_job(job, written(job, 2023, 2023)).version == 3
        assert numbers(table.refresh()) == [3, 2023, 2023]
        metrics = dict(table.history().to_pylist()[0]["metrics"])
        told = {"numTasks": "2", "numRewrittenSplits": "1", "numDeletedRows": "2", "numCopiedRows": "1"}
        assert metrics.items() >= {**told, "numAddedRows": "2", "numAddedSplits": "3"}.items()
        assert litter(tmp_path) == set()

    def test_a_conflict(self, table: IndexTable, tmp_path: Path, settings: dict[str, str]) -> None:
        job = planned(tmp_path, **settings)
        results = written(job, 2023)
        table.append(rows([2023], ["1"], [9]))
        with pytest.raises(ConflictError):
            commit_job(job, results)
        abort_job(job)
        assert numbers(table.refresh()) == [1, 2, 3, 9]
        assert litter(tmp_path) == set()

    def test_a_batch_that_is_there_already(self, table: IndexTable, tmp_path: Path, settings: dict[str, str]) -> None:
        plan = partial(planned, tmp_path, **settings, txnAppId="loader", txnVersion="1")
        first, second = plan(), plan()
        assert commit_job(first, written(first, 2023)).version == 3
        assert commit_job(second, written(second, 2023)).version == 3
        third = plan()
        assert third.already_committed
        assert commit_job(third, written(third, 2023)).version == 3
        assert numbers(table.refresh()) == [3, 2023]
        assert litter(tmp_path) == set()


def test_a_task_with_rows_outside(table: IndexTable, tmp_path: Path) -> None:
    before = split_files(tmp_path)
    job = planned(tmp_path, replaceWhere="year = 2023")
    with pytest.raises(RowsOutsideError, match="year=2024"):
        written(job, 2023, 2024)
    abort_job(job)
    assert (split_files(tmp_path), table.refresh().version) == (before, 2)
