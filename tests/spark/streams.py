"""Streams for tests: input as files of JSON lines, queries that run until all input is written."""

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from indextables import IndexTable

_OLD = time.time() - 10_000
COLUMNS = "id long, day string, message string"


class Feed:
    """A directory of files that a stream reads, one a batch."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        self.files = 0

    def put(self, ids: Sequence[int], **more: object) -> None:
        """A file with a row for each id."""
        lines = [json.dumps({"id": n, "day": "mon" if n % 2 else "tue", "message": f"line {n}", **more}) for n in ids]
        hidden = self.directory / f"_{self.files}"
        hidden.write_text("\n".join(lines))
        os.utime(hidden, (_OLD + self.files, _OLD + self.files))  # Spark reads files in the order of their times
        hidden.rename(self.directory / f"{self.files:05}.json")
        self.files += 1

    def frame(self, spark: Any, columns: str = COLUMNS, *, files: int = 1) -> Any:
        return spark.readStream.schema(columns).option("maxFilesPerTrigger", files).json(str(self.directory))


def finish(writer: Any, start: Callable[[Any], Any]) -> Any:
    """Runs a query until all that is there has been processed; raises what stopped it."""
    query = start(writer.trigger(availableNow=True))
    query.awaitTermination()
    return query


def ids(path: Any) -> list[int]:
    return sorted(IndexTable.open(path).scan(columns=["id"]).to_arrow()["id"].to_pylist())


def operations(path: Any) -> list[str]:
    """The operations of a table, the oldest first."""
    return list(reversed(IndexTable.open(path).history()["operation"].to_pylist()))


def split_files(path: Path) -> list[str]:
    return sorted(file.name for file in path.rglob("*.split"))
