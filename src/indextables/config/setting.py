"""One setting: a dataclass field with its key, its parser and its documentation."""

from collections.abc import Callable
from dataclasses import field
from typing import Any

PREFIX = "spark.indextables."


def setting(
    key: str,
    default: Any,
    parse: Callable[[str], Any],
    doc: str,
    *,
    short: str | None = None,
    secret: bool = False,
    credentials: str | None = None,
) -> Any:
    """A setting; a `secret` one is never shown. The `credentials` of a store are used together or not at all."""
    facts = {"key": PREFIX + key, "parse": parse, "doc": doc, "short": short}
    facts |= {"secret": secret, "credentials": credentials}
    return field(default=default, repr=not secret, metadata=facts)


def setting_family(prefix: str) -> Any:
    """Settings whose keys start with `prefix`; the rest of a key is the user's: `indexing.typemap.message`."""
    return field(default_factory=dict, metadata={"family": prefix})
