"""Two writers of one table, one of them second: what each pair of operations comes to.

A case is a table, what the loser does, what the winner has committed before it, and the numbers that are left; None
where the loser has to fail. Tests run the cases with handles, threads and processes of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from msgspec import structs

from indextables import IndexTable
from indextables.log import Operation, Transaction, TransactionLog
from tests.maintain.samples import SCHEMA, made, rows

Act = Callable[[IndexTable], object]
Make = Callable[[Path], IndexTable]
DYNAMIC = {"partitionOverwriteMode": "dynamic"}
SHARING = {
    "spark.indextables.coalesce.enabled": "true",
    "spark.indextables.coalesce.columns": "month",
    "spark.indextables.coalesce.minRows": "3",
}
BATCH = {"txnAppId": "loader", "txnVersion": "1"}
KEEP_VECTORS = {"spark.indextables.deletionVectors.maxDeletedShare": "1"}
FAILS = None


@dataclass(frozen=True, slots=True)
class Case:
    title: str
    name: str
    make: Make
    loser: Act
    winner: Act
    left: list[int] | None


def by_year(path: Path) -> IndexTable:
    """Two splits of 2023, with 1 to 3, one of 2024 with 4."""
    table = made(path, "year")
    table.append(rows([2023, 2023], ["1", "2"], [1, 2]))
    table.append(rows([2023, 2024], ["2", "1"], [3, 4]))
    return table


def by_month(path: Path) -> IndexTable:
    """One split with the years 2023 to 2027, with 1 to 5: whatever chooses years has to copy the others."""
    table = made(path, "month")
    table.append(rows([2023, 2024, 2025, 2026, 2027], ["1"] * 5, [1, 2, 3, 4, 5]))
    table.evolve_layout("month, bucket(2, year)")
    return table


def two_splits(path: Path) -> IndexTable:
    """Two splits of one partition, with 1 to 5 and 6 to 10: a row that is deleted leaves a deletion vector."""
    table = made(path, "year")
    table.append(rows([2023] * 5, ["1"] * 5, range(1, 6)))
    table.append(rows([2023] * 5, ["1"] * 5, range(6, 11)))
    return table


def shared(path: Path) -> IndexTable:
    """The months 1 to 3 share a split, with 1 to 4, where 2 and 3 are those of month 2; month 9 has its own, with 5 to 7."""
    table = IndexTable.create(path, SCHEMA, partition_by="year, month", properties=SHARING)
    table.append(rows([2023] * 7, ["1", "2", "2", "3", "9", "9", "9"], range(1, 8)))
    return table


def unlisted(path: Path) -> IndexTable:
    """The same, and the log does not list all that shares a split."""
    properties = {**SHARING, "spark.indextables.coalesce.maxTuples": "1"}
    table = IndexTable.create(path, SCHEMA, partition_by="year, month", properties=properties)
    table.append(rows([2023] * 7, ["1", "2", "2", "3", "9", "9", "9"], range(1, 8)))
    return table


def row(year: int | None, n: int, month: str | None = "1") -> pa.Table:
    return rows([year], [month], [n])


def append(year: int | None = 2023, month: str | None = "1", **options: str) -> Act:
    return lambda table: table.append(row(year, 100, month), options=options)


def replace(where: str, year: int = 2023, month: str = "1") -> Act:
    return lambda table: table.replace_where(row(year, 200, month), where)


def clear(where: str) -> Act:
    """The condition's rows replaced by none."""
    return lambda table: table.replace_where(SCHEMA.empty_table(), where)


def dynamic(year: int | None = 2023, month: str | None = "1") -> Act:
    return lambda table: table.overwrite(row(year, 200, month), options=DYNAMIC)


def drop(where: str) -> Act:
    return lambda table: table.drop_partitions(where)


def delete(where: str, **options: str) -> Act:
    return lambda table: table.delete(where, options=options)


def update(where: str, n: str = "n + 20") -> Act:
    return lambda table: table.update({"n": n}, where)


def upsert(*numbers: int) -> Act:
    """Rows with these numbers: those that are there get 50 more, the others are inserted."""

    def act(table: IndexTable) -> None:
        source = rows([2023] * len(numbers), ["1"] * len(numbers), numbers)
        matched = table.merge(source, "t.n = s.n AND t.year = s.year").when_matched_update({"n": "t.n + 50"})
        matched.when_not_matched_insert_all().execute()

    return act


