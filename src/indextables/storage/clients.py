"""From a location and settings to a client of its object store.

What the settings leave open is found where obstore looks for it: the usual environment variables, and the identity that a
machine, container or pod has.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from obstore.store import AzureStore, GCSStore, S3Store

from indextables.config import Config, is_secret
from indextables.errors import ConfigError
from indextables.storage.credentials import S3Keys, azure_credentials, s3_keys
from indextables.storage.location import Location

_KINDS = {"s3": S3Store, "s3a": S3Store, "abfs": AzureStore, "abfss": AzureStore, "az": AzureStore, "gs": GCSStore}
_ENVIRONMENTS = ("AWS_", "AZURE_", "GOOGLE_", "IDENTITY_", "MSI_")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_PUBLIC_AZURE = ".core.windows.net"


def client_for(location: Location, config: Config) -> Any:
    """The client of a bucket or container; the same one for the same settings, with its connections and credentials."""
    own = _s3(location, config) if _KINDS[location.scheme] is S3Store else _azure(location, config)
    client_options = _ClientOptions(
        scheme=location.scheme,
        container=location.container.partition("@")[0],
        own=tuple((key, value) for key, value in own.items() if value is not None),
        timeout=config.store.request_timeout,
        max_retries=config.store.max_retries,
        environment=tuple(sorted(_environment())),
        process=os.getpid(),
        keys=s3_keys(config) if _KINDS[location.scheme] is S3Store else None,
        ca_certificates=_certificates(config.store.ca_certificates),
    )
    return _client(client_options)


def secrets_of(config: Config) -> tuple[str, ...]:
    """The values that no message may show, from settings and environment."""
    return (*config.secrets, *(value for name, value in _environment() if value and is_secret(name)))


@dataclass(frozen=True, slots=True, repr=False)
class _ClientOptions:
    """All that a client depends on. A client is of no use in a process that was forked from its own."""

    scheme: str
    container: str
    own: tuple[tuple[str, Any], ...]
    timeout: timedelta
    max_retries: int
    environment: tuple[tuple[str, str], ...]
    process: int
    keys: S3Keys | None
    ca_certificates: bytes | None


@lru_cache(maxsize=32)
def _client(client_options: _ClientOptions) -> Any:
    config, environment = dict(client_options.own), dict(client_options.environment)
    endpoint = config.get("endpoint") or next((environment[name] for name in _ENDPOINTS if name in environment), "")
    keys = {"credential_provider": client_options.keys.get} if client_options.keys else {}
    return _KINDS[client_options.scheme](
        client_options.container,
        config=config,
        **keys,
        client_options={
            "timeout": client_options.timeout,
            **({"allow_http": True} if endpoint.startswith("http:") else {}),
            **({"root_certificate": certificates} if (certificates := client_options.ca_certificates) else {}),
        },
        retry_config={"max_retries": client_options.max_retries},
    )


def _environment() -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in os.environ.items() if name.startswith(_ENVIRONMENTS))


def _s3(location: Location, config: Config) -> Mapping[str, Any]:
    endpoint = config.store.s3_endpoint and config.store.s3_endpoint.rstrip("/")
    return {
        "endpoint": endpoint
        if config.store.s3_path_style or not endpoint
        else _with_bucket(endpoint, location.container),
        "region": config.store.s3_region,
        "virtual_hosted_style_request": None if config.store.s3_path_style else True,
        "skip_signature": True if config.store.s3_credential_type == "anonymous" else None,
    }


def _certificates(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"store.caCertificates is {path!r}, which cannot be read: {error.strerror}",
            key="store.caCertificates",
            value=path,
        ) from error


def _with_bucket(endpoint: str, bucket: str) -> str:
    """The host that a bucket has of its own.

    >>> _with_bucket("https://minio:9000", "logs")
    'https://logs.minio:9000'
    """
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(netloc=f"{bucket}.{parts.netloc}"))


def _azure(location: Location, config: Config) -> Mapping[str, Any]:
    if _KINDS[location.scheme] is not AzureStore:
        return {}
    account, _, domain = location.container.partition("@")[2].partition(".")
    return {
        "account_name": account or config.store.azure_account_name,
        "endpoint": config.store.azure_endpoint or _azure_endpoint(account, domain),
        **azure_credentials(config),
    }


def _azure_endpoint(account: str, domain: str) -> str | None:
    """The blob service of an account that is not in the public cloud, whose services are known.

    >>> _azure_endpoint("logs", "dfs.core.chinacloudapi.cn")
    'https://logs.blob.core.chinacloudapi.cn'
    """
    known = not domain or f".{domain}".endswith(_PUBLIC_AZURE)
    return None if known else f"https://{account}.blob.{domain.partition('.')[2]}"
