r"""Errors of ours that reach a program inside the text of Spark's error: their class and facts are a note of the exception.

Spark reports the exception of a Python process as text, with its traceback. The note is a line of that text.

>>> from indextables.errors import ConfigError
>>> import traceback
>>> try:
...     with noted_errors():
...         raise ConfigError("no such key", key="colour", value=None)
... except ConfigError as error:
...     found = error_in("\n".join(traceback.format_exception(error)))
>>> found
ConfigError('no such key')
>>> found.key
'colour'
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from indextables import errors
from indextables.errors import IndexTablesError

_PREFIX = "indextables: "
_NOTE = re.compile(rf"^\s*{_PREFIX}(\{{.*\}})\s*$", re.MULTILINE)


class ErrorNote(msgspec.Struct, frozen=True, kw_only=True):
    """An error as data: its class, its message and its facts."""

    error: str
    message: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, error: IndexTablesError) -> "ErrorNote":
        facts = {name: fact for name, fact in vars(error).items() if name not in {"message", "__notes__"}}
        return cls(
            error=type(error).__name__,
            message=str(error),
            facts=msgspec.to_builtins(facts, enc_hook=str, str_keys=True),
        )

    def exception(self) -> IndexTablesError:
        kind: type[IndexTablesError] = getattr(errors, self.error)
        return kind(self.message, **self.facts)


@contextmanager
def noted_errors() -> Iterator[None]:
    """Inside, an error of ours gets its note; also as a decorator. For what Spark runs in other processes."""
    try:
        yield
    except IndexTablesError as error:
        if not hasattr(error, "__notes__"):
            error.add_note(_PREFIX + msgspec.json.encode(ErrorNote.of(error)).decode())
        raise


def noted(items: Iterator[Any]) -> Iterator[Any]:
    """The same items; errors of ours that their computation raises have their notes."""
    with noted_errors():
        yield from items


def error_in(text: str) -> IndexTablesError | None:
    """The error whose note is the last one in a text."""
    found = _NOTE.findall(text)
    try:
        return msgspec.json.decode(found[-1], type=ErrorNote).exception() if found else None
    except (msgspec.MsgspecError, AttributeError, TypeError):  # of another release
        return None
