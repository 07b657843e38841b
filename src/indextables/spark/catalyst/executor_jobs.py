"""Jobs on the executors: functions over Arrow batches, and programs without a Python process of Spark's; their hosts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Any

import pyarrow as pa
from cachetools import LRUCache, cached
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from indextables.spark.catalyst.java import jvm_of, sequence

_SEPARATOR = "\0"


def map_batches(
    frame: DataFrame, function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
) -> DataFrame:
    """`frame.mapInArrow(function, schema)`, which refuses to run without pandas, though it does not use it."""
    called: Any = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)()
    rows: Any = frame
    return DataFrame(rows._jdf.mapInArrow(called._jc, False, None), frame.sparkSession)


def executor_addresses(spark: Any) -> list[str]:
    """`host:port` of each executor that the driver knows; none where the driver runs the tasks itself."""
    context = spark.sparkContext
    if context.master.partition("[")[0] == "local":
        return []
    known = str(context._jsc.sc().getExecutorMemoryStatus().keySet().mkString(_SEPARATOR)).split(_SEPARATOR)
    return sorted({*known} - {_driver_address(context.applicationId, context)})


def executor_hosts(spark: Any) -> list[str]:
    """The hosts of the executors, each once."""
    return sorted({address.rpartition(":")[0] for address in executor_addresses(spark)})


@cached(LRUCache(2), key=lambda application, _: application, lock=Lock())
def _driver_address(_: str, context: Any) -> str:
    """The driver is an executor to Spark's block manager, whatever runs the tasks."""
    executors = sequence(context._jsc.sc().statusStore().executorList(True))
    return next((str(executor.hostPort()) for executor in executors if executor.id() == "driver"), "")


def run_on_executors(spark: SparkSession, command: Sequence[str], tasks: int, seconds: float) -> list[str] | None:
    """The lines that a program prints, run by each of as many tasks; idle executors have got one each before any gets two.

    None where that takes longer.
    """
    context: Any = spark.sparkContext
    running = context._jsc.parallelize(list(range(tasks)), tasks).pipe(list(command)).collectAsync()
    try:
        unit = jvm_of(spark).java.util.concurrent.TimeUnit.MILLISECONDS
        return [str(line) for line in running.get(int(seconds * 1000), unit)]
    except Py4JJavaError as error:
        if "TimeoutException" not in str(error.java_exception):
            raise
        return None
    finally:
        running.cancel(True)
