"""Hadoop's S3 client: `fs.s3a.*`, and `fs.s3a.bucket.<bucket>.*` for one bucket."""

import re
from collections.abc import Iterator, Mapping

from indextables.config import PREFIX
from indextables.errors import ConfigError
from indextables.spark.environment.hadoop_settings import HadoopSettings

_KEYS = {"s3.accessKey": "access.key", "s3.secretKey": "secret.key", "s3.sessionToken": "session.token"}
_PROVIDER = "aws.credentials.provider"
_PACKAGES = (  # of Hadoop, and of both versions of the SDK of AWS
    "org.apache.hadoop.fs.s3a.auth.",
    "org.apache.hadoop.fs.s3a.",
    "com.amazonaws.auth.",
    "software.amazon.awssdk.auth.credentials.",
)
_WITH_TOKEN, _WITHOUT_TOKEN = "TemporaryAWSCredentialsProvider", "SimpleAWSCredentialsProvider"
_DEFAULT_PROVIDERS = ",".join(f"org.apache.hadoop.fs.s3a.{name}" for name in (_WITH_TOKEN, _WITHOUT_TOKEN))
_ANONYMOUS = frozenset({"AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider"})
_FOUND_BY_OBSTORE = frozenset(
    {
        "ContainerCredentialsProvider",
        "DefaultAWSCredentialsProviderChain",
        "DefaultCredentialsProvider",
        "EC2ContainerCredentialsProviderWrapper",
        "EnvironmentVariableCredentialsProvider",
        "IAMInstanceCredentialsProvider",
        "InstanceProfileCredentialsProvider",
        "WebIdentityTokenCredentialsProvider",
        "WebIdentityTokenFileCredentialsProvider",
    }
)
_ANY_REGION = "s3.amazonaws.com"  # Hadoop's word for: wherever the bucket is
_REGION = re.compile(r"(?:https?://)?s3[.-]([a-z]+(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?/?")


def s3_credentials_from_hadoop(hadoop: HadoopSettings, bucket: str) -> dict[str, str]:
    """The credentials of the first of Hadoop's providers for a bucket that has any.

    Nothing, if these are credentials of the environment or the machine: obstore looks for them too.
    """
    groups = ({ours: f"{prefix}{name}" for ours, name in _KEYS.items()} for prefix in _prefixes(bucket))
    keys = hadoop.get_together(*groups)
    for provider in _providers(hadoop, bucket):
        name = _class_name(provider)
        if name in _FOUND_BY_OBSTORE:
            return {}
        if name in _ANONYMOUS:
            return {f"{PREFIX}s3.credentialType": "anonymous"}
        if name == _WITHOUT_TOKEN:
            keys = _without_token(keys)
        elif name != _WITH_TOKEN:
            raise _unknown(provider, bucket)
        if keys and (name == _WITHOUT_TOKEN or len(keys) == len(_KEYS)):
            return {f"{PREFIX}{key}": value for key, value in keys.items()}
    if keys:
        raise _incomplete(keys, _KEYS)
    return {}


def s3_endpoint_from_hadoop(hadoop: HadoopSettings, bucket: str) -> dict[str, str]:
    """Where a bucket is, and how it is addressed."""

    def get(name: str) -> str:
        return hadoop.get(*(f"{prefix}{name}" for prefix in _prefixes(bucket))) or ""

    endpoint, region, path_style = (
        get("endpoint") or _ANY_REGION,
        get("endpoint.region"),
        get("path.style.access").lower(),
    )
    scheme = "http" if get("connection.ssl.enabled").lower() == "false" else "https"
    address = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    named = _REGION.fullmatch(endpoint)
    found = {
        "s3.endpoint": None if endpoint == _ANY_REGION else address,
        "s3.region": region if region not in {"", "sdk"} else named and named[1],
        "s3.pathStyleAccess": path_style if path_style in {"true", "false"} else None,
    }
    return {f"{PREFIX}{key}": value for key, value in found.items() if value is not None}


def _prefixes(bucket: str) -> tuple[str, str]:
    return f"fs.s3a.bucket.{bucket}.", "fs.s3a."


def _providers(hadoop: HadoopSettings, bucket: str) -> Iterator[str]:
    given = hadoop.get(*(f"{prefix}{_PROVIDER}" for prefix in _prefixes(bucket))) or _DEFAULT_PROVIDERS
    return (name.strip() for name in given.split(",") if name.strip())


def _class_name(provider: str) -> str:
    """The name of a class of Hadoop or AWS without its package; that of any other class with it.

    >>> _class_name("com.amazonaws.auth.InstanceProfileCredentialsProvider"), _class_name("com.example.Vault")
    ('InstanceProfileCredentialsProvider', 'com.example.Vault')
    """
    package = next((package for package in _PACKAGES if provider.startswith(package)), "")
    return provider.removeprefix(package)


def _without_token(keys: Mapping[str, str]) -> dict[str, str]:
    needed = {ours: name for ours, name in _KEYS.items() if ours != "s3.sessionToken"}
    if keys and not needed.keys() <= keys.keys():
        raise _incomplete(keys, needed)
    return {ours: keys[ours] for ours in needed if keys}


def _incomplete(keys: Mapping[str, str], needed: Mapping[str, str]) -> ConfigError:
    names, missing = (
        (f"fs.s3a.{name}" for name in needed.values()),
        [n for ours, n in needed.items() if ours not in keys],
    )
    return ConfigError(
        f"{', '.join(names)} go together, and fs.s3a.{missing[0]} is missing; set them in one place: in the session, or in "
        "Hadoop's configuration",
        key=f"fs.s3a.{missing[0]}",
        value=None,
    )


def _unknown(provider: str, bucket: str) -> ConfigError:
    return ConfigError(
        f"Hadoop gets the credentials for s3a://{bucket} from {provider} (fs.s3a.{_PROVIDER}), which indextables cannot "
        "use; set spark.indextables.s3.accessKey and s3.secretKey, or spark.indextables.s3.credentialType to environment, "
        "which takes those of the environment or the machine",
        key=f"fs.s3a.{_PROVIDER}",
        value=provider,
    )
