"""The options of a read.

| option | meaning |
|---|---|
| `versionAsOf`, `timestampAsOf` | the table as it was; a timestamp without a zone is in `timeZone` |
| `where` | a condition in SQL that every row satisfies: OR, NOT, LIKE, INDEXQUERY, whatever a scan knows |
| `query` | a search, in Lucene's language, that every row satisfies |
| `timeZone` | what times without a zone in `where` and `timestampAsOf` mean; UTC by default |
| `caseSensitive` | whether column names are case-sensitive; false by default |

All others are settings (`indextables.config`). Keys are in any letter case.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self, TypeVar

import pyarrow as pa

from indextables.config import READ_OPTIONS, Config, boolean, is_write_setting
from indextables.errors import CastInvalidInputError, ConfigError
from indextables.log import Snapshot, TransactionLog
from indextables.log.table_identity import refuse_other_table
from indextables.log.table_paths import missing_table_errors
from indextables.predicate import IndexQuery, parse_condition, to_sql
from indextables.predicate.cast import cast_scalar
from indextables.predicate.literals import TIMESTAMP
from indextables.read.scan_spec import ADDRESS, ScanSpec, Score, SearchResult, build_scan_spec
from indextables.spark.options import ROW_ADDRESS, SEARCHES, TABLE, VERSION, path_in, settings_in
from indextables.write.write_plan import current_rules

logger = logging.getLogger(__name__)
_NAMES = {name.lower(): name for name in READ_OPTIONS}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a read, checked; it travels to executors.

    >>> ReadOptions.of({"PATH": "/data/logs", "versionasof": "3", "cache.maxSize": "1G"}).version
    3
    >>> ReadOptions.of({"path": "/data/logs", "versionAsOf": "last"})
    Traceback (most recent call last):
    indextables.errors.ConfigError: versionAsOf is 'last', but must be a version's number
    """

    path: str
    version: int | None
    timestamp: datetime | None
    where: str | None
    query: str | None
    time_zone: str
    case_sensitive: bool
    search_columns: Mapping[str, SearchResult]  # the columns of the scan that searches give, by their names
    table: str | None  # the id of the table that the version is one of, where that has been decided
    row_address: bool  # whether two more columns say where a row is
    settings: Mapping[str, str] = field(repr=False)  # there may be secrets among them

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        given = {_NAMES[key.lower()]: value for key, value in options.items() if key.lower() in _NAMES}
        if "versionAsOf" in given and "timestampAsOf" in given:
            raise ConfigError(
                "versionAsOf and timestampAsOf say two things; give one",
                key="timestampAsOf",
                value=given["timestampAsOf"],
            )
        time_zone, pinned = given.get("timeZone", "UTC"), _internal(options, VERSION)
        return cls(
            path=path_in(options),
            version=version_of(given.get("versionAsOf"), key="versionAsOf") if pinned is None else int(pinned),
            timestamp=timestamp_of(given.get("timestampAsOf"), time_zone, key="timestampAsOf")
            if pinned is None
            else None,
            where=given.get("where"),
            query=given.get("query"),
            time_zone=time_zone,
            case_sensitive=parse_option(given, "caseSensitive", boolean) or False,
            search_columns=_search_columns(options),
            table=_internal(options, TABLE),
            row_address=_internal(options, ROW_ADDRESS) is not None,
            settings={k: v for k, v in settings_in(options).items() if k.lower() not in _NAMES},
        )

    def config(self, properties: Mapping[str, str] | None = None) -> Config:
        return Config.resolve(self.settings, properties=properties)

    def log(self) -> TransactionLog:
        return TransactionLog.open(self.path, self.config())

    def snapshot(self) -> Snapshot:
        return self.snapshot_in(self.log())

    def snapshot_in(self, log: TransactionLog) -> Snapshot:
        with missing_table_errors(log.store):
            snapshot = log.snapshot(self.version, timestamp=self.timestamp)
        return self.verified(snapshot)

    def verified(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot, if it is of the table that was meant: another one may have been made at the same place."""
        if self.table is not None:
            refuse_other_table(self.path, self.table, snapshot.metadata.id)
        return snapshot

    @property
    def added_columns(self) -> frozenset[str]:
        """The columns of the scan that are not the table's: those of searches, and the address of a row."""
        return frozenset(self.search_columns).union(ADDRESS if self.row_address else ())

    def scan_spec(self, snapshot: Snapshot, columns: Sequence[str] | None = None) -> ScanSpec:
        spec = build_scan_spec(
            snapshot,
            current_rules(snapshot.metadata),
            where=self.where,
            query=self.query,
            columns=columns,
            search_results=self.search_columns,
            time_zone=self.time_zone,
            case_sensitive=self.case_sensitive,
        )
        return replace(spec, row_address=True) if self.row_address else spec


def warn_of_write_settings(options: Mapping[str, str]) -> None:
    """Logs the options of a read that are settings of writes, and have no effect on it."""
    names = sorted(filter(is_write_setting, settings_in(options)))
    if names:
        logger.warning(
            "options of a read have no effect on it, because they are settings of writes: %s", ", ".join(names)
        )


def condition_text(spec: ScanSpec) -> str | None:
    """The predicate of a scan as the text of the option `where`; None if the text would be parsed as another predicate."""
    text = to_sql(spec.predicate)
    return text if repr(parse_condition(text, spec.schema)) == repr(spec.predicate) else None


def search_name(result: SearchResult, number: int) -> str:
    """The column of a search: whether it finds the row, or the score of the row. It has no meaning outside of a plan."""
    return f"_score_{number}" if isinstance(result, Score) else f"_indexquery_{number}"


def as_option(results: Mapping[str, SearchResult]) -> str:
    """The columns of searches as text: a pair for a search, a list of pairs for a score."""
    return json.dumps(
        {
            name: list(map(_pair, result.searches)) if isinstance(result, Score) else _pair(result)
            for name, result in results.items()
        }
    )


def _pair(search: IndexQuery) -> tuple[str | None, str]:
    return search.field, search.query


def _search_columns(options: Mapping[str, str]) -> dict[str, SearchResult]:
    given = json.loads(_internal(options, SEARCHES) or "{}")
    return {name: _search_result(value) for name, value in given.items()}


def _search_result(value: list[Any]) -> SearchResult:
    return Score(tuple(IndexQuery(*pair) for pair in value)) if isinstance(value[0], list) else IndexQuery(*value)


def _internal(options: Mapping[str, str], name: str) -> str | None:
    return next((value for key, value in options.items() if key.lower() == name), None)


def version_of(given: str | None, *, key: str) -> int | None:
    if given is None or (given.isascii() and given.strip().isdigit()):
        return None if given is None else int(given)
    raise ConfigError(f"{key} is {given!r}, but must be a version's number", key=key, value=given)


def timestamp_of(given: str | None, time_zone: str, *, key: str) -> datetime | None:
    if given is None:
        return None
    try:
        timestamp: datetime = cast_scalar(pa.scalar(given), TIMESTAMP, time_zone=time_zone).as_py()
    except CastInvalidInputError:
        raise ConfigError(
            f"{key} is {given!r}, but must be a timestamp such as 2024-01-31 12:00:00", key=key, value=given
        ) from None
    return timestamp


def parse_option(given: Mapping[str, str], key: str, parse: Callable[[str], T]) -> T | None:
    """The value of an option, None where it is not given."""
    if key not in given:
        return None
    try:
        return parse(given[key])
    except ValueError as error:
        raise ConfigError(f"{key} is {given[key]!r}, but must be {error}", key=key, value=given[key]) from None
