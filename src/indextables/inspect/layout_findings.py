"""Findings about a layout: too many, too small or too deeply nested partitions. From the log alone.

What is measured are the partitions of the current layout that have splits of their own. Those that share splits cost no
files; those of an older layout are gone once they are moved.
"""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from indextables.config import Config
from indextables.inspect.findings import (
    EVOLVE,
    MANY_PARTITIONS,
    MANY_VALUES,
    MAX_LEVELS,
    MAX_PARTITIONS,
    PARTITION_SIZES,
    SPLIT_SIZES,
    Area,
    Finding,
    Severity,
    format_bytes,
    median,
)
from indextables.inspect.listing import list_partitions
from indextables.inspect.recommended_steps import Step
from indextables.kernels import sum_of
from indextables.layout import Bucket, Calendar, Identity, Layout, PartitionField, Transform, Truncate, Void
from indextables.log import Snapshot
from indextables.log.logical_partitions import explode_logical_partitions
from indextables.log.split_bounds import partition_value
from indextables.log.splits import live_rows, partition_terms
from indextables.maintain.compact import plan_only
from indextables.maintain.compaction_request import MergeRequest, limits_of

_BUCKETS = 16
_COARSER_UNITS = {"hour": Calendar("day"), "day": Calendar("month"), "month": Calendar("year")}
_ADVISE = "advise recommends a layout for your queries"
_COALESCE = "coalesce.enabled"
_OTHER = "or another layout; " + _ADVISE


def layout_findings(snapshot: Snapshot, config: Config) -> Iterator[Finding]:
    """The findings about a layout and its partitions; of several symptoms of one cause, the cause."""
    yield from _levels(snapshot.metadata.layouts[snapshot.metadata.current_spec_id])
    unique = list(_unique_values(snapshot))
    yield from unique or _small_partitions(snapshot, config)


def nearly_unique(distinct: int, rows: int) -> bool:
    """Whether a column has a value for nearly every row, so that a partition by it would be one row."""
    return distinct >= MANY_VALUES and rows < 2 * distinct


def levels(layout: Layout) -> int:
    return sum(not isinstance(field.transform, Void) for field in layout.fields)


def _levels(layout: Layout) -> Iterator[Finding]:
    if levels(layout) > MAX_LEVELS:
        message = f"the layout has {levels(layout)} levels ({layout}), where {MAX_LEVELS} at most are good: "
        message += "each one multiplies the number of partitions"
        hint = f"with the columns that most queries filter by, and sort by the others (cluster_by); {_ADVISE}"
        yield Finding(Area.LAYOUT, Severity.WARNING, message, EVOLVE, hint)


def _unique_values(snapshot: Snapshot) -> Iterator[Finding]:
    """Columns that are a partition by themselves and have a value for nearly every row, such as an id."""
    layout, schema = snapshot.metadata.layouts[snapshot.metadata.current_spec_id], snapshot.metadata.arrow_schema()
    for number, field in enumerate(layout.fields):
        if not isinstance(field.transform, Identity | Truncate):
            continue
        distinct, rows = _values(snapshot, field)
        if nearly_unique(distinct, rows):
            message = f"a partition for nearly every row: {field.term} has {distinct:,} values in {rows:,} rows"
            other = _coarsen(layout, number, schema)
            yield Finding(Area.LAYOUT, Severity.WARNING, message, Step("evolve_layout", str(other)), _OTHER)


def _values(snapshot: Snapshot, field: PartitionField) -> tuple[int, int]:
    """How many values a field of the current layout has, in how many rows, as far as the log has both."""
    if field.term not in partition_terms(snapshot.metadata) or not len(snapshot.splits):
        return 0, 0
    parts = explode_logical_partitions(snapshot.splits, snapshot.metadata).table
    value, known = partition_value(parts, field.term)
    known = pc.and_(known, pc.equal(parts["spec_id"], snapshot.metadata.current_spec_id).combine_chunks())
    rows = live_rows(parts).filter(known)
    if rows.null_count:
        return 0, 0
    return len(value.filter(known).unique()), sum_of(rows)


