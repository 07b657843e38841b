"""Settings of ours that a session has: its own, those of Hadoop's clients, and how it reads conditions."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from indextables.config import (
    PREFIX,
    credential_stores,
    refuse_misspelled_prefix,
    session_defaults,
    without_credentials,
)
from indextables.spark.catalyst.session_state import session_settings
from indextables.spark.environment.hadoop import from_hadoop, ours_in_hadoop
from indextables.spark.options import is_our_format, settings_in
from indextables.storage import Location

_SHORT_PREFIX = PREFIX.removeprefix("spark.")


def is_default(spark: SparkSession) -> bool:
    """Whether the session's default data source, `spark.sql.sources.default`, is our format."""
    return is_our_format(spark.conf.get("spark.sql.sources.default"))


def settings_of(spark: SparkSession, path: str | None, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of the session for the table at a path: ours, and those of Hadoop's clients with the same meaning.

    The credentials of a store are used as a set: if any of them is `given`, those of the session are left out; if the
    session has any, those of Hadoop are. The prefix `spark.` is optional, because Spark writes all settings that begin with
    `spark` to its event log, secrets too. Hadoop's configuration may have settings of ours too; those of the session win.
    """
    session, options = session_settings(spark), settings_in(given or {})
    refuse_misspelled_prefix(session)
    short = {f"spark.{key}": value for key, value in session.items() if key.lower().startswith(_SHORT_PREFIX)}
    ours = {**short, **{key: value for key, value in session.items() if key.lower().startswith(PREFIX)}}
    in_hadoop = ours_in_hadoop(spark, session)
    refuse_misspelled_prefix(in_hadoop)
    ours = session_defaults({**without_credentials(in_hadoop, credential_stores(ours)), **ours})
    hadoop = {} if path is None else from_hadoop(spark, session, Location.parse(path), {**ours, **options})
    known = {key.lower() for key in ours}
    found = {**{key: value for key, value in hadoop.items() if key.lower() not in known}, **ours}
    return without_credentials(found, credential_stores(options))


def condition_settings(spark: Any) -> dict[str, Any]:
    """The time zone and the letter case in which the session reads conditions."""
    zone, case = spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.caseSensitive")
    return {"time_zone": zone or "UTC", "case_sensitive": (case or "").lower() == "true"}
