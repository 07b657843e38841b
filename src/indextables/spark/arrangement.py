"""Optimized write: rows are moved between tasks before they are written, as `indextables.write.arrange` decides.

The rows of a partition find their task by a hash of the partition's values. Two partitions with the same hash share their
tasks, which does no harm: a task writes each partition to its own splits anyway.
"""

from itertools import accumulate

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from indextables.layout import PartitionField
from indextables.schema import normalize
from indextables.spark.local import local_frame
from indextables.write.arrange import Placement, place_parcels, suits, task_count, together
from indextables.write.plan import WritePlan

_KEY, _ROWS, _TASKS, _SPREAD, _GROUP, _VALUE = (
    f"__indextables_{name}" for name in ("key", "rows", "tasks", "spread", "group", "value")
)
_BITS = 33  # of monotonically_increasing_id, for the row; Spark's partition is in the bits above
_MOST_PARTITIONS = 100_000  # the larger ones are placed one by one; the others, if there are more, by their hash


def arranged(frame: DataFrame, plan: WritePlan) -> DataFrame:
    """The same rows, in as many tasks as there are full splits, those of a partition together and in order."""
    if not plan.config.optimize_write:
        return frame
    return _by_partition(frame, plan) if plan.layout.fields else _in_equal_shares(frame, plan)


def _in_equal_shares(frame: DataFrame, plan: WritePlan) -> DataFrame:
    given, target = plan.config.input_row_count, plan.config.target_records
    if given is not None:
        return _sorted(frame.repartition(task_count(given, target=target)), plan)
    counts = _counts(frame.select(F.spark_partition_id().alias(_KEY)))
    rows = dict(zip(counts[_KEY].to_pylist(), counts[_ROWS].to_pylist(), strict=True))
    return _sorted(frame if suits(list(rows.values()), target=target) else _cut(frame, rows, target), plan)


def _cut(frame: DataFrame, rows: dict[int, int], target: int) -> DataFrame:
    """The rows in their order, cut into equal pieces; `rows` are counted by Spark's partitions.

    Should Spark partition the frame differently when it is written, the rows that were not expected go anywhere.
    """
    total = sum(rows.values())
    tasks = task_count(total, target=target)
    before = accumulate((rows.get(number, 0) for number in range(max(rows) + 1)), initial=0)
    number, place_in_it = F.shiftright(_SPREAD, _BITS).cast("int"), F.col(_SPREAD).bitwiseAND(F.lit((1 << _BITS) - 1))
    starts = F.split(F.lit(" ".join(map(str, before))), " ").cast(
        "array<bigint>"
    )  # one literal, however many there are
    place = F.get(starts, number) + place_in_it
    task = F.coalesce(F.floor(place * F.lit(tasks / total)), F.pmod(F.xxhash64(_SPREAD), F.lit(tasks)))
    numbered = frame.withColumn(_SPREAD, F.monotonically_increasing_id())
    return numbered.repartitionById(tasks, F.least(task, F.lit(tasks - 1)).cast("int")).drop(_SPREAD)


def _by_partition(frame: DataFrame, plan: WritePlan) -> DataFrame:
    keyed = frame.withColumn(_KEY, F.xxhash64(*(_value(field, plan.schema) for field in plan.layout.fields)))
    counts = _partitions(keyed, plan)
    rows, target = counts[_ROWS].to_pylist(), plan.config.target_records
    others = keyed.count() - sum(rows) if len(rows) == _MOST_PARTITIONS else 0
    small_below = plan.coalescing.small_below if plan.coalescing else 0
    parcels = together(rows, counts[_GROUP].to_pylist(), small_below=small_below, target=target)
    at_once = frame.sparkSession.sparkContext.defaultParallelism
    placement = place_parcels(parcels, rows, target=target, others=others, at_once=at_once)
    return _sorted(_placed(keyed, counts[_KEY], placement), plan, first=[_KEY]).drop(_KEY)


def _partitions(keyed: DataFrame, plan: WritePlan) -> pa.Table:
    """The rows of each partition, and its group: in a group, small ones may share splits, and are in the order of values."""
    if plan.coalescing is None:
        counts = _counts(keyed.select(_KEY))
        return counts.append_column(_GROUP, pa.repeat(pa.scalar(0), len(counts)))
    shared = [field for field in plan.layout.fields if field.name in plan.coalescing.columns]
    common = [_value(field, plan.schema) for field in plan.layout.fields if field not in shared]
    group = F.xxhash64(*common) if common else F.lit(0)
    keys = keyed.select(_KEY, group.alias(_GROUP), _value(shared[0], plan.schema).alias(_VALUE))
    counts = _counts(keys, *(F.first(name).alias(name) for name in (_GROUP, _VALUE)))
    return counts.sort_by([(_GROUP, "ascending"), (_VALUE, "ascending")])


def _counts(keys: DataFrame, *more: Column) -> pa.Table:
    """The rows of each key, and more of it; the most frequent keys first."""
    counts = keys.groupBy(_KEY).agg(F.count(F.lit(1)).alias(_ROWS), *more)
    return counts.orderBy(F.desc(_ROWS)).limit(_MOST_PARTITIONS).toArrow()


def _placed(keyed: DataFrame, keys: pa.ChunkedArray, placement: Placement) -> DataFrame:
    tasks = pa.table({_KEY: keys, _TASKS: pa.array(placement.of, pa.list_(pa.int32()))})
    known = F.broadcast(local_frame(keyed.sparkSession, tasks))
    spread = F.xxhash64(F.monotonically_increasing_id())  # no column may decide: rows of a partition can be all alike
    chosen = F.get(_TASKS, F.pmod(_SPREAD, F.size(_TASKS)).cast("int"))
    otherwise = F.pmod(_KEY, F.lit(placement.tasks)).cast("int")
    joined = keyed.withColumn(_SPREAD, spread).join(known, _KEY, "left")
    return joined.repartitionById(placement.tasks, F.coalesce(chosen, otherwise)).drop(_SPREAD, _TASKS)


def _sorted(frame: DataFrame, plan: WritePlan, first: list[str] | None = None) -> DataFrame:
    columns = [*map(F.col, first or ()), *map(_column, plan.config.cluster_by)]
    return frame.sortWithinPartitions(*columns) if columns else frame


def _value(field: PartitionField, schema: pa.Schema) -> Column:
    """The partition value of a row: the column itself, or what our own transform makes of it."""
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
    return F.col("`" + name.replace("`", "``") + "`")
