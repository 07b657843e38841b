"""Hadoop's Azure client: `fs.azure.*`, for all accounts, or for one with its host at the end of the key."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from indextables.config import PREFIX
from indextables.errors import ConfigError
from indextables.spark.environment.hadoop_settings import HadoopSettings
from indextables.storage import Location

_OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2."
_SIMPLE_KEYS = "org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider"
_TOKEN_FILE = "/var/run/secrets/azure/tokens/azure-identity-token"  # noqa: S105 - Hadoop's default
_TOKEN_ADDRESS = re.compile(r"(https?://[^/]+)/([^/]+)/oauth2/(?:v2\.0/)?token/?", re.IGNORECASE)
_SERVICES = {"dfs": "blob", "blob": "dfs"}


@dataclass(frozen=True, slots=True)
class _Container:
    """A container and the hosts under which Hadoop's settings know its account, none if the account is not known."""

    name: str
    hosts: tuple[str, ...]

    @classmethod
    def of(cls, location: Location, account: str | None) -> "_Container":
        name, _, host = location.container.partition("@")
        account, _, domain = (host or account or "").partition(".")
        service, _, rest = (domain or "dfs.core.windows.net").partition(".")
        hosts = (f"{account}.{service}.{rest}", f"{account}.{_SERVICES.get(service, service)}.{rest}", account)
        return cls(name, tuple(dict.fromkeys(hosts)) if account else ())

    def keys(self, setting: str) -> list[str]:
        """The keys of a setting: for the account, then for all accounts."""
        return [*(f"fs.azure.{setting}.{host}" for host in self.hosts), f"fs.azure.{setting}"]

    def sas_keys(self) -> list[str]:
        own = [f"fs.azure.{name}.{self.name}.{host}" for name in ("sas.fixed.token", "sas") for host in self.hosts]
        return [*own, *self.keys("sas.fixed.token")]


def azure_credentials_from_hadoop(hadoop: HadoopSettings, location: Location, account: str | None) -> dict[str, str]:
    """The credentials that Hadoop would use for a location; nothing, if it has none. It may not name the account."""
    found = _credentials(hadoop, _Container.of(location, account))
    return {f"{PREFIX}azure.{name}": value for name, value in found.items() if value}


def _credentials(hadoop: HadoopSettings, container: _Container) -> Mapping[str, str | None]:
    kind = hadoop.get(*container.keys("account.auth.type"))
    match (kind or "").lower():
        case "":  # Hadoop's default is a key; its older client had SAS tokens without a type
            return _account_key(hadoop, container) or _sas_token(hadoop, container)
        case "sharedkey":
            return _account_key(hadoop, container)
        case "sas":
            return _sas_token(hadoop, container)
        case "oauth":
            return _identity(hadoop, container)
        case _:
            raise _refused(container, f"{kind} (fs.azure.account.auth.type)", "account.auth.type", kind)


def _account_key(hadoop: HadoopSettings, container: _Container) -> Mapping[str, str | None]:
    provider = hadoop.get(*container.keys("account.keyprovider"))
    if provider not in {None, _SIMPLE_KEYS}:
        raise _refused(container, f"{provider} (fs.azure.account.keyprovider)", "account.keyprovider", provider)
    key = hadoop.get(*container.keys("account.key"))
    return {"credentialType": "accountKey", "accountKey": key} if key else {}


def _sas_token(hadoop: HadoopSettings, container: _Container) -> Mapping[str, str | None]:
    token, provider = hadoop.get(*container.sas_keys()), hadoop.get(*container.keys("sas.token.provider.type"))
    if token is None and provider is not None:
        raise _refused(container, f"{provider} (fs.azure.sas.token.provider.type)", "sas.token.provider.type", provider)
    return {"credentialType": "sasToken", "sasToken": token.removeprefix("?")} if token else {}


def _identity(hadoop: HadoopSettings, container: _Container) -> Mapping[str, str | None]:
    """A service principal or an identity of the machine or the pod, as Hadoop's token providers know them."""

    def get(name: str) -> str | None:
        return hadoop.get(*container.keys(f"account.oauth2.{name}"))

    provider = hadoop.get(*container.keys("account.oauth.provider.type")) or ""
    match provider.removeprefix(_OAUTH):
        case "ClientCredsTokenProvider":
            return {"credentialType": "clientSecret", **_principal(hadoop, container)}
        case "MsiTokenProvider":
            own = {"clientId": get("client.id"), "msiEndpoint": get("msi.endpoint")}
            return {"credentialType": "managedIdentity", **own}
        case "WorkloadIdentityTokenProvider":
            token_file = get("token.file") or _TOKEN_FILE
            own = {"tenantId": get("msi.tenant"), "clientId": get("client.id"), "authorityHost": get("msi.authority")}
            return {"credentialType": "workloadIdentity", "federatedTokenFile": token_file, **own}
        case _:
            named = f"{provider or 'no provider'} (fs.azure.account.oauth.provider.type)"
            raise _refused(container, named, "account.oauth.provider.type", provider)


def _principal(hadoop: HadoopSettings, container: _Container) -> dict[str, str]:
    """The client and its secret from one source; the endpoint, from any, names the authority and the tenant."""
    found = hadoop.get_together(*_client_keys(container))
    endpoint = hadoop.get(*container.keys("account.oauth2.client.endpoint"))
    given = {
        "client.id": found.get("clientId"),
        "client.secret": found.get("clientSecret"),
        "client.endpoint": endpoint,
    }
    for name, value in given.items():
        if value is None:
            raise ConfigError(
                f"Hadoop's settings for the service principal have no fs.azure.account.oauth2.{name}, or not in the "
                "place of the others: client.id, client.secret and client.endpoint go together",
                key=f"fs.azure.account.oauth2.{name}",
                value=None,
            )
    address = _TOKEN_ADDRESS.fullmatch(endpoint or "")
    if address is None:
        raise ConfigError(
            f"fs.azure.account.oauth2.client.endpoint is {endpoint!r}, but must be "
            "https://login.microsoftonline.com/<tenant>/oauth2/token, or the same of another authority",
            key="fs.azure.account.oauth2.client.endpoint",
            value=endpoint,
        )
    return {**found, "authorityHost": address[1], "tenantId": address[2]}


def _client_keys(container: _Container) -> Iterator[dict[str, str]]:
    ids, secrets = (container.keys(f"account.oauth2.{name}") for name in ("client.id", "client.secret"))
    return ({"clientId": own, "clientSecret": secret} for own, secret in zip(ids, secrets, strict=True))


def _refused(container: _Container, what: str, key: str, value: str | None) -> ConfigError:
    account = container.hosts[0] if container.hosts else container.name
    return ConfigError(
        f"Hadoop gets the credentials for {account} from {what}, which indextables cannot use; set those of "
        "spark.indextables.azure, or spark.indextables.azure.credentialType to environment, which takes those of the "
        "environment or the machine",
        key=f"fs.azure.{key}",
        value=value,
    )