def _small_partitions(snapshot: Snapshot, config: Config) -> Iterator[Finding]:
    found = _too_small(list_partitions(snapshot), snapshot.metadata.current_spec_id)
    if found is not None:
        severity, message = found
        yield Finding(Area.PARTITIONS, severity, message, *_fix_for_small_partitions(snapshot, config))


def _too_small(partitions: pa.Table, spec_id: int) -> tuple[Severity, str] | None:
    """What is wrong with the number and the sizes of partitions; many tiny ones are, whatever the size of the table."""
    if len(partitions) > MAX_PARTITIONS:
        half = format_bytes(median(partitions["size"]))
        message = f"{len(partitions):,} partitions are more than {MAX_PARTITIONS:,}; half of them have at most {half}"
        return Severity.WARNING, message
    own = partitions.filter((pc.field("shared_splits") == 0) & (pc.field("spec_id") == spec_id))["size"]
    tiny, good = own.filter(pc.less(own, SPLIT_SIZES[0])), PARTITION_SIZES[0]
    if len(tiny) >= MANY_PARTITIONS:
        half = format_bytes(median(tiny))
        message = f"{len(tiny):,} of {len(own):,} partitions are tiny: half of these have at most {half}"
        severity = Severity.WARNING if 2 * len(tiny) >= len(own) else Severity.ADVICE
        return severity, f"{message}, where {format_bytes(good)} and more is good"
    if len(own) > 1 and median(own) < good < pc.sum(own).as_py():
        half = format_bytes(median(own))
        message = f"half of {len(own):,} partitions have at most {half}, where {format_bytes(good)} and more is good"
        return Severity.ADVICE, message
    return None


def _fix_for_small_partitions(snapshot: Snapshot, config: Config) -> tuple[Step, str]:
    """The fix for many small partitions: coalescing, where a merge can do that, or a coarser layout."""
    layout, schema = snapshot.metadata.layouts[snapshot.metadata.current_spec_id], snapshot.metadata.arrow_schema()
    distinct = [_values(snapshot, field)[0] for field in layout.fields]
    coarser = _coarsen(layout, distinct.index(max(distinct)), schema) if distinct else layout
    example = f"a coarser layout, for example {str(coarser) or 'none'}; {_ADVISE}"
    request = MergeRequest(limits=limits_of(config), coalesce=True)
    plan = plan_only(snapshot, request, config)
    alone = plan_only(snapshot, replace(request, coalesce=False), config)
    if plan.splits_before - plan.splits_after > alone.splits_before - alone.splits_after:
        later = "" if config.write.coalesce else f"with the property {_COALESCE} for later writes, "
        return Step("merge_splits", options={"coalesce": True}), f"{later}or {example}"
    return EVOLVE, example


def _coarsen(layout: Layout, number: int, schema: pa.Schema) -> Layout:
    """The layout with fewer values of one field, or without it where the field has no coarser form."""
    field, others = layout.fields[number], [f for at, f in enumerate(layout.fields) if at != number]
    transform = _coarser(field.transform, schema.field(field.source).type)
    fields = list(layout.fields)
    fields[number : number + 1] = [PartitionField(field.source, transform)] if transform else []
    names = [one.name for one in fields]
    return Layout(tuple(fields if len(set(names)) == len(names) else others))


def _coarser(transform: Transform, kind: pa.DataType) -> Transform | None:
    match transform:
        case Calendar(unit):
            return _COARSER_UNITS.get(unit)
        case Identity() if pa.types.is_timestamp(kind):
            return Calendar("day")
        case Identity() if pa.types.is_date(kind):
            return Calendar("month")
        case Bucket(count) if count > _BUCKETS:
            return Bucket(_BUCKETS)
        case Identity() | Truncate() if Bucket(_BUCKETS).accepts(kind):
            return Bucket(_BUCKETS)
        case _:
            return None
