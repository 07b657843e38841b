"""What happens without a supported PySpark: `python -m tests.matrix.refusal old` or `... absent`.

Prints one JSON object, as `smoke` does.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import indextables
from tests.matrix.smoke import Check, equal, read, results, session

_TOO_OLD = "is too old; indextables needs PySpark 4.1 or newer"
_ABSENT = "PySpark is not installed, and Spark tables need PySpark 4.1 or newer: pip install 'indextables[spark]'"


def refused(work: Callable[[], object], sentence: str) -> None:
    try:
        work()
    except Exception as error:
        if sentence not in str(error):
            raise
    else:
        raise AssertionError("it was not refused")


def without_spark(_: object, place: Path) -> None:
    table = indextables.IndexTable.create(place / "t", pa.schema({"id": pa.int64(), "message": pa.string()}))
    table.append(pa.table({"id": [1, 2], "message": ["disk full", "fine"]}))
    equal(table.count(), 2)


def enable_is_refused(spark: object, sentence: str) -> None:
    refused(lambda: indextables.enable(spark), sentence)
    refused(lambda: __import__("indextables.functions"), sentence)
    refused(lambda: __import__("indextables.spark.source.data_source"), sentence)


def source_is_refused(spark: object, place: Path) -> None:
    """The data source that PySpark finds by its name; Spark has had such sources since 4.0."""
    from pyspark import __version__  # noqa: PLC0415

    if not __version__.startswith("3."):
        refused(lambda: read(spark, place).collect(), f"PySpark {__version__} {_TOO_OLD}")


OLD: dict[str, Check] = {
    "without Spark": without_spark,
    "enable() refused": lambda spark, _: enable_is_refused(spark, _TOO_OLD),
    "data source refused": source_is_refused,
}
ABSENT: dict[str, Check] = {
    "without Spark": without_spark,
    "enable() refused": lambda spark, _: enable_is_refused(spark, _ABSENT),
}


def main(mode: str) -> None:
    spark = session() if mode == "old" else None
    with tempfile.TemporaryDirectory(prefix="indextables-matrix-") as name:
        print(json.dumps(dict(results(spark, OLD if mode == "old" else ABSENT, Path(name)))))


if __name__ == "__main__":
    main(sys.argv[1])
