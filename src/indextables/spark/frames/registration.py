"""Registration in a Spark session: the data source under its names, the search functions, and a few settings.

Each session has its own. Sessions that Spark clones, such as those of streaming queries, have the same.
"""

from threading import RLock

from pyspark.sql import SparkSession

from indextables.spark.catalyst.python_workers import data_source_python, use_this_python
from indextables.spark.catalyst.session_state import allow_in_views, has_data_source, register_data_source
from indextables.spark.options import FORMAT, PROVIDER
from indextables.spark.source.data_source import IndexTablesDataSource, ProviderDataSource
from indextables.spark.source.search_function import FUNCTIONS, register_functions

LOCK = RLock()
_ENABLED = (
    "spark.sql.indextables.enabled"  # the sessions that Spark clones, such as those of streaming queries, have it too
)
_REGISTERED = "spark.sql.indextables.registered"
_REDACTED = "spark.sql.redaction.options.regex"
_SECRETS = "(?i)account[._-]?key|azure[.]sas[.].+[.](blob|dfs)[.]"  # that Spark's own pattern does not know
_CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum."


def ensure_registered(spark: SparkSession) -> None:
    """Registers what this session lacks. Safe from any thread, and cheap if there is nothing to do."""
    if _is_registered(spark):
        return
    with LOCK:
        if _is_registered(spark):
            return
        use_this_python(spark)
        for name, source in ((FORMAT, IndexTablesDataSource), (PROVIDER, ProviderDataSource)):
            if not has_data_source(spark, name) or _runs_elsewhere(spark, name):
                register_data_source(spark, name, source)
        register_functions(spark)
        allow_in_views(spark, FUNCTIONS)
        configure_session(spark)
        spark.conf.set(_REGISTERED, "true")  # last: the session is complete


def _is_registered(spark: SparkSession) -> bool:
    return spark.conf.get(_REGISTERED, "false") == "true"


def set_enabled(spark: SparkSession, *, enabled: bool) -> None:
    """Records that a session is enabled, or that it is not any more."""
    if enabled:
        spark.conf.set(_ENABLED, "true")
    else:
        spark.conf.unset(_ENABLED)


def is_enabled(spark: SparkSession) -> bool:
    return spark.conf.get(_ENABLED, "false") == "true"


def _runs_elsewhere(spark: SparkSession, name: str) -> bool:
    """Whether Spark has found the data source by itself, and would run its tasks with the driver's interpreter."""
    return data_source_python(spark, name) != spark.sparkContext.pythonExec


def configure_session(spark: SparkSession) -> None:
    """Sets the settings of Spark that we rely on; again, if they were reset."""
    _hide_secrets(spark)
    _check_shuffles(spark)


def _hide_secrets(spark: SparkSession) -> None:
    """Redacts the keys and tokens of Azure: Spark shows options and settings unless their names look like secrets."""
    hidden = spark.conf.get(_REDACTED) or ""
    if _SECRETS not in hidden:
        spark.conf.set(_REDACTED, f"{hidden}|{_SECRETS}")


def _check_shuffles(spark: SparkSession) -> None:
    """Enables the check that a recomputed shuffle input has the same rows, which is Spark's default since 4.2.

    Without it, an optimized write of an indeterminate input loses rows when an executor is lost. Explicit settings stay.
    """
    for key in (f"{_CHECKSUMS}enabled", f"{_CHECKSUMS}enableFullRetryOnMismatch"):
        if spark.conf.get(key, "true") != "true" and key not in spark.conf.getAll:
            spark.conf.set(key, "true")
