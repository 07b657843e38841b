"""Suggestions for misspelled names ("did you mean")."""

import difflib
from collections.abc import Iterable
from functools import lru_cache

_ALIKE = 0.7  # of difflib's ratio; matches below it are meaningless


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar name, ignoring case; None where none is similar. Short names may have two letters swapped.

    >>> nearest("versionAsOff", ["txnVersion", "versionAsOf"]), nearest("when", ["txnVersion", "versionAsOf"])
    ('versionAsOf', None)
    >>> nearest("adn", ["OR", "AND"])
    'AND'
    """
    own = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), own, n=1, cutoff=_ALIKE)
    close = close or [known for known in own if sorted(known) == sorted(name.lower())]
    return own[close[0]] if close else None


@lru_cache(4096)
def edits(one: str, other: str) -> int:
    """How many letters have to be added, left out, replaced or swapped with the next one to make one text the other.

    >>> edits("mergeschma", "mergeschema"), edits("mergeshcema", "mergeschema"), edits("owner", "region")
    (1, 1, 6)
    """
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, its in enumerate(other, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != its))
            if i > 1 and j > 1 and (letter, one[i - 2]) == (other[j - 2], its):
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]
