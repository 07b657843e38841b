"""Rows to splits: what one task of a write does."""

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import StorageError
from indextables.kernels import gather_batches
from indextables.layout import group
from indextables.log.actions import Add
from indextables.log.clock import now
from indextables.log.ownership import split_name
from indextables.schema import column_named
from indextables.search import FieldRule
from indextables.split import SplitOptions, SplitSummary, WordIndexBuilders, write_split
from indextables.storage import Store
from indextables.write.conform_schema import conformed
from indextables.write.partition_buffer import PartitionBuffer
from indextables.write.split_contents import Contents, full_split, last_splits
from indextables.write.write_plan import WritePlan
from indextables.write.write_progress import ProgressCounter

_UNGROUPED_SHARE = 4  # of the buffer's memory, for rows that are not grouped yet
_LARGE_SPLITS = 2  # that are built at a time: the index of one is finished while the rows of the other are written
_SMALL_SPLITS = 3  # likewise; tantivy's commit of few rows is mostly a wait
_SMALL = 4096  # rows


def write_rows(
    plan: WritePlan,
    batches: Iterable[pa.RecordBatch],
    store: Store,
    *,
    task: int = 0,
    counter: ProgressCounter | None = None,
) -> list[Add]:
    """Writes the splits of one task and gives the actions that would add them; a failure leaves none of them behind.

    Rows are buffered by partition until a split is full (`targetRecordsPerSplit`, or 1 GiB) or the data ends; then
    `Contents` becomes a split. Two splits are built at a time, or three small ones.
    """
    keys: list[str] = []
    counter = counter or ProgressCounter()
    try:
        with _scratch(plan) as scratch, _split_writer(plan, store, scratch) as writer:
            running: deque[Future[Add]] = deque()
            adds: list[Add] = []
            with ThreadPoolExecutor(_SMALL_SPLITS) as pool:
                for contents in _contents(plan, counter.counted(batches), scratch):
                    while len(running) >= (_SMALL_SPLITS if contents.num_rows <= _SMALL else _LARGE_SPLITS):
                        adds.append(counter.finished(running.popleft().result()))
                    name = split_name(plan.table_id, task=task, job=plan.job)
                    keys.append(f"{contents.directory}/{name}" if contents.directory else name)
                    running.append(pool.submit(writer.write, contents, keys[-1], scratch / name))
                adds.extend(counter.finished(future.result()) for future in running)
    except BaseException:
        store.discard(keys)
        raise
    return adds


def write_contents(plan: WritePlan, contents: Contents, store: Store, *, directory: str) -> Add:
    """Writes one split with these rows, in the order that they have, and gives the action that would add it."""
    name = split_name(plan.table_id, task=0, job=plan.job)
    key = f"{directory}/{name}" if directory else name
    try:
        with _scratch(plan) as scratch, _split_writer(plan, store, scratch) as writer:
            return writer.write(contents, key, scratch / name)
    except BaseException:
        store.discard([key])
        raise


@dataclass(frozen=True, slots=True)
class _SplitWriter:
    """Builds splits on local disk and puts them into the table's store; used by several threads."""

    plan: WritePlan
    store: Store
    schema: pa.Schema
    rules: Mapping[str, FieldRule]
    options: SplitOptions
    builders: WordIndexBuilders

    def write(self, contents: Contents, key: str, local: Path) -> Add:
        with _disk_errors(local.parent):
            rows = clustered(contents.rows, contents.sorting(self.plan))
            facts = write_split(
                rows, local, schema=self.schema, rules=self.rules, options=self.options, builders=self.builders
            )
        self.store.put_file(key, local)
        local.unlink()
        return _add(self.plan, key, contents, facts)


@contextmanager
def _split_writer(plan: WritePlan, store: Store, scratch: Path) -> Iterator[_SplitWriter]:
    schema, rules = plan.schema, plan.rules
    with WordIndexBuilders(scratch, schema=schema, rules=rules) as builders:
        options = SplitOptions(exact=plan.exact_indexes, term_filter_bytes=plan.config.write.term_filter_bytes)
        yield _SplitWriter(plan, store, schema, rules, options, builders)


def _contents(plan: WritePlan, batches: Iterable[pa.RecordBatch], scratch: Path) -> Iterator[Contents]:
    buffer = PartitionBuffer(scratch, limit=plan.config.write.buffer_size)
    rows_of_table = conformed(batches, plan.schema, layout=plan.layout)
    # Grouping costs time per partition, however few its rows are.
    for rows in gather_batches(rows_of_table, at_least=plan.config.write.buffer_size // _UNGROUPED_SHARE):
        buffer.expect(rows)
        for part in group(rows, plan.layout):
            buffered = buffer.add(part)
            while buffered.is_full(plan.config.write.target_records):
                yield full_split(plan, buffer, buffered)
        with _disk_errors(scratch):
            buffer.spill_if_full()
    yield from last_splits(plan, buffer)


@contextmanager
def _scratch(plan: WritePlan) -> Iterator[Path]:
    """A temporary directory for the task."""
    parent = plan.config.write.temp_directory
    with _disk_errors(parent or tempfile.gettempdir()):
        if parent is not None:
            Path(parent).mkdir(parents=True, exist_ok=True)
        directory = tempfile.TemporaryDirectory(prefix="indextables-", dir=parent, ignore_cleanup_errors=True)
    with directory as name:
        yield Path(name)


@contextmanager
def _disk_errors(place: object) -> Iterator[None]:
    """Turns errors of the local disk into a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"a split could not be built in {place}: {error.strerror or error}; make room there, or choose another place "
            "with spark.indextables.indexWriter.tempDirectoryPath",
            path=str(place),
        ) from error


def _add(plan: WritePlan, key: str, contents: Contents, facts: SplitSummary) -> Add:
    return Add(
        path=key,
        partition_values=contents.partition_values,
        spec_id=plan.spec_id,
        size=facts.size,
        modification_time=now(),
        num_records=facts.num_records,
        min_values=facts.statistics.min_values(),
        max_values=facts.statistics.max_values(),
        null_counts=facts.statistics.null_counts(),
        footer_start_offset=facts.footer[0],
        footer_end_offset=facts.footer[1],
        has_footer_offsets=True,
        index_start_offset=facts.index[0],
        index_end_offset=facts.index[1],
        time_range_start=facts.time_range[0] if facts.time_range else None,
        time_range_end=facts.time_range[1] if facts.time_range else None,
        delete_opstamp=0,
        doc_mapping_id=plan.doc_mapping_id,
        uncompressed_size_bytes=facts.uncompressed_bytes,
        term_filter=facts.term_filter,
        logical_partitions=contents.logical,
        physical_partition=contents.physical if contents.logical else None,
    )


def clustered(rows: list[pa.RecordBatch], columns: Sequence[str]) -> list[pa.RecordBatch]:
    """The same rows, sorted by the columns (`clusterBy`), so that each page has narrow bounds. The sort is stable.

    >>> rows = [pa.record_batch({"n": [3, 1]}), pa.record_batch({"n": [2, None]})]
    >>> [batch["n"].to_pylist() for batch in clustered(rows, ("N",))]
    [[1, 2, 3, None]]
    """
    if not columns:
        return rows
    table = pa.Table.from_batches(rows)
    keys = dict.fromkeys(column_named(table.schema, column) for column in columns)
    order = pc.sort_indices(table.select(list(keys)), sort_keys=[(key, "ascending") for key in keys])
    if order.equals(pa.array(np.arange(len(table)), order.type)):
        return rows
    ordered: list[pa.RecordBatch] = table.take(order).to_batches()
    return ordered
