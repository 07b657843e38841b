"""Writers that were second: each handle below has read the table before the other one committed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from msgspec import structs

from indextables import IndexTable
from indextables.config import Config
from indextables.errors import ConflictError, PredicateError
from indextables.log import Operation, Transaction, TransactionLog
from indextables.log.splits import removes_for
from indextables.read.opener import SplitOpener
from indextables.rewrite.copy import plan_copy, refs_to, rows_of
from indextables.write.pipeline import write_rows
from tests.rewrite.samples import SCHEMA, evolved, litter, made, numbers, rows

Act = Callable[[IndexTable], object]
DYNAMIC = {"partitionOverwriteMode": "dynamic"}


def row(year: int, n: int, month: str = "1") -> pa.Table:
    return rows([year], [month], [n])


def append(year: int, **options: str) -> Act:
    return lambda table: table.append(row(year, 100), options=options)


def replace(year: int, where: str | None = None) -> Act:
    return lambda table: table.replace_where(row(year, 200), where or f"year = {year}")


def dynamic(year: int) -> Act:
    return lambda table: table.overwrite(row(year, 200), options=DYNAMIC)


def drop(where: str) -> Act:
    return lambda table: table.drop_partitions(where)


def overwrite(table: IndexTable) -> None:
    table.overwrite(row(2021, 300))


def evolve(table: IndexTable) -> None:
    evolved(table, "month")


def set_property(table: IndexTable) -> None:
    log = TransactionLog.open(table.path)
    snapshot = log.snapshot()
    metadata = structs.replace(snapshot.metadata, properties={"owner": "me"})
    log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=metadata))


def merge(where_year: int) -> Act:
    """The splits of a year become one."""

    def act(table: IndexTable) -> None:
        log = TransactionLog.open(table.path)
        snapshot = log.snapshot()
        year = pc.struct_field(snapshot.splits["partition"], ["year", "value"])
        sources = snapshot.splits.filter(pc.equal(year, where_year))
        batches = rows_of(SplitOpener.of(log.store, Config()), refs_to(sources), SCHEMA)
        adds = write_rows(plan_copy(snapshot, Config()), batches, log.store)
        log.commit(
            Transaction(
                operation=Operation.MERGE,
                snapshot=snapshot,
                adds=[structs.replace(add, data_change=False) for add in adds],
                removes=removes_for(sources, snapshot.metadata, deletion_timestamp=1, data_change=False),
            )
        )

    return act


@pytest.fixture
def table(tmp_path: Path) -> IndexTable:
    """Two splits of 2023, with 1 to 3, one of 2024 with 4."""
    table = made(tmp_path, "year")
    table.append(rows([2023, 2023], ["1", "2"], [1, 2]))
    table.append(rows([2023, 2024], ["2", "1"], [3, 4]))
    return table


FAILS = None
MATRIX: list[tuple[str, Act, Act, list[int] | None]] = [
    ("replace, append inside", replace(2023), append(2023), FAILS),
    ("replace, append outside", replace(2023), append(2024), [4, 100, 200]),
    ("replace, batch of a stream inside", replace(2023), append(2023, txnAppId="a", txnVersion="1"), FAILS),
    ("replace, batch of a stream outside", replace(2023), append(2024, txnAppId="a", txnVersion="1"), [4, 100, 200]),
    ("replace, overwrite", replace(2023), overwrite, FAILS),
    ("replace, replace the same", replace(2023), replace(2023), FAILS),
    ("replace, replace another", replace(2023), replace(2024), [200, 200]),
    ("replace, replace the same emptiness", replace(2030, "year >= 2025"), replace(2031, "year >= 2025"), FAILS),
    ("replace, replace beside", replace(2030, "year > 2025"), replace(2025, "year = 2025"), [1, 2, 3, 4, 200, 200]),
    ("replace, drop the same", replace(2023), drop("year = 2023"), FAILS),
    ("replace, drop another", replace(2023), drop("year = 2024"), [200]),
    ("replace, overwrite the partition", replace(2023), dynamic(2023), FAILS),
    ("replace, overwrite another", replace(2023), dynamic(2024), [200, 200]),
    ("replace, merge inside", replace(2023), merge(2023), [4, 200]),
    ("replace, merge outside", replace(2024), merge(2023), [1, 2, 3, 200]),
    ("replace, layout", replace(2023), evolve, FAILS),
    ("replace, property", replace(2023), set_property, [4, 200]),
    ("partitions, append inside", dynamic(2023), append(2023), FAILS),
    ("partitions, append outside", dynamic(2023), append(2024), [4, 100, 200]),
    ("partitions, the same", dynamic(2023), dynamic(2023), FAILS),
    ("partitions, others", dynamic(2023), dynamic(2024), [200, 200]),
    ("partitions, new ones, both", dynamic(2030), dynamic(2030), FAILS),
    ("partitions, merge inside", dynamic(2023), merge(2023), [4, 200]),
    ("partitions, layout", dynamic(2023), evolve, FAILS),
    ("overwrite, append", overwrite, append(2021), FAILS),
    ("overwrite, overwrite", overwrite, overwrite, FAILS),
    ("overwrite, replace", overwrite, replace(2024), FAILS),
    ("overwrite, drop", overwrite, drop("year = 2024"), FAILS),
    ("overwrite, merge", overwrite, merge(2023), [300]),
    ("overwrite, property", overwrite, set_property, FAILS),
    ("append, replace", append(2023), replace(2023), [4, 100, 200]),
    ("append, drop", append(2023), drop("year = 2023"), [4, 100]),
    ("drop, append inside", drop("year = 2023"), append(2023), [4]),
    ("drop, append outside", drop("year = 2023"), append(2024), [4, 100]),
    ("drop, overwrite", drop("year = 2023"), overwrite, [300]),
    ("drop, replace", drop("year = 2023"), replace(2023), [4]),
    ("drop, merge", drop("year = 2023"), merge(2023), [4]),
    ("drop, drop the same", drop("year = 2023"), drop("year = 2023"), [4]),
    ("drop, drop more", drop("year = 2023"), drop("year >= 2023"), []),
    ("drop, layout", drop("year = 2023"), evolve, [4]),
    ("drop, property", drop("year = 2023"), set_property, [4]),
]


@pytest.mark.parametrize(("loser", "winner", "left"), [case[1:] for case in MATRIX], ids=[case[0] for case in MATRIX])
def test_matrix(table: IndexTable, tmp_path: Path, loser: Act, winner: Act, left: list[int] | None) -> None:
    winner(IndexTable.open(tmp_path))
    if left is None:
        after = numbers(IndexTable.open(tmp_path))
        with pytest.raises(ConflictError, match="read the table again and retry"):
            loser(table)
        assert numbers(IndexTable.open(tmp_path)) == after
    else:
        loser(table)
        assert numbers(IndexTable.open(tmp_path)) == left
        assert numbers(table) == left
    assert litter(tmp_path) == set()


class TestCopies:
    """The table is partitioned by month now, so that a condition on the year copies rows of other years."""

    @pytest.fixture
    def mixed(self, tmp_path: Path) -> IndexTable:
        table = made(tmp_path, "month")
        evolved(table, "month, bucket(2, year)")
        table.append(rows([2023, 2024, 2025, 2026, 2027], ["1"] * 5, [1, 2, 3, 4, 5]))
        return table

    @pytest.mark.parametrize(
        ("act", "left"),
        [(append(2023), [2, 3, 4, 5]), (append(2024), [2, 3, 4, 5, 100]), (replace(2023), [2, 3, 4, 5])],
    )
    def test_a_drop_copies_again(self, mixed: IndexTable, tmp_path: Path, act: Act, left: list[int]) -> None:
        act(IndexTable.open(tmp_path))
        dropped = mixed.drop_partitions("year = 2023")
        assert (numbers(IndexTable.open(tmp_path)), dropped.version) == (left, 4)
        assert litter(tmp_path) == set()

    def test_a_replacement_does_not_bring_back_rows(self, mixed: IndexTable, tmp_path: Path) -> None:
        everything_but_one = "year <> 2023"
        IndexTable.open(tmp_path).drop_partitions(everything_but_one)
        with pytest.raises(ConflictError):
            mixed.replace_where(row(2023, 9), "year = 2023")
        assert numbers(IndexTable.open(tmp_path)) == [1]
        assert litter(tmp_path) == set()

    def test_a_drop_whose_column_is_gone_from_the_layouts(self, mixed: IndexTable, tmp_path: Path) -> None:
        log = TransactionLog.open(tmp_path)
        snapshot = log.snapshot()
        specs = list(snapshot.metadata.partition_specs)
        metadata = structs.replace(snapshot.metadata, partition_specs=specs[:1], current_spec_id=0)
        log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=metadata))
        with pytest.raises(PredicateError, match="'year' is not a partition column"):
            mixed.drop_partitions("year = 2023")
        assert litter(tmp_path) == set()


def test_threads_that_replace_their_own(table: IndexTable, tmp_path: Path) -> None:
    years, rounds = range(2030, 2034), 5
    start = threading.Barrier(len(years))

    def work(year: int) -> None:
        own = IndexTable.open(tmp_path)
        start.wait()
        for number in range(rounds):
            own.replace_where(row(year, number), f"year = {year}")

    with ThreadPoolExecutor(len(years)) as pool:
        list(pool.map(work, years))
    table.refresh()
    assert table.version == 2 + len(years) * rounds
    assert numbers(table) == sorted([1, 2, 3, 4, *[rounds - 1] * len(years)])
    assert litter(tmp_path) == set()


def test_threads_that_replace_the_same(table: IndexTable, tmp_path: Path) -> None:
    """Each counts up what it reads; no count is lost, because whoever was second has to look again."""
    workers, rounds = 3, 4
    table.replace_where(row(2030, 1000), "year = 2030")
    start = threading.Barrier(workers)

    def work(_: int) -> None:
        own = IndexTable.open(tmp_path)
        start.wait()
        done = 0
        while done < rounds:
            (count,) = own.refresh().scan(where="year = 2030").to_arrow()["n"].to_pylist()
            try:
                own.replace_where(row(2030, count + 1), "year = 2030")
                done += 1
            except ConflictError:
                continue

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    assert numbers(table.refresh())[-1] == 1000 + workers * rounds
    assert litter(tmp_path) == set()
