"""What a table must be like after streams have written to it, whatever has happened to their drivers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from indextables import IndexTable
from indextables.config import Config
from indextables.log import TransactionLog
from indextables.log.log_files import list_log
from indextables.log.version_file import Version, read_versions
from tests.cluster.table_state import split_files


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFigures:
    """What was found, once it has been checked. Orphans are files that no version has, before a vacuum."""

    rows: int
    versions: int
    batches: int
    merges: int
    splits: int
    orphans: int

    def __str__(self) -> str:
        return (
            f"{self.rows} rows, each once; {self.versions} contiguous versions, {self.batches} batches, each once, "
            f"{self.merges} merges; {self.splits} live splits, {self.orphans} orphans, none after a vacuum"
        )


def versions_of(path: str, options: Mapping[str, str]) -> list[Version]:
    """All versions from 0 on; a gap is an error."""
    log = TransactionLog.open(path, Config.resolve(options))
    files = list_log(log.store)
    return read_versions(log.store, files, 0, files.latest)


def batches_in(versions: Iterable[Version]) -> Counter[tuple[str, int]]:
    """How often each batch of a query was committed."""
    return Counter((txn.app_id, txn.version) for version in versions for txn in version.txns)


def check_rows(path: str, options: Mapping[str, str], expected: Iterable[int]) -> int:
    """The number of rows; their ids are the expected ones, each of them once."""
    table = IndexTable.open(path, options=options)
    found, wanted = Counter(table.scan(columns=["id"]).to_arrow()["id"].to_pylist()), Counter(expected)
    missing, doubled = wanted - found, found - wanted
    assert not missing, f"{missing.total()} rows of {path} are missing: {sorted(missing)[:10]}"
    assert not doubled, f"{doubled.total()} rows of {path} are doubled: {sorted(doubled)[:10]}"
    assert table.count() == wanted.total(), f"the log records {table.count()} rows, and {wanted.total()} are there"
    return found.total()


def check_table(path: str, options: Mapping[str, str], expected: Iterable[int]) -> TableFigures:
    """Every row once, every batch once, no gap between versions, and after a vacuum no file that is not needed."""
    expected = list(expected)
    check_rows(path, options, expected)
    versions = versions_of(path, options)
    batches = batches_in(versions)
    twice = [batch for batch, times in batches.items() if times > 1]
    assert not twice, f"batches are in the log more than once: {twice}"
    orphans = split_files(path, options) - {add.path for version in versions for add in version.adds}
    splits = check_vacuum(path, options)
    return TableFigures(
        rows=check_rows(path, options, expected),
        versions=len(versions),
        batches=len(batches),
        merges=sum(version.info.operation == "MERGE SPLITS" for version in versions),
        splits=splits,
        orphans=len(orphans),
    )


def check_vacuum(path: str, options: Mapping[str, str]) -> int:
    """The number of live splits; after a vacuum without retention there are no other files, and none is damaged."""
    table = IndexTable.open(path, options=options)
    table.purge(older_than="0s", force=True)
    findings = table.check(deep=True, sample=None).findings
    assert not findings, f"{path} is damaged: {findings}"
    live, left = set(table.splits()["path"].to_pylist()), split_files(path, options)
    assert left == live, f"after a vacuum, {left - live} are too many, and {live - left} are missing"
    return len(live)
