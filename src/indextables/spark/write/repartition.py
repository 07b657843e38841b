"""Optimized write: rows are repartitioned before they are written, as `indextables.write.task_placement` decides.

The task of a row is looked up by a hash of its partition values. Two partitions with the same hash share their tasks, which
is harmless: a task writes each partition to its own splits anyway.

A hash spreads rows evenly only on average, and less so if tasks get few rows. Up to 100,000 rows are therefore ordered by
their hash and cut into equal shares, so that n rows of a partition make ceil(n / target) splits.

The task depends on the row alone, or on an order that is repeatable. When an executor is lost, Spark recomputes some of the
input, and after a shuffle the rows come in another order: a row that then went to another task would be written twice or
not at all (docs/decisions/0018-rows-choose-their-task.md).
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from indextables.events import log_event
from indextables.layout import PartitionField
from indextables.schema import normalize
from indextables.spark.catalyst.input_cost import max_rows, num_tasks
from indextables.spark.catalyst.input_order import has_repeatable_order
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.job_description import described_jobs
from indextables.spark.source.batch_writer import log_standard_write
from indextables.spark.source.quoting import quote_name
from indextables.spark.write.input_persistence import WriteInput, input_persisted
from indextables.write.task_placement import (
    Placement,
    bin_small_partitions,
    is_balanced,
    place_bins,
    rows_to_share_out,
    share_out,
    task_count,
)
from indextables.write.write_job import WriteJob
from indextables.write.write_plan import WritePlan

logger = logging.getLogger(__name__)
_KEY, _ROWS, _GROUP, _VALUE = "key", "rows", "group", "value"  # columns of the counts
_HASH, _PLACE = "hash", "place"  # of the counts of rows with the same hash, and where Spark has them
_BITS = 33  # of monotonically_increasing_id, for the row; Spark's partition is in the bits above
_MAX_PLACED = 100_000  # the largest partitions, and so many rows, are placed one by one; more than these, by their hash


@contextmanager
def repartitioned(frame: DataFrame, job: WriteJob) -> Iterator[DataFrame]:
    """The same rows in as many tasks as there are full splits, each partition in as few of them as its rows need.

    The rows may be kept on disk until they are written, which must happen inside.
    """
    plan = job.plan
    if not plan.config.write.optimize_write:
        log_standard_write(job, planned_tasks=num_tasks(frame) if logger.isEnabledFor(logging.INFO) else None)
        yield frame
    elif (uncounted := _without_count(frame, job)) is not None:
        yield _sorted(uncounted, plan)
    else:
        with input_persisted(frame, plan) as source:
            with described_jobs(frame.sparkSession, f"count rows before the write to {job.table}"):
                place = _by_partition if plan.layout.fields else _in_equal_shares
                placed = place(frame, job, source)
            yield placed


def _without_count(frame: DataFrame, job: WriteJob) -> DataFrame | None:
    """The rows in their tasks, where the number of tasks is known without a count. Those of partitions are counted."""
    write = job.plan.config.write
    known_count, target = write.input_row_count, write.target_records
    if job.plan.layout.fields:
        return None
    if known_count is not None:
        tasks = task_count(known_count, target=target)
        _log(job, rows=known_count, tasks=tasks, shuffle=True)
        return frame.repartition(tasks)
    most = max_rows(frame)
    if most is None or task_count(most, target=target) > 1:
        return None
    is_one_task = num_tasks(frame) == 1
    _log(job, max_rows=most, tasks=1, shuffle=not is_one_task)
    return frame if is_one_task else frame.repartition(1)


def _in_equal_shares(frame: DataFrame, job: WriteJob, source: WriteInput) -> DataFrame:
    plan, target = job.plan, job.plan.config.write.target_records
    counts = _counts(frame.select(F.spark_partition_id().alias(_KEY)))
    rows = dict(zip(counts[_KEY].to_pylist(), counts[_ROWS].to_pylist(), strict=True))
    total, keep = sum(rows.values()), is_balanced(list(rows.values()), target=target)
    _log(job, rows=total, tasks=len(rows) if keep else task_count(total, target=target), shuffle=not keep)
    return _sorted(frame if keep else _cut(frame, rows, target, source), plan)


def _cut(frame: DataFrame, rows: dict[int, int], target: int, source: WriteInput) -> DataFrame:
    """The rows in the order of Spark's partitions, cut into equal shares; `rows` has the count of each partition.

    Should Spark partition the frame differently when it is written, rows of unexpected partitions are placed by hash.
    """
    total = sum(rows.values())
    tasks = task_count(total, target=target)
    placement = Placement(tasks, (tuple(range(tasks)),))
    if not has_repeatable_order(frame) and _can_rank([total], placement, frame, source):
        key, counts = _unused("__indextables_key", frame), pa.table({_KEY: [0], _ROWS: [total]})
        return _placed(frame.withColumn(key, F.lit(0)), key, counts, placement, ranked=True).drop(key)
    counted = [rows.get(number, 0) for number in range(max(rows) + 1)]
    before = F.get(_numbers(accumulate(counted, initial=0)), F.spark_partition_id())
    task = F.floor((before + _position(frame, counted)) * F.lit(tasks) / F.lit(total))
    by_hash = F.pmod(_row_hash(frame), F.lit(tasks))
    return frame.repartitionById(tasks, F.least(F.coalesce(task, by_hash), F.lit(tasks - 1)).cast("int"))


def _position(frame: DataFrame, counted: Sequence[int]) -> Column:
    """The position of a row in its Spark partition: in the order of the input if that is repeatable, else about, by hash."""
    if has_repeatable_order(frame):
        return F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _BITS) - 1))
    rows = F.get(_numbers(counted), F.spark_partition_id())
    return F.pmod(_row_hash(frame), F.greatest(rows, F.lit(1)))


def _row_hash(frame: DataFrame) -> Column:
    """The same number each time that the same row is computed."""
    return F.xxhash64(*map(_column, frame.columns))


def _numbers(values: Iterable[int]) -> Column:
    """An array as one literal, however long it is."""
    return F.split(F.lit(" ".join(map(str, values))), " ").cast("array<bigint>")


def _can_rank(counts: Sequence[int], placement: Placement, frame: DataFrame, source: WriteInput) -> bool:
    """Whether the rows of partitions with several tasks are few enough to look at; they may be kept on disk for that."""
    return 0 < rows_to_share_out(counts, placement) <= _MAX_PLACED and source.can_read(
        frame.columns, unless_unknown=True
    )


def _by_partition(frame: DataFrame, job: WriteJob, source: WriteInput) -> DataFrame:
    plan = job.plan
    key = _unused("__indextables_key", frame)
    keyed = frame.withColumn(key, F.xxhash64(*(_value(field, plan.schema) for field in plan.layout.fields)))
    counts = _partitions(keyed, key, plan)
    rows, target = counts[_ROWS].to_pylist(), plan.config.write.target_records
    unlisted_rows = max(0, keyed.count() - sum(rows)) if len(rows) == _MAX_PLACED else 0
    small_below = plan.coalescing.small_below if plan.coalescing else 0
    bins = bin_small_partitions(rows, counts[_GROUP].to_pylist(), small_below=small_below, target=target)
    parallelism = _default_parallelism(frame.sparkSession)
    placement = place_bins(bins, rows, target=target, unlisted_rows=unlisted_rows, parallelism=parallelism)
    _log(job, rows=sum(rows) + unlisted_rows, tasks=placement.tasks, partitions=len(rows), shuffle=True)
    ranked = _can_rank(rows, placement, frame, source)
    return _sorted(_placed(keyed, key, counts, placement, ranked=ranked), plan, first=[key]).drop(key)


def _log(job: WriteJob, **facts: int) -> None:
    target = job.plan.config.write.target_records
    log_event(logger, "Optimized write", table=job.table, **facts, target_rows_per_split=target, txn_id=job.plan.job)


def _partitions(keyed: DataFrame, key: str, plan: WritePlan) -> pa.Table:
    """The row count of each partition, and its group: small ones of a group may share splits. In the order of values."""
    if plan.coalescing is None:
        counts = _counts(keyed.select(F.col(key).alias(_KEY)))
        return counts.append_column(_GROUP, pa.repeat(pa.scalar(0), len(counts)))
    shared = [field for field in plan.layout.fields if field.name in plan.coalescing.columns]
    common = [_value(field, plan.schema) for field in plan.layout.fields if field not in shared]
    group = F.xxhash64(*common) if common else F.lit(0)
    keys = keyed.select(F.col(key).alias(_KEY), group.alias(_GROUP), _value(shared[0], plan.schema).alias(_VALUE))
    counts = _counts(keys, *(F.first(name).alias(name) for name in (_GROUP, _VALUE)))
    return counts.sort_by([(_GROUP, "ascending"), (_VALUE, "ascending")])


def _counts(keys: DataFrame, *aggregates: Column) -> pa.Table:
    """The row count of each key, and other aggregates; the most frequent keys first."""
    counts = keys.groupBy(_KEY).agg(F.count(F.lit(1)).alias(_ROWS), *aggregates)
    return counts.orderBy(F.desc(_ROWS)).limit(_MAX_PLACED).toArrow()


def _placed(keyed: DataFrame, key: str, counts: pa.Table, placement: Placement, *, ranked: bool) -> DataFrame:
    """The rows in their tasks; those of a partition with several tasks are spread over them by hash, or `ranked` by it.

    `counts` has the row count of each partition of the placement, by its key.
    """
    if not placement.by_partition:
        return keyed.repartition(placement.tasks)  # there were no rows
    tasks, row, share = (_unused(f"__indextables_{name}", keyed) for name in ("tasks", "row", "share"))
    known = pa.table({key: counts[_KEY], tasks: pa.array(placement.by_partition, pa.list_(pa.int32()))})
    hashed = keyed.withColumn(row, _row_hash(keyed))
    joined = hashed.join(F.broadcast(local_frame(keyed.sparkSession, known)), key, "left")
    chosen = F.get(tasks, F.pmod(row, F.size(tasks)).cast("int"))
    if ranked and len(rows := _rows_by_hash(joined.filter(F.size(tasks) > 1), key, row)):
        partitions = pc.index_in(rows[_KEY], counts[_KEY]).combine_chunks()
        shares = share_out(partitions, rows[_ROWS].combine_chunks(), placement)
        found = local_frame(keyed.sparkSession, pa.table({row: rows[_HASH], share: shares}))
        joined, chosen = joined.join(F.broadcast(found), row, "left"), F.coalesce(share, chosen)
    otherwise = F.pmod(key, F.lit(placement.tasks)).cast("int")
    return joined.repartitionById(placement.tasks, F.coalesce(chosen, otherwise)).drop(tasks, row, share)


def _rows_by_hash(hashed: DataFrame, key: str, row: str) -> pa.Table:
    """The count of the rows of each hash, and their partition; ordered by partition, by Spark's task, and by hash."""
    facts = hashed.select(F.col(row).alias(_HASH), F.col(key).alias(_KEY), F.spark_partition_id().alias(_PLACE))
    first = [F.min(name).alias(name) for name in (_KEY, _PLACE)]
    counts = facts.groupBy(_HASH).agg(F.count(F.lit(1)).alias(_ROWS), *first).toArrow()
    return counts.sort_by([(name, "ascending") for name in (_KEY, _PLACE, _HASH)])


