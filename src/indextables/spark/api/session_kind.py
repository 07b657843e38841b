"""Classic sessions, which have a JVM beside them, and those of Spark Connect, which have a server."""

from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

_CONNECT = "indextables.spark.connect.remote_hooks"


def is_remote(spark: Any) -> bool:
    """Whether this is a session of Spark Connect, which is of another class."""
    return not isinstance(spark, SparkSession)


def connect() -> Any:
    """What we do over Spark Connect; loaded on demand, because what it imports need not be installed."""
    return import_module(_CONNECT)
