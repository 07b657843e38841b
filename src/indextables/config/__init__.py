"""Every setting, typed, in four groups: `Config.store`, `.write`, `.read` and `.maintenance`."""

from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.read_config import ReadConfig
from indextables.config.setting import PREFIX
from indextables.config.setting_keys import READ_OPTIONS, canonical, is_secret, property_key
from indextables.config.setting_parsers import boolean, duration, duration_argument, size
from indextables.config.settings import Config
from indextables.config.settings_page import markdown
from indextables.config.store_config import StoreConfig
from indextables.config.write_config import WriteConfig

__all__ = [
    "PREFIX",
    "READ_OPTIONS",
    "Config",
    "MaintenanceConfig",
    "ReadConfig",
    "StoreConfig",
    "WriteConfig",
    "boolean",
    "canonical",
    "duration",
    "duration_argument",
    "is_secret",
    "markdown",
    "property_key",
    "size",
]
