"""Frames and values for `{name}` in a text of `spark.sql`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter


@contextmanager
def format_text(spark: SparkSession, text: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The text with `{name}` replaced; a frame becomes a temporary view until the context ends."""
    if not values:
        yield text
        return
    formatter = SQLStringFormatter(spark)
    try:
        yield formatter.format(text, **values)
    finally:
        formatter.clear()
