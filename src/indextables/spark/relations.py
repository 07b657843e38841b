"""Relations of ours in Spark's plans: which they are, and the same with other options."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from indextables.spark.catalyst import Java, is_ours, sequence
from indextables.spark.options import FORMAT


def asking(spark: Any, relation: Java, options: Mapping[str, str]) -> Java:
    """The relation with these options. It is a source of its own, with the same columns (to Spark) as the old one."""
    jvm = spark._jvm  # noqa: SLF001 - Spark's plans are in its JVM
    python = jvm.org.apache.spark.sql.execution.datasources.v2.python
    source = python.PythonDataSourceV2()
    source.setShortName(FORMAT)
    return relation.copy(
        python.PythonTable(source, FORMAT, relation.table().schema()),
        relation.output(),
        relation.catalog(),
        relation.identifier(),
        jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(dict(options)),
        relation.timeTravelSpec(),
    )


def with_relations(plan: Java, spark: Any, change: Callable[[Java], Java]) -> Java:
    """The plan with each relation of ours changed; the very same plan where nothing changes."""
    if is_ours(plan):
        return change(plan)
    children = sequence(plan.children())
    new = [with_relations(child, spark, change) for child in children]
    if all(one is other for one, other in zip(children, new, strict=True)):
        return plan
    return plan.withNewChildren(spark._jvm.PythonUtils.toSeq(new))  # noqa: SLF001


def frame_over(plan: Java, spark: Any) -> DataFrame:
    classic = spark._jvm.org.apache.spark.sql.classic  # noqa: SLF001
    return DataFrame(classic.Dataset.ofRows(spark._jsparkSession, plan), spark)  # noqa: SLF001
