"""Ranges of a file that are better fetched together."""

from collections.abc import Sequence

Range = tuple[int, int]


def coalesced(ranges: Sequence[Range], *, gap: int) -> list[Range]:
    """Ranges that hold all the given ones, in ascending order; what is at most `gap` bytes apart is one range.

    >>> coalesced([(500, 600), (0, 100), (90, 110), (130, 150)], gap=20)
    [(0, 150), (500, 600)]
    """
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + gap:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
