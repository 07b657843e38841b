"""Settings as Spark has them: options with keys in lower case, some of them Spark's own, and a session."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from indextables.config import PREFIX
from indextables.errors import ConfigError
from indextables.spark.hadoop import from_hadoop

FORMAT = "indextables"
_INTERNAL = "indextables.internal."
MODE, ARRANGED, SPECULATION = (f"{_INTERNAL}{name}" for name in ("mode", "arranged", "speculation"))
_SPARKS_OWN = frozenset({"path", "paths", "provider", "location", "owner", "serialization.format"})


def settings_in(options: Mapping[str, str]) -> dict[str, str]:
    """The options that are settings of ours, known or not.

    >>> settings_in({"path": "/data", "provider": "indextables", "mergeschema": "true"})
    {'mergeschema': 'true'}
    """
    return {key: value for key, value in options.items() if not _is_sparks(key.lower())}


def settings_of(session: SparkSession) -> dict[str, str]:
    """The session's settings that are ours, and those of Hadoop's S3 client that mean the same."""
    everything = session.conf.getAll
    ours = {key: value for key, value in everything.items() if key.lower().startswith(PREFIX)}
    return {**from_hadoop(everything, ours), **ours}


def path_in(options: Mapping[str, str]) -> str:
    path = next((value for key, value in options.items() if key.lower() == "path"), None)
    if path is None:
        raise ConfigError(
            "there is no path: a write needs one, and Spark does not pass on the one of a table in its catalog; "
            'use df.write.format("indextables").mode("append").save(path), '
            "or INSERT INTO ... WITH ('path' = '...') SELECT ...",
            key="path",
            value=None,
        )
    return path


def _is_sparks(key: str) -> bool:
    return key in _SPARKS_OWN or key.startswith((_INTERNAL, "option."))
