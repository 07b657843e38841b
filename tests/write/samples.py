"""Jobs and rows for the tests of distributed writes, without Spark."""

from pathlib import Path

import pyarrow as pa

from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode, TaskResult, WriteJob, write_task

SCHEMA = pa.schema({"day": pa.string(), "id": pa.int64(), "message": pa.string()})


def rows(*ids: int, day: str = "mon") -> pa.RecordBatch:
    return pa.record_batch([[day] * len(ids), ids, [f"line {i}" for i in ids]], schema=SCHEMA)


def planned(path: Path, mode: Mode = Mode.APPEND, *, schema: pa.Schema = SCHEMA, **settings: str) -> WriteJob:
    return plan_job(path, schema, mode=mode, sources=[{"partitionBy": "day", **settings}])


def written(job: WriteJob, *batches: pa.RecordBatch, attempt: int = 0) -> list[TaskResult]:
    """One task per batch."""
    return [write_task(job, [batch], task=task, attempt=attempt) for task, batch in enumerate(batches)]


def split_files(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*.split")}
