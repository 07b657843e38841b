"""All settings as one typed object, with their defaults; and their keys: which setting a key names.

Every setting has a key under `spark.indextables.`, a prefix that is optional; keys are case-insensitive. A setting is looked
up in the options of the call, then in the session, then in the table's properties; the first one wins.

>>> config = Config.resolve({"CHECKPOINT.interval": "25"}, {"spark.indextables.checkpoint.interval": "50"})
>>> config.maintenance.checkpoint_interval
25
>>> Config.resolve({"checkpoint.intervall": "25"})
Traceback (most recent call last):
indextables.errors.ConfigError: there is no setting 'checkpoint.intervall'; did you mean 'checkpoint.interval'?
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Self

from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.read_config import ReadConfig
from indextables.config.setting import PREFIX
from indextables.config.store_config import StoreConfig
from indextables.config.write_config import WriteConfig
from indextables.errors import ConfigError
from indextables.nearest import nearest

READ_OPTIONS = ("versionAsOf", "timestampAsOf", "where", "query", "timeZone", "caseSensitive")
"""The options of a Spark read that are not settings."""
STREAM_OPTIONS = (
    "startingVersion",
    "startingTimestamp",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "ignoreDeletes",
    "skipChangeCommits",
)
"""Those of a streaming read only."""


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
        by_source = [
            settings_in(properties or {}, lenient=True),
            *(settings_in(source) for source in reversed(sources)),
        ]
        for found in map(list, by_source):
            _forget_credentials(values["store"], {setting.field.metadata.get("credentials") for setting in found})
            for setting in found:
                if "family" in setting.field.metadata:
                    values[setting.group].setdefault(setting.field.name, {})[setting.suffix] = setting.value
                else:
                    values[setting.group][setting.field.name] = setting.value
        return cls(**{name: group(**values[name]) for name, group in GROUPS.items()})


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of one setting in a source; `suffix` ends the key of a family (`message` in `indexing.typemap.message`)."""

    group: str
    field: "Field[Any]"
    suffix: str
    value: Any

    @property
    def full_key(self) -> str:
        return _full_key(self.field, self.suffix)


GROUPS: dict[str, Any] = {group.name: group.type for group in fields(Config)}
_ALL = [(group, field) for group, settings in GROUPS.items() for field in fields(settings)]
SETTINGS = [field for _, field in _ALL if "key" in field.metadata]
_FAMILIES = {field.metadata["family"]: (group, field) for group, field in _ALL if "family" in field.metadata}
_BY_KEY = {
    key.removeprefix(PREFIX).lower(): (group, field)
    for group, field in _ALL
    for key in (field.metadata.get("key"), field.metadata.get("short"))
    if key
}
_LAST_WORDS = Counter(key.rpartition(".")[2] for key in _BY_KEY)
_BY_LAST_WORD = {word: of for key, of in _BY_KEY.items() if _LAST_WORDS[word := key.rpartition(".")[2]] == 1}

_CREDENTIALS = {field.metadata["key"].lower(): field.metadata["credentials"] for field in SETTINGS}

_SECRET = re.compile(
    r"(secret|password|token|signature|(access|account|secret|api|private|sas)[._-]?key)s?$"
    r"|fs\.azure\..*(account\.key|secret|token|password)(\.|$)|fs\.azure\.sas\.[^.]+\.[^.]+\.(blob|dfs)\.",  # for an account
    re.IGNORECASE,
)


def is_secret(key: str) -> bool:
    """Whether the value of a key, one of ours or not, must not be shown.

    >>> [is_secret(key) for key in ("azure.accountKey", "fs.s3a.secret.key", "s3.sessionToken", "tokenizer")]
    [True, True, True, False]
    >>> is_secret("spark.hadoop.fs.azure.account.key.logs.dfs.core.windows.net"), is_secret("fs.azure.sas.expiry.period")
    (True, False)
    """
    return _SECRET.search(key.strip()) is not None


def credential_stores(keys: Iterable[str]) -> frozenset[str]:
    """The stores for which there are credentials among the keys.

    >>> credential_stores(["s3.accessKey", "spark.indextables.azure.endpoint"])
    frozenset({'s3'})
    """
    found = {_CREDENTIALS.get(f"{PREFIX}{_short(key)}".lower()) for key in keys}
    return frozenset(store for store in found if store)


