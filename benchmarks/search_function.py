"""What a search costs where Spark evaluates it as a function, beside LIKE, RLIKE and the index.

`python -m benchmarks.search_function [--rows 2000000] [--repetitions 5]`: the ids of the messages of twelve words that a
condition finds are counted: in Parquet, where Spark evaluates all conditions, and in a table of ours, by the index. The
conditions take turns. Medians in million rows a second, with the lowest and the highest; `local[1]`, so that one core works.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import indextables
from indextables import IndexTable
from indextables.functions import indexquery

WORDS = 5_000
PER_MESSAGE = 12
SEARCHES = {
    "word": ("w17", "% w17 %", r"\bw17\b"),
    "phrase": ('"w3 w5"', "% w3 w5 %", r"\bw3 w5\b"),
    "prefix": ("w4999*", "% w4999%", r"\bw4999"),
    "boolean": ("w17 AND w3 AND NOT w5", None, None),
}


def messages(rows: int) -> pa.Table:
    """Messages whose words are as frequent as words are: the second half as often as the first."""
    random = np.random.default_rng(7)
    numbers = np.minimum(random.zipf(1.3, rows * PER_MESSAGE), WORDS) - 1
    words = pa.DictionaryArray.from_arrays(numbers.astype(np.int32), [f"w{number}" for number in range(WORDS)])
    offsets = np.arange(0, rows * PER_MESSAGE + 1, PER_MESSAGE, dtype=np.int32)
    texts = pa.compute.binary_join(pa.ListArray.from_arrays(offsets, words.cast(pa.string())), " ")
    return pa.table({"id": np.arange(rows), "message": texts})


def run(rows: int, repetitions: int) -> dict[str, dict[str, str]]:
    """Million rows a second by search and by the way that it is evaluated; each way finds as many rows."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - after the environment is set
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as place:
        data = messages(rows)
        pq.write_table(data, f"{place}/messages.parquet")
        table = IndexTable.create(f"{place}/table", data.schema, fields={"message": "text"})
        table.append(data)
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        spark = indextables.enable(builder.config("spark.log.level", "ERROR").getOrCreate())
        parquet = spark.read.parquet(f"{place}/messages.parquet")
        ours = spark.read.format("indextables").load(f"{place}/table")
        conditions: dict[tuple[str, str], Any] = {}
        for name, (query, like, expression) in SEARCHES.items():
            found = indexquery("message", query)
            conditions[name, "function"] = parquet.filter(found)
            conditions[name, "function in a column"] = ours.filter(F.coalesce(found, F.lit(False)))
            conditions[name, "index"] = ours.filter(found)
            if like is not None and expression is not None:
                padded = F.concat(F.lit(" "), "message", F.lit(" "))
                conditions[name, "LIKE"] = parquet.filter(padded.like(like))
                conditions[name, "RLIKE"] = parquet.filter(F.col("message").rlike(expression))
        times: dict[tuple[str, str], list[float]] = {key: [] for key in conditions}
        for repetition in range(repetitions + 1):
            counts: dict[str, set[int]] = {}
            for (name, way), frame in conditions.items():
                started = perf_counter()
                count = frame.select(F.count("id")).collect()[0][0]  # rows are found, and not only counted
                if repetition:
                    times[name, way].append(rows / (perf_counter() - started) / 1e6)
                counts.setdefault(name, set()).add(count)
            if any(len(found) > 1 for found in counts.values()):
                raise AssertionError(f"the ways differ: {counts}")
        spark.stop()
    return {name: {way: _summary(found) for (one, way), found in times.items() if one == name} for name in SEARCHES}


def _summary(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = run(given.rows, given.repetitions)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1))
    for search, ways in result.items():
        print(search)
        for way, rate in ways.items():
            print(f"  {way:22} {rate}")
