"""The bytes of term filters, their error rate, and filters that cannot be read."""

import random
from functools import reduce
from operator import xor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.search.term_filter import TermFilters, build, capacity, hashes_of_columns, term_hashes

COLUMNS = ["b", "a", "c"]
GOLDEN = bytes.fromhex("01 0300 65ff9e52 05 00596512b9")


def mixed(number: int) -> int:
    number = (number ^ number >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    number = (number ^ number >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return number ^ number >> 16


def specified(terms: dict[str, list[str]], columns: list[str]) -> bytes:
    """A filter as docs/format.md describes it, one bit after the other."""
    hashes = [term for column, some in terms.items() for term in term_hashes(column, some).tolist()]
    content = bytearray((int(len(hashes) * 11.5) + 7) // 8)
    salt = reduce(xor, hashes)
    for term in hashes:
        for probe in range(7):
            number = mixed(((term ^ salt) + probe * 0x9E3779B9) % 2**32)
            position = number * 8 * len(content) >> 32
            content[position // 8] |= 1 << position % 8
    covered = bytearray((len(columns) + 7) // 8)
    for number, column in enumerate(sorted(columns)):
        covered[number // 8] |= (column in terms) << number % 8
    return bytes([1]) + len(columns).to_bytes(2, "little") + salt.to_bytes(4, "little") + covered + content


def made(terms: dict[str, list[str]], columns: list[str] = COLUMNS, max_bytes: int = 100_000) -> bytes | None:
    return build({c: pa.array(some, pa.string()) for c, some in terms.items()}, columns=columns, max_bytes=max_bytes)


def filters_of(*given: bytes | None) -> TermFilters:
    return TermFilters.of(pa.chunked_array([pa.array(given, pa.large_binary())]))


def covers(filters: TermFilters, number: int, columns: int = 3) -> list[bool]:
    some = len(filters.start)
    covered: list[bool] = filters.covers(np.full(some, number), columns=np.full(some, columns)).tolist()
    return covered


def may_contain(filters: TermFilters, column: str, *terms: str) -> list[bool]:
    every = np.ones(len(filters.start), np.bool_)
    found: list[bool] = filters.may_contain(term_hashes(column, terms), among=every).tolist()
    return found


@given(st.text(), st.lists(st.text() | st.text("aé", max_size=9), min_size=1))
def test_a_few_terms_and_many_have_the_same_hashes(column: str, terms: list[str]) -> None:
    many = hashes_of_columns({column: pa.array(terms, pa.string())})
    assert term_hashes(column, terms).tolist() == many.tolist()


class TestBytes:
    def test_a_filter_is_the_same_bytes_forever(self) -> None:
        assert made({"a": ["disk", "full"], "c": ["7"]}) == GOLDEN

    @pytest.mark.parametrize(
        ("terms", "columns"),
        [
            ({"a": ["x"]}, ["a"]),
            ({"a": [], "b": ["", "é", "a\0"]}, COLUMNS),
            ({f"c{n}": [str(n)] for n in range(0, 20, 3)}, [f"c{n}" for n in range(20)]),
            ({"b": [str(n) for n in range(500)]}, COLUMNS),
        ],
    )
    def test_a_filter_is_what_the_specification_says(self, terms: dict[str, list[str]], columns: list[str]) -> None:
        assert made(terms, columns) == specified(terms, columns)

    def test_without_terms_there_is_none(self) -> None:
        assert made({}) is None
        assert made({"a": []}) is None

    @pytest.mark.parametrize("max_bytes", [0, 1, 5, 6, 7, 50, 4_096])
    def test_it_fits_or_there_is_none(self, max_bytes: int) -> None:
        most = capacity(max_bytes, columns=3)
        fitting = made({"a": [str(n) for n in range(most)]}, max_bytes=max_bytes)
        assert fitting is None if not most else fitting is not None and len(fitting) <= max_bytes
        assert made({"a": [str(n) for n in range(most + 1)]}, max_bytes=max_bytes) is None

    def test_so_many_columns_have_none(self) -> None:
        assert capacity(2**20, columns=2**16 - 1) > 0 == capacity(2**20, columns=2**16)


class TestAnswers:
    @pytest.mark.parametrize("count", [1, 2, 10, 100, 1_000, 2_800])
    def test_one_absent_term_in_200_is_taken_for_present(self, count: int) -> None:
        chance = random.Random(count)
        absent = term_hashes("a", [f"absent {n}" for n in range(500)])
        some = [[f"{chance.getrandbits(64):x}" for _ in range(count)] for _ in range(20)]
        filters = filters_of(*(made({"a": terms}) for terms in some))
        every = np.ones(20, np.bool_)
        found = sum(int(filters.may_contain(absent[n : n + 1], among=every).sum()) for n in range(500))
        assert found / (500 * 20) <= 0.006

    def test_no_term_of_any_split_is_missed(self) -> None:
        chance = random.Random(1)
        some = [[f"{chance.getrandbits(32):x}" for _ in range(chance.randint(1, 400))] for _ in range(30)]
        filters = filters_of(None, *(made({"a": terms}) for terms in some))
        assert all(may_contain(filters, "a", term)[n] for n, terms in enumerate(some, 1) for term in terms)

    def test_any_of_several_terms(self) -> None:
        filters = filters_of(made({"a": ["x"]}), made({"a": ["y"]}), made({"a": ["z"]}))
        assert may_contain(filters, "a", "x", "y") == [True, True, False]
        assert may_contain(filters, "b", "x", "y") == [False, False, False]

    def test_only_covered_columns_are_known(self) -> None:
        filters = filters_of(made({"a": ["x"], "c": ["y"]}), made({"b": ["x"]}), None)
        assert [covers(filters, number) for number in (0, 1, 2)] == [
            [True, False, False],
            [False, True, False],
            [True, False, False],
        ]
        assert covers(filters, -1) == covers(filters, -2) == covers(filters, 3) == [False] * 3

    def test_what_is_not_among_them_may_contain_anything(self) -> None:
        filters, term = filters_of(made({"a": ["x"]}), made({"a": ["x"]})), term_hashes("a", ["absent"])
        assert filters.may_contain(term, among=np.array([True, False])).tolist() == [False, True]

    def test_slices_and_chunks(self) -> None:
        some = [made({"a": [str(n)]}) if n % 3 else None for n in range(10)]
        array = pa.array(some, pa.large_binary())
        chunks = pa.chunked_array([array.slice(4, 3), array.slice(0, 2), array.slice(9)])
        for column in (chunks, chunks.slice(1, 4), pa.chunked_array([array.slice(4, 3)])):
            filters = TermFilters.of(column)
            assert covers(filters, 0) == column.is_valid().to_pylist()
        assert may_contain(TermFilters.of(pa.chunked_array([array.slice(4, 2)])), "a", "5") == [False, True]

    @pytest.mark.parametrize(
        "damaged",
        [
            None,
            b"",
            b"\1",
            b"\1\3\0",
            b"\1\3\0\7",
            b"\2" + GOLDEN[1:],
            b"\0" + GOLDEN[1:],
            b"\1\3\1" + GOLDEN[3:],
            b"\1\xff\xff" + GOLDEN[3:],
            b"\1\4\0" + GOLDEN[3:],
        ],
    )
    def test_a_filter_that_cannot_be_read_covers_nothing(self, damaged: bytes | None) -> None:
        assert covers(filters_of(damaged), 0) == [False]
        assert covers(filters_of(damaged, GOLDEN, damaged), 0) == [False, True, False]
