"""Suggestions for misspelled names ("did you mean")."""

import difflib
from collections.abc import Iterable

_ALIKE = 0.7  # of difflib's ratio; matches below it are meaningless


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar name, ignoring case; None where none is similar.

    >>> nearest("versionAsOff", ["txnVersion", "versionAsOf"]), nearest("when", ["txnVersion", "versionAsOf"])
    ('versionAsOf', None)
    """
    own = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), own, n=1, cutoff=_ALIKE)
    return own[close[0]] if close else None
