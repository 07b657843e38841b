"""Which setting a key names, however it is spelled.

Every setting has a key under `spark.indextables.`, a prefix that is optional, with or without `spark.`; keys are
case-insensitive. A few have a short name, too, and a family has a key for each column or value.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import Field, fields
from typing import Any

from indextables.config.maintenance_config import MaintenanceConfig
from indextables.config.read_config import ReadConfig
from indextables.config.setting import PREFIX
from indextables.config.store_config import StoreConfig
from indextables.config.write_config import WriteConfig

SHORT_PREFIX = PREFIX.removeprefix("spark.")
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

GROUPS: dict[str, Any] = {
    "store": StoreConfig,
    "write": WriteConfig,
    "read": ReadConfig,
    "maintenance": MaintenanceConfig,
}
_ALL = [(group, field) for group, settings in GROUPS.items() for field in fields(settings)]
SETTINGS = [field for _, field in _ALL if "key" in field.metadata]
FAMILIES = {str(field.metadata["family"]): (group, field) for group, field in _ALL if "family" in field.metadata}
NAMES = {
    key.removeprefix(PREFIX): (group, field)
    for group, field in _ALL
    for key in (field.metadata.get("key"), field.metadata.get("short"))
    if key
}
"""The settings by their names without a prefix, short names too."""
_BY_NAME = {name.lower(): of for name, of in NAMES.items()}
_CREDENTIALS = {field.metadata["key"].lower(): field.metadata["credentials"] for field in SETTINGS}
_SECRET = re.compile(
    r"(secret|password|token|signature|(access|account|secret|api|private|sas)[._-]?key)s?$"
    r"|fs\.azure\..*(account\.key|secret|token|password)(\.|$)|fs\.azure\.sas\.[^.]+\.[^.]+\.(blob|dfs)\.",  # for an account
    re.IGNORECASE,
)


def find_setting(short: str) -> "tuple[str, Field[Any], str] | None":
    """The group and the field of a key without its prefix, and the column or value that ends the key of a family."""
    family = next((start for start in FAMILIES if short.lower().startswith(start) and len(short) > len(start)), None)
    if family is not None:
        return (*FAMILIES[family], short[len(family) :])
    found = _BY_NAME.get(short.lower())
    return None if found is None else (*found, "")


def without_prefix(key: str) -> str:
    """The key of a setting without its prefix.

    >>> without_prefix("Spark.IndexTables.mergeSchema"), without_prefix("indextables.mergeSchema")
    ('mergeSchema', 'mergeSchema')
    """
    stripped = key.strip()
    start = next((one for one in (PREFIX, SHORT_PREFIX) if stripped.lower().startswith(one)), "")
    return stripped[len(start) :]


def full_key(field: "Field[Any]", suffix: str) -> str:
    family = field.metadata.get("family")
    return f"{PREFIX}{family}{suffix.lower()}" if family else str(field.metadata["key"])


def property_key(key: str) -> str:
    """The key under which a table keeps a property: the full key of a setting, and a user's own key as it is.

    >>> property_key("TARGETrecordsPerSplit"), property_key("owner.team")
    ('spark.indextables.optimizeWrite.targetRecordsPerSplit', 'owner.team')
    """
    found = None if is_users_own(key) else find_setting(without_prefix(key))
    return key if found is None else full_key(*found[1:])


def is_users_own(key: str) -> bool:
    """Whether a property with this key is one of the user, although an option has the name."""
    return key.strip().lower() == "text"


def is_store_setting(key: str) -> bool:
    """Whether the key is that of a setting of object stores."""
    found = find_setting(without_prefix(key))
    return found is not None and found[0] == "store"


def is_write_setting(key: str) -> bool:
    """Whether the key is that of a setting of writes or of maintenance, which reads do not look at."""
    found = find_setting(without_prefix(key))
    return found is not None and found[0] in {"write", "maintenance"}


def is_of_one_write(key: str) -> bool:
    """Whether the key is that of a setting that means one write, and would be wrong for the next one."""
    found = find_setting(without_prefix(key))
    return found is not None and found[1].name in {"overwrite_schema", "txn_app_id", "txn_version"}


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
    found = {_CREDENTIALS.get(f"{PREFIX}{without_prefix(key)}".lower()) for key in keys}
    return frozenset(store for store in found if store)


def without_credentials(settings: Mapping[str, str], stores: Collection[str]) -> dict[str, str]:
    """The settings but for the credentials of some stores, which are used together or not at all.

    >>> without_credentials({"s3.accessKey": "a", "s3.region": "eu"}, {"s3"})
    {'s3.region': 'eu'}
    """
    return {key: value for key, value in settings.items() if credential_stores([key]).isdisjoint(stores)}
