"""Writers of one table of which one was second: what comes of it is what some order of the two would have made.

`matrix.py` has the cases; here they are run by an older handle, by two processes and by threads.
"""

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec import structs

from indextables import IndexTable
from indextables.errors import ConflictError, CorruptLogError, InvalidPredicateError, PredicateError, RowsOutsideError
from indextables.log import Operation, Transaction, TransactionLog
from tests.maintain.matrix import (
    DYNAMIC,
    MATRIX,
    Act,
    Case,
    Make,
    append,
    by_month,
    by_year,
    clear,
    drop,
    dynamic,
    overwrite,
    replace,
    row,
)
from tests.maintain.samples import SCHEMA, litter, numbers
from tests.maintain.second import Second, second_process
from tests.tiers import slow_after

A_FEW = {(case.title, case.left is None): case for case in MATRIX.values()}
"""Of each title one case that fails, and one that does not."""


@pytest.fixture(scope="module")
def second() -> Iterator[Second]:
    with second_process() as process:
        yield process


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[Make, Path]:
    """Each table of the matrix, made once."""
    directory = tmp_path_factory.mktemp("originals")
    places = {case.make: directory / case.make.__name__ for case in MATRIX.values()}
    for make, place in places.items():
        make(place)
    return places


@pytest.fixture
def place(originals: dict[Make, Path], tmp_path: Path, case: Case) -> Path:
    """A copy of the case's table."""
    return shutil.copytree(originals[case.make], tmp_path / "table")


@pytest.mark.parametrize("case", A_FEW.values(), ids=[case.name for case in A_FEW.values()])
def test_older_handles(place: Path, case: Case) -> None:
    """The loser has read the table before the winner's commit, and begins its work after it."""
    table = IndexTable.open(place)
    case.winner(IndexTable.open(place))
    after = numbers(IndexTable.open(place))
    if case.left is None:
        with pytest.raises(ConflictError, match="read the table again and retry"):
            case.loser(table)
    else:
        case.loser(table)
        assert numbers(table) == case.left
    assert numbers(IndexTable.open(place)) == (after if case.left is None else case.left)
    assert litter(place) == set()


@pytest.mark.parametrize(
    "case", slow_after(24, MATRIX.values(), "every pair of operations in two processes"), ids=MATRIX
)
def test_two_processes(second: Second, place: Path, case: Case) -> None:
    """The loser is another process, which has written its files and is about to put its version when the winner does."""
    with second.at_its_commit(place, case.name) as losing:
        case.winner(IndexTable.open(place))
        after = numbers(IndexTable.open(place))
    ended = losing.result()
    if case.left is None:
        assert ended.error == "ConflictError"
        assert "read the table again and retry" in ended.message
    else:
        assert (ended.error, ended.seen) == (None, case.left)
    assert numbers(IndexTable.open(place)) == (after if case.left is None else case.left)
    assert litter(place) == set()


@pytest.mark.parametrize(
    ("write", "left"),
    [
        (lambda table, data: table.replace_where(data, "year = 2023"), None),
        (lambda table, data: table.overwrite(data, options=DYNAMIC), None),
        (lambda table, data: table.overwrite(data), None),
        (lambda table, data: table.append(data), [1, 2, 3, 4, 50, 51, 100]),
    ],
    ids=["replace", "partitions", "overwrite", "append"],
)
def test_while_rows_still_come(
    tmp_path: Path, write: Callable[[IndexTable, Iterable[pa.RecordBatch]], object], left: list[int] | None
) -> None:
    """One thread has written a split and waits for more rows, while another one appends to the same partition."""
    by_year(tmp_path)
    begun, appended = threading.Event(), threading.Event()
    slow = IndexTable.open(tmp_path, options={"targetRecordsPerSplit": "1"})

    def coming() -> Iterator[pa.RecordBatch]:
        yield from row(2023, 50).to_batches()
        begun.set()
        appended.wait()
        yield from row(2023, 51).to_batches()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write, slow, coming())
        begun.wait()
        append(2023)(IndexTable.open(tmp_path))
        appended.set()
        assert isinstance(writing.exception(), ConflictError) == (left is None)
    assert numbers(IndexTable.open(tmp_path)) == (left or [1, 2, 3, 4, 100])
    assert litter(tmp_path) == set()


STEPS: list[tuple[Act, type[Exception] | None, list[int]]] = [
    (replace("year = 2023"), None, [4, 200]),
    (replace("year = 2023", year=2024), RowsOutsideError, [4, 200]),
    (lambda table: table.replace_where(row(None, 9), "year = 2023"), RowsOutsideError, [4, 200]),
    (replace("n = 1"), InvalidPredicateError, [4, 200]),
    (clear("year = 2023"), None, [4]),
    (clear("year = 2023"), None, [4]),
    (replace("year = 2030", year=2030), None, [4, 200]),
    (dynamic(None), None, [4, 200, 200]),
    (dynamic(None), None, [4, 200, 200]),
    (lambda table: table.overwrite(SCHEMA.empty_table(), options=DYNAMIC), None, [4, 200, 200]),
    (drop("year IS NULL OR year = 2030"), None, [4]),
    (overwrite, ConflictError, [4]),
]


def test_beside_a_thread_that_appends_all_the_time(tmp_path: Path) -> None:
    """What is replaced, cleared, dropped and refused is the same as if nobody else wrote; an overwrite of all fails."""
    by_year(tmp_path)
    appended, enough = threading.Event(), threading.Event()

    def keep_appending() -> int:
        own, times = IndexTable.open(tmp_path), 0
        while not enough.is_set():
            own.append(row(1999, times))
            times += 1
            appended.set()
        return times

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(keep_appending)
        try:
            for act, error, left in STEPS:
                handle = IndexTable.open(tmp_path)
                appended.clear()
                appended.wait()  # so that the handle is older than the table
                with pytest.raises(error) if error else nullcontext():
                    act(handle)
                assert numbers(IndexTable.open(tmp_path), "NOT year <=> 1999") == left
        finally:
            enough.set()
    table = IndexTable.open(tmp_path)
    assert numbers(table, "year = 1999") == list(range(busy.result()))
    done = Counter(table.history()["operation"].to_pylist())
    assert (done["REPLACE WHERE"], done["OVERWRITE"], done["DROP PARTITIONS"]) == (3, 2, 1)
    assert litter(tmp_path) == set()


def test_a_drop_whose_column_is_gone_from_the_layouts(tmp_path: Path) -> None:
    table = by_month(tmp_path)
    log = TransactionLog.open(tmp_path)
    snapshot = log.snapshot()
    specs = list(snapshot.metadata.partition_specs)
    metadata = structs.replace(snapshot.metadata, partition_specs=specs[:1], current_spec_id=0)
    log.commit(Transaction(operation=Operation.ALTER, snapshot=snapshot, metadata=metadata))
    with pytest.raises(PredicateError, match="'year' is not a partition column"):
        table.drop_partitions("year = 2023")
    with pytest.raises(CorruptLogError, match="specs are only added"):
        IndexTable.open(tmp_path)


def test_threads_that_replace_their_own(tmp_path: Path) -> None:
    table = by_year(tmp_path)
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


def test_threads_that_replace_the_same(tmp_path: Path) -> None:
    """Each counts up what it reads; no count is lost, because whoever was second has to look again."""
    table = by_year(tmp_path)
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
