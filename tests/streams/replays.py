"""Batches that Spark runs again, because the driver ended after the table's commit and before Spark's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from indextables import IndexTable
from indextables.log import TransactionLog
from tests.cluster.table_state import split_files
from tests.streams.checkpoint_files import batches_finished, forget_last_commit, query_id
from tests.streams.json_input import ROWS, SCHEMA, JsonInput
from tests.streams.stream_driver import StreamJob
from tests.streams.table_checks import check_rows, check_vacuum

Run = Callable[[Sequence[StreamJob]], None]
"""Runs queries at the same time, until they have read all that there is."""
_FILES = 3
_COLUMNS = pa.schema({"id": pa.int64(), "p": pa.string(), "message": pa.string(), "query": pa.string()})


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    replays: int
    rows: int
    log_files_deleted: int

    def __str__(self) -> str:
        return (
            f"{self.replays} batches again, after a checkpoint and a clean-up of {self.log_files_deleted} log files: "
            f"skipped, no file left; {self.rows} rows of two queries, each once"
        )


def replay_batches(directory: Path, run: Run) -> ReplayFigures:
    """Figures, once the table of two queries has the rows of both, whichever of them is replayed, and no other file."""
    table = str(directory / "table")
    IndexTable.create(table, _COLUMNS, fields={"message": "text"})
    inputs = [JsonInput(directory / name) for name in ("one", "other")]
    jobs = [_job(directory, rows, table, collect) for rows, collect in zip(inputs, ("0", "256K"), strict=True)]
    for rows in inputs:
        rows.add_files(_FILES)
    run(jobs)
    deleted = _forget_history(table)
    before = _state(table)
    for job in jobs:
        batch = forget_last_commit(job.checkpoint)
        run([job])
        assert batches_finished(job.checkpoint)[-1] == batch, "Spark did not run the batch again"
        assert _state(table) == before, "a batch that was run again changed the table"
    forget_last_commit(jobs[0].checkpoint)
    for rows in inputs:
        rows.add_files(_FILES)
    run(jobs)
    txns = TransactionLog.open(table).snapshot().txns
    last = {query: txn.version for query, txn in txns.items()}
    assert last == {query_id(job.checkpoint): 2 * _FILES - 1 for job in jobs}, f"the table has batches {last}"
    expected = [number for rows in inputs for number in rows.ids]
    found = check_rows(table, {}, expected)
    check_vacuum(table, {})
    return ReplayFigures(3, found, deleted)


def _job(directory: Path, rows: JsonInput, table: str, collect: str) -> StreamJob:
    name = rows.path.parent.name
    return StreamJob(
        name=name,
        source="json",
        source_options={"maxFilesPerTrigger": "1"},
        path=str(rows.path),
        schema=SCHEMA,
        columns=("id", "p", "message", f"'{name}' AS query"),
        table=table,
        options={"streaming.collectSize": collect},
        checkpoint=str(directory / name / "checkpoint"),
        trigger={"availableNow": True},
    )


def _forget_history(table: str) -> int:
    """A checkpoint, and nothing else of the log that is not needed to read the table as it is."""
    IndexTable.open(table).checkpoint()
    deleted = TransactionLog.open(table).clean_up(retention=timedelta(0))
    assert deleted, "there was nothing to clean up"
    return len(deleted)


def _state(table: str) -> tuple[int, set[str], int]:
    handle = IndexTable.open(table)
    assert handle.count() % ROWS == 0
    return handle.version, split_files(table, {}), handle.count()
