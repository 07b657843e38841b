"""Suggestions for misspelled names ("did you mean")."""

import difflib
from collections.abc import Iterable

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
