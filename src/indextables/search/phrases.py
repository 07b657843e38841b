"""Words near each other, as exact phrases.

tantivy's own slop is exact for two different words. For more it misses some word orders and matches one word twice, so
these are written out: every way in which the words can stand within the slop is an exact phrase with gaps.

>>> list(word_orders(("a", "b"), 1))
[((0, 'a'), (1, 'b')), ((0, 'a'), (2, 'b'))]
>>> [" ".join(word for _, word in sorted(way)) for way in word_orders(("a", "b"), 3)]
['a b', 'a b', 'a b', 'a b', 'b a', 'b a']
"""

from collections.abc import Iterator, Sequence
from itertools import product

MAX_WORD_ORDERS = 2_000
MAX_SLOP = 10_000


def count_word_orders(words: Sequence[str], slop: int) -> int:
    """An upper limit of the word orders within a slop; one where tantivy is exact."""
    return 1 if is_supported(words, slop) else (slop + 1) ** len(words) - slop ** len(words)


def is_supported(words: Sequence[str], slop: int) -> bool:
    """Whether tantivy's own phrase query is exact."""
    return slop == 0 or len(words) == len(set(words)) == 2  # noqa: PLR2004


def word_orders(words: Sequence[str], slop: int) -> Iterator[tuple[tuple[int, str], ...]]:
    """Every way in which words can stand, by position; the first is the one without any slop."""
    for shifts in product(range(slop + 1), repeat=len(words)):
        places = [place + shift for place, shift in enumerate(shifts)]
        if min(shifts) == 0 and len(set(places)) == len(places):
            start = min(places)
            yield tuple(sorted((place - start, word) for place, word in zip(places, words, strict=True)))
