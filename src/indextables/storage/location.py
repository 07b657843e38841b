"""Locations of tables, and validation of keys."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from indextables.errors import StorageError, UnsafePathError

CLOUD_SCHEMES = ("s3", "s3a", "abfs", "abfss", "az", "gs")
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/")
_WITH_ACCOUNT = ("wasb", "wasbs", "abfs", "abfss")  # container@account: what is before the @ is no credential
_INSTEAD = {
    "hdfs": "HDFS and other Hadoop file systems are not supported",
    "viewfs": "HDFS and other Hadoop file systems are not supported",
    "webhdfs": "HDFS and other Hadoop file systems are not supported",
    "dbfs": "for a mount of Databricks use the object store behind it, or its local path /dbfs/...",
    "wasb": "for Azure storage use abfss://container@account.dfs.core.windows.net/path",
    "wasbs": "for Azure storage use abfss://container@account.dfs.core.windows.net/path",
    "adl": "for Azure storage use abfss://container@account.dfs.core.windows.net/path",
    "http": "for a store that speaks S3 use s3://bucket/path and the setting s3.endpoint",
    "https": "for a store that speaks S3 use s3://bucket/path and the setting s3.endpoint",
    "s3n": "for S3 use s3://bucket/path",
    "gcs": "for Google Cloud storage use gs://bucket/path",
    "file": "a file: location is on this machine, file:///path, without a host",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Location:
    """A table's root. `container` is the bucket, or the name of a memory store; empty on local disk.

    >>> Location.parse("s3a://logs/prod/web/")
    Location(scheme='s3a', container='logs', path='prod/web')
    >>> Location.parse("file:///data/my%20logs").path
    '/data/my logs'
    >>> str(Location.parse("memory://demo/t"))
    'memory://demo/t'
    """

    scheme: str
    container: str
    path: str

    @classmethod
    def parse(cls, uri: str | Path) -> Self:
        text = str(uri)
        scheme = _SCHEME.match(text)
        if not scheme:
            return cls("file", "", _absolute(text))
        container, path = _split_path(text[scheme.end() - 1 :])
        match scheme[1].lower():
            case "file" if container in {"", "localhost"}:
                return cls("file", "", _absolute(unquote(path)))
            case "memory":
                return cls("memory", container, path.strip("/"))
            case known if known in CLOUD_SCHEMES and container:
                _refuse_credentials(known, container)
                return cls(known, container, path.strip("/"))
        raise _unknown(text, scheme[1].lower(), container)

    def __str__(self) -> str:
        return self.path if self.scheme == "file" else f"{self.scheme}://{self.container}/{self.path}".rstrip("/")


def _unknown(text: str, scheme: str, container: str) -> StorageError:
    """The error for a location that cannot be used, without the credentials that may be in it."""
    user, _, host = container.rpartition("@")
    is_account = scheme in _WITH_ACCOUNT and ":" not in user
    shown = text if is_account or not user else text.replace(container, host, 1)
    bucket = f"{scheme}:// needs a bucket or container: {scheme}://name/path" if scheme in CLOUD_SCHEMES else ""
    works = f"use a local path, file:///path, or an object store: {', '.join(f'{s}://' for s in CLOUD_SCHEMES)}"
    parts = (f"{shown!r} is not a location that indextables can use", _INSTEAD.get(scheme, bucket), works)
    return StorageError("; ".join(part for part in parts if part), path=shown)


def _refuse_credentials(scheme: str, container: str) -> None:
    """Credentials in a location would be shown wherever the location is; the account of Azure is none."""
    if ":" in container.partition("@")[0] or ("@" in container and not scheme.startswith("ab")):
        raise StorageError(
            f"a location has no credentials in it: {scheme}://{container.rpartition('@')[2]}/...; give them as settings",
            path=f"{scheme}://{container.rpartition('@')[2]}",
        )


def _split_path(rest: str) -> tuple[str, str]:
    """The container and the path of what follows the scheme. There is no query in it: `?` and `#` may be in a name."""
    if not rest.startswith("//"):
        return "", rest
    container, slash, path = rest[2:].partition("/")
    return container, slash + path


def _absolute(path: str) -> str:
    """The path from the root, without `..`, or a StorageError for one that no store could name."""
    if not path or _CONTROL.search(path):
        raise StorageError(f"{path!r} is not a path; it is empty or has control characters", path=path)
    return os.path.abspath(path)  # noqa: PTH100 - Path.absolute keeps `..`, and resolve follows links


def checked_key(key: str, *, root: object = "the table") -> str:
    """The key itself if it stays inside the table, else an UnsafePathError.

    >>> checked_key("date=2024-01-01/app=%5B%23small%5D/part-00000.split")
    'date=2024-01-01/app=%5B%23small%5D/part-00000.split'
    >>> checked_key("../other/table")
    Traceback (most recent call last):
    indextables.errors.UnsafePathError: '../other/table' would leave the table; ...
    """
    if {"", ".", ".."}.isdisjoint(key.split("/")) and not _SCHEME.match(key) and not _CONTROL.search(key):
        return key
    raise UnsafePathError(
        f"{key!r} would leave {root}; a file of a table is named by its path under the table's root: "
        "not empty, not absolute, no '..', no scheme, no control characters",
        path=key,
    )
