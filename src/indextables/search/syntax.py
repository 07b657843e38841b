"""The syntax tree of a query, by the grammar of Lucene's classic query parser.

```
query  = clause { [AND | OR] clause }
clause = [ + | - | NOT ] [ field ":" ] ( term | "(" query ")" ) [ ^number ]
term   = word [ ~number ] | "quoted" [ ~number ] | /regex/ | [a TO b] | >value
```

>>> syntax_tree("a !level:b")
Group(clauses=(Clause(item=Word(text='a', position=0), joined='', modifier='', position=0),
    Clause(item=InField(name='level', item=Word(text='b', position=9), position=3), joined='', modifier='NOT', position=2)),
    position=0)
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from indextables.search.lexer import MAX_LENGTH, Token, syntax_error, tokens
from indextables.search.to_lucene import as_word

MAX_DEPTH = 50
_MAX_BOOST = 1_000_000_000
_MODIFIERS = {"+", "-", "NOT"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CODED = re.compile(r"\\u([0-9a-fA-F]{4})|\\.", re.DOTALL)
_BAD_CODE = re.compile(r"(?<!\\)(?:\\\\)*(\\u(?:(?![0-9a-fA-F]{4})|[dD][89a-fA-F]))")


@dataclass(frozen=True, slots=True)
class Word:
    """As it was written: with its escapes and wildcards."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Signed:
    """A word after a minus that belongs to the value: `status:-5`."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Quoted:
    text: str
    slop: int
    position: int


@dataclass(frozen=True, slots=True)
class Regex:
    pattern: str
    position: int


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """None is the distance of `~` alone."""

    text: str
    distance: int | None
    position: int


@dataclass(frozen=True, slots=True)
class Range:
    """None is an open end."""

    lower: str | None
    upper: str | None
    includes_lower: bool
    includes_upper: bool
    position: int


@dataclass(frozen=True, slots=True)
class InField:
    name: str
    item: "Item"
    position: int


@dataclass(frozen=True, slots=True)
class Boost:
    item: "Item"
    factor: float
    position: int


@dataclass(frozen=True, slots=True)
class Clause:
    """`joined` is AND, OR or nothing before the clause; `modifier` is `+`, `-`, NOT or nothing."""

    item: "Item"
    joined: str
    modifier: str
    position: int


@dataclass(frozen=True, slots=True)
class Group:
    clauses: tuple[Clause, ...]
    position: int


Leaf = Word | Signed | Quoted | Regex | Fuzzy | Range
Item = Leaf | InField | Boost | Group


def syntax_tree(text: str) -> Group:
    """The tree of a text, or a SearchQueryError."""
    if not isinstance(text, str):
        raise syntax_error(repr(text), "it is not a text")
    if len(text) > MAX_LENGTH:
        raise syntax_error(text, f"it has {len(text):,} characters, and {MAX_LENGTH:,} are allowed")
    if not text.strip():
        raise syntax_error(text, "it is empty; *:* means every row")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise syntax_error(text, "it has half a character (a surrogate) in it")
    parser = _Parser(text)
    tree = parser.group(0)
    parser.expect_end()
    return tree


def unescaped(text: str) -> str:
    r"""A text without its escapes.

    >>> print(unescaped(r"a\:b"))
    a:b
    """
    return _ESCAPE.sub(r"\1", text)


class _Parser:
    """One method for each rule of the grammar; each reads what it is about and leaves the rest."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0

    def group(self, depth: int) -> Group:
        if depth > MAX_DEPTH:
            raise syntax_error(self.text, f"it is nested more than {MAX_DEPTH} deep")
        clauses: list[Clause] = []
        while not clauses or self.kind() not in (None, ")"):
            joined = self.take().kind if clauses and self.kind() in ("AND", "OR") else ""
            modifier = self.take() if self.kind() in _MODIFIERS else None
            item = self.item(depth)
            position = item.position if modifier is None else modifier.position
            clauses.append(Clause(item, joined, "" if modifier is None else modifier.kind, position))
        return Group(tuple(clauses), clauses[0].position)

    def item(self, depth: int) -> Item:
        if self.kind() == "WORD" and self.kind(1) == ":":
            return self.in_field(depth)
        if self.kind() == "QUOTED" and self.kind(1) == ":":
            name = as_word(self.plain_text(self.next()))
            raise syntax_error(self.text, f"a field is written without quotes: {name}:...", self.next().position)
        return self.plain(depth)

    def in_field(self, depth: int) -> Item:
        name = self.take()
        self.take()
        if self.kind() == "WORD" and self.kind(1) == ":":
            raise syntax_error(self.text, "a value with a colon in it needs quotes", self.next().position)
        if self.kind() in _MODIFIERS:
            return InField(self.plain_text(name), self.signed(name), name.position)
        item = self.plain(depth)
        if isinstance(item, Boost):
            return Boost(InField(self.plain_text(name), item.item, name.position), item.factor, item.position)
        return InField(self.plain_text(name), item, name.position)

    def signed(self, name: Token) -> Signed:
        sign = self.take()
        number = self.next() if self.kind() == "WORD" else None
        if sign.kind != "-" or number is None or number.position != sign.end:
            reason = f"write the sign before the field, or NOT {name.text}:..."
            raise syntax_error(self.text, reason, sign.position)
        return Signed("-" + self.plain_text(self.take()), sign.position)

    def plain(self, depth: int) -> Item:
        """A term or a group, with its boost."""
        if self.kind() != "(":
            return self.term()
        self.take()
        inside = self.group(depth + 1)
        if self.kind() != ")":
            self.unexpected()
        self.take()
        return self.boosted(inside)

    def term(self) -> Item:
        """A term; its distance may stand before its boost and after it."""
        token = self.take() if self.kind() in _TERMS else self.unexpected()
        bound = self.bound() if token.kind == "COMPARISON" else None
        factor, distance = self.number("^"), self.number("~")
        factor = self.number("^") if factor is None and distance else factor
        if distance and token.kind not in ("WORD", "QUOTED"):
            raise syntax_error(self.text, "a distance follows a word or a text in quotes", distance.position)
        item = self.leaf(token, bound, distance)
        return item if factor is None else self.boost(item, factor)

    def leaf(self, token: Token, bound: str | None, distance: Token | None) -> Leaf:
        match token.kind:
            case "COMPARISON":
                inclusive, above = token.text.endswith("="), token.text.startswith(">")
                lower, upper = (bound, None) if above else (None, bound)
                return Range(lower, upper, not above or inclusive, above or inclusive, token.position)
            case "QUOTED":
                slop = 0 if distance is None else self.whole(distance, 'a number of words, as in "a b"~2')
                return Quoted(self.plain_text(token), slop or 0, token.position)
            case "REGEX":
                return Regex(token.text[1:-1].replace("\\/", "/"), token.position)
            case "RANGE":
                lower, upper = (self.end(part, token) for part in token.parts)
                return Range(lower, upper, token.text[0] == "[", token.text[-1] == "]", token.position)
            case _ if distance is None:
                return Word(self.written(token), token.position)
            case _:
                if is_pattern(token.text):
                    raise syntax_error(self.text, "a word with wildcards has no distance", distance.position)
                changes = self.whole(distance, "0, 1 or 2 changes, as in word~1") if distance.parts[0] else None
                return Fuzzy(self.plain_text(token), changes, token.position)

    def bound(self) -> str:
        """The value of a comparison, of which a minus may be part."""
        sign = self.take().text if self.kind() in ("+", "-") else ""
        token = self.take() if self.kind() in ("WORD", "QUOTED") else self.unexpected()
        if token.kind == "WORD" and (token.text.startswith("=") or is_pattern(token.text)):
            raise syntax_error(self.text, "a comparison is <, <=, > or >= and one value", token.position)
        return sign + self.plain_text(token)

    def end(self, written: str | None, token: Token) -> str | None:
        if written is None or written == "*":
            return None
        return self.plain_text(Token("QUOTED" if written[0] == '"' else "WORD", written, token.position))

    def whole(self, distance: Token, expected: str) -> int:
        number = distance.parts[0]
        if number is None or not number.isdecimal():
            raise syntax_error(self.text, f"a distance is {expected}", distance.position)
        return int(number)

    def boosted(self, item: Item) -> Item:
        factor = self.number("^")
        return item if factor is None else self.boost(item, factor)

    def boost(self, item: Item, factor: Token) -> Item:
        value = float(factor.parts[0] or 0)
        if not 0 < value <= _MAX_BOOST:
            reason = f"a boost is a number above zero, up to {_MAX_BOOST:,}, not {factor.parts[0]}"
            raise syntax_error(self.text, reason, factor.position)
        return Boost(item, value, item.position)

    def number(self, kind: str) -> Token | None:
        return self.take() if self.kind() == kind else None

    def plain_text(self, token: Token) -> str:
        return unescaped(self.written(token)[1:-1] if token.kind == "QUOTED" else self.written(token))

    def written(self, token: Token) -> str:
        r"""The text of a token, with its codes of characters (`\u0041`) as these characters, escaped."""
        if bad := _BAD_CODE.search(token.text):
            reason = "four hexadecimal digits of a character follow \\u; write \\\\ for a backslash"
            raise syntax_error(self.text, reason, token.position + bad.start(1))
        return _CODED.sub(lambda found: "\\" + chr(int(found[1], 16)) if found[1] else found[0], token.text)

    def expect_end(self) -> None:
        if self.kind() is not None:
            self.unexpected()

    def kind(self, ahead: int = 0) -> str | None:
        return self.tokens[self.at + ahead].kind if self.at + ahead < len(self.tokens) else None

    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def unexpected(self) -> NoReturn:
        if self.kind() is None:
            reason = "something is missing at its end, such as a word or a parenthesis"
            raise syntax_error(self.text, reason, len(self.text))
        raise syntax_error(self.text, f"{self.next().text[:50]!r} is not expected here", self.next().position)


_TERMS = {"WORD", "QUOTED", "REGEX", "RANGE", "COMPARISON"}
_WILD = re.compile(r"\\.|([*?])", re.DOTALL)


def is_pattern(written: str) -> bool:
    r"""Whether a word has wildcards in it.

    >>> is_pattern("a*"), is_pattern(r"a\*")
    (True, False)
    """
    return any(found[1] for found in _WILD.finditer(written))
