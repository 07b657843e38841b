"""Java's classes of Spark in one file, which a JVM maps into memory instead of reading 300 JARs: half of its start.

    python -m tests.class_archive

`make setup` makes it, in the virtual environment. A JVM of another version, or with other JARs, passes it over.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ARCHIVE = Path(sys.prefix, "spark.jsa")


QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compile quickly instead of well


def java_flags() -> str:
    """The flags of JVMs that start and compile quickly, with the archive where there is one."""
    return f"{QUICK} -XX:SharedArchiveFile={ARCHIVE} -Xlog:cds=off -Xlog:cds+dynamic=off" if ARCHIVE.exists() else QUICK


def main() -> None:
    """Runs a session of Spark that loads what most tests load, and keeps its classes."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - once Java has its flags

    from indextables import enable  # noqa: PLC0415
    from tests.spark.streams import finish  # noqa: PLC0415

    with TemporaryDirectory() as place:
        java = f"{QUICK} -XX:ArchiveClassesAtExit={ARCHIVE} -Xlog:disable"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f'--driver-java-options "{java}" pyspark-shell'
        os.environ["PYSPARK_PYTHON"] = sys.executable
        quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
        spark = enable(SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate())
        rows = spark.range(20).selectExpr("id", "id % 3 AS k", "concat('line ', id) AS message")
        for name in ("parquet", "indextables"):
            rows.write.format(name).partitionBy("k").save(f"{place}/{name}")
            spark.read.format(name).load(f"{place}/{name}").createOrReplaceTempView(name)
        spark.sql("SELECT k, count(*), max(message) FROM indextables WHERE id > 3 GROUP BY k ORDER BY k").collect()
        spark.sql("SELECT * FROM parquet a LEFT JOIN indextables b USING (id) WHERE a.k = 1").collect()
        spark.sql(f"DELETE FROM indextables.`{place}/indextables` WHERE length(message) = 7").collect()
        stream = spark.readStream.format("indextables").load(f"{place}/indextables").writeStream
        stream = stream.format("indextables").option("checkpointLocation", f"{place}/checkpoint")
        finish(stream, lambda writer: writer.start(f"{place}/copy"))
        spark.stop()


if __name__ == "__main__":
    main()
