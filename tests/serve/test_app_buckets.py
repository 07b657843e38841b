"""Buckets of time: they cover every time, and there are about as many as were wanted."""

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from indextables.serve.time_column import TimeColumn
from indextables.serve.view_summaries import choose_buckets

LEAST, GREATEST = np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max  # the least number stands for a null
MICROSECONDS = (
    st.integers(LEAST, GREATEST)
    | st.integers(-(10**15), 10**16)
    | st.integers(1_700_000_000_000_000, 1_700_000_100_000_000)
)
DAYS = st.integers(-(2**31), 2**31 - 1) | st.integers(-1000, 30_000)
LISTS = st.lists(MICROSECONDS, min_size=1, max_size=20).map(lambda times: (times, False))
DAY_LISTS = st.lists(DAYS, min_size=1, max_size=20).map(lambda times: (times, True))


@given(given_times=LISTS | DAY_LISTS, wanted=st.integers(1, 200), is_sorted=st.booleans())
@example(given_times=([LEAST, GREATEST], False), wanted=1, is_sorted=True)
@example(given_times=([LEAST, GREATEST], False), wanted=200, is_sorted=False)
@example(given_times=([-(2**31), 2**31 - 1], True), wanted=80, is_sorted=True)
def test_every_time_is_in_its_bucket(given_times: tuple[list[int], bool], wanted: int, *, is_sorted: bool) -> None:
    times, counts_days = given_times
    buckets = choose_buckets(min(times), max(times), wanted=wanted, counts_days=counts_days)
    numbers = buckets.number_of(np.array(sorted(times) if is_sorted else times, np.int64))
    assert len(numbers) == len(times)
    edges = buckets.edges.tolist()
    for time, number in zip(sorted(times) if is_sorted else times, numbers.tolist(), strict=True):
        assert edges[number] <= time
        assert time < edges[number + 1] or (time == edges[-1] == buckets.end_of_time and number == len(buckets) - 1)
    assert edges == sorted(edges)
    assert len(buckets) <= wanted + 2
    kind = pa.date32() if counts_days else pa.timestamp("us", "UTC")
    assert buckets.cover(np.array(times)).all()
    assert all(TimeColumn("t", kind).texts(buckets.edges))
