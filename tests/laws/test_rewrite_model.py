"""A table whose partitions are replaced and dropped, and whose layout changes, does what a list of rows does."""

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec import structs

from indextables import Layout, Transform
from indextables.errors import InvalidPredicateError, NonPartitionedTableError, RowsOutsideError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.write.write_plan import partition_spec
from tests.laws.effort import share
from tests.laws.test_table_model import CONDITIONS, LAYOUTS, ROWS, SCHEMA, START, TableModel

Row = dict[str, Any]
COLUMNS = {where: {c for c in SCHEMA.names if re.search(rf"\b{c}\b", where)} for where in CONDITIONS}
EXACT = sorted(where for where, columns in COLUMNS.items() if "note" not in columns)
EPOCH = START.replace(year=1970, month=1, day=1, hour=0)


def canonical(x: float | None) -> str | None:
    return None if x is None else str(x + 0.0)


def unit(hours: int) -> Callable[[Row], int | None]:
    """Hours or days since 1970, rounded down."""
    return lambda r: None if r["ts"] is None else (r["ts"] - EPOCH).total_seconds() // 3600 // hours


def bucket(r: Row) -> Any:
    return Transform.parse("bucket[3]").apply(pa.array([r["n"]], pa.int32()))[0].as_py()


PARTITION: dict[str, Callable[[Row], Any]] = {
    "": lambda r: (),
    "region": lambda r: r["region"],
    "x": lambda r: canonical(r["x"]),
    "day(ts)": unit(24),
    "region, bucket(3, n)": lambda r: (r["region"], bucket(r)),
    "truncate(1, region), hour(ts)": lambda r: (r["region"] and r["region"][:1], unit(1)(r)),
    "truncate(2, n), year(ts)": lambda r: (None if r["n"] is None else r["n"] // 2, r["ts"] and r["ts"].year),
}
assert list(PARTITION) == LAYOUTS


class RewriteModel(TableModel):
    @property
    def partition_columns(self) -> set[str]:
        """Those of every layout that the table has had."""
        specs = TransactionLog.open(self.table.path).snapshot().metadata.partition_specs
        return {field.source for spec in specs for field in spec.fields}

    def rename(self) -> None:  # no rule here: conditions and layouts name the column
        """Columns keep their names."""

    def became(self, rows: list[Row], version: int, *, changed: bool) -> None:
        if changed:
            self.states.append(rows)
            self.names.append(self.names[-1])
        assert version == len(self.states) - 1

    @rule(where=st.sampled_from(EXACT), rows=st.lists(ROWS, max_size=6), rows_inside=st.booleans())
    def replace_where(self, where: str, rows: list[Row], *, rows_inside: bool) -> None:
        if not self.allowed(where):
            return
        inside = [row for row in rows if CONDITIONS[where](row)]
        left = [row for row in self.states[-1] if not CONDITIONS[where](row)]
        if len(inside) < len(rows) and not rows_inside:
            with pytest.raises(RowsOutsideError) as error:
                self.table.replace_where(pa.Table.from_pylist(rows, SCHEMA), where)
            assert error.value.rows == len(rows) - len(inside)
            return
        changed = bool(inside) or len(left) < len(self.states[-1])
        version = self.table.replace_where(pa.Table.from_pylist(inside, SCHEMA), where)
        self.became(left + inside, version, changed=changed)

    @rule(where=st.sampled_from(EXACT), dry_run=st.booleans())
    def drop(self, where: str, *, dry_run: bool) -> None:
        if not self.allowed(where):
            return
        before = self.table.version
        left = [row for row in self.states[-1] if not CONDITIONS[where](row)]
        gone = len(self.states[-1]) - len(left)
        dropped = self.table.drop_partitions(where, dry_run=dry_run)
        assert dropped.rows == gone
        if dry_run:
            assert (dropped.version, self.table.refresh().version) == (before, before)
        else:
            self.became(left, dropped.version, changed=bool(gone))

    @rule(rows=st.lists(ROWS, max_size=4))
    def overwrite_partitions(self, rows: list[Row]) -> None:
        key = PARTITION[str(self.table.layout)]
        given = {key(row) for row in rows}
        left = [row for row in self.states[-1] if key(row) not in given]
        options = {"partitionOverwriteMode": "dynamic"}
        version = self.table.overwrite(pa.Table.from_pylist(rows, SCHEMA), options=options)
        self.became(left + rows, version, changed=bool(rows))

    @rule(layout=st.sampled_from(LAYOUTS))
    def evolve(self, layout: str) -> None:
        if layout == str(self.table.layout):
            return
        log = TransactionLog.open(self.table.path)
        snapshot = log.snapshot()
        specs = list(snapshot.metadata.partition_specs)
        spec = partition_spec(Layout.parse(layout).bind(SCHEMA), len(specs))
        metadata = structs.replace(snapshot.metadata, partition_specs=[*specs, spec], current_spec_id=spec.spec_id)
        log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=metadata))
        self.became(self.states[-1], self.table.refresh().version, changed=True)

    def allowed(self, where: str) -> bool:
        """Whether the condition is on partition columns; it is refused otherwise, and the table stays as it is."""
        if self.partition_columns and COLUMNS[where] <= self.partition_columns:
            return True
        with pytest.raises((InvalidPredicateError, NonPartitionedTableError)):
            self.table.drop_partitions(where)
        with pytest.raises((InvalidPredicateError, NonPartitionedTableError)):
            self.table.replace_where(SCHEMA.empty_table(), where)
        return False


TestRewriteModel = RewriteModel.TestCase
TestRewriteModel.settings = share(10, steps=15)
