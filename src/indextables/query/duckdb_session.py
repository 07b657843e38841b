"""DuckDB over our scans: the connection of one query, its result, and its errors in our words."""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from indextables.expressions.closed_connection import closed_connection
from indextables.query.duckdb_dialect import invalid
from indextables.query.query_table import ScanStream
from indextables.query.select_plan import FindTable, SelectPlan, plan_select
from indextables.schema import available_columns_hint

_BATCH = 10_000
_HUGE = "HUGEINT"
_MISSING = re.compile(r'Referenced column "([^"]*)" (?:was )?not found')


class DuckDBSession:
    """Runs queries over tables; DuckDB sees their rows, and no file, network or extension.

    >>> with DuckDBSession() as session:
    ...     session.query("SELECT 6 * 7 AS answer", find_table=None).to_pylist()
    [{'answer': 42}]
    """

    def __init__(self, *, time_zone: str = "UTC") -> None:
        self._connection = closed_connection(threads=os.cpu_count() or 1, time_zone=time_zone, ieee_floats=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def query(
        self, text: str, find_table: FindTable, *, names: Collection[str] = (), limit: int | None = None
    ) -> pa.Table:
        """The result of a query, or its first rows; `find_table` opens the tables, `names` are those without a path."""
        plan = self.plan(text, find_table, names)
        tables = {relation.name: relation.rows() for relation in plan.relations}
        columns = [name for relation in plan.relations for name in relation.table.schema.names]
        with _blamed(text, list(tables.values()), list(dict.fromkeys(columns))):
            for name, rows in tables.items():
                self._connection.register(name, rows)
            result = self._connection.sql(plan.text)
            huge = [place for place, kind in enumerate(result.types) if str(kind) == _HUGE]
            return _with_names(_narrowed(_first_rows(result.to_arrow_reader(_BATCH), limit), huge))

    def plan(self, text: str, find_table: FindTable, names: Collection[str] = ()) -> SelectPlan:
        """What DuckDB runs for a query, and what is pushed down to the scans."""
        return plan_select(text, find_table, names, read_instant=self._read_instant)

    def _read_instant(self, text: str) -> int:
        [[number]] = self._connection.execute("SELECT epoch_us($text::TIMESTAMPTZ)", {"text": text}).fetchall()
        return int(number)


def _first_rows(reader: pa.RecordBatchReader, limit: int | None) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if limit is not None and rows >= limit:
            break
    found = pa.Table.from_batches(batches, reader.schema)
    return found if limit is None else found.slice(0, limit)


def _narrowed(rows: pa.Table, huge: Collection[int]) -> pa.Table:
    """Sums of integers as integers, where 64 bits hold them: Arrow has no wider ones, and DuckDB makes them decimals."""
    for place in huge:
        try:
            rows = rows.set_column(place, rows.field(place).name, pc.cast(rows.column(place), pa.int64()))
        except pa.ArrowInvalid:
            continue
    return rows


def _with_names(rows: pa.Table) -> pa.Table:
    """Each column with a name of its own: `n`, `n_1`.

    >>> _with_names(pa.table([[1], [2], [3]], names=["n", "n", "n_1"])).column_names
    ['n', 'n_2', 'n_1']
    """
    taken = set(rows.column_names)
    names: list[str] = []
    for name in rows.column_names:
        free = (f"{name}_{number}" for number in count(1))
        names.append(name if name not in names else next(one for one in free if one not in taken))
        taken.add(names[-1])
    return rows.rename_columns(names)


@contextmanager
def _blamed(text: str, tables: Collection[ScanStream | pa.Table], columns: list[str]) -> Iterator[None]:
    import duckdb  # noqa: PLC0415 - loaded by now

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        for rows in tables:
            if isinstance(rows, ScanStream) and rows.error is not None:
                raise rows.error from None
        raise invalid(text, _reason(error, columns)) from error


def _reason(error: Any, columns: list[str]) -> str:
    """DuckDB's error in one line, without the name of its kind and its picture of the query."""
    missing = _MISSING.search(str(error))
    if missing is not None and columns:
        return f"there is no column {missing[1]!r}; {available_columns_hint(missing[1], columns)}"
    lines = [line.strip() for line in str(error).split("\n\n", 1)[0].splitlines() if line.strip()]
    first = " ".join(lines).split(": ", 1)[-1]
    return first[:1].lower() + first[1:]
