"""Settings of Hadoop's S3 client (`fs.s3a.*`) as settings of ours: a cluster that reads `s3a://` needs no others."""

from collections.abc import Mapping

from indextables.config import PREFIX

_PREFIXES = ("spark.hadoop.fs.s3a.", "fs.s3a.")  # of the cluster, of the session: the later one decides
_KEYS = {
    "access.key": "s3.accessKey",
    "secret.key": "s3.secretKey",
    "session.token": "s3.sessionToken",
    "endpoint": "s3.endpoint",
    "endpoint.region": "s3.region",
}
CREDENTIALS = frozenset(f"{PREFIX}{_KEYS[name]}".lower() for name in ("access.key", "secret.key", "session.token"))
_ANY_REGION = "s3.amazonaws.com"  # Hadoop's word for: wherever the bucket is


def from_hadoop(session: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """Settings that `fs.s3a.*` gives and `ours` do not. Credentials come from one of them, never from both.

    >>> from_hadoop({"spark.hadoop.fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false"}, {})
    {'spark.indextables.s3.endpoint': 'http://minio:9000'}
    """
    given: dict[str, str] = {}
    for prefix in _PREFIXES:
        given |= {key.removeprefix(prefix): value for key, value in session.items() if key.startswith(prefix)}
    found = {f"{PREFIX}{_KEYS[name]}": value for name, value in given.items() if name in _KEYS and value}
    taken = {key.lower() for key in ours}
    if taken & CREDENTIALS:
        taken |= CREDENTIALS
    if (endpoint := found.pop(f"{PREFIX}s3.endpoint", _ANY_REGION)) != _ANY_REGION:
        plain = given.get("connection.ssl.enabled", "true").strip().lower() == "false"
        found[f"{PREFIX}s3.endpoint"] = endpoint if "://" in endpoint else f"http{'' if plain else 's'}://{endpoint}"
    return {key: value for key, value in found.items() if key.lower() not in taken}
