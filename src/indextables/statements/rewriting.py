"""Search operators and paths in a statement, replaced by what Spark's parser accepts. The rest of the text is unchanged.

| SQL | replaced by |
|---|---|
| `x INDEXQUERY 'q'`, `x TEXTSEARCH 'q'` | `indexquery(x , 'q')` |
| `x NOT INDEXQUERY 'q'` | `(NOT indexquery(x , 'q'))` |
| `* INDEXQUERY 'q'`, `t.* INDEXQUERY 'q'` | the same with `*` and `t.*`, which Spark expands |
| ``indextables.`path` `` where a table is expected, with `VERSION AS OF` or `TIMESTAMP AS OF` | the name of a view |
| ``CREATE TABLE indextables.`path` `` | a name with the path in it |
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import TokenType

from indextables.errors import StatementError
from indextables.redaction import redacted
from indextables.statements.command_values import Statement, TableAt, new_table_name
from indextables.statements.tokens import CLOSES, OPENS, STRINGS, Tokens, end_of, tokens_of, word

_IMMEDIATE = re.compile(r"\s*EXECUTE\s", re.IGNORECASE)
_SOURCE = "INDEXTABLES"
_BEFORE_A_TABLE = frozenset(
    """FROM JOIN INTO OVERWRITE TABLE UPDATE USING IN EXISTS DESC DESCRIBE EXTENDED FORMATTED PARTITIONS
    TBLPROPERTIES""".split()  # noqa: SIM905
)
_LISTS_TABLES = frozenset({"FROM", "JOIN", "ON"})  # a comma after one of these is before another table
_LISTS_VALUES = frozenset(
    "SELECT BY SET VALUES WHERE HAVING EXTEND AGGREGATE DROP WINDOW".split()  # noqa: SIM905
)
_CREATES_TABLE = frozenset({"CREATE", "OR", "REPLACE", "EXTERNAL", "TABLE", "IF", "NOT", "EXISTS"})
_VERSIONS, _TIMES = frozenset({"VERSION", "SYSTEM_VERSION"}), frozenset({"TIMESTAMP", "SYSTEM_TIME"})
_NEVER_A_COLUMN = frozenset(
    """SELECT DISTINCT ALL FROM WHERE AND OR NOT ON HAVING WHEN THEN ELSE CASE BY AS IN IS LIKE BETWEEN USING QUALIFY
    FILTER EXISTS UNION EXCEPT INTERSECT JOIN LIMIT SET VALUES RETURN""".split()  # noqa: SIM905
)


def rewrite_statement(text: str, prefix: str) -> Statement:
    return _Rewriter(text, prefix, tokens_of(text)).statement()


def immediate_text(text: str) -> str | None:
    """The statement of `EXECUTE IMMEDIATE 'statement'`; None for others, and where it is not a literal.

    >>> immediate_text("EXECUTE IMMEDIATE 'SELECT 1';"), immediate_text("EXECUTE IMMEDIATE query")
    ('SELECT 1', None)
    """
    if not _IMMEDIATE.match(text):
        return None
    tokens = [token for token in tokens_of(text) if token.token_type != TokenType.SEMICOLON]
    words, inner = [word(token) for token in tokens[:2]], tokens[2:]
    is_literal = inner and all(token.token_type in STRINGS for token in inner)
    return "".join(token.text for token in inner) if words == ["EXECUTE", "IMMEDIATE"] and is_literal else None


@dataclass(frozen=True, slots=True)
class _Edit:
    """The characters from `start` to `end` become `new`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class _Rewriter:
    text: str
    prefix: str
    tokens: Tokens
    tables: list[TableAt] = field(default_factory=list)

    def statement(self) -> Statement:
        text, last = "", 0
        for edit in sorted(self.edits(), key=lambda edit: (edit.start, edit.end)):
            text, last = text + self.text[last : edit.start] + edit.new, edit.end
        if self.tables and self.creates_view:
            raise self.invalid(
                "a view cannot name a table by its path; give the table a name with CREATE TABLE first", 0
            )
        return Statement(text + self.text[last:], tuple(self.tables))

    @property
    def creates_view(self) -> bool:
        words = [word(token) for token in self.tokens[:6]]
        return words[:1] == ["CREATE"] and "VIEW" in words

    def edits(self) -> Iterator[_Edit]:
        for place, token in enumerate(self.tokens):
            if token.token_type == TokenType.GLOB:
                yield from self.operator(place)
            elif word(token) == _SOURCE and self.is_path(place):
                self.refuse_statements_about_names(place)
                yield self.new_table(place) if self.creates_table(place) else self.path(place)

    def creates_table(self, place: int) -> bool:
        """Whether this is the table of CREATE TABLE, which is not there yet."""
        before = [word(token) for token in self.tokens[:place]]
        return before[:1] in (["CREATE"], ["REPLACE"]) and "TABLE" in before and _CREATES_TABLE.issuperset(before)

    def new_table(self, place: int) -> _Edit:
        path = self.tokens[place + 2]
        return _Edit(self.tokens[place].start, end_of(path), new_table_name(path.text, self.prefix))

    def refuse_statements_about_names(self, place: int) -> None:
        """Statements that change what the catalog has under a name."""
        before, after = [word(token) for token in self.tokens[:place]], self.words(place + 3)[:2]
        path = self.tokens[place + 2].text
        match before:
            case ["DROP", "TABLE", *rest] if rest in ([], ["IF", "EXISTS"]):
                reason = (
                    "DROP TABLE removes a name from the catalog, and a path has none; TRUNCATE TABLE removes the rows"
                )
            case ["COMMENT", "ON", "TABLE"]:
                reason = "the catalog keeps comments, and a path is not in it; give the table a name with CREATE TABLE"
            case ["ALTER", "TABLE"] if after == ["RENAME", "TO"]:
                reason = "a path has no name in the catalog; give the table one with CREATE TABLE"
            case _:
                return
        raise self.invalid(f"the table is named by its path {redacted(path)}: {reason}", self.tokens[place].start)

    def operator(self, place: int) -> Iterator[_Edit]:
        """The edits for an operator; none if the word is a name."""
        negated = place > 0 and word(self.tokens[place - 1]) == "NOT"
        first, last = self.operand(place - 1 - negated), self.query(place + 1)
        if first is None or last is None:
            return
        before, after = ("(NOT indexquery(", "))") if negated else ("indexquery(", ")")
        start, end = self.tokens[first].start, end_of(self.tokens[last])
        yield _Edit(start, start, before)
        yield _Edit(self.tokens[place - negated].start, end_of(self.tokens[place]), ",")
        yield _Edit(end, end, after)

    def operand(self, last: int) -> int | None:
        """The first token of the operand that ends here: a name, `*`, parentheses, a call, `{parameter}`."""
        if last < 0:
            return None
        match self.tokens[last].token_type:
            case TokenType.STAR:
                return self.qualified(last)
            case TokenType.R_PAREN:
                opening = self.opening(last, TokenType.L_PAREN, TokenType.R_PAREN)
                is_call = opening is not None and opening > 0 and self.is_name(opening - 1)
                return self.qualified(opening - 1) if opening is not None and is_call else opening
            case TokenType.R_BRACE:
                return self.opening(last, TokenType.L_BRACE, TokenType.R_BRACE)
            case _:
                return self.qualified(last) if self.is_name(last) else None

    def qualified(self, place: int) -> int:
        """The first token of a qualified name that ends here: `a.b.c`, `{a}.b`."""
        if place < 2 or self.kinds(place - 1) != TokenType.DOT:  # noqa: PLR2004
            return place
        if self.kinds(place - 2) == TokenType.R_BRACE:
            opening = self.opening(place - 2, TokenType.L_BRACE, TokenType.R_BRACE)
            return place if opening is None else opening
        return self.qualified(place - 2) if self.is_name(place - 2) else place

    def opening(self, place: int, opens: TokenType, closes: TokenType) -> int | None:
        depth = 0
        for at in range(place, -1, -1):
            depth += (self.tokens[at].token_type == closes) - (self.tokens[at].token_type == opens)
            if depth == 0:
                return at
        return None

    def is_name(self, place: int) -> bool:
        token = self.tokens[place]
        if token.token_type == TokenType.IDENTIFIER:
            return True
        return word(token).replace("_", "a").isalnum() and word(token) not in _NEVER_A_COLUMN

    def query(self, first: int) -> int | None:
        """The last token of the query that starts here, in parentheses or not: a string, `:name`, `?`, `{name}`."""
        match [token.token_type for token in self.tokens[first : first + 3]]:
            case [TokenType.STRING | TokenType.RAW_STRING, *_]:
                return self.end_of_strings(first)
            case [TokenType.PLACEHOLDER, *_]:
                return first
            case [TokenType.COLON, _, *_]:
                return first + 1
            case [TokenType.L_BRACE, _, TokenType.R_BRACE]:
                return first + 2
            case [TokenType.L_PAREN, *_]:
                inner = self.query(first + 1)
                closed = inner is not None and self.kinds(inner + 1) == TokenType.R_PAREN
                return inner + 1 if inner is not None and closed else None
            case _:
                return None

    def kinds(self, place: int) -> TokenType | None:
        return self.tokens[place].token_type if place < len(self.tokens) else None

    def end_of_strings(self, place: int) -> int:
        """Spark concatenates adjacent string literals."""
        while self.kinds(place + 1) in STRINGS:
            place += 1
        return place

    def is_path(self, place: int) -> bool:
        """Whether a table is named by its path here: its place in the statement decides, whatever the path looks like."""
        is_name = self.kinds(place + 1) == TokenType.DOT and self.kinds(place + 2) == TokenType.IDENTIFIER
        return is_name and self.is_table(place)

    def is_table(self, place: int) -> bool:
        """Whether the grammar has a table here, and not a column."""
        before = place - 1
        match self.kinds(before) if before >= 0 else None:
            case None:
                return False
            case TokenType.COMMA:
                return self.lists_tables(before)
            case TokenType.L_PAREN:
                return self.last_word(before - 1) not in {"USING", "IN", "EXISTS"} and self.is_table(before)
            case _:
                return self.last_word(before) in _BEFORE_A_TABLE and self.last_word(before - 1) != "DISTINCT"

    def lists_tables(self, comma: int) -> bool:
        """Whether a comma stands between tables: the clause that it belongs to decides."""
        depth = 0
        for place in range(comma - 1, -1, -1):
            kind = self.tokens[place].token_type
            depth += (kind in CLOSES) - (kind in OPENS)
            if depth < 0 or (depth == 0 and kind == TokenType.PIPE_GT):
                return False
            name = self.last_word(place) if depth == 0 else ""
            if name in _LISTS_VALUES or name in _LISTS_TABLES:
                return name in _LISTS_TABLES and self.last_word(place - 1) != "DISTINCT"
        return False

    def last_word(self, place: int) -> str:
        """The word at a place, `BY` of `GROUP BY`; empty for names after a dot, and before the start."""
        is_field = place > 0 and self.kinds(place - 1) == TokenType.DOT
        return "" if place < 0 or is_field else word(self.tokens[place]).rpartition(" ")[2]

    def path(self, place: int) -> _Edit:
        name, path, last = f"{self.prefix}{len(self.tables)}", self.tokens[place + 2].text, place + 2
        version = timestamp = None
        match self.words(last + 1):
            case [*_, kind, "AS", "OF"] as words if kind in _VERSIONS:
                last, version = self.value(last + len(words))
            case [*_, kind, "AS", "OF"] as words if kind in _TIMES:
                last, timestamp = self.value(last + len(words))
        self.tables.append(TableAt(name, path, version, timestamp))
        return _Edit(self.tokens[place].start, end_of(self.tokens[last]), name)

    def words(self, place: int) -> list[str]:
        """`VERSION AS OF`, with or without FOR, or any other words."""
        found = [word(token) for token in self.tokens[place : place + 4]]
        return found if found[:1] == ["FOR"] else found[:3]

    def value(self, place: int) -> tuple[int, str]:
        """The place of the literal after this token, and its text."""
        after = place + 1
        if self.kinds(after) is not None and word(self.tokens[after]) == "TIMESTAMP":
            after += 1
        if self.kinds(after) not in {*STRINGS, TokenType.NUMBER}:
            raise self.invalid("a number or a string is expected after AS OF", end_of(self.tokens[place]))
        return after, self.tokens[after].text

    def invalid(self, reason: str, position: int) -> StatementError:
        position, text = len(redacted(self.text[:position])), redacted(self.text)
        return StatementError(
            f"the statement {text!r} cannot be read at position {position}: {reason}",
            statement=text,
            reason=reason,
            position=position,
        )
