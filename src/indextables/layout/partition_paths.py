"""Partition directories: labels for users, stores and other tools.

The log stores a split's partition values; they are never parsed from a path. A label is still unambiguous where that
is possible, and always a name that every file system and object store accepts:

>>> directory(["date", "app"], ["2024-01-01", "[#small]"])
'date=2024-01-01/app=%5B%23small%5D'
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

NULL = "__HIVE_DEFAULT_PARTITION__"
MAX_COMPONENT_BYTES = 255

# What Spark escapes, and the space, `<`, `>`, `|` and NUL as well.
_SPECIAL = re.compile(r"""[\x00-\x20\x7f"#%'*/:<=>?\\{|\[\]^]""")
_ESCAPED = re.compile("%([0-9a-fA-F]{2})")
_HASH_LENGTH = 32
_KEPT = 50  # characters that a shortened component has at least, each of up to four bytes


def escape(text: str) -> str:
    """The text without characters that mean something in a path.

    >>> escape("2024-01-01 10:30:00")
    '2024-01-01%2010%3A30%3A00'
    """
    return _SPECIAL.sub(lambda special: f"%{ord(special[0]):02X}", text)


def unescape(text: str) -> str:
    """The text that was escaped; what is no escape stays as it is.

    >>> unescape("a%2Fb"), unescape("a%zz")
    ('a/b', 'a%zz')
    """
    return _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), text)


def directory(names: Iterable[str], texts: Iterable[str | None]) -> str:
    """The directory of one tuple of partition values, given as text; null and '' share a label.

    >>> directory(["a", "b"], [None, "x/y"])
    'a=__HIVE_DEFAULT_PARTITION__/b=x%2Fy'
    """
    return "/".join(_component(name, text) for name, text in zip(names, texts, strict=True))


def is_directory_of(names: Sequence[str], path: str) -> bool:
    """Whether a directory may be that of a partition, by the names of the partition columns.

    >>> is_directory_of(["date", "app"], "date=2024-01-01/app=web"), is_directory_of(["date", "app"], "date=2024-01-01")
    (True, False)
    >>> is_directory_of([], ""), is_directory_of([], "backup")
    (True, False)
    """
    components = path.split("/") if path else []
    return len(components) == len(names) and all(
        component.startswith(f"{escape(name)}="[:_KEPT]) for name, component in zip(names, components, strict=True)
    )


def _component(name: str, text: str | None) -> str:
    component = f"{escape(name)}={escape(text or NULL)}"
    return component if len(component.encode()) <= MAX_COMPONENT_BYTES else _shorten(component)


def _shorten(component: str) -> str:
    """As much of a component as there is room for, whole characters and whole escapes, and a hash of all of it."""
    mark = f"~{sha256(component.encode()).hexdigest()[:_HASH_LENGTH]}"
    start = component.encode()[: MAX_COMPONENT_BYTES - len(mark)].decode(errors="ignore")
    return re.sub("%[0-9A-F]?$", "", start) + mark
