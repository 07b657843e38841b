"""How a client authenticates: by one kind of credentials, which the settings have as a whole, or by what obstore finds.

Obstore looks into the environment for whatever it is not given. Where settings have credentials, their kind is named, so
that no key of the environment comes before them or goes with them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from indextables.config import Config, StoreConfig
from indextables.errors import ConfigError


@dataclass(frozen=True, slots=True, repr=False)
class S3Keys:
    """Credentials for S3 as they were given. As a whole, so that none of them is paired with one of the environment."""

    access_key: str
    secret_key: str
    session_token: str | None

    def get(self) -> Any:
        keys = {"access_key_id": self.access_key, "secret_access_key": self.secret_key}
        return {**keys, "token": self.session_token, "expires_at": None}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of Azure credentials: obstore's name of it, the settings that it needs, and those that it may have.

    A setting that implies it makes `azure.credentialType` superfluous.
    """

    name: str
    implied_by: str | None
    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()


_KINDS = {  # by `azure.credentialType`
    "accountKey": _Kind("access_key", "account_key", needs=("account_key",)),
    "clientSecret": _Kind(
        "client_secret", "client_secret", ("tenant_id", "client_id", "client_secret"), ("authority_host",)
    ),
    "sasToken": _Kind("sas_token", "sas_token", needs=("sas_token",)),
    "workloadIdentity": _Kind(
        "workload_identity",
        "federated_token_file",
        may_have=("tenant_id", "client_id", "federated_token_file", "authority_host"),
    ),
    "managedIdentity": _Kind("managed_identity", None, may_have=("client_id", "msi_endpoint")),
}
_FOUND_BY_OBSTORE = ("tenant_id", "client_id", "authority_host", "msi_endpoint")
_AZURE_SECRETS = {
    *("AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_USE_AZURE_CLI"),
    *("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY", "AZURE_STORAGE_TOKEN"),
    *("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_MSI_ENDPOINT", "IDENTITY_ENDPOINT"),
}
"""Variables of the environment by which obstore authenticates without a secret in the settings."""
_KEYS = {"sas_token": "sas_key"}  # obstore's names, where they are others


def s3_keys(config: Config) -> S3Keys | None:
    """The keys for S3, if the settings have any and do not name another type."""
    store = config.store
    given = (store.s3_access_key, store.s3_secret_key)
    if store.s3_credential_type in {"anonymous", "environment"}:
        return None
    if store.s3_credential_type is None and given == (None, None):
        return None
    if None in given:
        missing = "s3.accessKey" if given[0] is None else "s3.secretKey"
        raise ConfigError(
            f"s3.accessKey and s3.secretKey go together, and {missing} is missing", key=missing, value=None
        )
    return S3Keys(str(store.s3_access_key), str(store.s3_secret_key), store.s3_session_token)


def azure_credentials(config: Config) -> Mapping[str, str]:
    """The credentials of one kind, as obstore's settings; what may be left open is found by obstore."""
    store = config.store
    chosen = store.azure_credential_type or _kind_of(store)
    if chosen is None:
        _refuse_missing_secret(store)
    if chosen in {None, "environment"}:
        return _values(store, _FOUND_BY_OBSTORE)
    kind = _KINDS[str(chosen)]
    missing = [name for name in kind.needs if getattr(store, f"azure_{name}") is None]
    if missing:
        keys, absent = ([_key(name) for name in names] for names in (kind.needs, missing))
        together = f"{' and '.join(keys)} go together" if len(keys) > 1 else f"azure.credentialType is {chosen}"
        raise ConfigError(f"{together}, and {', '.join(absent)} is missing", key=absent[0], value=None)
    return {"credential_type": kind.name, **_values(store, (*kind.needs, *kind.may_have))}


def _refuse_missing_secret(store: StoreConfig) -> None:
    """Refuses a service principal without a secret: obstore would take it for a machine's identity, and ask the machine."""
    if store.azure_tenant_id is None or store.azure_msi_endpoint is not None:
        return
    if any(name.upper() in _AZURE_SECRETS for name in os.environ):
        return
    others = "" if store.azure_client_id else "azure.clientId and "
    raise ConfigError(
        f"azure.tenantId is given, and {others}azure.clientSecret is missing: a service principal needs both with it; give "
        f"{others}azure.clientSecret, or set azure.credentialType to workloadIdentity, managedIdentity or environment",
        key="azure.clientSecret",
        value=None,
    )


def _kind_of(store: StoreConfig) -> str | None:
    """The first kind that the settings imply."""
    kinds = ((name, kind.implied_by) for name, kind in _KINDS.items())
    return next((name for name, implied_by in kinds if implied_by and getattr(store, f"azure_{implied_by}")), None)


def _values(store: StoreConfig, names: tuple[str, ...]) -> dict[str, str]:
    values = {_KEYS.get(name, name): getattr(store, f"azure_{name}") for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _key(name: str) -> str:
    """The key of a setting.

    >>> _key("client_secret")
    'azure.clientSecret'
    """
    first, *words = name.split("_")
    return f"azure.{first}{''.join(map(str.title, words))}"
