from pathlib import Path

import pytest

from indextables.errors import StorageError
from indextables.storage import Location, open_store


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("/data/t", Location("file", "", "/data/t")),
        ("file:///data/t", Location("file", "", "/data/t")),
        ("file:/data/t", Location("file", "", "/data/t")),
        ("/data/50% off #1?", Location("file", "", "/data/50% off #1?")),
        ("s3://bucket/what?/a#1", Location("s3", "bucket", "what?/a#1")),
        ("file:///data/why?", Location("file", "", "/data/why?")),
        ("memory://m/a/b", Location("memory", "m", "a/b")),
        ("s3://bucket/a/b/", Location("s3", "bucket", "a/b")),
        ("s3://bucket", Location("s3", "bucket", "")),
        ("abfss://c@acc.dfs.core.windows.net/t", Location("abfss", "c@acc.dfs.core.windows.net", "t")),
        ("az://c/t", Location("az", "c", "t")),
        ("gs://b/t", Location("gs", "b", "t")),
    ],
)
def test_every_kind_of_location(uri: str, expected: Location) -> None:
    assert Location.parse(uri) == expected
    assert Location.parse(str(expected)) == expected


def test_a_relative_path_is_made_absolute() -> None:
    assert Location.parse("t").path == str(Path.cwd() / "t")


@pytest.mark.parametrize(
    ("uri", "instead"),
    [
        ("hdfs://namenode:8020/t", "Hadoop file systems are not supported"),
        ("hdfs:/t", "Hadoop file systems are not supported"),
        ("HDFS:///t", "Hadoop file systems are not supported"),
        ("viewfs://cluster/t", "Hadoop file systems are not supported"),
        ("dbfs:/mnt/t", "its local path /dbfs/..."),
        ("wasb://c@acc.blob.core.windows.net/t", "use abfss://container@account.dfs.core.windows.net/path"),
        ("wasbs://c@acc.blob.core.windows.net/t", "use abfss://container@account.dfs.core.windows.net/path"),
        ("http://host/t", "use s3://bucket/path and the setting s3.endpoint"),
        ("https://host/t", "use s3://bucket/path and the setting s3.endpoint"),
        ("file://elsewhere/t", "file:///path, without a host"),
        ("gcs://b/t", "use gs://bucket/path"),
        ("s3:///no-bucket", "s3:// needs a bucket or container: s3://name/path"),
        ("s3:/b/t", "s3:// needs a bucket or container: s3://name/path"),
        ("ftp://host/t", "use a local path"),
    ],
)
def test_a_location_that_cannot_be_used_is_refused(uri: str, instead: str) -> None:
    with pytest.raises(StorageError) as caught:
        open_store(uri)
    message = str(caught.value)
    assert message.startswith(f"{uri!r} is not a location that indextables can use; ")
    assert instead in message
    assert message.endswith(
        "use a local path, file:///path, or an object store: s3://, s3a://, abfs://, abfss://, az://, gs://"
    )


@pytest.mark.parametrize("uri", ["ftp://me:hidden@host/t", "https://hidden@host/t", "wasb://c:hidden@acc/t"])
def test_credentials_of_a_refused_location_are_not_shown(uri: str) -> None:
    with pytest.raises(StorageError, match="is not a location that indextables can use") as caught:
        open_store(uri)
    assert "hidden" not in str(caught.value) + caught.value.path
