"""Every setting, typed, in four groups: `Config.store`, `.write`, `.read` and `.maintenance`."""

from indextables.config.keys import (
    READ_OPTIONS,
    STREAM_OPTIONS,
    credential_stores,
    is_of_one_write,
    is_secret,
    is_store_setting,
    is_write_setting,
    property_key,
    without_credentials,
    without_prefix,
)
from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.misspelled_keys import refuse_misspelled_prefix, refuse_misspelled_property
from indextables.config.read_config import ReadConfig
from indextables.config.setting import PREFIX, boolean, duration, duration_argument, positive_integer, size
from indextables.config.settings import Config, canonical, session_defaults
from indextables.config.settings_page import markdown
from indextables.config.store_config import StoreConfig
from indextables.config.write_config import AUTO_TEXT, NO_TEXT, WriteConfig

__all__ = [
    "AUTO_TEXT",
    "NO_TEXT",
    "PREFIX",
    "READ_OPTIONS",
    "STREAM_OPTIONS",
    "Config",
    "MaintenanceConfig",
    "ReadConfig",
    "StoreConfig",
    "WriteConfig",
    "boolean",
    "canonical",
    "credential_stores",
    "duration",
    "duration_argument",
    "is_of_one_write",
    "is_secret",
    "is_store_setting",
    "is_write_setting",
    "markdown",
    "positive_integer",
    "property_key",
    "refuse_misspelled_prefix",
    "refuse_misspelled_property",
    "session_defaults",
    "size",
    "without_credentials",
    "without_prefix",
]
