from pathlib import Path
from threading import get_ident

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.arrow_features import HAS_ROW_LIMIT_OF_PAGES
from indextables.errors import NotFoundError, SchemaError
from indextables.predicate import Verdict, bind, evaluate, judge, parse
from indextables.search.queries import Term
from indextables.split import SplitOptions, SplitReader
from indextables.split.split_file import SparseFile
from indextables.storage import Store, open_store
from indextables.storage.local import LocalStore
from tests.split.samples import EVERY_TYPE, counted, numbered, private_cache, query, reader, split_of, write

pages_of_rows = pytest.mark.skipif(not HAS_ROW_LIMIT_OF_PAGES, reason="this pyarrow bounds pages by their bytes alone")


def test_all_rows_in_order(tmp_path: Path) -> None:
    rows = numbered(1000)
    split = split_of(rows, tmp_path, rows_per_group=64)
    assert pa.Table.from_batches(split.read()).equals(rows)
    assert (split.num_rows, split.schema) == (1000, rows.schema)


def test_some_columns_of_some_row_groups(tmp_path: Path) -> None:
    rows = numbered(1000)
    split = split_of(rows, tmp_path, rows_per_group=100)
    found = pa.Table.from_batches(split.read(["level", "n"], row_groups=[2, 9]))
    assert found.equals(pa.concat_tables([rows.slice(200, 100), rows.slice(900)]).select(["level", "n"]))


def test_a_split_is_decoded_by_the_thread_that_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of Arrow's that lets go of our file while the process ends would abort it."""
    threads, read = set(), SparseFile.read_buffer

    def watched(file: SparseFile, size: int) -> pa.Buffer:
        threads.add(get_ident())
        return read(file, size)

    monkeypatch.setattr(SparseFile, "read_buffer", watched)
    monkeypatch.setattr(LocalStore, "open_file", Store.open_file)  # as if the split were in an object store
    rows = numbered(1000)
    assert pa.Table.from_batches(split_of(rows, tmp_path, rows_per_group=64).read()).equals(rows)
    assert threads == {get_ident()}


def test_no_columns_are_still_rows(tmp_path: Path) -> None:
    split = split_of(numbered(1000), tmp_path, rows_per_group=100)
    assert sum(batch.num_rows for batch in split.read([])) == 1000


@pytest.mark.parametrize("columns", [["a"], ["a.b"], ["a.b", "a"], ["a", "flag"]])
def test_a_dot_in_a_name_means_nothing(tmp_path: Path, columns: list[str]) -> None:
    split = split_of(EVERY_TYPE, tmp_path)
    assert split.take(pa.array([0, 3]), columns).equals(EVERY_TYPE.take([0, 3]).select(columns))


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="part-0.split has no column 'nope'"):
        split_of(numbered(10), tmp_path).take(pa.array([1]), ["nope"])


@pytest.mark.parametrize(
    "numbers", [[], [0], [999], [0, 999], [63, 64], [5, 5, 5], list(range(0, 1000, 7)), list(range(1000))]
)
def test_taken_rows_are_those_of_the_table(tmp_path: Path, numbers: list[int]) -> None:
    rows = numbered(1000)
    split = split_of(rows, tmp_path, rows_per_group=64)
    assert split.take(pa.array(numbers, pa.int64())).equals(rows.take(pa.array(numbers, pa.int64())))


def test_what_does_not_fit_into_memory_at_once_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indextables.split.reader._WINDOW", 2000)
    rows, numbers = numbered(1000), pa.array(range(1, 1000, 3), pa.int64())
    split = split_of(rows, tmp_path, rows_per_group=64)
    requests = counted(split._store, monkeypatch)
    assert split.take(numbers).equals(rows.take(numbers))
    assert pa.Table.from_batches(split.read()).equals(rows)
    assert len(requests) > 3
    assert all(sum(end - start for start, end in request) < 4000 for request in requests[1:])


