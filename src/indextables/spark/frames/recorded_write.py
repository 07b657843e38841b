"""A write as `df.write` describes it, before it is planned: format, mode, options, layout.

Spark passes too little to a Python data source, so that its writers record what they are told. The same for classic Spark
and for Spark Connect, whose writers are different classes with the same methods.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from indextables.config import PREFIX, canonical
from indextables.errors import ConfigError
from indextables.layout import Layout, PartitionField
from indextables.spark.environment.session_settings import is_default
from indextables.spark.options import is_our_format, settings_in
from indextables.write.overwrite import refuse_contradictory_options
from indextables.write.write_job import Mode

_MODES = {"append": Mode.APPEND, "overwrite": Mode.OVERWRITE, "error": Mode.ERROR, "errorifexists": Mode.ERROR}
_MODES |= {"default": Mode.ERROR, "ignore": Mode.IGNORE, "replacewhere": Mode.OVERWRITE}
_UNITS = re.compile(r"(year|month|day|hour)s(?=\()")
_CLUSTER = f"{PREFIX}optimizeWrite.clusterBy"
_WHERE, _DYNAMIC = f"{PREFIX}replaceWhere", f"{PREFIX}partitionOverwriteMode"


class RecordedWrite:
    """Put before Spark's own writer among the bases of a class; `_start` comes after Spark's constructor."""

    def _start(self, frame: Any, session: Any) -> None:
        self._frame, self._session = frame, session
        self._source: str | None = None
        self._mode = "errorifexists"
        self._write_options: dict[str, str] = {}
        self._partition_columns: tuple[str, ...] = ()
        self._cluster_columns: tuple[str, ...] = ()
        self._bucketed = False
        self._properties: Mapping[str, str] = {}

    def _tell_spark(self, method: str, *args: Any) -> None:
        """Calls a method of Spark's own writer, which this class overrides."""
        getattr(super(), method)(*args)

    @property
    def _ours(self) -> bool:
        """Whether the format is ours, or there is none and ours is the session's default."""
        return is_default(self._session) if self._source is None else is_our_format(self._source)

    def format(self, source: str) -> Self:
        self._source = source
        self._tell_spark("format", source)
        return self if self._ours else self._forward_layout()

    def mode(self, saveMode: str | None) -> Self:  # noqa: N803 - Spark's signature
        if saveMode is not None:
            self._mode = saveMode
            if saveMode.lower() != "replacewhere":
                self._tell_spark("mode", saveMode)
        return self

    def option(self, key: str, value: Any) -> Self:
        if isinstance(value, list | tuple) and key.strip().lower().removeprefix(PREFIX) == "replacewhere":
            value = json.dumps([str(condition) for condition in value])
        if value is not None:
            self._write_options[key.strip().lower()] = str(value).lower() if isinstance(value, bool) else str(value)
        self._tell_spark("option", key, value)
        return self

    def options(self, **options: Any) -> Self:
        for key, value in options.items():
            self.option(key, value)
        return self

    def partitionBy(self, *cols: Any) -> Self:  # noqa: N802 - Spark's name
        self._partition_columns = _names(cols)
        return self if self._ours else self._forward_layout()

    def clusterBy(self, *cols: Any) -> Self:  # noqa: N802
        self._cluster_columns = _names(cols)
        return self if self._ours else self._forward_layout()

    def bucketBy(self, *args: Any) -> Self:  # noqa: N802
        self._bucketed = True
        self._tell_spark("bucketBy", *args)
        return self

    def sortBy(self, *args: Any) -> Self:  # noqa: N802
        self._tell_spark("sortBy", *args)
        return self

    def with_properties(self, properties: Mapping[str, str]) -> Self:
        """The properties of the table, if the write creates it."""
        self._properties = properties
        return self

    def _forward_layout(self) -> Self:
        """Tells Spark's own writer, which refuses combinations that are fine with us."""
        if self._partition_columns:
            self._tell_spark("partitionBy", *self._partition_columns)
        if self._cluster_columns:
            self._tell_spark("clusterBy", *self._cluster_columns)
        return self

    def _apply(self, source: str | None, mode: str | None, columns: Any, options: dict[str, Any]) -> None:
        self.mode(mode).options(**options)
        if columns is not None:
            self.partitionBy(columns)
        if source is not None:
            self.format(source)

    def _settings(self, mode: Mode, session_settings: Mapping[str, str]) -> dict[str, str]:
        """The settings of the options and those that the session has, under full keys; an option wins."""
        options = canonical(self._given_settings())
        if self._bucketed:
            raise ConfigError(
                'use option("partitionBy", "bucket(16, id)") in place of bucketBy', key="bucketBy", value=None
            )
        if self._cluster_columns:
            _give(options, _CLUSTER, ", ".join(self._cluster_columns), method="clusterBy", parse=_columns)
        if self._partition_columns:
            _give(options, f"{PREFIX}partitionBy", str(self._layout()), method="partitionBy", parse=_terms)
        refuse_contradictory_options(options, overwrites=mode is Mode.OVERWRITE)
        session = {**self._overwrite_mode(), **canonical(session_settings)}
        session.pop(f"{PREFIX}overwriteSchema", None)  # of one write, not of all writes of a session
        if mode is not Mode.OVERWRITE:
            session.pop(_WHERE, None)
        if _WHERE in options or _WHERE in session:
            session.pop(_DYNAMIC, None)
        if self._mode.lower() == "replacewhere" and _WHERE not in options:
            raise ConfigError(
                'mode("replaceWhere") needs a condition: option("replaceWhere", "day = \'mon\'")',
                key="replaceWhere",
                value=None,
            )
        return {**session, **options}

    def _properties_of_new_table(self) -> Mapping[str, str]:
        """Those that are given, and `clusterBy`: later writes to the table sort by the same columns."""
        clustered = {_CLUSTER: ", ".join(self._cluster_columns)} if self._cluster_columns else {}
        return {**clustered, **self._properties}

    def _without_overwrites_of_a_part(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The settings of a write that replaces a table; those of the session for overwrites do not concern it."""
        given = canonical(self._given_settings())
        for key in (_WHERE, _DYNAMIC):
            if key in given:
                raise ConfigError(
                    f"{key.removeprefix(PREFIX)} replaces a part of a table, and the statement all of it; leave it out",
                    key=key,
                    value=given[key],
                )
        return {key: value for key, value in settings.items() if key not in {_WHERE, _DYNAMIC}}

    def _given_settings(self) -> dict[str, str]:
        """The options that are settings."""
        return settings_in(self._write_options)

    def _layout(self) -> Layout:
        """`partitionBy("day", "hour(ts)")`: columns, and what is not the name of one is read as a term."""
        known = {name.lower() for name in self._frame.columns}
        return Layout.of(*(PartitionField(c) if c.lower() in known else c for c in self._partition_columns))

    def _overwrite_mode(self) -> dict[str, str]:
        """Spark's own setting for overwrites of the session, so that no more is replaced than it allows."""
        mode = self._session.conf.get("spark.sql.sources.partitionOverwriteMode", "static") or ""
        return {_DYNAMIC: "dynamic"} if mode.lower() == "dynamic" else {}


def _give(options: dict[str, str], key: str, value: str, *, method: str, parse: Callable[[str], object]) -> None:
    """Adds what a method of the writer says to the options, which must not say something else."""
    option = options.setdefault(key, value)
    if parse(option) != parse(value):
        raise ConfigError(
            f"{method}(...) says {value}, and the option {key.removeprefix(PREFIX)} says {option}; give one of them",
            key=key,
            value=option,
        )


def _terms(text: str) -> Layout:
    return Layout.parse(text.lower())


def _columns(text: str) -> list[str]:
    return [name.strip().lower() for name in text.split(",")]


def mode_named(name: str) -> Mode:
    try:
        return _MODES[name.lower()]
    except KeyError:
        raise ConfigError(f"there is no mode {name!r}; use {', '.join(_MODES)}", key="mode", value=name) from None


def partition_term(term: str) -> str:
    """A term of a layout, from one of Spark's.

    >>> partition_term("days(ts)"), partition_term("bucket(16, id)")
    ('day(ts)', 'bucket(16, id)')
    """
    return _UNITS.sub(r"\1", term, count=1) if _UNITS.match(term) else term


def _names(cols: Sequence[Any]) -> tuple[str, ...]:
    return tuple(cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols)
