"""Splits that the log has and the store has not: the past, after a purge."""

from collections.abc import Iterator
from contextlib import contextmanager

from indextables.errors import NotFoundError, SplitGoneError
from indextables.read.opener import SplitRef
from indextables.storage import Store


@contextmanager
def told_if_gone(split: SplitRef, store: Store, version: int) -> Iterator[None]:
    """Inside, a split whose file is not there comes out as a SplitGoneError that names the version that needs it."""
    try:
        yield
    except NotFoundError as error:
        name = store.name_of(split.path)
        if error.path != name:
            raise
        raise SplitGoneError(
            f"version {version} of {store.location} needs {split.path}, whose file is not there any more; it was purged, "
            "if the version is an old one: read a newer one. If the table was made anew, open it again. Otherwise, "
            "restore the file",
            path=name,
            version=version,
        ) from error
