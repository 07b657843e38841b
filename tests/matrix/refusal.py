"""What happens without a supported PySpark: `python -m tests.matrix.refusal old` or `... absent`.

Prints one JSON object, as `smoke` does.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pyarrow as pa

import indextables
from indextables.errors import UnsupportedSparkError
from tests.matrix.smoke import Check, equal, read, results, session

_TOO_OLD = "PySpark {} is too old; indextables needs PySpark 4.1 or newer"
_ABSENT = "PySpark is not installed, and Spark tables need PySpark 4.1 or newer: pip install 'indextables[spark]'"


_NAMES = ("enable", "disable", "explain", "sql", "IndexTablesDataSource")


def refused(work: Callable[[], object], sentence: str) -> None:
    """With this sentence; Spark puts words of its own around the error of a data source."""
    try:
        work()
    except UnsupportedSparkError as error:
        equal(str(error), sentence)
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


def imports_are_refused(sentence: str) -> None:
    for name in _NAMES:
        refused(lambda: getattr(indextables, name), sentence)  # noqa: B023 - it is called at once
    for module in ("indextables.functions", "indextables.spark", "indextables.spark.source.data_source"):
        refused(lambda: import_module(module), sentence)  # noqa: B023


def to_spark_is_refused(place: Path, sentence: str) -> None:
    table = indextables.IndexTable.create(place / "t", pa.schema({"id": pa.int64()}))
    refused(lambda: table.scan().to_spark(None), sentence)
    refused(lambda: indextables.IndexTable.open(place / "t", spark=object()), sentence)


def source_is_refused(spark: object, place: Path) -> None:
    """The data source that PySpark finds by its name; Spark has had such sources since 4.0."""
    if not _version().startswith("3."):
        refused(lambda: read(spark, place).collect(), _too_old())


def _version() -> str:
    from pyspark import __version__  # noqa: PLC0415

    return str(__version__)


def _too_old() -> str:
    return _TOO_OLD.format(_version())


OLD: dict[str, Check] = {
    "without Spark": without_spark,
    "enable() refused": lambda spark, _: enable_is_refused(spark, _too_old()),
    "imports refused": lambda _spark, _: imports_are_refused(_too_old()),
    "to_spark() refused": lambda _, place: to_spark_is_refused(place, _too_old()),
    "data source refused": source_is_refused,
}
ABSENT: dict[str, Check] = {
    "without Spark": without_spark,
    "enable() refused": lambda spark, _: enable_is_refused(spark, _ABSENT),
    "imports refused": lambda _spark, _: imports_are_refused(_ABSENT),
    "to_spark() refused": lambda _, place: to_spark_is_refused(place, _ABSENT),
}


def main(mode: str) -> None:
    spark = session() if mode == "old" else None
    with tempfile.TemporaryDirectory(prefix="indextables-matrix-") as name:
        print(json.dumps(dict(results(spark, OLD if mode == "old" else ABSENT, Path(name)))))


if __name__ == "__main__":
    main(sys.argv[1])
