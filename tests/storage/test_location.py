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


SECRET_LOCATIONS = [
    "https://account.blob.core.windows.net/c/p?sv=2024-08-04&ss=b&sig=hidden%3D",
    "https://account.blob.core.windows.net/c/p?sig=hidden&to=me@example.com",
    "https://bucket.s3.amazonaws.com/t?X-Amz-Credential=hidden&X-Amz-Signature=hidden&X-Amz-Security-Token=hidden",
    "https://bucket.s3.amazonaws.com/t?AWSAccessKeyId=hidden&Signature=hidden&Expires=1",
    "http://me:hidden@host/t",
    "http://me:hid/hidden@host/t",
    "ftp://me:hidden?hidden@host/t",
    "ftp:/me:hidden@host/t",
    "jdbc:postgresql://me:hidden@host/db",
    "account.blob.core.windows.net/c/p?sv=2024&sig=hidden",
    "//account.blob.core.windows.net/c/p?sv=2024&sig=hidden",
    " https://host/t?sig=hidden",
    "https%3A%2F%2Fhost%2Ft%3Fsig%3Dhidden",
    "abfss://c@acc.dfs.core.windows.net/t?sv=2024&sig=hidden",
    "abfss://c@acc.dfs.core.windows.net/t%3Fsv=2024%26sig%3Dhidden",
    "az://c/t?sig=hidden",
    "wasbs://c@acc.blob.core.windows.net/t?sig=hidden",
    "wasbs://c@acc.blob.core.windows.net/t#sig=hidden",
    "s3://bucket/t?X-Amz-Signature=hidden",
    "s3://bucket/t?access_key=hidden&secret_key=hidden",
    "s3a://key:hidden@bucket/t",
    "s3a://key:hidden/hidden@bucket/t",
    "s3a://hidden@bucket/t",
    "gs://bucket/t?GoogleAccessId=hidden&Signature=hidden",
    "gs://bucket/t?X-Goog-Signature=hidden",
    "memory://m/t?sig=hidden",
    "file://me:hidden@host/t?sig=hidden",
    "s3:///t?sig=hidden",
    "abfss://c:hidden@acc@acc/t",
]


@pytest.mark.parametrize("uri", SECRET_LOCATIONS)
def test_a_location_with_credentials_is_refused_and_does_not_tell_them(uri: str) -> None:
    for given in (uri, Path(uri)) if not uri.startswith("file:") else (uri,):
        with pytest.raises(StorageError) as caught:
            open_store(given)
        assert "hidden" not in f"{caught.value} {caught.value!r} {vars(caught.value)}"
        assert caught.value.path


@pytest.mark.parametrize(
    "path", ["/data/what?sig=1", "/data/me:you@home/t", "/data/a?b=c&token=1#d", "what?/t#1", "a@b"]
)
def test_a_local_path_may_have_any_name(path: str) -> None:
    assert Location.parse(path).path.endswith(path)


@pytest.mark.parametrize("uri", ["s3://bucket/what?/a#1", "s3://bucket/me@home", "s3://bucket/a?b=c", "az://c/a?x&y"])
def test_a_key_may_have_a_query_in_its_name(uri: str) -> None:
    assert str(Location.parse(uri)) == uri


def test_the_message_tells_what_is_no_secret() -> None:
    with pytest.raises(StorageError) as caught:
        open_store("https://me:pw@account.blob.core.windows.net/c/p?sv=2024&sig=x")
    assert str(caught.value).startswith("'https://***@account.blob.core.windows.net/c/p?***' is not a location")
