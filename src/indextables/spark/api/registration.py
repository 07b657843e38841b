"""What a Spark session has to know: the data source under its names, and the functions of searches.

Each session knows its own. Sessions that Spark clones from one, such as those of streaming queries, know the same.
"""

from threading import RLock
from typing import Any

from pyspark.sql.udf import _wrap_function

from indextables.spark.api.search_function import register_functions
from indextables.spark.catalyst.java import Java, jvm_of
from indextables.spark.source.data_source import IndexTablesDataSource, ProviderDataSource
from indextables.spark.source.options import FORMAT, PROVIDER

LOCK = RLock()
_REDACTED = "spark.sql.redaction.options.regex"
_ACCOUNT_KEYS = "(?i)account[._-]?key"
_CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum."


def ensure_registered(spark: Any) -> None:
    """Registers what this session does not know yet. Safe from any thread, and cheap where there is nothing to do.

    Spark's own `spark.dataSource.register` looks a name up in the session that is active, which may be another one.
    """
    known = spark._jsparkSession.sessionState().dataSourceManager()  # noqa: SLF001 - Spark shows it nowhere else
    if known.dataSourceExists(PROVIDER):
        return
    with LOCK:
        if known.dataSourceExists(PROVIDER):
            return
        if not known.dataSourceExists(FORMAT):
            known.registerDataSource(FORMAT, _source(spark, IndexTablesDataSource))
        register_functions(spark)
        configure_session(spark)
        known.registerDataSource(PROVIDER, _source(spark, ProviderDataSource))  # the last: from here on all is known


def configure_session(spark: Any) -> None:
    """Sets what a session needs of Spark's own settings, also where somebody has taken it back."""
    _hide_account_keys(spark)
    _check_shuffles(spark)


def _source(spark: Any, kind: type[IndexTablesDataSource]) -> Java:
    python = jvm_of(spark).org.apache.spark.sql.execution.datasources.v2.python
    return python.UserDefinedPythonDataSource(_wrap_function(spark.sparkContext, kind))


def _hide_account_keys(spark: Any) -> None:
    """Spark shows options in plans and settings in its UI, but for names that it takes for secrets; not this one."""
    hidden = spark.conf.get(_REDACTED) or ""
    if _ACCOUNT_KEYS not in hidden:
        spark.conf.set(_REDACTED, f"{hidden}|{_ACCOUNT_KEYS}")


def _check_shuffles(spark: Any) -> None:
    """Lets Spark notice that an input gave other rows the second time, as it does by default since 4.2.

    Without it, an optimized write of such an input loses rows when an executor is lost. What the session says is left alone.
    """
    for key in (f"{_CHECKSUMS}enabled", f"{_CHECKSUMS}enableFullRetryOnMismatch"):
        if spark.conf.get(key, "true") != "true" and key not in spark.conf.getAll:
            spark.conf.set(key, "true")
