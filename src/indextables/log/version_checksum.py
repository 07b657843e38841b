"""The checksums of version files, and the chain that they make.

The first line of a version file, its commitInfo, has the checksum of the other lines, that of the version before, and at its
end its own, computed with zeros in its place. So the first line can be verified alone, and the chain by the first lines:

>>> from indextables.log.actions import Txn
>>> first = seal(CommitInfo(version=0), [Txn(app_id="loader", version=7)])
>>> second = seal(CommitInfo(version=1, previous_checksum=first.info.checksum), [])
>>> verify_content(first.content, first.info, 0)
>>> verify_chain(first.info.checksum, second.info, 1)
>>> verify_content(first.content.replace(b"loader", b"reader"), first.info, 0)
Traceback (most recent call last):
indextables.log.version_checksum.ChecksumError: its actions are not the ones that were written: their checksum differs

A version whose commitInfo names no version was made by another writer, and is not verified.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec
import pyarrow as pa

from indextables.log.actions import Action, CommitInfo
from indextables.log.codec import encode

ZEROS = "0" * 64
"""In the place of a checksum while it is computed."""
_SEAL = re.compile(rb'"checksum":"([0-9a-f]{64})"\}\}$')
_FIRST_LINE = re.compile(rb"[^\n]*")


class ChecksumError(ValueError):
    """A version file that is not the one that was written."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A commitInfo with its checksums, and the version file that begins with it."""

    info: CommitInfo
    content: bytes


def seal(info: CommitInfo, actions: Sequence[Action]) -> Sealed:
    """The version file of a commitInfo, which names its version, and of the actions after it."""
    rest = encode(actions)
    counted = msgspec.structs.replace(info, num_actions=len(actions), actions_checksum=_checksum(rest), checksum=ZEROS)
    sealed = msgspec.structs.replace(counted, checksum=_checksum(encode([counted]).rstrip(b"\n")))
    return Sealed(sealed, encode([sealed]) + rest)


def verify_content(content: bytes | pa.Buffer, info: CommitInfo, number: int) -> None:
    """Raises a ChecksumError unless a file, which has this commitInfo, is that of the version with this number."""
    data = memoryview(content).cast("B")
    end = _FIRST_LINE.match(data).end()  # type: ignore[union-attr]  # it matches anything
    if not verify_first_line(bytes(data[:end]), info, number):
        return
    rest = data[end + 1 :]
    if _checksum(rest) != info.actions_checksum:
        lines = len(bytes(rest).splitlines())
        raise ChecksumError(
            f"it has {lines} of its {info.num_actions} actions"
            if lines != info.num_actions
            else "its actions are not the ones that were written: their checksum differs"
        )


def verify_first_line(line: bytes, info: CommitInfo, number: int) -> bool:
    """Whether the first line of a version file, which has this commitInfo, has a checksum, which is then verified."""
    seal_ = _SEAL.search(line)
    if seal_ is None:
        if info.version is not None:
            raise ChecksumError("its first line has lost its checksum")
        return False
    if unsealed_checksum(line, *seal_.span(1)) != seal_[1].decode():
        raise ChecksumError("its first line is not the one that was written: its checksum differs")
    if info.version != number:
        raise ChecksumError(f"it is the file of version {info.version}")
    return True


def verify_chain(previous: str | None, info: CommitInfo, number: int) -> None:
    """Raises a ChecksumError where a version does not follow the one before it, which has the checksum `previous`."""
    if info.previous_checksum is not None and info.previous_checksum != previous:
        raise ChecksumError(
            f"it was written after a version {number - 1} with the checksum {info.previous_checksum[:12]}..., and version "
            f"{number - 1} has {'none' if previous is None else f'{previous[:12]}...'}: one of the two was replaced"
        )


def unsealed_checksum(data: bytes | memoryview, start: int, end: int) -> str:
    """The checksum of some data that holds it in a range: with zeros there."""
    digest = sha256(data[:start])
    digest.update(ZEROS.encode())
    digest.update(data[end:])
    return digest.hexdigest()


def _checksum(data: bytes | memoryview) -> str:
    return sha256(data).hexdigest()
