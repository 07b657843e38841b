"""Aggregations computed by the index.

tantivy computes in doubles and makes at most 65,000 buckets. So it is used for histograms and statistics only where doubles
are exact. Where it refuses, the result is None, and the rows are read.
"""

from collections.abc import Sequence
from typing import Any, assert_never

import pyarrow as pa
import tantivy

from indextables.search import queries as nodes
from indextables.search.aggregations import Bound, DateHistogram, Histogram, Ranges, Stats, Terms
from indextables.search.compile import compile_query, has_cut_values, has_field
from indextables.search.field_rules import NONE, TEXT
from indextables.search.index_terms import field_name, is_ordinal
from indextables.search.partial_aggregates import COUNTS, TEXT_COUNTS, ranges_partial, stats_partial

_EXACT = 2**53
_MAX_BUCKETS = 65_000


def over_index(bound: Bound, query: nodes.Query, index: tantivy.Index) -> pa.Table | None:
    """The partial aggregate of the rows of a query, or None where the index cannot compute it exactly."""
    if bound.rule.type == NONE or not has_field(index, bound.field):
        return None
    match bound.aggregation:
        case Terms():
            return _index_terms(bound, query, index)
        case Histogram() | DateHistogram():
            return _index_histogram(bound, query, index)
        case Ranges():
            return _index_ranges(bound, query, index)
        case Stats():
            return _index_stats(bound, query, index)
        case _:
            assert_never(bound.aggregation)


def _index_terms(bound: Bound, query: nodes.Query, index: tantivy.Index) -> pa.Table | None:
    compiled, name = compile_query(query, index), field_name(bound.field)
    if is_ordinal(bound.type):
        result = _aggregate(index, compiled, {"terms": {"field": name, "size": _MAX_BUCKETS}})
        complete = result is not None and not result["sum_other_doc_count"]
        return _to_buckets(result["buckets"]) if result and complete else None
    if has_cut_values(index, bound.field):
        return None
    counts = index.searcher().terms_with_prefix(name, "", compiled)
    return pa.table([[text for text, _ in counts], [count for _, count in counts]], schema=TEXT_COUNTS)


def _index_histogram(bound: Bound, query: nodes.Query, index: tantivy.Index) -> pa.Table | None:
    compiled, name = compile_query(query, index), field_name(bound.field)
    if not _is_exact(_aggregate(index, compiled, {"stats": {"field": name}})):
        return None
    request = {"histogram": {"field": name, "interval": bound.step, "min_doc_count": 1}}
    result = _aggregate(index, compiled, request)
    return None if result is None else _to_buckets(result["buckets"], step=bound.step)


def _index_ranges(bound: Bound, query: nodes.Query, index: tantivy.Index) -> pa.Table | None:
    if bound.rule.type == TEXT:
        return None  # there, ranges are of words
    limits = [_limit(bound.field, lower, upper) for lower, upper in bound.ends()]
    try:
        found = [compile_query(nodes.conjunction([query, limit]), index) for limit in limits]
    except ValueError:  # the ends are too long for an automaton
        return None
    return ranges_partial([_count(index, one) for one in found])


def _count(index: tantivy.Index, query: tantivy.Query) -> int:
    result: Any = index.searcher().search(query, 1)  # tantivy's type information lacks the count
    return int(result.count)


def _limit(field: str, lower: pa.Scalar | None, upper: pa.Scalar | None) -> nodes.Query:
    return nodes.Range(field, lower, upper, includes_upper=upper is None) if lower or upper else nodes.Exists(field)


def _index_stats(bound: Bound, query: nodes.Query, index: tantivy.Index) -> pa.Table | None:
    if not is_ordinal(bound.type) or pa.types.is_floating(bound.type):
        return None  # the index holds an order of floats, not their values
    result = _aggregate(index, compile_query(query, index), {"stats": {"field": field_name(bound.field)}})
    if result is None or not _is_exact(result, summed=not pa.types.is_temporal(bound.type)):
        return None
    least, greatest, total = (None if result[of] is None else int(result[of]) for of in ("min", "max", "sum"))
    summed = pa.array([total if result["count"] else None], pa.int64())
    return stats_partial(bound, result["count"], summed, least, greatest)


def _is_exact(result: dict[str, Any] | None, *, summed: bool = False) -> bool:
    """Whether all values, or even their sum, are so small that doubles are exact for them."""
    if result is None or not result["count"]:
        return result is not None
    largest: float = max(abs(result["min"]), abs(result["max"]))
    return largest * (result["count"] if summed else 1) < _EXACT


def _aggregate(index: tantivy.Index, query: tantivy.Query, request: dict[str, Any]) -> dict[str, Any] | None:
    try:
        result: dict[str, Any] = index.searcher().aggregate(query, {"it": request})["it"]
    except ValueError:  # more buckets, or more memory, than tantivy allows
        return None
    return result


def _to_buckets(buckets: Sequence[dict[str, Any]], step: int | None = None) -> pa.Table:
    keys = [bucket["key"] if step is None else round(bucket["key"] / step) for bucket in buckets]
    return pa.table([keys, [bucket["doc_count"] for bucket in buckets]], schema=COUNTS)
