"""The commit history, read from the first lines of the version files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from indextables.log.actions import CommitInfo
from indextables.log.clock import epoch_millis
from indextables.log.log_files import LogFiles
from indextables.log.version_file import read_info
from indextables.storage import Store


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A version, when it came to be (milliseconds since 1970, always after the version before it), and its commitInfo."""

    version: int
    timestamp: int
    info: CommitInfo


def read_commit_records(store: Store, files: LogFiles) -> list[CommitRecord]:
    """The versions whose files are there, in order."""
    entries = sorted(files.commits.items())
    infos = store.in_parallel(lambda item: read_info(store, *item, files=files), entries)
    commit_records, last = [], -1
    for (number, entry), info in zip(entries, infos, strict=True):
        given = info.timestamp if info.timestamp is not None else epoch_millis(entry.modified)
        last = max(given, last + 1)
        commit_records.append(CommitRecord(number, last, info))
    return commit_records


def history_table(commit_records: Sequence[CommitRecord]) -> pa.Table:
    newest_first = list(reversed(commit_records))
    infos = [record.info for record in newest_first]
    texts = pa.map_(pa.string(), pa.string())
    columns = {
        "version": pa.array([record.version for record in newest_first], pa.int64()),
        "timestamp": pa.array([record.timestamp for record in newest_first], pa.timestamp("ms", "UTC")),
        "operation": pa.array([info.operation for info in infos], pa.string()),
        "parameters": pa.array([_texts(info.operation_parameters.items()) for info in infos], texts),
        "metrics": pa.array([_texts(info.operation_metrics.items()) for info in infos], texts),
        "read_version": pa.array([info.read_version for info in infos], pa.int64()),
        "txn_id": pa.array([info.txn_id for info in infos], pa.string()),
        "engine": pa.array([info.engine for info in infos], pa.string()),
    }
    return pa.table(columns)


def _texts(items: Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    return [(key, value if isinstance(value, str) else msgspec.json.encode(value).decode()) for key, value in items]
