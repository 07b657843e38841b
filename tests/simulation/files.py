"""The files of a simulated store, as a value: a request makes other files of them, and an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from indextables.errors import AlreadyExistsError, NotFoundError, StorageError
from indextables.storage import Entry


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What is stored under a key, and since when by the store's clock, in milliseconds."""

    content: bytes
    modified: int

    def entry(self, key: str) -> Entry:
        tag = blake2b(self.content, digest_size=8).hexdigest()
        return Entry(key, len(self.content), datetime.fromtimestamp(self.modified / 1000, UTC), tag)


@dataclass(frozen=True, slots=True)
class Request:
    """A call of a store. `wipe` deletes everything, as `rm -r` does."""

    verb: str
    key: str
    data: bytes = b""
    span: tuple[int, int] | None = None

    @property
    def writes(self) -> bool:
        return self.verb in {"put", "put_if_absent", "delete", "wipe"}

    def __str__(self) -> str:
        return f"{self.verb} {self.key}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a caller gets: a value, or an error."""

    value: Any = None
    error: type[StorageError] | None = None


def apply(files: Mapping[str, StoredFile], request: Request, now: int) -> tuple[Mapping[str, StoredFile], Answer]:
    """The files after a request, and its answer."""
    if not request.writes:
        return files, _read(files, request)
    if request.verb == "put_if_absent" and request.key in files:
        return files, Answer(error=AlreadyExistsError)
    if request.verb in {"put", "put_if_absent"}:
        return {**files, request.key: StoredFile(request.data, now)}, Answer()
    everything = request.verb == "wipe"
    return {key: file for key, file in files.items() if not (everything or key == request.key)}, Answer()


def _read(files: Mapping[str, StoredFile], request: Request) -> Answer:
    if request.verb == "list":
        return Answer(listed(files, request.key))
    found = files.get(request.key)
    if found is None:
        return Answer(error=NotFoundError)
    if request.verb == "head":
        return Answer(found.entry(request.key))
    return Answer(found.content if request.span is None else found.content[slice(*request.span)])


def listed(files: Mapping[str, StoredFile], prefix: str) -> tuple[Entry, ...]:
    under = f"{prefix}/" if prefix else ""
    return tuple(file.entry(key) for key, file in sorted(files.items()) if key.startswith(under))


def rotten(file: StoredFile, place: int) -> StoredFile:
    """The file with another bit at its beginning (0), in its middle (1) or at its end (2), of the same size and time."""
    content = bytearray(file.content)
    content[place * (len(content) - 1) // 2] ^= 1
    return replace(file, content=bytes(content))
