"""Tables of ours in the catalog of a server: their locations, by name."""

import re
import time
from collections.abc import Sequence
from typing import Any

from pyspark.errors import PySparkException

from indextables.spark.options import is_our_format
from indextables.spark.source.quoting import quote_name, quote_string

_MAX_AGE = 10.0  # seconds; other sessions may change the catalog
_FILE = re.compile(r"^file:/+")


class RemoteCatalog:
    """Looks names up on the server, and keeps the answers until a statement of the session may change them, or a while."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._known: dict[tuple[str, ...], tuple[float, str | None]] = {}

    def location_of(self, parts: Sequence[str]) -> str | None:
        """The location of a table of ours; None for other tables, and for names that are none."""
        key = tuple(part.lower() for part in parts)
        found = self._known.get(key)
        if found is None or time.monotonic() - found[0] > _MAX_AGE:
            self._known[key] = (time.monotonic(), None)  # the look-up is a statement that has the name in it
            found = self._known[key] = (time.monotonic(), self._looked_up(parts))
        return found[1]

    def current_location_of(self, parts: Sequence[str]) -> str | None:
        """The same, looked up now: for whoever writes there."""
        self.clear()
        return self.location_of(parts)

    def clear(self) -> None:
        self._known.clear()

    def facts_of(self, parts: Sequence[str]) -> dict[str, str]:
        """What the catalog says of a table of ours: `Location`, `Type`, `Comment`; nothing of other tables."""
        place = f" IN {quote_name(parts[:-1])}" if len(parts) > 1 else ""
        try:
            rows = self._session.sql(f"SHOW TABLE EXTENDED{place} LIKE {quote_string(parts[-1])}").collect()
        except PySparkException:
            return {}
        named = [row for row in rows if row["tableName"].lower() == parts[-1].lower()]
        if not named or any(row["isTemporary"] for row in named):
            return {}
        facts = dict(line.split(": ", 1) for line in named[0]["information"].splitlines() if ": " in line)
        return facts if is_our_format(facts.get("Provider")) and "Location" in facts else {}

    def _looked_up(self, parts: Sequence[str]) -> str | None:
        facts = self.facts_of(parts)
        return _FILE.sub("/", facts["Location"]) if facts else None
