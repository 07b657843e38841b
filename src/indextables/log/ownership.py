"""Which files below a table's root belong to the table, to another table, or to neither.

A writer names its splits by the table that they are for, by its job, and by chance:

>>> name = split_name("d2c0", task=3, job="0123456789ab")
>>> re.sub("[0-9a-f]{32}", "<random>", name)
'part-00003-63aae265-0123456789ab-<random>.split'
>>> is_split_of_job(f"day=mon/{name}", "0123456789ab")
True
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from uuid import uuid4

from indextables.layout.partition_paths import is_directory_of
from indextables.log.actions import Metadata
from indextables.log.log_files import DIRECTORY
from indextables.storage import Entry, Store
from indextables.storage.local import TEMPORARY

_SPLIT = re.compile(r"part-[0-9]{5,}-(?P<table>[0-9a-f]{8})-(?P<job>[0-9a-f]{12})-[0-9a-f]{32}\.split")
_VECTORS = re.compile(r"vectors-(?P<table>[0-9a-f]{8})-[0-9a-f]{32}\.bin")
_TEMPORARY = re.compile(rf"{re.escape(TEMPORARY)}[0-9a-f]{{32}}")


def split_name(table_id: str, *, task: int, job: str) -> str:
    """The name of a new split of a table, without its directory."""
    return f"part-{task:05}-{_mark(table_id)}-{job}-{uuid4().hex}.split"


def vectors_name(table_id: str) -> str:
    """The name of a new file of deletion vectors; it is in the table's root."""
    return f"vectors-{_mark(table_id)}-{uuid4().hex}.bin"


def is_split_of_job(key: str, job: str) -> bool:
    """Whether a split was written by the job with this id, or by one of those whose ids match a pattern such as `0123*`."""
    match = _SPLIT.fullmatch(_name(key))
    return match is not None and fnmatchcase(match["job"], job)


def is_vectors(key: str) -> bool:
    """Whether a file has deletion vectors, by its name."""
    return _VECTORS.fullmatch(key) is not None


def is_temporary(key: str) -> bool:
    """Whether a file is a temporary file of the local store."""
    return _TEMPORARY.fullmatch(_name(key)) is not None


@dataclass(frozen=True, slots=True)
class Ownership:
    """The file names of one table, and the partition columns in the directory names of each layout."""

    mark: str
    layouts: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, metadata: Metadata) -> "Ownership":
        return cls(_mark(metadata.id), tuple({tuple(layout.names) for layout in metadata.layouts.values()}))

    def includes(self, key: str) -> bool:
        """Whether a writer of this table may have written the file: by its name, in a directory of one of the layouts."""
        directory, _, name = key.rpartition("/")
        if vectors := _VECTORS.fullmatch(key):
            return vectors["table"] == self.mark
        match = _SPLIT.fullmatch(name)
        known = match["table"] == self.mark if match else is_temporary(key)
        return known and any(is_directory_of(names, directory) for names in self.layouts)


def files_of_table(store: Store) -> list[Entry]:
    """The files below a table's root outside of its log. Those of other tables below it are left out, and so are links."""
    entries = [entry for entry in store.list() if not entry.key.startswith(f"{DIRECTORY}/")]
    tables = nested_tables(entry.key for entry in entries)
    own = (entry for entry in entries if not entry.link)
    return [entry for entry in own if not tables or tables.isdisjoint(_parents(entry.key))]


def nested_tables(keys: Iterable[str]) -> set[str]:
    """The directories below the root that hold a log of their own.

    >>> nested_tables(["_transaction_log/0.json", "day=mon/a.split", "old/t/_transaction_log/0.json"])
    {'old/t'}
    """
    parted = (f"{key}/".partition(f"/{DIRECTORY}/") for key in keys)
    return {before for before, found, _ in parted if found}


def _parents(key: str) -> Iterator[str]:
    while key := key.rpartition("/")[0]:
        yield key


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _mark(table_id: str) -> str:
    """A table's id, as it stands in the names of its splits; ids of other writers may be any text."""
    return sha256(table_id.encode()).hexdigest()[:8]
