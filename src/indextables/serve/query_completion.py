"""Completion of a search that is being typed: fields, operators, and the values of columns with exact values."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from indextables.nearest import nearest
from indextables.read.ordered_scan import as_written
from indextables.search.syntax import unescaped
from indextables.search.to_lucene import as_word, quoted
from indextables.serve.json_values import cells, from_utf16, utf16_offset
from indextables.serve.served_tables import TableVersion
from indextables.serve.view_state import ViewState
from indextables.serve.view_summaries import value_counts

_MOST = 12
_LONGEST = 500  # characters of a field and its value: the time to find them grows with the square
_SPLITS = 4  # whose words are offered
_OPERATORS = ("AND", "OR", "NOT")
_PLAIN = re.compile(r"[\w.@][\w.@\-]*")
_VALUE = re.compile(
    r"""(?P<field>(?:\\.|[^\s\\+\-!():^\[\]"{}~/])(?:\\.|[^\s\\():^\[\]"{}~])*):(?P<text>"(?:[^"\\]|\\.)*|[^\s():"]*)\Z"""
)
_WORD = re.compile(r"(?:^|(?<=[\s(+!\-]))(?P<text>(?:\\.|[^\s\\+\-!():^\[\]\"{}~/])(?:\\.|[^\s\\():^\[\]\"{}~])*)?\Z")


def complete(shown: TableVersion, text: str, cursor: int, *, check: Callable[[], None]) -> dict[str, Any]:
    """What can stand at the cursor, and the part of the text that it replaces; places are counted as JavaScript does."""
    place = min(from_utf16(text, cursor), len(text))
    before = text[:place]
    if value := _VALUE.search(before, max(0, place - _LONGEST)):
        items = _values(shown, unescaped(value["field"]), value["text"], check=check)
        start = value.start("text")
    elif not _in_quotes(before) and (word := _WORD.search(before)):
        start = place if word["text"] is None else word.start("text")
        items = [*_fields(shown, unescaped(word["text"] or "")), *_operators(before[:start], word["text"] or "")]
    else:
        return {"from": cursor, "to": cursor, "items": []}
    return {"from": utf16_offset(text, start), "to": utf16_offset(text, place), "items": items[:_MOST]}


def _in_quotes(text: str) -> bool:
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', text)) % 2 == 1


def _fields(shown: TableVersion, prefix: str) -> list[dict[str, Any]]:
    names = [name for name, kind in shown.indexed.items() if kind != "none"]
    lower = prefix.lower()
    first = [name for name in names if name.lower().startswith(lower)]
    inside = [name for name in names if lower in name.lower() and name not in first]
    meant = nearest(prefix, names) if prefix and not first and not inside else None
    found = [*first, *inside, *([meant] if meant else [])]
    return [{"text": as_word(name) + ":", "label": name, "kind": "field"} for name in found]


def _operators(before: str, prefix: str) -> Iterable[dict[str, Any]]:
    """AND and OR stand between two clauses; NOT may stand at the beginning too."""
    is_first = not before.strip() or before.rstrip().endswith(("(", *_OPERATORS))
    for name in _OPERATORS:
        if name.startswith(prefix.upper()) and not (is_first and name != "NOT"):
            yield {"text": f"{name} ", "label": name, "kind": "operator"}


def _values(shown: TableVersion, field: str, written: str, *, check: Callable[[], None]) -> list[dict[str, Any]]:
    """The most frequent values of a column that begin with what was written."""
    column = next((name for name in shown.schema.names if name.lower() == field.lower()), None)
    prefix = unescaped(written.removeprefix('"')).lower()
    if column in shown.text_columns and not written.startswith('"'):
        return _words(shown, column, prefix, check=check) if prefix else []
    if column not in shown.facet_columns:
        return []
    counts = value_counts(shown.view(ViewState(), check=check), column)
    pairs = zip(cells(counts["value"]), counts["count"].to_pylist(), strict=True)
    found = [
        (str(value).lower() if isinstance(value, bool) else str(value), n) for value, n in pairs if value is not None
    ]
    matching = [(value, n) for value, n in found if value.lower().startswith(prefix)][:_MOST]
    return [{"text": _written(value), "label": value, "kind": "value", "count": n} for value, n in matching]


def _words(shown: TableVersion, column: str, prefix: str, *, check: Callable[[], None]) -> list[dict[str, Any]]:
    """The words that are most frequent in the splits that were written last, if their indexes are on this machine."""
    view = shown.view(ViewState(), check=check)
    counts: Counter[str] = Counter()
    for task in as_written(view.scan.plan)[-_SPLITS:]:
        counts.update(dict(view.open(task).frequent_words(column, prefix, _MOST)))
    return [
        {"text": _written(word), "label": word, "kind": "value", "count": n} for word, n in counts.most_common(_MOST)
    ]


def _written(value: str) -> str:
    r"""A value as a search has it.

    >>> print(_written("ERROR"), _written('a "b"'))
    ERROR "a \"b\""
    """
    if _PLAIN.fullmatch(value) and value not in _OPERATORS:
        return value
    return quoted(value)
