"""Translates the errors of obstore and of the operating system to StorageErrors."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from obstore import exceptions as foreign

from indextables.errors import AccessDeniedError, AlreadyExistsError, IndexTablesError, NotFoundError, StorageError
from indextables.redaction import redacted

# What is refused while it is listed, or opened on disk, is a plain GenericError to obstore.
_REFUSED = {
    re.compile("status code: 40[13]"): foreign.PermissionDeniedError,
    re.compile(r"\(os error 13\)"): PermissionError,
    re.compile(r"\(os error 20\)"): NotADirectoryError,
}

# Obstore raises Python's own FileNotFoundError and ValueError (a key it cannot parse) besides its own error classes.
KINDS: dict[type[Exception], tuple[type[StorageError], str]] = {
    foreign.AlreadyExistsError: (AlreadyExistsError, "already exists"),
    foreign.PreconditionError: (AlreadyExistsError, "already exists"),
    foreign.NotFoundError: (NotFoundError, "does not exist"),
    foreign.PermissionDeniedError: (AccessDeniedError, "may not be accessed; check the credentials and their rights"),
    foreign.UnauthenticatedError: (AccessDeniedError, "needs credentials, and those given were not accepted"),
    foreign.InvalidPathError: (StorageError, "is not a key that the store accepts"),
    foreign.NotModifiedError: (StorageError, "has not been modified"),
    foreign.NotSupportedError: (StorageError, "needs an operation that the store does not support"),
    foreign.UnknownConfigurationKeyError: (StorageError, "was opened with a setting that the store does not have"),
    foreign.JoinError: (StorageError, "could not be processed: a background task failed"),
    foreign.GenericError: (StorageError, "could not be processed"),
    foreign.BaseError: (StorageError, "could not be processed"),
    FileExistsError: (AlreadyExistsError, "already exists"),
    FileNotFoundError: (NotFoundError, "does not exist"),
    NotADirectoryError: (NotFoundError, "does not exist: there is a file where a directory should be"),
    PermissionError: (AccessDeniedError, "may not be accessed; check its permissions"),
    OSError: (StorageError, "could not be processed"),
    ValueError: (StorageError, "is not a key that the store accepts"),
}


@contextmanager
def translate_errors(path: str, *, secrets: Sequence[str] = ()) -> Iterator[None]:
    """Within it, storage errors become StorageErrors that name `path` and contain no secrets."""
    try:
        yield
    except IndexTablesError:
        raise
    except tuple(KINDS) as error:
        message = without_secrets(str(error), secrets)
        error_type = next((kind for words, kind in _REFUSED.items() if words.search(message)), type(error))
        kind, what = next(KINDS[base] for base in error_type.__mro__ if base in KINDS)
        raised = kind(f"{path} {what}{_detail(kind, message)}", path=path)
        raise raised from (error if message == str(error) else None)


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text without these values, and without the credentials that the address of a request may carry.

    >>> without_secrets("GET https://a.net/t?sv=2024&sig=abc%3D failed: no such token tok", ["tok"])
    'GET https://a.net/t?sv=2024&sig=*** failed: no such ***en ***'
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    return redacted(text)


def _detail(kind: type[StorageError], message: str) -> str:
    """The first line of the store's message, where ours does not have all details."""
    first_line = message.partition("\n")[0]
    return f" ({first_line})" if first_line and kind in {StorageError, AccessDeniedError} else ""
