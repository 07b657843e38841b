"""Ranges of a file that are better fetched together."""

from collections.abc import Sequence

Range = tuple[int, int]
_NEAR = 64 * 1024  # bytes that cost less than another request, whatever is wanted
_FAR = 1024 * 1024  # bytes that cost more than another request


def coalesced(ranges: Sequence[Range], *, near: int = _NEAR, far: int = _FAR) -> list[Range]:
    """Ranges that hold all the given ones, in ascending order.

    Neighbours are put together that are at most `near` bytes apart, or less than what is wanted before the gap and at most
    `far`: a small column that is strewn over a large file does not fetch the file.

    >>> coalesced([(500, 600), (0, 100), (90, 110), (130, 150)], near=20, far=1000)
    [(0, 150), (500, 600)]
    >>> coalesced([(0, 400), (700, 1100), (9000, 9010), (9300, 9310)], near=20, far=1000)
    [(0, 1100), (9000, 9010), (9300, 9310)]
    """
    merged: list[Range] = []
    wanted = 0  # of the last of them
    for start, end in sorted(ranges):
        if merged and start - merged[-1][1] <= max(near, min(far, wanted)):
            wanted += max(0, end - max(start, merged[-1][1]))
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            wanted = end - start
            merged.append((start, end))
    return merged
