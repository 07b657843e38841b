"""Laws of fetching ranges together."""

from hypothesis import given
from hypothesis import strategies as st

from indextables.storage.cloud import coalesced

RANGES = st.lists(
    st.tuples(st.integers(0, 5_000), st.integers(0, 500)).map(lambda pair: (pair[0], sum(pair))), min_size=1
)


@given(RANGES, st.integers(0, 300), st.integers(0, 3_000))
def test_nothing_is_missing_and_little_is_wasted(ranges: list[tuple[int, int]], near: int, far: int) -> None:
    merged = coalesced(ranges, near=near, far=far)
    wanted = {byte for start, end in ranges for byte in range(start, end)}
    fetched = [byte for start, end in merged for byte in range(start, end)]
    assert all(any(first <= start and end <= last for first, last in merged) for start, end in ranges)
    assert len(fetched) == len(set(fetched))
    assert merged == sorted(merged)
    assert len(merged) <= len(ranges)
    gaps = len(ranges) - len(merged)
    assert len(fetched) - len(wanted) <= gaps * max(near, min(far, len(wanted)))
