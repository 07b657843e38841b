"""The check of deletion vectors: whether they are there, and have the rows that the log says."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from indextables.errors import DamagedSplitError, NotFoundError, StorageError
from indextables.inspect.check_findings import CheckFinding, Problem, finding
from indextables.log.actions import DeletionVector
from indextables.log.splits import deletion_vectors_of
from indextables.read.deletion_vectors import read_vector
from indextables.storage import Entry, Store


def check_vectors(splits: pa.Table, entries: Sequence[Entry], store: Store, *, deep: bool) -> list[CheckFinding]:
    """Checks the deletion vectors of splits. Those in the log are decoded; files are looked up, and with `deep` read."""
    having = splits.select(["path", "num_records", "deletion_vector"]).filter(splits["deletion_vector"].is_valid())
    vectors = [vector for vector in deletion_vectors_of(having) if vector is not None]
    rows = having["num_records"].to_pylist()
    missing = _missing(vectors, entries, store)
    found = [
        finding(
            Problem.MISSING_VECTOR, file, f"it is not there, and has the deleted rows of {paths[0]}{_others(paths)}"
        )
        for file, paths in missing.items()
    ]
    readable = [
        (vector, total)
        for vector, total in zip(vectors, rows, strict=True)
        if vector.bitmap is not None or (deep and vector.file not in missing)
    ]
    for problems in store.in_parallel(partial(_problems, store), readable):
        found += problems
    return found


def _missing(vectors: Sequence[DeletionVector], entries: Sequence[Entry], store: Store) -> dict[str, list[str]]:
    """The files that are not there, each with the splits that need it."""
    listed = {entry.key for entry in entries}
    needed: dict[str, list[str]] = {}
    for vector in vectors:
        if vector.bitmap is None and vector.file is not None and vector.file not in listed:
            needed.setdefault(vector.file, []).append(vector.path)
    return {file: needed[file] for file in store.missing(list(needed))}


def _problems(store: Store, given: tuple[DeletionVector, int | None]) -> list[CheckFinding]:
    vector, total = given
    return list(_of_vector(vector, total, store))


def _of_vector(vector: DeletionVector, total: int | None, store: Store) -> Iterator[CheckFinding]:
    file, place = (vector.path, "") if vector.file is None else (vector.file, f"the deleted rows of {vector.path}")
    try:
        rows = read_vector(vector, store)
    except DamagedSplitError as error:
        message = error.reason if place else f"its deletion vector in the log is damaged: {error.reason}"
        yield finding(Problem.DAMAGED_VECTOR, file, message, place=place)
    except NotFoundError:
        yield finding(Problem.MISSING_VECTOR, file, "it is not there", place=place)
    except StorageError as error:
        yield finding(Problem.UNREADABLE_FILE, file, str(error), place=place)
    else:
        if total is not None and len(rows) and rows[-1] >= total:
            message = f"row {rows[-1]:,} is deleted, and the split has {total:,} rows"
            yield finding(Problem.DAMAGED_VECTOR, file, message, place=place)


def _others(paths: Sequence[str]) -> str:
    return f" and of {len(paths) - 1:,} other splits" if len(paths) > 1 else ""