def insert_missing(*numbers: int) -> Act:
    """A MERGE INTO that inserts the numbers that are not there, and changes no row."""
    source = rows([2023] * len(numbers), ["1"] * len(numbers), numbers)
    return lambda table: table.merge(source, "t.n = s.n").when_not_matched_insert_all().execute()


def restore(version: int) -> Act:
    return lambda table: table.restore(version)


def merge(where: str) -> Act:
    return lambda table: table.merge_splits(where=where)


def merge_and_refresh(table: IndexTable) -> None:
    """A merge that loses all its groups leaves the handle where it was."""
    table.merge_splits(where="year = 2023")
    table.refresh()


def append_and_merge(table: IndexTable) -> None:
    """Two versions: month 2 gets a row, and then shares one split with what had been there."""
    table.append(row(2023, 100, "2"))
    assert table.merge_splits().merged == 1


def overwrite(table: IndexTable) -> None:
    table.overwrite(row(2021, 300))


def evolve(table: IndexTable) -> None:
    table.evolve_layout("month")


def add_column(table: IndexTable) -> None:
    table.add_column("note", "string")


def set_property(table: IndexTable) -> None:
    log = TransactionLog.open(table.path)
    snapshot = log.snapshot()
    metadata = structs.replace(snapshot.metadata, properties={"owner": "me"})
    log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=metadata))


Rows = list[tuple[str, Act, Act, list[int] | None]]

REPLACE: Rows = [
    ("append inside", replace("year = 2023"), append(2023), FAILS),
    ("append outside", replace("year = 2023"), append(2024), [4, 100, 200]),
    ("append of null", replace("year = 2023"), append(None), [4, 100, 200]),
    ("batch of a stream inside", replace("year = 2023"), append(2023, **BATCH), FAILS),
    ("batch of a stream outside", replace("year = 2023"), append(2024, **BATCH), [4, 100, 200]),
    ("overwrite", replace("year = 2023"), overwrite, FAILS),
    ("replace the same", replace("year = 2023"), replace("year = 2023"), FAILS),
    ("replace another", replace("year = 2023"), replace("year = 2024", 2024), [200, 200]),
    ("replace the same emptiness", replace("year >= 2025", 2030), replace("year >= 2025", 2031), FAILS),
    ("replace beside", replace("year > 2025", 2030), replace("year = 2025", 2025), [1, 2, 3, 4, 200, 200]),
    ("clear the same", replace("year = 2023"), clear("year = 2023"), FAILS),
    ("drop the same", replace("year = 2023"), drop("year = 2023"), FAILS),
    ("drop another", replace("year = 2023"), drop("year = 2024"), [200]),
    ("partitions, the same", replace("year = 2023"), dynamic(2023), FAILS),
    ("partitions, others", replace("year = 2023"), dynamic(2024), [200, 200]),
    ("merge inside", replace("year = 2023"), merge("year = 2023"), [4, 200]),
    ("merge outside", replace("year = 2024", 2024), merge("year = 2023"), [1, 2, 3, 200]),
    ("layout", replace("year = 2023"), evolve, FAILS),
    ("column", replace("year = 2023"), add_column, FAILS),
    ("property", replace("year = 2023"), set_property, [4, 200]),
    ("restore", replace("year = 2023"), restore(1), FAILS),
]

CLEAR: Rows = [
    ("append inside", clear("year = 2023"), append(2023), FAILS),
    ("append outside", clear("year = 2023"), append(2024), [4, 100]),
    ("drop the same", clear("year = 2023"), drop("year = 2023"), FAILS),
    ("drop another", clear("year = 2023"), drop("year = 2024"), []),
]

