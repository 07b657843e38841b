"""Options of reads and writes, and settings of the session: which are ours, and which are Spark's own."""

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from indextables.config import PREFIX
from indextables.errors import ConfigError
from indextables.spark.catalyst.session_state import session_settings
from indextables.spark.source.hadoop import CREDENTIALS, from_hadoop
from indextables.storage import Location

FORMAT = "indextables"
PROVIDER = "io.indextables.spark.core.IndexTables4SparkTableProvider"  # the same format under its JVM name
VIEW = "_indextables_"  # prefix of the names of temporary views for paths in a statement
_SHORT_PREFIX = PREFIX.removeprefix("spark.")
_INTERNAL = "indextables.internal."
JOB, TABLE, SEARCHES, REQUEST = (f"{_INTERNAL}{name}" for name in ("job", "table", "searches", "request"))
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


def settings_of(session: SparkSession, given: Iterable[str] = ()) -> dict[str, str]:
    """The settings of the session that are ours, and those of Hadoop's S3 client with the same meaning.

    S3 credentials are used as a set: if any of them is among the `given` keys, those of the session are left out. The
    prefix `spark.` is optional, because Spark writes all settings that begin with `spark` to its event log, secrets too.
    """
    return our_settings(session_settings(session), given)


def our_settings(everything: Mapping[str, str], given: Iterable[str] = ()) -> dict[str, str]:
    """The same, among all settings of a session."""
    short = {f"spark.{key}": value for key, value in everything.items() if key.lower().startswith(_SHORT_PREFIX)}
    ours = {**short, **{key: value for key, value in everything.items() if key.lower().startswith(PREFIX)}}
    found = {**from_hadoop(everything, ours), **ours}
    full = {PREFIX + key.strip().lower().removeprefix(PREFIX) for key in given}
    return {key: value for key, value in found.items() if key.lower() not in CREDENTIALS or not full & CREDENTIALS}


def path_in(options: Mapping[str, str]) -> str:
    """The location of the table, absolute: Python processes on executors have another working directory."""
    path = next((value for key, value in options.items() if key.lower() == "path"), None)
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
