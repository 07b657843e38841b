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


@pytest.mark.parametrize("uri", ["hdfs://host/t", "ftp://host/t", "s3:///no-bucket", "file://elsewhere/t"])
def test_an_unknown_location_is_refused(uri: str) -> None:
    with pytest.raises(StorageError, match="is not a location that indextables knows"):
        open_store(uri)