def without_credentials(settings: Mapping[str, str], stores: Collection[str]) -> dict[str, str]:
    """The settings but for the credentials of some stores, which are used together or not at all.

    >>> without_credentials({"s3.accessKey": "a", "s3.region": "eu"}, {"s3"})
    {'s3.region': 'eu'}
    """
    return {key: value for key, value in settings.items() if credential_stores([key]).isdisjoint(stores)}


def canonical(source: Mapping[str, str]) -> dict[str, str]:
    """The same settings under their full keys, checked.

    >>> canonical({"TARGETrecordsPerSplit": "5", "indexing.typemap.Message": "text"})
    {'spark.indextables.optimizeWrite.targetRecordsPerSplit': '5', 'spark.indextables.indexing.typemap.message': 'text'}
    """
    found = zip(settings_in(source), source.values(), strict=True)
    return {setting.full_key: str(text) for setting, text in found}


def property_key(key: str) -> str:
    """The key under which a table keeps a property: the full key of a setting, and a user's own key as it is.

    >>> property_key("TARGETrecordsPerSplit"), property_key("owner.team")
    ('spark.indextables.optimizeWrite.targetRecordsPerSplit', 'owner.team')
    """
    short = _short(key)
    family = _family(short)
    if family:
        return _full_key(_FAMILIES[family][1], short[len(family) :])
    return key if short.lower() not in _BY_KEY else _full_key(_BY_KEY[short.lower()][1], "")


def settings_in(source: Mapping[str, str], *, lenient: bool = False) -> Iterator[SettingValue]:
    """The parsed settings of one source. A lenient source may hold other keys, but none that start with our prefix."""
    for key, given in source.items():
        short = _short(key)
        family = _family(short)
        if family:
            group, field = _FAMILIES[family]
            yield SettingValue(group, field, short[len(family) :], str(given))
        elif short.lower() in _BY_KEY:
            group, field = _BY_KEY[short.lower()]
            yield SettingValue(group, field, "", _parse(field.metadata, key, str(given)))
        elif not lenient or key.strip().lower().startswith(PREFIX):
            raise _unknown(key, short, str(given))


def _short(key: str) -> str:
    stripped = key.strip()
    return stripped[len(PREFIX) :] if stripped.lower().startswith(PREFIX) else stripped


def _family(short: str) -> str | None:
    return next((start for start in _FAMILIES if short.lower().startswith(start)), None)


def _full_key(field: "Field[Any]", suffix: str) -> str:
    family = field.metadata.get("family")
    return f"{PREFIX}{family}{suffix.lower()}" if family else str(field.metadata["key"])


def _parse(metadata: Mapping[str, Any], key: str, given: str) -> Any:
    try:
        return metadata["parse"](given)
    except ValueError as error:
        raise ConfigError(f"{metadata['key']} is {given!r}, but must be {error}", key=key, value=given) from None


def _unknown(key: str, short: str, given: str) -> ConfigError:
    meant = nearest(short, [*_BY_KEY, *_BY_LAST_WORD, *READ_OPTIONS, *STREAM_OPTIONS])
    _, field = _BY_KEY.get(meant or "") or _BY_LAST_WORD.get(meant or "") or (None, None)
    secret = is_secret(key) or (field is not None and field.metadata["secret"])
    name = meant if field is None else field.metadata["key"]
    if name and not key.lower().startswith(PREFIX):
        name = name.removeprefix(PREFIX)  # as it was written
    hint = f"; did you mean {name!r}?" if name else ""
    if field is None and meant and meant.lower() == short.lower():
        hint = "; it is an option of reads from Spark, and an argument of its own elsewhere"
    return ConfigError(f"there is no setting {key!r}{hint}", key=key, value=None if secret else given)


def _forget_credentials(values: dict[str, Any], stores: Collection[str | None]) -> None:
    """Removes the credentials of these stores: a source that comes before has others."""
    for setting in fields(StoreConfig):
        if setting.metadata["credentials"] is not None and setting.metadata["credentials"] in stores:
            values.pop(setting.name, None)