def _sorted(frame: DataFrame, plan: WritePlan, first: list[str] | None = None) -> DataFrame:
    columns = [*map(F.col, first or ()), *map(_column, plan.config.write.cluster_by)]
    return frame.sortWithinPartitions(*columns) if columns else frame


def _value(field: PartitionField, schema: pa.Schema) -> Column:
    """The partition value of a row: the column itself, or the result of the transform."""
    column = _column(field.source)
    if field.is_identity:
        return column
    transform, source = field.transform, schema.field(field.source).type

    def apply(values: pa.Array) -> pa.Array:
        own = normalize(pa.schema([pa.field("values", values.type)])).field(0).type
        return transform.apply(values.cast(own))

    result = from_arrow_type(transform.result_type(source))
    computed: Column = arrow_udf(apply, result)(column)  # type: ignore[call-overload] # its kind is in apply's types
    return computed


def _column(name: str) -> Column:
    return F.col(quote_name([name]))


def _unused(name: str, frame: DataFrame) -> str:
    """A name that no column of the frame has, in any letter case."""
    taken = {column.lower() for column in frame.columns}
    while name in taken:
        name += "_"
    return name


def _default_parallelism(session: Any) -> int:
    """How many tasks a session runs at once; over Spark Connect, which does not say it, the number of shuffle partitions."""
    context = getattr(session, "sparkContext", None)
    if context is not None:
        return int(context.defaultParallelism)
    given = session.conf.get("spark.default.parallelism", None)
    return int(given or session.conf.get("spark.sql.shuffle.partitions"))
