"""A short version of `make streams`: drivers that are killed while they write, and batches that run again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.driver import Place
from tests.streams.replays import replay_batches
from tests.streams.stream_driver import StreamJob, start
from tests.streams.stream_kills import KillCase, kill_streams
from tests.tiers import slow

pytestmark = pytest.mark.spark


@slow("streams whose drivers are killed")
def test_a_stream_whose_drivers_are_killed_writes_every_row_once(tmp_path: Path) -> None:
    options = {"partitionBy": "p", "streaming.collectSize": "0", "mergeOnWrite.minSplits": "3"}
    case = KillCase(name="killed", options=options, enabled=False)
    figures = kill_streams(tmp_path / "killed", Place("local", str(tmp_path)), case, kills=2, seed=13)
    assert figures.kills == 2
    assert figures.table.batches > 2
    assert figures.table.merges > 0


@slow("batches of three queries that run again")
def test_a_batch_that_runs_again_is_skipped(spark: Any, tmp_path: Path) -> None:
    def run(jobs: Sequence[StreamJob]) -> None:
        for query in [start(spark, job) for job in jobs]:
            query.awaitTermination()

    assert replay_batches(tmp_path, run).replays == 3
