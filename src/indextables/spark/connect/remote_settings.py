"""The settings of a session of Spark Connect, which are on the server."""

from collections.abc import Mapping
from typing import Any

from indextables.config import without_prefix
from indextables.spark.environment.session_settings import settings_of
from indextables.spark.options import location_in, settings_in


def read_settings(session: Any, options: Mapping[str, str]) -> dict[str, str]:
    """What a read has to know of the session, where no option says otherwise."""
    given = {without_prefix(key).lower() for key in settings_in(options)}
    found = {
        "timezone": session.conf.get("spark.sql.session.timeZone") or "UTC",
        "casesensitive": session.conf.get("spark.sql.caseSensitive") or "false",
        **settings_of(session, location_in(options), options),
    }
    return {key: value for key, value in found.items() if without_prefix(key).lower() not in given}