PARTITIONS: Rows = [
    ("append inside", dynamic(2023), append(2023), FAILS),
    ("append outside", dynamic(2023), append(2024), [4, 100, 200]),
    ("append of null", dynamic(2023), append(None), [4, 100, 200]),
    ("null, append of another", dynamic(None), append(2023), [1, 2, 3, 4, 100, 200]),
    ("null, append of null", dynamic(None), append(None), FAILS),
    ("batch of a stream inside", dynamic(2023), append(2023, **BATCH), FAILS),
    ("batch of a stream outside", dynamic(2023), append(2024, **BATCH), [4, 100, 200]),
    ("overwrite", dynamic(2023), overwrite, FAILS),
    ("the same", dynamic(2023), dynamic(2023), FAILS),
    ("others", dynamic(2023), dynamic(2024), [200, 200]),
    ("new ones, both", dynamic(2030), dynamic(2030), FAILS),
    ("replace the same", dynamic(2023), replace("year = 2023"), FAILS),
    ("replace another", dynamic(2023), replace("year = 2024", 2024), [200, 200]),
    ("drop the same", dynamic(2023), drop("year = 2023"), FAILS),
    ("drop another", dynamic(2023), drop("year = 2024"), [200]),
    ("merge inside", dynamic(2023), merge("year = 2023"), [4, 200]),
    ("merge outside", dynamic(2024), merge("year = 2023"), [1, 2, 3, 200]),
    ("layout", dynamic(2023), evolve, FAILS),
    ("column", dynamic(2023), add_column, FAILS),
    ("property", dynamic(2023), set_property, FAILS),
    ("restore", dynamic(2023), restore(1), FAILS),
]

OVERWRITE: Rows = [
    ("append", overwrite, append(2021), FAILS),
    ("batch of a stream", overwrite, append(2021, **BATCH), FAILS),
    ("overwrite", overwrite, overwrite, FAILS),
    ("replace", overwrite, replace("year = 2024", 2024), FAILS),
    ("partitions", overwrite, dynamic(2024), FAILS),
    ("drop", overwrite, drop("year = 2024"), FAILS),
    ("merge", overwrite, merge("year = 2023"), [300]),
    ("layout", overwrite, evolve, FAILS),
    ("column", overwrite, add_column, FAILS),
    ("property", overwrite, set_property, FAILS),
    ("restore", overwrite, restore(1), FAILS),
]

DROP: Rows = [
    ("append inside", drop("year = 2023"), append(2023), [4]),
    ("append outside", drop("year = 2023"), append(2024), [4, 100]),
    ("batch of a stream inside", drop("year = 2023"), append(2023, **BATCH), [4]),
    ("overwrite", drop("year = 2023"), overwrite, [300]),
    ("replace", drop("year = 2023"), replace("year = 2023"), [4]),
    ("partitions", drop("year = 2023"), dynamic(2024), [200]),
    ("drop the same", drop("year = 2023"), drop("year = 2023"), [4]),
    ("drop more", drop("year = 2023"), drop("year >= 2023"), []),
    ("merge", drop("year = 2023"), merge("year = 2023"), [4]),
    ("layout", drop("year = 2023"), evolve, [4]),
    ("column", drop("year = 2023"), add_column, [4]),
    ("property", drop("year = 2023"), set_property, [4]),
    ("restore", drop("year = 2024"), restore(1), [1, 2]),
]

RESTORE: Rows = [
    ("append", restore(1), append(2023), [1, 2]),
    ("batch of a stream", restore(1), append(2023, **BATCH), [1, 2]),
    ("overwrite", restore(1), overwrite, [1, 2]),
    ("replace", restore(1), replace("year = 2023"), [1, 2]),
    ("drop", restore(1), drop("year = 2023"), [1, 2]),
    ("delete", restore(1), delete("n = 1", **KEEP_VECTORS), [1, 2]),
    ("merge", restore(1), merge("year = 2023"), [1, 2]),
    ("layout", restore(1), evolve, [1, 2]),
    ("column", restore(1), add_column, [1, 2]),
    ("property", restore(1), set_property, [1, 2]),
    ("restore of the same", restore(1), restore(1), [1, 2]),
    ("restore of another", restore(1), restore(0), [1, 2]),
]

DELETE: Rows = [
    ("restore", delete("n = 1", **KEEP_VECTORS), restore(1), [2]),
    ("restore without its rows", delete("n = 1", **KEEP_VECTORS), restore(0), []),
    ("merge of the same split", delete("n = 1", **KEEP_VECTORS), merge("year = 2023"), [2, 3, 4]),
]

MERGE: Rows = [
    ("delete in a source", merge_and_refresh, delete("n = 1", **KEEP_VECTORS), [2, 3, 4]),
    ("delete of a whole source", merge_and_refresh, delete("n = 3"), [1, 2, 4]),
    ("delete elsewhere", merge_and_refresh, delete("n = 4"), [1, 2, 3]),
    ("restore", merge_and_refresh, restore(1), [1, 2]),
]

