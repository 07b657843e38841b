"""Settings as Spark has them: options with keys in lower case, some of them Spark's own, and a session."""

from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from indextables.config import PREFIX
from indextables.errors import ConfigError
from indextables.spark.catalyst.session_state import session_settings
from indextables.spark.source.hadoop import CREDENTIALS, from_hadoop
from indextables.storage import Location

FORMAT = "indextables"
PROVIDER = "io.indextables.spark.core.IndexTables4SparkTableProvider"  # the same format, as code for the JVM names it
VIEW = "_indextables_"  # begins the name of a view that stands for a path in a statement
_QUIET = PREFIX.removeprefix("spark.")
_INTERNAL = "indextables.internal."
JOB, TABLE, SEARCHES, SITE, ABSORBED = (
    f"{_INTERNAL}{name}" for name in ("job", "table", "searches", "site", "absorbed")
)
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
    """The options that are settings of ours, known or not.

    >>> settings_in({"path": "/data", "provider": "indextables", "mergeschema": "true"})
    {'mergeschema': 'true'}
    """
    return {key: value for key, value in options.items() if not _is_sparks(key.lower())}


def settings_of(session: SparkSession, given: Iterable[str] = ()) -> dict[str, str]:
    """The session's settings that are ours, and those of Hadoop's S3 client that mean the same.

    Credentials for S3 go together: none of the session's, where one of them is among the keys that are `given` beside it.
    `indextables.s3.secretKey` will do: Spark writes all settings of a session that begin with `spark` to its event log.
    """
    everything = session_settings(session)
    quiet = {f"spark.{key}": value for key, value in everything.items() if key.lower().startswith(_QUIET)}
    ours = {**quiet, **{key: value for key, value in everything.items() if key.lower().startswith(PREFIX)}}
    found = {**from_hadoop(everything, ours), **ours}
    full = {PREFIX + key.strip().lower().removeprefix(PREFIX) for key in given}
    return {key: value for key, value in found.items() if key.lower() not in CREDENTIALS or not full & CREDENTIALS}


def path_in(options: Mapping[str, str]) -> str:
    """Where the table is, for every process: workers have a directory and a memory of their own."""
    path = next((value for key, value in options.items() if key.lower() == "path"), None)
    if path is None:
        raise ConfigError(
            "there is no path, and Spark does not tell a Python data source where a table of its catalog is; "
            "call indextables.enable(spark) and use spark.sql, spark.table, df.write.saveAsTable or df.write.insertInto, "
            "or name the path: FROM t WITH ('path' = '...'), INSERT INTO t WITH ('path' = '...')",
            key="path",
            value=None,
        )
    location = Location.parse(path)
    if location.scheme == "memory":
        raise ConfigError(
            f"{path} is in the memory of one process, and Spark's workers are others; use a directory or an object store",
            key="path",
            value=path,
        )
    return str(location)


def _is_sparks(key: str) -> bool:
    return key in _SPARKS_OWN or key.startswith((_INTERNAL, "option."))
