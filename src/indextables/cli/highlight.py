"""The words of a search, made visible in its results."""

import re
from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text

from indextables.search import FieldRule
from indextables.search.analysis import words
from indextables.search.queries import And, Boost, Leaf, Or, Phrase, Prefer, Prefix, Query, Term

_WORD = re.compile(r"\w+")
_STYLE = "bold yellow"


class Highlighter:
    """Highlights the words and prefixes of a search.

    >>> marked = Highlighter([Term("message", "disk"), Prefix("message", "ful")], {"message": FieldRule("text", "default")})
    >>> text = marked("message", "Disk nearly full")
    >>> [text.plain[span.start:span.end] for span in text.spans]
    ['Disk', 'full']
    """

    def __init__(self, queries: Iterable[Query], rules: Mapping[str, FieldRule]) -> None:
        self._rules = rules
        self._words: dict[str, set[str]] = {}
        self._beginnings: dict[str, list[str]] = {}
        for leaf in (leaf for query in queries for leaf in _wanted(query)):
            match leaf:
                case Term(field, text):
                    self._words.setdefault(field, set()).add(text)
                case Phrase(field, texts):
                    self._words.setdefault(field, set()).update(texts)
                case Prefix(field, text):
                    self._beginnings.setdefault(field, []).append(text)

    def __call__(self, column: str, value: str) -> Text:
        shown = Text(value)
        rule = self._rules.get(column)
        if rule is None or column not in self._words.keys() | self._beginnings.keys():
            return shown
        if rule.tokenizer is None:
            shown.stylize(_STYLE if self._is_wanted(column, value) else "")
            return shown
        for word in _WORD.finditer(value):
            if any(self._is_wanted(column, part) for part in words(word[0], rule.tokenizer)):
                shown.stylize(_STYLE, word.start(), word.end())
        return shown

    def _is_wanted(self, column: str, word: str) -> bool:
        return word in self._words.get(column, ()) or word.startswith(tuple(self._beginnings.get(column, ())))


def _wanted(query: Query) -> Iterator[Leaf]:
    """The leaves that rows may have: those under NOT are what they must not have."""
    match query:
        case And(terms) | Or(terms):
            for term in terms:
                yield from _wanted(term)
        case Boost(term):
            yield from _wanted(term)
        case Prefer(term, should):
            for each in (term, *should):
                yield from _wanted(each)
        case Term() | Phrase() | Prefix():
            yield query
        case _:
            pass