APPEND: Rows = [
    ("overwrite", append(2023), overwrite, [100, 300]),
    ("replace", append(2023), replace("year = 2023"), [4, 100, 200]),
    ("partitions", append(2023), dynamic(2023), [4, 100, 200]),
    ("drop", append(2023), drop("year = 2023"), [4, 100]),
    ("restore", append(2023), restore(1), [1, 2, 100]),
    ("the same batch", append(2023, **BATCH), append(2023, **BATCH), [1, 2, 3, 4, 100]),
]

COPY: Rows = [
    ("replace, append inside", replace("year = 2023"), append(2023), FAILS),
    ("replace, append outside", replace("year = 2023"), append(2025), [2, 3, 4, 5, 100, 200]),
    ("replace, drop of all else", replace("year = 2023"), drop("year <> 2023"), FAILS),
    ("replace, replace of the same split", replace("year = 2023"), replace("year = 2024", 2024), FAILS),
    ("drop, append inside", drop("year = 2023"), append(2023), [2, 3, 4, 5]),
    ("drop, append outside", drop("year = 2023"), append(2025), [2, 3, 4, 5, 100]),
    ("drop, replace", drop("year = 2023"), replace("year = 2023"), [2, 3, 4, 5]),
    ("drop, drop of the same split", drop("year = 2023"), drop("year = 2024"), [3, 4, 5]),
]

SHARE: Rows = [
    ("replace, append inside", replace("month = '1'"), append(), FAILS),
    ("replace, append outside", replace("month = '1'"), append(month="2"), [2, 3, 4, 5, 6, 7, 100, 200]),
    ("replace, drop of the same split", replace("month = '1'"), drop("month = '3'"), FAILS),
    ("replace, drop of another", replace("month = '1'"), drop("month = '9'"), [2, 3, 4, 200]),
    ("replace, merge of the same split", replace("month = '1'"), append_and_merge, FAILS),
    ("replace, merge of another", replace("month = '9'", month="9"), append_and_merge, [1, 2, 3, 4, 100, 200]),
    ("partitions, append inside", dynamic(), append(), FAILS),
    ("partitions, append outside", dynamic(), append(month="2"), [2, 3, 4, 5, 6, 7, 100, 200]),
    ("partitions, those of the same split", dynamic(), dynamic(month="2"), FAILS),
    ("drop, append inside", drop("month = '1'"), append(), [2, 3, 4, 5, 6, 7]),
    ("drop, drop of the same split", drop("month = '1'"), drop("month = '2'"), [4, 5, 6, 7]),
    ("drop, merge of the same split", drop("month = '1'"), append_and_merge, [2, 3, 4, 5, 6, 7, 100]),
    ("overwrite, append", overwrite, append(month="2"), FAILS),
]

