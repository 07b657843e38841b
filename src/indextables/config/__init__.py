"""Every setting, typed, in four groups: `Config.store`, `.write`, `.read` and `.maintenance`."""

from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.read_config import ReadConfig
from indextables.config.setting import PREFIX, boolean, duration, duration_argument, positive_integer, size
from indextables.config.settings import (
    READ_OPTIONS,
    STREAM_OPTIONS,
    Config,
    canonical,
    credential_stores,
    is_secret,
    property_key,
    without_credentials,
)
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
    "is_secret",
    "markdown",
    "positive_integer",
    "property_key",
    "size",
    "without_credentials",
]
