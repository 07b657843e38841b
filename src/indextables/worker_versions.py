"""What travels to Spark's workers, and the versions of packages that the driver and its workers must have in common.

Python unpickles by name: on a worker with another release, a class may be missing, or mean something else. So a value
travels as bytes beside the versions of the driver, and is unpickled only where the versions are the same.

>>> import pickle
>>> pickle.loads(pickle.dumps(OnWorkers(len)))("abc")
3
"""

import pickle
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import pyarrow as pa
import tantivy

from indextables.arrow_features import skip_pandas_import
from indextables.error_notes import noted, noted_errors
from indextables.errors import WorkerEnvironmentError
from indextables.release import __version__

T = TypeVar("T")
REMEDY = (
    "install the same versions on every node, or ship one environment with --archives and name its Python in PYSPARK_PYTHON "
    "(docs/cluster.md); indextables.check_workers(spark) shows what the executors have"
)


@dataclass(frozen=True, slots=True)
class OnWorkers(Generic[T]):
    """A value for the tasks of a Spark job; a function can be called through it."""

    value: T

    def __call__(self, *args: Any) -> Any:
        with noted_errors():
            result = self.value(*args)  # type: ignore[operator] # whoever calls it has put a function in
        return noted(result) if isinstance(result, Iterator) else result

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (versions(), pickle.dumps(self.value, pickle.HIGHEST_PROTOCOL))


def compared(package: str, version: str) -> str:
    """What of a version must be the same on the driver and its workers: of Arrow, the major version; of others, all of it.

    >>> compared("pyarrow", "26.0.1"), compared("tantivy", "0.27.0")
    ('26', '0.27.0')
    """
    return version.partition(".")[0] if package == "pyarrow" else version


@cache
def versions() -> Mapping[str, str]:
    """The versions of this process that must be those of the driver: a table has one index format."""
    return {
        "indextables": __version__,
        "tantivy": str(tantivy.__version__).split(",")[0].removeprefix("tantivy v"),  # type: ignore[attr-defined] # it has
        "pyarrow": compared("pyarrow", pa.__version__),
    }


def _restored(drivers: Mapping[str, str], content: bytes) -> "OnWorkers[Any]":
    skip_pandas_import()
    refuse_other_versions(drivers, versions())
    return OnWorkers(pickle.loads(content))  # noqa: S301 - Spark has unpickled this function the same way


def refuse_other_versions(drivers: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Raises a WorkerEnvironmentError that names every package of another version.

    >>> refuse_other_versions({"tantivy": "0.27.0"}, {"tantivy": "0.26.0"})
    Traceback (most recent call last):
    indextables.errors.WorkerEnvironmentError: ... has tantivy 0.26.0, and the driver has tantivy 0.27.0; install ...
    """
    names = [name for name in drivers if drivers[name] != own.get(name)]
    if not names:
        return
    has, wanted = (", ".join(f"{name} {table.get(name)}" for name in names) for table in (own, drivers))
    host = platform.node()
    raise WorkerEnvironmentError(
        f"{sys.executable} on {host} has {has}, and the driver has {wanted}; {REMEDY}", python=sys.executable, host=host
    )
