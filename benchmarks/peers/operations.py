"""The rows of the table: what is asked of which systems, and how answers are compared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import pyarrow as pa

from benchmarks.peers.lines import COMMON, PLANTED
from benchmarks.peers.systems import (
    BareTantivy,
    DuckDB,
    IndexTables,
    Lance,
    LanceBtree,
    Place,
    PlainParquet,
    SparkIndexTables,
    SparkParquet,
)

TOP = 20


def number_of_rows(answer: pa.Table | int) -> str:
    return f"{answer if isinstance(answer, int) else answer.num_rows:,} rows"


def messages(answer: pa.Table) -> str:
    """The number of rows and a checksum of their messages, in any order."""
    return _checked(answer, sorted(answer["message"].to_pylist()))


def trace(answer: pa.Table) -> str:
    """The rows of a lookup: their ids, messages and statuses."""
    return _checked(answer, answer.select(["trace_id", "message", "status"]).to_pylist())


def sums(answer: pa.Table) -> str:
    """The number of rows and the sum of the last column, or of its lengths."""
    last = answer.column(answer.num_columns - 1)
    numbers = pa.compute.utf8_length(last) if pa.types.is_string(last.type) else last
    return _checked(answer, pa.compute.sum(numbers).as_py())


def _checked(answer: pa.Table, value: object) -> str:
    return f"{answer.num_rows:,} rows ({crc32(repr(value).encode()):08x})"


@dataclass(frozen=True, slots=True)
class Read:
    """A question to systems of the same rows; `ask` gets the system, its place and the number of the repetition."""

    title: str
    systems: tuple[Any, ...]
    ask: Callable[[Any, Place, int], Any]
    digest: Callable[[Any], str]


def _scan(*columns: str) -> Callable[[Any, Place, int], pa.Table]:
    return lambda system, _place, _number: system.scan(columns)


SEARCHES = (IndexTables, Lance, BareTantivy)
SCANS = (IndexTables, PlainParquet, Lance)

READS = {
    "top20": Read(
        "top 20 of a planted word", SEARCHES, lambda system, _place, _number: system.top(PLANTED, TOP), number_of_rows
    ),
    "top20-common": Read(
        "top 20 of a word in a tenth of the rows",
        SEARCHES,
        lambda system, _place, _number: system.top(COMMON, TOP),
        number_of_rows,
    ),
    "hits": Read(
        "all rows of a planted word, one column",
        (IndexTables, Lance, DuckDB),
        lambda system, _place, _number: system.hits(PLANTED),
        messages,
    ),
    "lookup": Read(
        "point lookup by trace_id, all columns",
        (IndexTables, Lance, LanceBtree, DuckDB),
        lambda system, place, number: system.lookup(place.trace_id(number)),
        trace,
    ),
    "scan-numbers": Read("full scan of service and latency", SCANS, _scan("service", "latency"), sums),
    "scan-text": Read("full scan of ts and message", SCANS, _scan("ts", "message"), sums),
}

_SPARK = (SparkIndexTables, SparkParquet)
SPARK_READS = {
    "spark-hits": Read(
        "all rows of a planted word, in Spark",
        _SPARK,
        lambda system, _place, _number: system.hits(PLANTED),
        messages,
    ),
    "spark-lookup": Read(
        "point lookup by trace_id, in Spark",
        _SPARK,
        lambda system, place, number: system.lookup(place.trace_id(number)),
        trace,
    ),
}

OTHERS = {
    "write": "write, partitioned by date",
    "spark-write": "write from Spark, partitioned by date",
    "small-splits": "all rows of a rare word over many small splits",
    "partitions": "write of many partitions of 100 rows",
    "scaling-rows": "by the number of rows",
    "scaling-splits": "by the number of splits",
    "scaling-hits": "by the number of hits",
}

TITLES = {**OTHERS, **{key: read.title for key, read in (READS | SPARK_READS).items()}}
