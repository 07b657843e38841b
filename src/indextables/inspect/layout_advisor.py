"""Recommends a layout for a table and its queries.

The columns that most queries narrow down, and narrow down most, become the layout, as finely as the table is large:
partitions are to be tens of thousands at most, in four levels at most, and to fill a split. What else queries narrow down is
left to clustering. A layout that a table has already is not given up for the size of a few partitions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import ceil, exp, log, log10

import pyarrow as pa

from indextables.inspect.column_profile import ColumnProfile, TableProfile
from indextables.inspect.findings import MANY_PARTITIONS, MAX_LEVELS, MAX_PARTITIONS, SPLIT_SIZES, Finding
from indextables.inspect.layout_advice import Advice, Candidate, ColumnUse
from indextables.inspect.layout_findings import levels, nearly_unique
from indextables.inspect.workload import Constraint, Workload
from indextables.layout import Bucket, Calendar, Layout, PartitionField, Transform, Truncate

_TARGET_SPLIT = 128 * 1024**2
_MAX_VALUES = 2_000  # of a column that is a partition by itself
_UNITS = (Calendar("year"), Calendar("month"), Calendar("day"), Calendar("hour"))
_BUCKETS = (8, 16, 64, 256)
_RANGES = 64
_MAX_FIELDS = 3
_COLUMNS = 4
_FIRST_TIER = 0.5  # of the worth of the best column: what is worth less is for sorting, not for partitions
_WORTH_SORTING = 0.05
_SHOWN = 6
_PRICE = 0.1  # reading half as much is worth a thousand times as many partitions


def advise(workload: Workload, table: TableProfile, current: Layout, *, findings: Sequence[Finding] = ()) -> Advice:
    """The layout that makes the queries read least, among those that do not cut the table into too small pieces.

    `findings` is what is wrong with the current one, for the explanation.
    """
    uses = sorted((_use(column, workload, table) for column in workload.columns), key=lambda use: -use.worth)
    first_tier = [use for use in uses if use.worth >= _FIRST_TIER * uses[0].worth]
    always = [Layout(), current, _all_of_them(uses, table)]
    layouts = dict.fromkeys([*always, *_layouts(first_tier[:_COLUMNS], table)])
    candidates = [candidate(layout, workload, table, current=layout == current) for layout in layouts]
    eligible = {use.column for use in first_tier}
    possible = [one for one in candidates if one.refused is None and eligible.issuperset(_sources(one.layout))]
    best = min(possible, key=_cost)
    others = sorted(
        (one for one in candidates if one is not best), key=lambda one: (one.refused is not None, _cost(one))
    )
    shown = [best, *others[:_SHOWN], *(one for one in others[_SHOWN:] if one.layout in always)]
    taken = _sources(best.layout)
    cluster_by = [use.column for use in uses if use.column not in taken and use.worth >= _WORTH_SORTING]
    return Advice(
        layout=best.layout,
        cluster_by=tuple(cluster_by[:_MAX_FIELDS]),
        current=current,
        rows=table.rows,
        bytes=table.bytes,
        uses=tuple(uses),
        candidates=tuple(shown),
        unparsed=workload.unparsed,
        queries=len(workload.queries),
        findings=tuple(findings),
    )


def candidate(layout: Layout, workload: Workload, table: TableProfile, *, current: bool = False) -> Candidate:
    """The effect of a layout: its partitions, their size, and how much of the table the queries would still read."""
    values = 1
    for field in layout.fields:
        values *= _cardinality(field, table)
    partitions = min(values, max(1, table.rows))
    read = sum(query.share * _kept(layout, query.constraints, table) for query in workload.queries)
    splits = max(partitions, ceil(table.bytes / _TARGET_SPLIT), 1)
    return Candidate(
        layout=layout,
        partitions=partitions,
        partition_bytes=table.bytes // partitions,
        split_bytes=table.bytes // splits,
        pruned=max(0.0, 1 - read) if workload.queries else 0.0,
        refused=_refusal(layout, partitions, table, current=current),
    )


def _sources(layout: Layout) -> set[str]:
    return {field.source for field in layout.fields}


def _cost(one: Candidate) -> float:
    return max(1 - one.pruned, 1e-9) * exp(_PRICE * log(one.partitions))


def _refusal(layout: Layout, partitions: int, table: TableProfile, *, current: bool) -> str | None:
    if not layout.fields:
        return None
    if levels(layout) > MAX_LEVELS:
        return f"more than {MAX_LEVELS} levels"
    if any(field.is_identity and _is_unique(field, table) for field in layout.fields):
        return "a partition for nearly every row"
    if partitions > MAX_PARTITIONS:
        return f"more than {MAX_PARTITIONS:,} partitions"
    if table.bytes // partitions < SPLIT_SIZES[0] and not (current and partitions < MANY_PARTITIONS):
        return "partitions too small to fill a split"
    return None


def _is_unique(field: PartitionField, table: TableProfile) -> bool:
    return field.source in table.columns and nearly_unique(table.columns[field.source].distinct, table.rows)


def _use(column: str, workload: Workload, table: TableProfile) -> ColumnUse:
    known = table.columns[column]
    queries = [query for query in workload.queries if column in query.constraints]
    coverage = workload.coverage(column)
    finest = PartitionField(column, _finest(known))
    kept = sum(q.share * _kept_by(finest, q.constraints[column], table) for q in queries) / coverage
    return ColumnUse(
        column=column,
        coverage=coverage,
        distinct=known.distinct,
        selectivity=1 - kept,
        equality_only=all(query.constraints[column].is_equality for query in queries),
    )


def _layouts(uses: Sequence[ColumnUse], table: TableProfile) -> Iterator[Layout]:
    """Every choice of some columns, each in every way that suits it; those of most worth first in the layout."""
    ways = {use.column: list(_ways(use, table)) for use in uses}
    names = [use.column for use in uses if ways[use.column]]
    for size in range(1, _MAX_FIELDS + 1):
        for columns in combinations(names, size):
            for fields in product(*(ways[column] for column in columns)):
                yield Layout(fields)


def _all_of_them(uses: Sequence[ColumnUse], table: TableProfile) -> Layout:
    """A partition for everything that any query narrows down: an example of what not to do, with its numbers."""
    fields = (PartitionField(use.column, _finest(table.columns[use.column])) for use in uses)
    return Layout(tuple(field for field in fields if field.transform.accepts(table.columns[field.source].type)))


def _ways(use: ColumnUse, table: TableProfile) -> Iterator[PartitionField]:
    """The candidate partition fields of a column, by its number of values and the filters of queries."""
    known = table.columns[use.column]
    if pa.types.is_timestamp(known.type) or pa.types.is_date(known.type):
        units = _UNITS if pa.types.is_timestamp(known.type) else _UNITS[:-1]
        yield from (PartitionField(use.column, unit) for unit in units)
    elif pa.types.is_floating(known.type) or pa.types.is_binary(known.type):
        return
    elif known.distinct <= _MAX_VALUES:
        yield PartitionField(use.column)
        if use.equality_only and known.distinct > _BUCKETS[0] and Bucket(2).accepts(known.type):
            yield from (PartitionField(use.column, Bucket(n)) for n in _BUCKETS if n < known.distinct)
    elif use.equality_only and Bucket(2).accepts(known.type):
        yield from (PartitionField(use.column, Bucket(n)) for n in _BUCKETS)
    elif pa.types.is_integer(known.type) and (width := _width(known)):
        yield PartitionField(use.column, Truncate(width))


def _width(known: ColumnProfile) -> int | None:
    """A round number that cuts a column into some tens of ranges."""
    if known.low is None or known.high is None:
        return None
    span = known.high.as_py() - known.low.as_py()
    return int(10 ** round(log10(span / _RANGES))) if span > _RANGES else None


def _finest(known: ColumnProfile) -> Transform:
    """The finest layout of a column alone, to measure the selectivity of queries."""
    return Calendar("day") if pa.types.is_timestamp(known.type) else PartitionField(known.name).transform


def _cardinality(field: PartitionField, table: TableProfile) -> int:
    known = table.columns.get(field.source)
    if known is None:
        return 1
    match field.transform:
        case Bucket(count):
            return min(count, known.distinct)
        case Calendar() | Truncate():
            return max(1, min(_steps(field, known, known.low, known.high), known.distinct))
        case _:
            return known.distinct


def _kept(layout: Layout, constraints: Mapping[str, Constraint], table: TableProfile) -> float:
    """The share of the table that is left to read under a layout."""
    kept = 1.0
    for field in layout.fields:
        constraint = constraints.get(field.source)
        if constraint is not None and field.source in table.columns:
            kept *= _kept_by(field, constraint, table)
    return kept


def _kept_by(field: PartitionField, constraint: Constraint, table: TableProfile) -> float:
    known, all_of_them = table.columns[field.source], _cardinality(field, table)
    if constraint.points is not None:
        return min(1.0, constraint.points / all_of_them)
    if isinstance(field.transform, Bucket):
        return 1.0
    low, high = _within(constraint.low, known.low, max), _within(constraint.high, known.high, min)
    if low is None or high is None or known.low is None or known.high is None:
        return 0.5
    if isinstance(field.transform, Calendar | Truncate):
        return min(1.0, _steps(field, known, low, high) / all_of_them)
    span = _number(known.high) - _number(known.low)
    return min(1.0, max(1 / all_of_them, (_number(high) - _number(low)) / span)) if span > 0 else 1.0


def _within(low_or_high: pa.Scalar | None, end: pa.Scalar | None, choose: Callable[..., pa.Scalar]) -> pa.Scalar | None:
    """The end of a query's range, clamped to the range of the column."""
    if low_or_high is None or end is None:
        return end
    try:
        return choose(low_or_high.cast(end.type), end, key=_number)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        return end


def _steps(field: PartitionField, known: ColumnProfile, low: pa.Scalar | None, high: pa.Scalar | None) -> int:
    """How many partitions there are from one value to another."""
    if low is None or high is None:
        return known.distinct
    first, last = field.transform.apply(pa.array([low, high], known.type)).cast(pa.int64()).to_pylist()
    width = field.transform.width if isinstance(field.transform, Truncate) else 1
    return max(1, int(last - first) // width + 1)


def _number(value: pa.Scalar) -> float:
    if pa.types.is_timestamp(value.type):
        return float(value.cast(pa.int64()).as_py())
    if pa.types.is_date(value.type):
        return float(value.cast(pa.int32()).as_py())
    return float(value.as_py())


def columns_of(layout: Layout, workload: Workload) -> Iterable[str]:
    """The columns that have to be known to judge layouts."""
    return dict.fromkeys([*workload.columns, *(field.source for field in layout.fields)])
