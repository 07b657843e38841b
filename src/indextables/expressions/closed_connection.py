"""A connection to DuckDB in memory that sees what it is given, and neither files, nor the network, nor extensions."""

import os
from typing import Any

from indextables.errors import ConfigError
from indextables.predicate.cast import zone_name

_SETTINGS: dict[str, bool] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "preserve_insertion_order": True,
}


def closed_connection(*, threads: int = 1, time_zone: str = "UTC", ieee_floats: bool = False) -> Any:
    """A new connection, whose settings no statement can change. With `ieee_floats`, a division by zero is not an error."""
    import duckdb  # noqa: PLC0415 - 90 ms that only few commands need

    settings: dict[str, Any] = {**_SETTINGS, "threads": min(threads, os.cpu_count() or 1)}
    connection = duckdb.connect(":memory:", config=settings)
    connection.execute(f"SET ieee_floating_point_ops = {str(ieee_floats).lower()}")  # of the session in older versions
    try:
        connection.execute("SET TimeZone = $zone", {"zone": duckdb_zone(time_zone)})
    except duckdb.Error as error:
        connection.close()
        message = f"{time_zone!r} is no time zone; use a name such as Europe/Berlin"
        raise ConfigError(message, key="time_zone", value=time_zone) from error
    connection.execute("SET lock_configuration = true")
    return connection


def duckdb_zone(time_zone: str) -> str:
    """A time zone's name as DuckDB accepts it; it would take `UTC+05:30` for five hours.

    >>> duckdb_zone("+05:30"), duckdb_zone("UTC+05:30"), duckdb_zone("Z"), duckdb_zone("Europe/Berlin")
    ('GMT+05:30', 'GMT+05:30', 'UTC', 'Europe/Berlin')
    """
    name = zone_name(time_zone)
    return f"GMT{name}" if name.startswith(("+", "-")) else name