def test_a_known_footer_is_one_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.split"
    facts = write(numbered(1000), path, rows_per_group=100)
    split = reader(path, facts)
    requests = counted(split._store, monkeypatch)
    split.take(pa.array([3, 950]), ["n"])
    assert requests[0] == [facts.footer]
    assert [len(request) for request in requests] == [1, 2]  # the footer, then one column of two row groups


@pages_of_rows
@pytest.mark.parametrize(("rows_per_group", "requests_made"), [(100, 1), (3, 2), (2, 3)])
def test_an_unknown_footer_is_found(
    tmp_path: Path, rows_per_group: int, requests_made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.split"
    write(numbered(400), path, rows_per_group=rows_per_group)
    split = reader(path, None)
    requests = counted(split._store, monkeypatch)
    assert split.num_rows == 400
    assert len(requests) == requests_made  # the end of the file, the rest of a long footer, that of long page indexes


def test_a_split_that_is_not_there(tmp_path: Path) -> None:
    split = SplitReader(open_store(tmp_path), "no.split", size=100, cache=private_cache(tmp_path))
    with pytest.raises(NotFoundError):
        list(split.read())


def test_any_store_will_do(tmp_path: Path) -> None:
    facts = write(numbered(100), tmp_path / "a.split", rows_per_group=10)
    store = open_store(f"memory://{tmp_path.name}/table")
    store.put_file("day=1/a.split", tmp_path / "a.split")
    cache = private_cache(tmp_path)
    split = SplitReader(store, "day=1/a.split", size=facts.size, footer=facts.footer, cache=cache)
    assert split.take(split.search(query(split, "level:ERROR")), ["n"])["n"].to_pylist() == list(range(3, 100, 10))


@pytest.mark.parametrize("place", [(0, 9), (99, 3), (-5, 10), (10, 10**9), (None, -2)])
def test_a_tail_that_is_elsewhere_than_the_log_says(tmp_path: Path, place: tuple[int | None, int]) -> None:
    facts = write(numbered(100), tmp_path / "a.split")
    start, end = place
    footer = (facts.size - 4, facts.size) if start is None else (start, end)
    split = SplitReader(open_store(tmp_path), "a.split", size=facts.size, footer=footer, cache=private_cache(tmp_path))
    assert split.num_rows == 100


def test_searching_finds_row_numbers(tmp_path: Path) -> None:
    rows = numbered(1000)
    split = split_of(rows, tmp_path, rows_per_group=64)
    hits = split.search(query(split, "level:ERROR"))
    assert hits.tolist() == [n for n in range(1000) if n % 10 == 3]
    assert split.take(hits, ["n"])["n"].to_pylist() == hits.tolist()


@pytest.mark.parametrize(
    ("column", "value"),
    [("level", "INFO"), ("level", "ERROR"), ("level", "no"), ("message", "took"), ("message", "42")],
)
def test_rare_and_common_words_are_found_alike(tmp_path: Path, column: str, value: str) -> None:
    rows = numbered(500)
    split = split_of(rows, tmp_path)
    wanted = query(split, f"{column}:{value}")
    expected = [n for n, text in enumerate(rows[column].to_pylist()) if value in text.split()]
    assert split.search(wanted).tolist() == expected
    assert split.count(wanted) == len(expected)
    assert sorted(split.top(wanted, 1000)[0].tolist()) == expected


def test_the_best_come_first(tmp_path: Path) -> None:
    rows = pa.table({"message": ["a disk", "the disk is a full disk, disk and all", "disk", "none", "disk"]})
    split = split_of(rows, tmp_path)
    numbers, scores = split.top(query(split, "message:disk"), 3)
    assert numbers.tolist() == [2, 4, 0]  # the shorter the text, the more a word of it counts
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    assert len(split.top(query(split, "message:disk"), 0)[0]) == 0


def test_every_row_has_its_number_in_the_index(tmp_path: Path) -> None:
    split = split_of(pa.table({"message": [f"row{n} of many" for n in range(3000)]}), tmp_path, rows_per_group=100)
    assert [split.search(Term("message", f"row{n}")).tolist() for n in range(3000)] == [[n] for n in range(3000)]


PREDICATES = [
    "n < 100",
    "n = 555",
    "n >= 0",
    "n > 10000",
    "at >= '2023-11-14T22:13:20.500Z'",
    "message LIKE 'request 99%'",
    "level IS NULL",
    "n IS NOT NULL AND n < 64",
]


@pages_of_rows
@pytest.mark.parametrize("text", PREDICATES)
def test_blocks_are_skipped_by_their_bounds(tmp_path: Path, text: str) -> None:
    rows = numbered(1000)
    split = split_of(rows, tmp_path, options=SplitOptions(row_group_rows=300, page_rows=128))
    predicate = bind(parse(text), rows.schema)
    blocks = split.blocks(rows.column_names)
    assert (blocks.starts[0], blocks.ends[-1]) == (0, 1000)
    assert blocks.starts[1:].tolist() == blocks.ends[:-1].tolist()
    assert {0, 300, 600, 900} < set(blocks.starts.tolist())  # a row group has several
    verdicts = judge(predicate, blocks.bounds).to_pylist()
    matching = pc.fill_null(evaluate(predicate, rows), fill_value=False).to_pylist()
    for start, end, verdict in zip(blocks.starts, blocks.ends, verdicts, strict=True):
        assert verdict != Verdict.NEVER or not any(matching[start:end])
        assert verdict != Verdict.ALWAYS or all(matching[start:end])
    assert Verdict.SOMETIMES not in verdicts or len(set(verdicts)) > 1 or "message" in text  # it has no bounds


def test_the_rows_of_some_blocks(tmp_path: Path) -> None:
    split = split_of(numbered(1000), tmp_path, options=SplitOptions(row_group_rows=300, page_rows=128))
    blocks = split.blocks(["n"])
    chosen = [0, 2, len(blocks.starts) - 1]
    expected = [n for block in chosen for n in range(blocks.starts[block], blocks.ends[block])]
    assert blocks.rows(chosen).tolist() == expected
    assert blocks.rows([]).tolist() == []


def test_without_columns_a_block_is_a_row_group(tmp_path: Path) -> None:
    blocks = split_of(numbered(1000), tmp_path, rows_per_group=300).blocks([])
    assert (blocks.starts.tolist(), blocks.ends.tolist()) == ([0, 300, 600, 900], [300, 600, 900, 1000])


def test_bounds_of_every_type(tmp_path: Path) -> None:
    split = split_of(EVERY_TYPE, tmp_path)
    bounds = split.blocks(EVERY_TYPE.column_names).bounds
    assert set(bounds.columns) == set(EVERY_TYPE.column_names) - {"blob", "message"}  # neither bytes nor texts
    for name, (fact,) in bounds.columns.items():
        column = EVERY_TYPE[name].drop_null()
        if pa.types.is_floating(column.type):
            column = column.filter(pc.invert(pc.is_nan(column)))
        assert (fact.lower.type, fact.upper.type) == (column.type, column.type)
        assert pc.all(pc.less_equal(fact.lower[0], column)).as_py()
        assert pc.all(pc.greater_equal(fact.upper[0], column)).as_py()
        assert fact.may_be_null.to_pylist() == fact.may_be_value.to_pylist() == [True]


def test_footers_are_kept_as_long_as_there_is_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory, a footer takes many times its bytes in the file, which are about 2,000 here: four of them fit."""
    monkeypatch.setattr("indextables.split.index_cache._FOOTER_BYTES", 250_000)
    cache = private_cache(tmp_path)
    paths = [tmp_path / f"{number}.split" for number in range(20)]
    for path in paths:
        write(numbered(10), path)
    first = [reader(path, None, cache=cache).footer for path in paths]
    kept = [reader(path, None, cache=cache).footer is footer for path, footer in zip(paths, first, strict=True)]
    assert not any(kept)
    again = reader(paths[-1], None, cache=cache)
    assert again.footer is reader(paths[-1], None, cache=cache).footer
