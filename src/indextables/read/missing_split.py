"""Splits that the log lists and that the store does not have: those of old versions, after a vacuum (PURGE)."""

from collections.abc import Iterator
from contextlib import contextmanager

from indextables.errors import NotFoundError, SplitNotFoundError
from indextables.read.opener import SplitRef
from indextables.storage import Store


@contextmanager
def missing_split_errors(split: SplitRef, store: Store, version: int) -> Iterator[None]:
    """Within it, a NotFoundError for the split's file becomes a SplitNotFoundError that names the version."""
    try:
        yield
    except NotFoundError as error:
        name = store.name_of(split.path)
        if error.path != name:
            raise
        raise SplitNotFoundError(
            f"version {version} of {store.location} lists {split.path}, but the file does not exist; if the version is old, "
            "the file was purged: read a newer version. If the table was created anew, open it again. Otherwise, "
            "restore the file",
            path=name,
            version=version,
        ) from error
