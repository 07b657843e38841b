"""The names of our format and of its options: which are ours, and which are Spark's own."""

from collections.abc import Mapping

from indextables.errors import ConfigError
from indextables.storage import Location

FORMAT = "indextables"
PROVIDER = "io.indextables.spark.core.IndexTables4SparkTableProvider"  # the same format under its JVM name
VIEW = "_indextables_"  # prefix of the names of temporary views for paths in a statement
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
