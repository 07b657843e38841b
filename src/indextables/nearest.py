"""The name that somebody may have meant."""

import difflib
from collections.abc import Iterable

_ALIKE = 0.7  # of difflib's ratio; below it, what is found has letters in common and nothing else


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is most like another, in any letter case; None where none is like it.

    >>> nearest("versionAsOff", ["txnVersion", "versionAsOf"]), nearest("when", ["txnVersion", "versionAsOf"])
    ('versionAsOf', None)
    """
    own = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), own, n=1, cutoff=_ALIKE)
    return own[close[0]] if close else None
