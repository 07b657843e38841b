"""The settings of a session of Spark Connect, which are on the server."""

from collections.abc import Mapping
from typing import Any

from indextables.spark.source.options import our_settings, settings_in


def session_settings(session: Any) -> dict[str, str]:
    """All settings of the session, in one request."""
    return {key: value for key, value in session.conf.getAll.items() if value is not None}


def read_settings(session: Any, options: Mapping[str, str]) -> dict[str, str]:
    """What a read has to know of the session, where no option says otherwise."""
    given = {key.lower().removeprefix("spark.indextables.") for key in settings_in(options)}
    everything = session_settings(session)
    found = {
        "timezone": everything.get("spark.sql.session.timeZone") or "UTC",
        "casesensitive": everything.get("spark.sql.caseSensitive") or "false",
        **our_settings(everything, options),
    }
    return {key: value for key, value in found.items() if key.lower().removeprefix("spark.indextables.") not in given}
