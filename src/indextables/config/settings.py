"""All settings as one typed object, with their defaults.

A setting is looked up in the options of the call, then in the session, then in the table's properties; the first one wins.

>>> config = Config.resolve({"CHECKPOINT.interval": "25"}, {"spark.indextables.checkpoint.interval": "50"})
>>> config.maintenance.checkpoint_interval
25
>>> Config.resolve({"checkpoint.intervall": "25"})
Traceback (most recent call last):
indextables.errors.ConfigError: there is no setting 'checkpoint.intervall'; did you mean 'checkpoint.interval'?
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Self

from indextables.config.keys import GROUPS, find_setting, full_key, is_users_own, without_prefix
from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.misspelled_keys import unknown_key
from indextables.config.read_config import ReadConfig
from indextables.config.setting import PREFIX
from indextables.config.store_config import StoreConfig
from indextables.config.write_config import WriteConfig
from indextables.errors import ConfigError

_SESSION = "session."  # begins the keys of settings that a session has for columns, which a table need not have
_OF_COLUMNS = frozenset({"typemap", "exact", "cluster_by", "text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    store: StoreConfig = field(default_factory=StoreConfig)
    write: WriteConfig = field(default_factory=WriteConfig)
    read: ReadConfig = field(default_factory=ReadConfig)
    maintenance: MaintenanceConfig = field(default_factory=MaintenanceConfig)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not appear in messages and logs."""
        groups = (getattr(self, name) for name in GROUPS)
        values = (getattr(group, of.name) for group in groups for of in fields(group) if of.metadata.get("secret"))
        return tuple(value for value in values if value)

    @classmethod
    def resolve(cls, *sources: Mapping[str, str], properties: Mapping[str, str] | None = None) -> Self:
        """The settings from the sources, the first source first, then from the table's properties, then the defaults.

        The credentials of a store come from the first source that has any of them, all of them.
        Properties may also hold a user's own keys, which are ignored if they do not start with `spark.indextables.`.
        """
        values: dict[str, dict[str, Any]] = {name: {} for name in GROUPS}
        defaults: set[tuple[str, str]] = set()
        by_source = [
            settings_in(properties or {}, lenient=True),
            *(settings_in(source) for source in reversed(sources)),
        ]
        for found in map(list, by_source):
            _forget_credentials(values["store"], {setting.field.metadata.get("credentials") for setting in found})
            for setting in sorted(found, key=lambda setting: not setting.is_session_default):
                if "family" in setting.field.metadata:
                    values[setting.group].setdefault(setting.field.name, {})[setting.suffix] = setting.value
                else:
                    values[setting.group][setting.field.name] = setting.value
                defaults.discard(setting.place)
                if setting.is_session_default:
                    defaults.add(setting.place)
        values["write"]["session_defaults"] = frozenset(defaults)
        return cls(**{name: group(**values[name]) for name, group in GROUPS.items()})

    def for_columns(self, names: Iterable[str]) -> Self:
        """The settings for a table with these columns: what a session says of others is left out."""
        write = self.write.for_columns(names)
        return self if write is self.write else replace(self, write=write)


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of one setting in a source; `suffix` ends the key of a family (`message` in `indexing.typemap.message`)."""

    group: str
    field: "Field[Any]"
    suffix: str
    value: Any
    is_session_default: bool = False

    @property
    def full_key(self) -> str:
        key = full_key(self.field, self.suffix)
        return f"{PREFIX}{_SESSION}{key.removeprefix(PREFIX)}" if self.is_session_default else key

    @property
    def place(self) -> tuple[str, str]:
        return self.field.name, self.suffix.lower()


def canonical(source: Mapping[str, str]) -> dict[str, str]:
    """The same settings under their full keys, checked.

    >>> canonical({"TARGETrecordsPerSplit": "5", "indexing.typemap.Message": "text"})
    {'spark.indextables.optimizeWrite.targetRecordsPerSplit': '5', 'spark.indextables.indexing.typemap.message': 'text'}
    """
    found = zip(settings_in(source), source.values(), strict=True)
    return {setting.full_key: str(text) for setting, text in found}


def session_defaults(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session: those that name columns get keys which say that a table need not have the columns.

    >>> session_defaults({"spark.indextables.indexing.typemap.message": "text", "spark.indextables.mergeSchema": "true"})
    {'spark.indextables.session.indexing.typemap.message': 'text', 'spark.indextables.mergeSchema': 'true'}
    """
    return {_as_session_default(key): value for key, value in settings.items()}


def _as_session_default(key: str) -> str:
    short = without_prefix(key)
    found = find_setting(short)
    return f"{PREFIX}{_SESSION}{short}" if found is not None and found[1].name in _OF_COLUMNS else key


def settings_in(source: Mapping[str, str], *, lenient: bool = False) -> Iterator[SettingValue]:
    """The parsed settings of one source. A lenient source may hold other keys, but none that start with our prefix."""
    for key, given in source.items():
        if lenient and is_users_own(key):
            continue
        short = without_prefix(key)
        is_default = short.lower().startswith(_SESSION)
        found = find_setting(short[len(_SESSION) :] if is_default else short)
        if found is not None and (not is_default or found[1].name in _OF_COLUMNS):
            group, field, suffix = found
            value = str(given) if suffix else _parse(field.metadata, key, str(given))
            yield SettingValue(group, field, suffix, value, is_session_default=is_default)
        elif not lenient or key.strip().lower().startswith(PREFIX):
            raise unknown_key(key, str(given))


def _parse(metadata: Mapping[str, Any], key: str, given: str) -> Any:
    try:
        return metadata["parse"](given)
    except ValueError as error:
        raise ConfigError(f"{metadata['key']} is {given!r}, but must be {error}", key=key, value=given) from None


def _forget_credentials(values: dict[str, Any], stores: Collection[str | None]) -> None:
    """Removes the credentials of these stores: a source that comes before has others."""
    for setting in fields(StoreConfig):
        if setting.metadata["credentials"] is not None and setting.metadata["credentials"] in stores:
            values.pop(setting.name, None)
