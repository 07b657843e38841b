"""All settings as one typed object, with their defaults.

Every setting has a key under `spark.indextables.`, a prefix that is optional; keys are case-insensitive. A setting is looked
up in the options of the call, then in the session, then in the table's properties; the first one wins.

>>> config = Config.resolve({"CHECKPOINT.interval": "25"}, {"spark.indextables.checkpoint.interval": "50"})
>>> config.maintenance.checkpoint_interval
25
>>> Config.resolve({"checkpoint.intervall": "25"})
Traceback (most recent call last):
indextables.errors.ConfigError: there is no setting 'checkpoint.intervall'; did you mean 'checkpoint.interval'?
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.read_config import ReadConfig
from indextables.config.setting_keys import GROUPS, settings_in
from indextables.config.store_config import StoreConfig
from indextables.config.write_config import WriteConfig


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


def _forget_credentials(values: dict[str, Any], stores: Collection[str | None]) -> None:
    """Removes the credentials of these stores: a source that comes before has others."""
    for setting in fields(StoreConfig):
        if setting.metadata["credentials"] is not None and setting.metadata["credentials"] in stores:
            values.pop(setting.name, None)
