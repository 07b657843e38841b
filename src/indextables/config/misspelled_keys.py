"""Keys that are almost those of settings: what was meant, and which of them are refused.

All unknown keys of options are refused, and all that begin with our prefix. Among the properties of a table, and in a
session, other keys belong to somebody else, unless they are a slip away from a key of ours.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from indextables.config.keys import (
    FAMILIES,
    NAMES,
    READ_OPTIONS,
    SHORT_PREFIX,
    STREAM_OPTIONS,
    find_setting,
    is_secret,
    without_prefix,
)
from indextables.config.setting import PREFIX
from indextables.errors import ConfigError
from indextables.nearest import edits, nearest

_LONG = 12
_NOT_LETTERS = re.compile(r"[\W_]+")
_DISTINCT = 9  # letters of a last word that nobody else would use by chance, such as clusterBy; maxSize is shorter


def _letters(key: str) -> str:
    return _NOT_LETTERS.sub("", key.lower())


_COUNTS = Counter(name.rpartition(".")[2].lower() for name in NAMES)
_LAST_WORDS = {word: name for name in NAMES if _COUNTS[(word := name.rpartition(".")[2]).lower()] == 1}
_OPTIONS = {name: name for name in (*READ_OPTIONS, *STREAM_OPTIONS)}
_SUGGESTED = {**_LAST_WORDS, **_OPTIONS, **{name: name for name in NAMES}}
_NAME_BY_LETTERS = {_letters(name): name for name in NAMES}
_FAMILY_BY_LETTERS = {_letters(family): family for family in FAMILIES}
_WITHOUT_GROUP = {
    _letters(word)
    for word, name in _LAST_WORDS.items()
    if len(word) >= _DISTINCT and not word.islower() and NAMES[name][0] != "store"
} | {"versionasof", "timestampasof"}


def unknown_key(key: str, value: str | None = None, *, note: str = "") -> ConfigError:
    """The error for a key that no setting has, with a suggestion where there is one.

    >>> str(unknown_key("checkpoint.intervall"))
    "there is no setting 'checkpoint.intervall'; did you mean 'checkpoint.interval'?"
    """
    short, rest = without_prefix(key), _after_misspelled_prefix(key)
    name = short if rest is None else rest
    meant = _meant(name)
    if meant in _OPTIONS and meant.lower() == name.lower():
        hint = "; it is an option of reads from Spark, and an argument of its own elsewhere"
    else:
        has_prefix = rest is not None or key.strip().lower().startswith(PREFIX)
        hint = f"; did you mean {(PREFIX if has_prefix else '') + meant!r}?" if meant else ""
    found = find_setting(meant or "")
    secret = is_secret(key) or (found is not None and bool(found[1].metadata.get("secret")))
    return ConfigError(f"there is no setting {key!r}{hint}{note}", key=key, value=None if secret else value)


def refuse_misspelled_property(key: str) -> None:
    """Raises a ConfigError for the key of a property that is almost one of ours; a user's own key is another one.

    >>> refuse_misspelled_property("owner")
    >>> refuse_misspelled_property("targetRecordPerSplit")
    Traceback (most recent call last):
    indextables.errors.ConfigError: there is no setting 'targetRecordPerSplit'; did you mean 'targetRecordsPerSplit'? ...
    """
    short = without_prefix(key)
    if find_setting(short) is not None:
        return
    letters = _letters(short)
    if (
        short != key.strip()
        or _after_misspelled_prefix(key) is not None
        or _misspelled(short)
        or letters in _WITHOUT_GROUP
    ):
        raise unknown_key(key, note=" A property of your own needs a name that is less like that of a setting")


def refuse_misspelled_prefix(keys: Iterable[str]) -> None:
    """Raises a ConfigError for a key, among all those of a session, whose prefix is almost ours.

    >>> refuse_misspelled_prefix(["spark.sql.shuffle.partitions", "spark.indextables.mergeSchema"])
    >>> refuse_misspelled_prefix(["spark.indextable.mergeSchema"])
    Traceback (most recent call last):
    indextables.errors.ConfigError: there is no setting 'spark.indextable.mergeSchema'; did you mean 'spark.indextables...
    """
    for key in keys:
        if _after_misspelled_prefix(key) is not None:
            raise unknown_key(key)


def _meant(name: str) -> str | None:
    found = find_setting(name)
    if found is not None:
        return name
    close = _misspelled(name) or nearest(name, _SUGGESTED)
    return None if close is None else _SUGGESTED.get(close, close)


def _misspelled(name: str) -> str | None:
    """The name that is a slip away from another one; None for a name of somebody else."""
    found = _closest(name, _NAME_BY_LETTERS)
    if found is not None:
        return found
    start, _, column = name.rpartition(".")
    family, alone = _closest(start, _FAMILY_BY_LETTERS), _closest(name, _FAMILY_BY_LETTERS)
    return f"{family}{column}" if family is not None else None if alone is None else f"{alone}<name>"


def _closest(text: str, known: Mapping[str, str]) -> str | None:
    """The name whose letters are those of a text but for a slip."""
    letters = _letters(text)
    close = [by for by in known if _is_close(letters, by)]
    return known[min(close, key=lambda by: edits(letters, by))] if close else None


def _after_misspelled_prefix(key: str) -> str | None:
    """The rest of a key whose first words are almost `spark.indextables` or `indextables`; None for any other key."""
    words = key.strip().split(".")
    if without_prefix(key) == key.strip():
        for number, prefix in ((1, SHORT_PREFIX), (2, PREFIX)):
            if len(words) > number and _is_close(_letters(".".join(words[:number])), _letters(prefix)):
                return ".".join(words[number:])
    return None


def _is_close(text: str, known: str) -> bool:
    """Whether one text is the other one but for a slip: a letter of a short one, two of a long one."""
    slips = 1 if len(known) < _LONG else 2
    return abs(len(text) - len(known)) <= slips and edits(text, known) <= slips
