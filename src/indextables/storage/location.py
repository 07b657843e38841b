"""Locations of tables, and validation of keys."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from indextables.errors import StorageError, UnsafePathError
from indextables.redaction import WITH_ACCOUNT, has_credentials, redacted

CLOUD_SCHEMES = ("s3", "s3a", "abfs", "abfss", "az", "gs")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
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
_ADDRESS = re.compile(r"(?i)\s*([a-z0-9+.-]*):/*(.*)", re.DOTALL)
_AFTER_PATH = re.compile(r"[?#;&]|%(?:3F|23|3B|26)", re.IGNORECASE)
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
            _refuse_address(text)
            return cls("file", "", _absolute(text))
        container, path = _split_path(text[scheme.end() - 1 :])
        match scheme[1].lower():
            case "file" if container in {"", "localhost"}:
                return cls("file", "", _absolute(unquote(path)))
            case "memory" if not has_credentials(text):
                return cls("memory", container, path.strip("/"))
            case known if known in CLOUD_SCHEMES and container:
                _refuse_credentials(text, known, container)
                return cls(known, container, path.strip("/"))
        raise _unknown(text, scheme[1].lower())

    def __str__(self) -> str:
        return self.path if self.scheme == "file" else f"{self.scheme}://{self.container}/{self.path}".rstrip("/")


def _unknown(text: str, scheme: str) -> StorageError:
    """The error for a location that cannot be used, without the credentials that may be in it."""
    shown = _shown(text)
    bucket = f"{scheme}:// needs a bucket or container: {scheme}://name/path" if scheme in CLOUD_SCHEMES else ""
    works = f"use a local path, file:///path, or an object store: {', '.join(f'{s}://' for s in CLOUD_SCHEMES)}"
    parts = (f"{shown!r} is not a location that indextables can use", _INSTEAD.get(scheme, bucket), works)
    return StorageError("; ".join(part for part in parts if part), path=shown)


def _shown(text: str) -> str:
    """A location that is refused, as messages show it: without user, password, query and fragment.

    >>> _shown("https://me:pass/word@host/c/p?sv=2024&sig=abc")
    'https://***@host/c/p?***'
    """
    before, at, host = text.rpartition("@")
    address = _ADDRESS.match(before)
    if address and not (address[1].lower() in WITH_ACCOUNT and not {":", "?"} & set(address[2])):
        text = f"{address[1]}://***@{host}"
    elif at and not address:
        text = f"***@{host}"
    path, *query = _AFTER_PATH.split(text, maxsplit=1)
    return redacted(f"{path}?***" if query else path)


def _refuse_address(text: str) -> None:
    """Refuses what has no scheme and yet is an address: as a local path, it would be shown with its credentials.

    `?` and `#` may be in the name of a file. A path from the root is one, whatever is in it.
    """
    is_path = text.startswith("/") and not text.startswith("//")
    if not is_path and (_SCHEME.search(text) or has_credentials(text)):
        raise _unknown(text, "")


def _refuse_credentials(text: str, scheme: str, container: str) -> None:
    """Credentials in a location would be shown wherever the location is; the account of Azure is none."""
    user, at, host = container.rpartition("@")
    in_authority = ":" in container.partition("@")[0] or (at and not scheme.startswith("ab")) or "@" in user
    if in_authority or has_credentials(text):
        shown = f"{scheme}://{host if at or not in_authority else '***'}"
        raise StorageError(f"a location has no credentials in it: {shown}/...; give them as settings", path=shown)


def _split_path(rest: str) -> tuple[str, str]:
    """The container and the path of what follows the scheme. There is no query in it: `?` and `#` may be in a name."""
    if not rest.startswith("//"):
        return "", rest
    container, slash, path = rest[2:].partition("/")
    return container, slash + path


def _absolute(path: str) -> str:
    """The path from the root, without `..`, or a StorageError for one that no store could name."""
    if path.startswith("~"):
        home = os.path.expanduser(path)  # noqa: PTH111 - as a text
        raise StorageError(f"{path!r} begins with ~, which only a shell expands; write {home}, or ./{path}", path=path)
    if not path or _CONTROL.search(path):
        shown = redacted(path)
        raise StorageError(f"{shown!r} is not a path; it is empty or has control characters", path=shown)
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
        f"{redacted(key)!r} would leave {root}; a file of a table is named by its path under the table's root: "
        "not empty, not absolute, no '..', no scheme, no control characters",
        path=redacted(key),
    )
