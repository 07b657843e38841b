"""Options of reads and writes, and settings of the session: which are ours, and which are Spark's own."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from indextables.config import PREFIX, credential_stores, without_credentials
from indextables.errors import ConfigError
from indextables.spark.catalyst.session_state import session_settings
from indextables.spark.source.hadoop import from_hadoop
from indextables.storage import Location

FORMAT = "indextables"
PROVIDER = "io.indextables.spark.core.IndexTables4SparkTableProvider"  # the same format under its JVM name
VIEW = "_indextables_"  # prefix of the names of temporary views for paths in a statement
_SHORT_PREFIX = PREFIX.removeprefix("spark.")
_INTERNAL = "indextables.internal."
JOB, TABLE, VERSION, RUN, SPECULATION, SEARCHES, REQUEST, ROW_ADDRESS, TIME_TRAVEL, RULES = (
    f"{_INTERNAL}{name}"
    for name in (
        "job", "table", "version", "run", "speculation", "searches", "request", "rowaddress", "timetravel",
        "rules",
    )
)  # fmt: skip
_SPARKS_OWN = frozenset(
    {"path", "paths", "provider", "location", "owner", "external", "is_managed_location", "comment", "collation"}
    | {"serialization.format", "__required_write_privileges__"}  # the last one marks the target of an INSERT
)


def is_default(spark: SparkSession) -> bool:
    """Whether the session's default data source, `spark.sql.sources.default`, is our format."""
    return is_our_format(spark.conf.get("spark.sql.sources.default"))


def is_our_format(source: str | None) -> bool:
    """Whether this is a name of our format.

    >>> is_our_format("IndexTables"), is_our_format(PROVIDER), is_our_format("parquet"), is_our_format(None)
    (True, True, False, False)
    """
    return (source or "").lower() in {FORMAT, PROVIDER.lower()}


def settings_in(options: Mapping[str, str]) -> dict[str, str]:
    """The options that are not Spark's own: settings of ours, valid or not.

    >>> settings_in({"path": "/data", "provider": "indextables", "mergeschema": "true"})
    {'mergeschema': 'true'}
    """
    return {key: value for key, value in options.items() if not _is_sparks(key.lower())}


def settings_of(spark: SparkSession, path: str | None, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of the session for the table at a path: ours, and those of Hadoop's clients with the same meaning.

    The credentials of a store are used as a set: if any of them is `given`, those of the session are left out; if the
    session has any, those of Hadoop are. The prefix `spark.` is optional, because Spark writes all settings that begin with
    `spark` to its event log, secrets too.
    """
    session, options = session_settings(spark), settings_in(given or {})
    short = {f"spark.{key}": value for key, value in session.items() if key.lower().startswith(_SHORT_PREFIX)}
    ours = {**short, **{key: value for key, value in session.items() if key.lower().startswith(PREFIX)}}
    hadoop = {} if path is None else from_hadoop(spark, session, Location.parse(path), {**ours, **options})
    known = {key.lower() for key in ours}
    found = {**{key: value for key, value in hadoop.items() if key.lower() not in known}, **ours}
    return without_credentials(found, credential_stores(options))


def condition_settings(spark: Any) -> dict[str, Any]:
    """The time zone and the letter case in which the session reads conditions."""
    zone, case = spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.caseSensitive")
    return {"time_zone": zone or "UTC", "case_sensitive": (case or "").lower() == "true"}


def location_in(options: Mapping[str, str]) -> str | None:
    """The option `path`, in whatever letter case."""
    return next((value for key, value in options.items() if key.lower() == "path"), None)


def path_in(options: Mapping[str, str]) -> str:
    """The location of the table, absolute: Python processes on executors have another working directory."""
    path = location_in(options)
    if path is None:
        raise ConfigError(
            "there is no path: Spark does not pass the location of a catalog table to a Python data source; "
            "call indextables.enable(spark) and use spark.sql, spark.table, df.write.saveAsTable or df.write.insertInto, "
            "or name the path: FROM t WITH ('path' = '...'), INSERT INTO t WITH ('path' = '...')",
            key="path",
            value=None,
        )
    location = Location.parse(path)
    if location.scheme == "memory":
        raise ConfigError(
            f"{path} is in the memory of this process, which executors cannot read; use a directory or an object store",
            key="path",
            value=path,
        )
    return str(location)


def _is_sparks(key: str) -> bool:
    return key in _SPARKS_OWN or key.startswith((_INTERNAL, "option."))
