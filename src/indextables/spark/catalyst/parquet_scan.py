"""Scans by Spark's own Parquet reader: splits are Parquet files, and without a search nothing reads them faster.

Spark gets the list of the splits that are left after pruning as it gets that of a directory that a stream has written, from
a file: it looks into no directory, and no call is made for a single split.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from urllib.parse import unquote

from cachetools import LRUCache, cached
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from indextables.errors import SplitNotFoundError
from indextables.read.opener import SplitRef
from indextables.spark.catalyst.java import Java, jvm_of
from indextables.storage.location import Location

_OPTIONS = {
    "recursiveFileLookup": "true",  # names of directories are not columns
    "ignoreMissingFiles": "false",  # whatever the session says: a split that is gone is not an empty one
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
}
_GONE = re.compile(r"\[FAILED_READ_FILE\.FILE_NOT_EXIST\][^\n]*? file:/*(/[^\n]*\.split)")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+", re.ASCII)
_LONGEST = 120  # characters of a label
_BLOCK = 128 * 1024 * 1024


@contextmanager
def missing_split_errors() -> Iterator[None]:
    """Inside, a split that Spark's reader does not find raises a SplitNotFoundError: to refresh a table would not help."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        gone = _GONE.search(str(error))
        if gone is None:
            raise
        path = unquote(gone[1])
        raise SplitNotFoundError(
            f"the file {path} does not exist; if it belongs to an old version, it was purged: read a newer "
            "version. If the table was created anew, read it again. Otherwise, restore the file",
            path=path,
            version=None,
        ) from error


def node(spark: Any, location: str, splits: Sequence[SplitRef], output: Java, *, label: str) -> Java:
    """The node of Spark's plan that reads these columns (to Spark) of the splits; plans show its label as its location."""
    jvm, session = jvm_of(spark), spark._jsparkSession
    sources, nothing = jvm.org.apache.spark.sql.execution.datasources, jvm.scala.Option.empty()
    types = jvm.org.apache.spark.sql.types
    columns = jvm.org.apache.spark.sql.catalyst.types.DataTypeUtils.fromAttributes(output)
    options = jvm.PythonUtils.toScalaMap(_OPTIONS)
    listed = tuple((split.path, split.size) for split in splits)
    files = _files(spark, Location.parse(location).path, listed, _NOT_IN_NAMES.sub("-", label)[:_LONGEST])
    form = sources.parquet.ParquetFileFormat()
    read = sources.HadoopFsRelation(files, types.StructType(), columns, nothing, form, options, session)
    return sources.LogicalRelation(read, output, nothing, False, nothing)


@cached(LRUCache(16), key=lambda spark, *listed: (jvm_of(spark), *listed), lock=Lock())
def _files(spark: Any, root: str, splits: tuple[tuple[str, int], ...], label: str) -> Java:
    """The list of the splits, in the JVM."""
    jvm, session = jvm_of(spark), spark._jsparkSession
    with TemporaryDirectory(prefix=f"indextables-{label}-") as name:
        place = Path(name) / "_spark_metadata"
        place.mkdir()
        lines = (json.dumps(_entry(Path(root, path), size)) for path, size in splits)
        (place / "0").write_text("\n".join(["v1", *lines]))
        index = jvm.org.apache.spark.sql.execution.streaming.runtime.MetadataLogFileIndex
        where, options = jvm.org.apache.hadoop.fs.Path(Path(name).as_uri()), jvm.PythonUtils.toScalaMap(_OPTIONS)
        return index(session, where, options, jvm.scala.Option.empty())


def _entry(path: Path, size: int) -> dict[str, object]:
    return {
        "path": path.as_uri(),
        "size": size,
        "isDir": False,
        "modificationTime": 0,
        "blockReplication": 1,
        "blockSize": _BLOCK,
        "action": "add",
    }