ROWS: Rows = [
    ("delete, delete of another row", delete("n = 1"), delete("n = 2"), [3, 4, 5, 6, 7, 8, 9, 10]),
    ("delete, delete of the same row", delete("n = 1"), delete("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("delete, delete of some of its rows", delete("n IN (1, 6)"), delete("n IN (1, 7)"), [2, 3, 4, 5, 8, 9, 10]),
    ("delete, delete in another split", delete("n = 1"), delete("n = 6"), [2, 3, 4, 5, 7, 8, 9, 10]),
    ("delete, delete of the other rows", delete("n = 1"), delete("n BETWEEN 2 AND 5"), [6, 7, 8, 9, 10]),
    ("delete, delete of its split", delete("n = 1"), delete("n <= 5"), [6, 7, 8, 9, 10]),
    ("delete of a split, delete of a row", delete("n <= 5"), delete("n = 1"), [6, 7, 8, 9, 10]),
    ("delete of many, delete of a row", delete("n <= 4"), delete("n = 5"), [6, 7, 8, 9, 10]),
    ("delete, append inside", delete("n = 1 OR n = 100"), append(), [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("delete, append outside", delete("n = 1"), append(), [2, 3, 4, 5, 6, 7, 8, 9, 10, 100]),
    ("delete, merge", delete("n = 1"), merge("year = 2023"), [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("delete, overwrite", delete("n = 1"), overwrite, [300]),
    ("delete, replace", delete("n = 1"), replace("year = 2023"), [200]),
    ("delete, drop", delete("n = 1"), drop("year = 2023"), []),
    ("delete, layout", delete("n = 1"), evolve, [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("delete, column", delete("n <= 3"), add_column, [4, 5, 6, 7, 8, 9, 10]),
    ("delete, property", delete("n = 1"), set_property, [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("append, delete", append(), delete("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 100]),
    ("batch of a stream, delete", append(**BATCH), delete("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 100]),
    ("merge, delete", merge_and_refresh, delete("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("merge, delete of a split", merge_and_refresh, delete("n <= 5"), [6, 7, 8, 9, 10]),
    ("overwrite, delete", overwrite, delete("n = 1"), FAILS),
    ("replace, delete", replace("year = 2023"), delete("n = 1"), FAILS),
    ("replace of others, delete", replace("year = 2024", 2024), delete("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 200]),
    ("partitions, delete", dynamic(2023), delete("n = 1"), FAILS),
    ("drop, delete", drop("year = 2023"), delete("n = 1"), []),
]

CHANGES: Rows = [
    ("update, update of the same row", update("n = 1"), update("n = 1", "n + 5"), [2, 3, 4, 5, 6, 6, 7, 8, 9, 10]),
    ("update, update of another row", update("n = 1"), update("n = 2"), [3, 4, 5, 6, 7, 8, 9, 10, 21, 22]),
    ("update, delete of the same row", update("n = 1"), delete("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("delete, update of the same row", delete("n = 1"), update("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 21]),
    ("update, append inside", update("n IN (1, 100)"), append(), [*range(2, 11), 21, 120]),
    ("update, merge", update("n = 1"), merge("year = 2023"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 21]),
    ("update, overwrite", update("n = 1"), overwrite, [300]),
    ("update, drop", update("n = 1"), drop("year = 2023"), []),
    ("update, column", update("n = 1"), add_column, [2, 3, 4, 5, 6, 7, 8, 9, 10, 21]),
    ("merge, update", merge_and_refresh, update("n = 1"), [2, 3, 4, 5, 6, 7, 8, 9, 10, 21]),
    ("overwrite, update", overwrite, update("n = 1"), FAILS),
    ("upsert, upsert of a new row", upsert(11), upsert(11), [*range(1, 11), 61]),
    ("upsert, upsert of an old row", upsert(1), upsert(1), [*range(1, 11), 51]),
    ("upsert, upsert of others", upsert(1, 11), upsert(2, 12), [*range(3, 11), 11, 12, 51, 52]),
    ("upsert, delete of its row", upsert(1), delete("n = 1"), [*range(1, 11)]),
    ("upsert, update to its key", upsert(20), update("n = 1", "20"), [*range(2, 11), 70]),
    ("upsert, append inside", upsert(100), append(), [*range(1, 11), 150]),
    ("upsert, append outside", upsert(1), append(), [*range(2, 11), 51, 100]),
    ("upsert, merge", upsert(1, 11), merge("year = 2023"), [*range(2, 11), 11, 51]),
    ("upsert, overwrite", upsert(1), overwrite, [1, 300]),
    ("append, upsert", append(), upsert(1), [*range(2, 11), 51, 100]),
    ("insert, delete of what it has matched", insert_missing(1, 11), delete("n = 1"), list(range(1, 12))),
    ("insert, drop of what it has matched", insert_missing(1, 11), drop("year = 2023"), [1, 11]),
    ("insert, delete of others", insert_missing(1, 11), delete("n = 6"), [*range(1, 6), *range(7, 12)]),
]

MATRIX = {
    case.name: case
    for title, make, cases in [
        ("replace", by_year, REPLACE),
        ("clear", by_year, CLEAR),
        ("partitions", by_year, PARTITIONS),
        ("overwrite", by_year, OVERWRITE),
        ("drop", by_year, DROP),
        ("append", by_year, APPEND),
        ("restore", by_year, RESTORE),
        ("delete", by_year, DELETE),
        ("merge", by_year, MERGE),
        ("copying", by_month, COPY),
        ("shared", shared, SHARE),
        ("unlisted", unlisted, SHARE),
        ("rows", two_splits, ROWS),
        ("changes", two_splits, CHANGES),
    ]
    for case in [Case(title, f"{title}, {name}", make, loser, winner, left) for name, loser, winner, left in cases]
}
