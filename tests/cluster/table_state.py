"""What a table must be like after whatever has happened: every row once, no damage, no file that stays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from indextables import IndexTable
from indextables.config import Config
from indextables.storage import open_store
from tests.cluster.driver import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """Counts of rows and of files that no version refers to, and what is not as it should be."""

    expected: int
    found: int
    distinct: int
    orphans: int
    orphans_after_vacuum: int
    violations: tuple[str, ...]


def inspect_table(spark: Any, path: str, place: Place, expected: pa.Table) -> TableState:
    """Compares a table with the rows that it must have, before and after a vacuum; `id` is unique in them."""
    before = _unreferenced(path, place.options)
    violations = _row_violations(spark, path, place, expected)
    IndexTable.open(path, options=place.options).vacuum(older_than="0s", force=True)
    after = _unreferenced(path, place.options)
    violations += [f"{name} is still there after a vacuum" for name in after]
    table = IndexTable.open(path, options=place.options)
    violations += [str(finding) for finding in table.check(deep=True, sample=None).findings]
    rows = table.scan().to_arrow()
    violations += [] if _same(rows, expected) else ["the rows are not the expected ones"]
    return TableState(
        expected=len(expected),
        found=len(rows),
        distinct=len(rows["id"].unique()),
        orphans=len(before),
        orphans_after_vacuum=len(after),
        violations=tuple(violations),
    )


def split_files(path: str, options: Mapping[str, str]) -> set[str]:
    """Every split in the store, of whatever version, and every temporary file of a writer."""
    store = open_store(path, Config.resolve(options))
    return {entry.key for entry in store.list() if entry.key.endswith(".split") or "/.tmp-" in f"/{entry.key}"}


def _unreferenced(path: str, options: Mapping[str, str]) -> set[str]:
    """The splits that no version of the table has."""
    table = IndexTable.open(path, options=options)
    versions = [row["version"] for row in table.history().to_pylist()]
    known = {name for version in versions for name in table.at(version=version).splits()["path"].to_pylist()}
    return split_files(path, options) - known


def _row_violations(spark: Any, path: str, place: Place, expected: pa.Table) -> list[str]:
    """The rows as executors read them, and as the log counts them."""
    frame = spark.read.format("indextables").options(**place.options).load(path)
    read = frame.selectExpr("count(id)", "sum(id)", "count(DISTINCT id)").collect()[0]
    ids = expected["id"]
    wanted = (len(ids), sum(ids.to_pylist()), len(ids.unique()))
    violations = [] if tuple(read) == wanted else [f"count, sum and distinct ids are {tuple(read)}, not {wanted}"]
    recorded = IndexTable.open(path, options=place.options).count()
    return violations if recorded == len(ids) else [*violations, f"the log records {recorded} rows, not {len(ids)}"]


def _same(rows: pa.Table, expected: pa.Table) -> bool:
    """Whether they are equal as multisets."""
    if set(rows.column_names) != set(expected.column_names):
        return False
    rows = rows.select(expected.column_names).cast(expected.schema)
    keys = [(name, "ascending") for name in expected.column_names]
    return bool(rows.sort_by(keys).equals(expected.sort_by(keys)))
