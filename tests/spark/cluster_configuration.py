"""A session that makes tables in buckets, and writes to the last: `python -m tests.spark.cluster_configuration JSON`."""

import json
import sys

import pyarrow as pa
from pyspark.sql import SparkSession

from indextables import IndexTable, enable


def main(buckets: list[str], settings: dict[str, str]) -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for key, value in settings.items():
        builder.config(key, value)
    spark = enable(builder.getOrCreate())
    tables = [IndexTable.create(f"s3a://{bucket}/t", pa.schema({"id": pa.int64()}), spark=spark) for bucket in buckets]
    spark.range(1, 3).write.format("indextables").mode("append").save(tables[-1].path)
    print(json.dumps(sorted(row.id for row in spark.read.format("indextables").load(tables[-1].path).collect())))
    spark.stop()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
