r"""Lucene's classic query parser, read from its published grammar (QueryParser.jj): what a text means for a row.

The tokens are those of the grammar, by lexical state, and the longest match wins. `Refused` is a text that is not in the
language. Where docs/search.md says that ours differs, so does this: those places are marked DIFFERENCE.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.search.brute import changes, globbed, near

Row = dict[str, Any]
Test = Callable[[Row], bool]
Meaning = Test | None  # a clause without any word in it means nothing, and is left out
TEXT, STRING, NUMBER = "text", "string", "number"


class Refused(Exception):  # noqa: N818 - the outcome of a reading
    pass


class Unclear(Exception):  # noqa: N818
    """A regular expression that Lucene, Python and Rust may each understand in their own way."""


# --- tokens

_ESCAPED = r"\\."
_TERM_START = rf"""(?:[^ \t\n\r\u3000+\-!():^\[\]"{{}}~*?\\/]|{_ESCAPED})"""
_TERM_CHAR = rf"(?:{_TERM_START}|[-+/])"  # DIFFERENCE: a slash inside a word belongs to it
_WHITE = r"[ \t\n\r\u3000]"
_OPERATOR_AND_REGEX = r"(?!(?:AND|OR|NOT|&&|\|\|)/)"
DEFAULT = [
    ("AND", r"AND|&&"),
    ("OR", r"OR|\|\|"),
    ("NOT", r"NOT|!"),
    ("PLUS", r"\+"),
    ("MINUS", r"-"),
    ("BAREOPER", rf"[-+!]{_WHITE}"),
    ("LPAREN", r"\("),
    ("RPAREN", r"\)"),
    ("COLON", r":"),
    ("STAR", r"\*"),
    ("CARAT", r"\^"),
    ("QUOTED", rf'"(?:[^"\\]|{_ESCAPED})*"'),
    ("TERM", rf"{_OPERATOR_AND_REGEX}{_TERM_START}{_TERM_CHAR}*"),
    ("FUZZY_SLOP", r"~(?:[0-9]+(?:\.[0-9]+)?)?"),
    ("PREFIXTERM", rf"\*|{_OPERATOR_AND_REGEX}{_TERM_START}{_TERM_CHAR}*\*"),
    ("WILDTERM", rf"{_OPERATOR_AND_REGEX}(?:{_TERM_START}|[*?])(?:{_TERM_CHAR}|[*?])*"),
    ("REGEXPTERM", rf"/(?:[^/\\]|{_ESCAPED})*/"),
    ("RANGE_START", r"[\[{]"),
]
BOOST = [("NUMBER", r"[0-9]+(?:\.[0-9]+)?")]
RANGE = [
    ("RANGE_TO", r"TO"),
    ("RANGE_END", r"[\]}]"),
    ("RANGE_QUOTED", rf'"(?:[^"\\]|{_ESCAPED})*"'),
    ("RANGE_GOOP", rf"(?:[^ \t\n\r\u3000\]}}\\]|{_ESCAPED})+"),
]
TERMS = {"TERM", "STAR", "PREFIXTERM", "WILDTERM", "REGEXPTERM"}


class Token(NamedTuple):
    kind: str
    image: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.image)


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    state, at = DEFAULT, 0
    while at < len(text):
        if state is not BOOST and re.match(_WHITE, text[at]):
            at += 1
            continue
        matches = [(kind, re.compile(pattern, re.DOTALL).match(text, at)) for kind, pattern in state]
        longest = max((len(match[0]) for _, match in matches if match), default=0)
        if not longest:
            raise Refused(f"lexical error at {at}")
        kind = next(kind for kind, match in matches if match and len(match[0]) == longest)
        found.append(Token(kind, text[at : at + longest], at))
        at += longest
        state = {"CARAT": BOOST, "NUMBER": DEFAULT, "RANGE_START": RANGE, "RANGE_END": DEFAULT}.get(kind, state)
    return found


def refuse_the_unlikely(text: str, read: Sequence[Token]) -> None:
    """DIFFERENCE: what Lucene reads in a way that is hardly meant."""
    for token in read:
        bare = re.sub(_ESCAPED, "", token.image, flags=re.DOTALL)
        after = next((other for other in read if other.start == token.end), None)
        word_follows = after is not None and (after.kind in TERMS or after.kind == "BAREOPER")
        if token.kind == "BAREOPER":
            raise Refused("a sign alone")
        if token.kind in ("PREFIXTERM", "WILDTERM") and token.image[0] in "<>":
            raise Refused("a comparison with a pattern")
        if token.image == "!" and text.startswith("=", token.end):
            raise Refused("!=")
        if token.kind in TERMS - {"REGEXPTERM"} and (
            "&&" in bare
            or "||" in bare
            or token.image[0] == "'"
            or token.image in ("=", "==")
            or re.match(r"\w+==?'", token.image)
            or re.fullmatch(r"[<>]=?(?:[-+]?(?:/.*)?|[-+]{2,}.*)|[<>]==.*", token.image)
        ):
            if not (re.fullmatch(r"[<>]=?", token.image) and after is not None and after.kind == "QUOTED"):
                raise Refused("a sign in a word")
        elif token.image.endswith("=") and bare and token.kind == "TERM" and after and after.kind == "QUOTED":
            raise Refused("key=value")
        if token.kind in ("NUMBER", "FUZZY_SLOP", "REGEXPTERM") and after and (word_follows and after.kind in TERMS):
            raise Refused("a word after a number or a regular expression")


# --- the grammar


class Reader:
    """One method for each production; each gives a test for rows."""

    def __init__(self, text: str, columns: dict[str, str]) -> None:
        self.columns = columns
        self.default = next(name for name, kind in columns.items() if kind == TEXT)
        self.tokens = tokens(text)
        refuse_the_unlikely(text, self.tokens)

    def top_level(self) -> Meaning:
        test = self.query(None)
        if self.tokens:
            raise Refused("more than a query")
        return test

    def query(self, field: str | None) -> Meaning:
        clauses: list[tuple[str, str, Meaning]] = []
        while not clauses or (self.tokens and self.tokens[0].kind != "RPAREN"):
            conjunction = self.optional("AND", "OR") if clauses else None
            modifier = self.optional("PLUS", "MINUS", "NOT")
            clauses.append((kind(conjunction), kind(modifier), self.clause(field)))
        return meaning(clauses)

    def clause(self, field: str | None) -> Meaning:
        if self.kinds(2) in (["TERM", "COLON"], ["STAR", "COLON"]):
            name = self.expect("TERM", "STAR")
            self.expect("COLON")
            if name.kind == "STAR" and self.kinds(1) != ["STAR"]:
                raise Refused("a field named *")
            field = "*" if name.kind == "STAR" else self.column(unescaped(name.image))
            if self.kinds(2) == ["MINUS", "TERM"] and self.columns.get(field) == NUMBER:
                return self.negative(field)  # DIFFERENCE: a minus belongs to the number
        if self.kinds(1) == ["LPAREN"]:
            self.expect("LPAREN")
            test = self.query(field)
            self.expect("RPAREN")
            self.boost()
            return test
        return self.term(field)

    def negative(self, field: str) -> Meaning:
        minus, number = self.expect("MINUS"), self.expect("TERM")
        if number.start != minus.end:
            raise Refused("a minus alone")
        return self.word(field, "-" + unescaped(number.image))

    def term(self, field: str | None) -> Meaning:
        token = self.expect("QUOTED", "RANGE_START", *TERMS)
        if token.kind == "RANGE_START":
            return self.range(field, token)
        if re.fullmatch(r"[<>]=?", token.image):  # DIFFERENCE: a comparison with a text in quotes
            bound = unescaped(self.expect("QUOTED").image[1:-1])
            return self.boosted(self.comparison(field, token.image, bound))
        boost, fuzzy = self.boost(), self.optional("FUZZY_SLOP")
        if not boost:
            self.boost()
        return self.near(field, token, fuzzy.image[1:]) if fuzzy else self.exact(field, token)

    def exact(self, field: str | None, token: Token) -> Meaning:
        match token.kind:
            case "QUOTED":
                return self.word(field, unescaped(token.image[1:-1]))
            case "REGEXPTERM":
                if not re.fullmatch(r"(?:\w|[ :]|\\/|\.\*|\[ab\])*", token.image[1:-1]):
                    raise Unclear(token.image)
                return self.matching(field, token.image[1:-1].replace("\\/", "/"))
            case "TERM" if found := re.match(r"[<>]=?", token.image):
                return self.comparison(field, found[0], unescaped(token.image[found.end() :]))
            case "TERM":
                return self.word(field, unescaped(token.image))
        return self.wildcard(field, token.image)

    def near(self, field: str | None, token: Token, distance: str) -> Meaning:
        if token.kind == "QUOTED" and distance.isdecimal():
            return self.word(field, unescaped(token.image[1:-1]), int(distance))
        if token.kind == "TERM" and token.image[0] not in "<>":
            return self.fuzzy(field, unescaped(token.image), distance)
        raise Refused("a distance where there is none")  # DIFFERENCE: Lucene ignores it

    def boosted(self, test: Test) -> Meaning:
        self.boost()
        return test

    def range(self, field: str | None, start: Token) -> Meaning:
        low = self.expect("RANGE_GOOP", "RANGE_QUOTED", "RANGE_TO")
        self.expect("RANGE_TO")
        high = self.expect("RANGE_GOOP", "RANGE_QUOTED", "RANGE_TO")
        end = self.expect("RANGE_END")
        self.boost()
        if any('"' in re.sub(_ESCAPED, "", token.image) for token in (low, high) if token.kind == "RANGE_GOOP"):
            raise Refused("a quote inside an end")
        return self.between(field, ending(low), ending(high), low_in=start.image == "[", high_in=end.image == "]")

    def boost(self) -> bool:
        if not self.optional("CARAT"):
            return False
        if not float(self.expect("NUMBER").image):
            raise Refused("a boost of zero")
        return True

    # --- leaves

    def word(self, field: str | None, text: str, slop: int = 0) -> Meaning:
        name, kind = self.of(field)
        if slop and kind != TEXT:
            raise Refused("a distance in a value")
        if kind == NUMBER:
            return self.between(name, text, text, low_in=True, high_in=True)
        if kind == STRING:
            return lambda row: row[name] == text
        wanted = tuple(words(text))
        return (lambda row: near(wanted, dict(enumerate(words(row[name]))), slop)) if wanted else None

    def wildcard(self, field: str | None, image: str) -> Meaning:
        if field == "*" and image == "*":
            return lambda _: True
        if not image.strip("*"):
            if field is None and image == "*":
                return lambda _: True
            name, _ = self.of(field)
            return lambda row: row[name] is not None
        return self.matching(field, globbed(image))

    def matching(self, field: str | None, pattern: str) -> Meaning:
        name, kind = self.of(field, TEXT, STRING)
        flags = re.DOTALL | (re.IGNORECASE if kind == TEXT else re.NOFLAG)
        return lambda row: any(re.fullmatch(pattern, value, flags) for value in values(row[name], kind))

    def fuzzy(self, field: str | None, text: str, distance: str) -> Meaning:
        name, kind = self.of(field, TEXT, STRING)
        if distance not in ("", "0", "1", "2"):
            raise Refused("a distance beyond two")
        if distance == "0":
            return self.word(field, text)
        wanted, most = text.lower() if kind == TEXT else text, int(distance or 2)
        return lambda row: any(changes(wanted, value) <= most for value in values(row[name], kind))

    def comparison(self, field: str | None, sign: str, bound: str) -> Meaning:
        inclusive = sign.endswith("=")
        if bound[:1] in ("<", ">", "="):
            raise Refused("two comparisons")
        lower, upper = (bound, None) if sign[0] == ">" else (None, bound)
        return self.between(field, lower, upper, low_in=inclusive, high_in=inclusive)

    def between(
        self, field: str | None, lower: str | None, upper: str | None, *, low_in: bool, high_in: bool
    ) -> Meaning:
        name, kind = self.of(field)
        low, high = (None if end is None else bound(end, kind) for end in (lower, upper))

        def inside(value: Any) -> bool:
            above = low is None or value > low or (low_in and value == low)
            return above and (high is None or value < high or (high_in and value == high))

        return lambda row: any(inside(value) for value in values(row[name], kind))

    def of(self, field: str | None, *kinds: str) -> tuple[str, str]:
        name = self.default if field is None else field
        if name == "*" or (kinds and self.columns[name] not in kinds):
            raise Refused(f"not of {name}")
        return name, self.columns[name]

    def column(self, name: str) -> str:
        if name not in self.columns:
            raise Refused(f"no field {name}")
        return name

    # --- tokens

    def kinds(self, count: int) -> list[str]:
        return [token.kind for token in self.tokens[:count]]

    def optional(self, *kinds: str) -> Token | None:
        return self.tokens.pop(0) if self.tokens and self.tokens[0].kind in kinds else None

    def expect(self, *kinds: str) -> Token:
        token = self.optional(*kinds)
        if token is None:
            raise Refused(f"expected {kinds}")
        return token


def meaning(clauses: Sequence[tuple[str, str, Meaning]]) -> Meaning:
    if all(test is None for _, _, test in clauses):
        return None
    if any(modifier == "PLUS" for _, modifier, _ in clauses):
        return as_lucene(clauses)
    return as_logic(clauses)


def as_lucene(clauses: Sequence[tuple[str, str, Meaning]]) -> Test:
    """`QueryParserBase.addClause`, where OR is the default operator."""
    occurs: list[str] = []
    for conjunction, modifier, _ in clauses:
        if occurs and conjunction == "AND" and occurs[-1] != "MUST_NOT":
            occurs[-1] = "MUST"
        prohibited = modifier in ("MINUS", "NOT")
        required = not prohibited and (modifier == "PLUS" or conjunction == "AND")
        occurs.append("MUST_NOT" if prohibited else "MUST" if required else "SHOULD")
    found = [(occur, test) for occur, (_, _, test) in zip(occurs, clauses, strict=True) if test is not None]
    must, banned, should = (
        [test for occur, test in found if occur == wanted] for wanted in ("MUST", "MUST_NOT", "SHOULD")
    )
    return lambda row: (
        all(test(row) for test in must)
        and not any(test(row) for test in banned)
        and (bool(must) or not should or any(test(row) for test in should))
    )


def as_logic(clauses: Sequence[tuple[str, str, Meaning]]) -> Test:
    """DIFFERENCE: AND before OR, and NOT in an OR is a complement. A clause with a minus is taken from all others."""
    alternatives: list[list[Test]] = []
    banned: list[Test] = []
    for place, (conjunction, modifier, test) in enumerate(clauses):
        following = clauses[place + 1][0] if place + 1 < len(clauses) else ""
        negated = modifier in ("MINUS", "NOT")
        in_or = modifier == "NOT" and "OR" in (conjunction, following)
        if conjunction != "AND" and (following == "AND" or not negated or in_or):
            alternatives.append([])
        if test is not None and negated and conjunction != "AND" and following != "AND" and not in_or:
            banned.append(test)
        elif test is not None:
            alternatives[-1].append(complement(test) if negated else test)
    wanted = [tests for tests in alternatives if tests]
    return lambda row: (
        (not wanted or any(all(test(row) for test in tests) for tests in wanted))
        and not any(test(row) for test in banned)
    )


def complement(test: Test) -> Test:
    return lambda row: not test(row)


def kind(token: Token | None) -> str:
    return token.kind if token else ""


def ending(token: Token) -> str | None:
    if token.kind == "RANGE_QUOTED":
        return unescaped(token.image[1:-1])
    return None if token.image == "*" else unescaped(token.image)


def unescaped(text: str) -> str:
    out, at = "", 0
    while at < len(text):
        if text[at] != "\\":
            out, at = out + text[at], at + 1
        elif text[at + 1] == "u":
            if not re.fullmatch(r"[0-9a-fA-F]{4}", text[at + 2 : at + 6]):
                raise Refused("half a code")
            out, at = out + chr(int(text[at + 2 : at + 6], 16)), at + 6
        else:
            out, at = out + text[at + 1], at + 2
    return out


def words(text: str | None) -> list[str]:
    return re.findall(r"[^\W_]+", (text or "").lower())


def values(value: Any, kind: str) -> list[Any]:
    return [] if value is None else words(value) if kind == TEXT else [value]


def bound(text: str, kind: str) -> Any:
    if kind != NUMBER:
        return text.lower() if kind == TEXT else text
    if not re.fullmatch(r"-?[0-9]+", text):
        raise Refused(f"{text} is no number")
    return int(text)


def rows_of(text: str, columns: dict[str, str], rows: Sequence[Row]) -> list[int] | None:
    """The numbers of the rows that a text means; None where it is refused."""
    try:
        test = Reader(text, columns).top_level()
    except Refused:
        return None
    return [number for number, row in enumerate(rows) if test is not None and test(row)]
