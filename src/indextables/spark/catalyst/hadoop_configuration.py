"""Hadoop's configuration on the driver: `core-site.xml`, `spark.hadoop.*` of the cluster, and what a program has set."""

from typing import Any

from pyspark.sql import SparkSession

from indextables.spark.catalyst.java import strings

_DEFAULTS = "core-default.xml"
_PATH_STYLE = "fs.s3a.path.style.access"


def hadoop_configuration(spark: Any, prefix: str) -> dict[str, str]:
    """The settings of Hadoop that start with a prefix, read at once. Nothing is cached: a program may change them.

    Hadoop's own defaults are among them, except for path-style access, for which ours is another. Over Spark Connect, the
    configuration is on the server; a session there has the `spark.hadoop.*` of the cluster.
    """
    if not isinstance(spark, SparkSession):
        return {}
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    found = {f"{prefix}{name}": value for name, value in strings(configuration.getPropsWithPrefix(prefix)).items()}
    if found.get(_PATH_STYLE) == "false" and configuration.getPropertySources(_PATH_STYLE)[0] == _DEFAULTS:
        del found[_PATH_STYLE]
    return found


def hadoop_settings_like(spark: Any, pattern: str) -> dict[str, str]:
    """The settings of Hadoop whose keys have a pattern of Java in them."""
    if not isinstance(spark, SparkSession):
        return {}
    return strings(spark.sparkContext._jsc.hadoopConfiguration().getValByRegex(pattern))


def cluster_setting(spark: Any, key: str) -> str:
    """A setting of the cluster, as it was when Spark was started; empty if there is none, or if it is not known."""
    if not isinstance(spark, SparkSession):
        return ""
    return str(spark.sparkContext._jsc.sc().conf().get(key, ""))
