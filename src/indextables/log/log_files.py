"""The files of a transaction log: what they are called, and which ones are there.

Version files are written with 18 digits. Any width is read, and they are ordered by number, never by name.

>>> commit_key(10)
'_transaction_log/000000000000000010.json'
"""

import re
from collections import defaultdict
from dataclasses import dataclass

from indextables.errors import CorruptLogError
from indextables.storage import Entry, Store

DIRECTORY = "_transaction_log"
HINT_KEY = f"{DIRECTORY}/_last_checkpoint"
_COMMIT = re.compile(rf"{DIRECTORY}/([0-9]+)\.json")
_CHECKPOINT = re.compile(rf"{DIRECTORY}/([0-9]+)\.checkpoint\.parquet")


def commit_key(version: int) -> str:
    return f"{DIRECTORY}/{version:018}.json"


def checkpoint_key(version: int) -> str:
    return f"{DIRECTORY}/{version:018}.checkpoint.parquet"


@dataclass(frozen=True, slots=True)
class LogFiles:
    """A listing of the log; `others` are the hint, leftovers of killed writers, and unknown files."""

    commits: dict[int, Entry]
    checkpoints: dict[int, Entry]
    others: list[Entry]

    @property
    def entries(self) -> set[Entry]:
        return {*self.commits.values(), *self.checkpoints.values(), *self.others}

    @property
    def keys(self) -> set[str]:
        return {entry.key for entry in self.entries}

    @property
    def latest(self) -> int:
        """The newest version, -1 where there is none."""
        return max(self.commits.keys() | self.checkpoints.keys(), default=-1)

    @property
    def earliest(self) -> int:
        """The oldest version from which the table can be built; only meaningful where there is a log."""
        return 0 if 0 in self.commits else min(self.checkpoints, default=0)

    def commit_keys(self, first: int, last: int) -> list[str]:
        """The keys of versions `first` to `last`.

        A listing during writes may miss a version and yet have a later one, so a version that is not listed is
        still read by its name.
        """
        return [self.commits[v].key if v in self.commits else commit_key(v) for v in range(first, last + 1)]


UNLISTED = LogFiles({}, {}, [])


@dataclass(frozen=True, slots=True)
class LogListing:
    """All files of a log by version, of which a damaged log may have several under different names."""

    commits: dict[int, list[Entry]]
    checkpoints: dict[int, list[Entry]]
    others: list[Entry]


def list_log(store: Store, *, since: int = 0) -> LogFiles:
    """The files of a log; with `since`, those of that version and later ones, if their names have 18 digits."""
    listing = list_log_entries(store, since=since)
    return LogFiles(_single(listing.commits, store), _single(listing.checkpoints, store), listing.others)


def list_log_entries(store: Store, *, since: int = 0) -> LogListing:
    """The same, also where two files have one version, which `list_log` refuses."""
    after = f"{DIRECTORY}/{since:018}" if since else ""
    commits: defaultdict[int, list[Entry]] = defaultdict(list)
    checkpoints: defaultdict[int, list[Entry]] = defaultdict(list)
    others: list[Entry] = []
    for entry in store.list(DIRECTORY, after=after):
        if match := _COMMIT.fullmatch(entry.key):
            commits[int(match[1])].append(entry)
        elif match := _CHECKPOINT.fullmatch(entry.key):
            checkpoints[int(match[1])].append(entry)
        else:
            others.append(entry)
    return LogListing(dict(commits), dict(checkpoints), others)


def _single(found: dict[int, list[Entry]], store: Store) -> dict[int, Entry]:
    for version, entries in found.items():
        if len(entries) > 1:
            raise CorruptLogError(
                f"{store.location} has version {version} twice, as {entries[0].key} and {entries[1].key}; "
                "find out which one is real and move the other out of the log",
                table=str(store.location),
                version=version,
            )
    return {version: entries[0] for version, entries in found.items()}
