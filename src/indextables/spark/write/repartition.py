"""Optimized write: rows are moved between tasks before they are written, as `indextables.write.task_placement` decides.

The rows of a partition find their task by a hash of the partition's values. Two partitions with the same hash share their
tasks, which does no harm: a task writes each partition to its own splits anyway.

Where a row goes depends on the row alone, or on an order that Spark repeats. When an executor is lost, Spark computes some
of the input again, and after a shuffle the rows come in another order: a row that then went to another task would be
written twice or not at all (docs/decisions/0018-rows-choose-their-task.md).
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from indextables.layout import PartitionField
from indextables.schema import normalize
from indextables.spark.catalyst.java import Java, kind
from indextables.spark.catalyst.local_relation import local_frame
from indextables.write.task_placement import Placement, place_parcels, suits, task_count, together
from indextables.write.write_plan import WritePlan

_KEY, _ROWS, _GROUP, _VALUE = "key", "rows", "group", "value"  # of the tables of counts
_BITS = 33  # of monotonically_increasing_id, for the row; Spark's partition is in the bits above
_MAX_PARTITIONS = 100_000  # the larger ones are placed one by one; the others, if there are more, by their hash


def repartition(frame: DataFrame, plan: WritePlan) -> DataFrame:
    """The same rows, in as many tasks as there are full splits, those of a partition together and in order."""
    if not plan.config.write.optimize_write:
        return frame
    return _by_partition(frame, plan) if plan.layout.fields else _in_equal_shares(frame, plan)


def _in_equal_shares(frame: DataFrame, plan: WritePlan) -> DataFrame:
    given, target = plan.config.write.input_row_count, plan.config.write.target_records
    if given is not None:
        return _sorted(frame.repartition(task_count(given, target=target)), plan)
    counts = _counts(frame.select(F.spark_partition_id().alias(_KEY)))
    rows = dict(zip(counts[_KEY].to_pylist(), counts[_ROWS].to_pylist(), strict=True))
    return _sorted(frame if suits(list(rows.values()), target=target) else _cut(frame, rows, target), plan)


def _cut(frame: DataFrame, rows: dict[int, int], target: int) -> DataFrame:
    """The rows in the order of Spark's partitions, cut into equal pieces; `rows` are counted by partition.

    Should Spark partition the frame differently when it is written, the rows that were not expected go anywhere.
    """
    total = sum(rows.values())
    tasks = task_count(total, target=target)
    counted = [rows.get(number, 0) for number in range(max(rows) + 1)]
    before = F.get(_numbers(accumulate(counted, initial=0)), F.spark_partition_id())
    task = F.floor((before + _place(frame, counted)) * F.lit(tasks / total))
    anywhere = F.pmod(_content(frame), F.lit(tasks))
    return frame.repartitionById(tasks, F.least(F.coalesce(task, anywhere), F.lit(tasks - 1)).cast("int"))


def _place(frame: DataFrame, counted: Sequence[int]) -> Column:
    """Where a row stands in its Spark partition: in the order of the input if Spark repeats it, else as its content says."""
    if _repeats_order(frame._jdf.queryExecution().optimizedPlan()):  # noqa: SLF001
        return F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _BITS) - 1))
    rows = F.get(_numbers(counted), F.spark_partition_id())
    return F.pmod(_content(frame), F.greatest(rows, F.lit(1)))


def _repeats_order(plan: Java) -> bool:
    """Whether each task of a plan gives its rows in the same order when Spark runs it again: files, row by row."""
    match kind(plan):
        case "Project":
            return _repeats_order(plan.child())
        case "Filter":
            return bool(plan.deterministic()) and _repeats_order(plan.child())
        case "LogicalRDD":
            return str(plan.rdd().outputDeterministicLevel()) == "DETERMINATE"
        case "LogicalRelation":
            return str(plan.relation().getClass().getSimpleName()) == "HadoopFsRelation"
        case other:
            return other in {"LocalRelation", "Range"}


def _content(frame: DataFrame) -> Column:
    """A number that every evaluation of the same row gives."""
    return F.xxhash64(*map(_column, frame.columns))


def _numbers(values: Iterable[int]) -> Column:
    """An array as one literal, however long it is."""
    return F.split(F.lit(" ".join(map(str, values))), " ").cast("array<bigint>")


def _by_partition(frame: DataFrame, plan: WritePlan) -> DataFrame:
    key = _unused("__indextables_key", frame)
    keyed = frame.withColumn(key, F.xxhash64(*(_value(field, plan.schema) for field in plan.layout.fields)))
    counts = _partitions(keyed, key, plan)
    rows, target = counts[_ROWS].to_pylist(), plan.config.write.target_records
    others = keyed.count() - sum(rows) if len(rows) == _MAX_PARTITIONS else 0
    small_below = plan.coalescing.small_below if plan.coalescing else 0
    parcels = together(rows, counts[_GROUP].to_pylist(), small_below=small_below, target=target)
    at_once = frame.sparkSession.sparkContext.defaultParallelism
    placement = place_parcels(parcels, rows, target=target, others=others, at_once=at_once)
    return _sorted(_placed(keyed, key, counts[_KEY], placement), plan, first=[key]).drop(key)


def _partitions(keyed: DataFrame, key: str, plan: WritePlan) -> pa.Table:
    """The rows of each partition, and its group: in a group, small ones may share splits, and are in the order of values."""
    if plan.coalescing is None:
        counts = _counts(keyed.select(F.col(key).alias(_KEY)))
        return counts.append_column(_GROUP, pa.repeat(pa.scalar(0), len(counts)))
    shared = [field for field in plan.layout.fields if field.name in plan.coalescing.columns]
    common = [_value(field, plan.schema) for field in plan.layout.fields if field not in shared]
    group = F.xxhash64(*common) if common else F.lit(0)
    keys = keyed.select(F.col(key).alias(_KEY), group.alias(_GROUP), _value(shared[0], plan.schema).alias(_VALUE))
    counts = _counts(keys, *(F.first(name).alias(name) for name in (_GROUP, _VALUE)))
    return counts.sort_by([(_GROUP, "ascending"), (_VALUE, "ascending")])


def _counts(keys: DataFrame, *more: Column) -> pa.Table:
    """The rows of each key, and more of it; the most frequent keys first."""
    counts = keys.groupBy(_KEY).agg(F.count(F.lit(1)).alias(_ROWS), *more)
    return counts.orderBy(F.desc(_ROWS)).limit(_MAX_PARTITIONS).toArrow()


def _placed(keyed: DataFrame, key: str, keys: pa.ChunkedArray, placement: Placement) -> DataFrame:
    """The rows in their tasks; those of a partition that has several are spread over them by their content."""
    tasks = _unused("__indextables_tasks", keyed)
    known = pa.table({key: keys, tasks: pa.array(placement.of, pa.list_(pa.int32()))})
    joined = keyed.join(F.broadcast(local_frame(keyed.sparkSession, known)), key, "left")
    chosen = F.get(tasks, F.pmod(_content(keyed), F.size(tasks)).cast("int"))
    otherwise = F.pmod(key, F.lit(placement.tasks)).cast("int")
    return joined.repartitionById(placement.tasks, F.coalesce(chosen, otherwise)).drop(tasks)


def _sorted(frame: DataFrame, plan: WritePlan, first: list[str] | None = None) -> DataFrame:
    columns = [*map(F.col, first or ()), *map(_column, plan.config.write.cluster_by)]
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


def _unused(name: str, frame: DataFrame) -> str:
    """A name that no column of the frame has, in any letter case."""
    taken = {column.lower() for column in frame.columns}
    while name in taken:
        name += "_"
    return name
