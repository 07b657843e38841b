r"""Lucene's query language, as users know it.

| written | finds |
|---|---|
| `timeout` | the word, in the default fields |
| `level:ERROR` | the word in a text field; the whole value in a string field |
| `message:"connection reset"` | the phrase; in a string field the whole value |
| `"reset connection"~2` | the words near each other |
| `level:(ERROR OR WARN)` | a group in a field |
| `conn*`, `te?t` | words by a pattern; `level:*` any value at all |
| `/5[0-9]{2}/` | words by a regular expression |
| `roam~1` | words at most one change away; `~` alone means two |
| `status:[500 TO 599]`, `{500 TO *]`, `status:>=500` | a range; `[` includes the end, `{` does not, `*` is open |
| `ts:[2024-01-01 TO 2024-01-01T12:00:00Z]` | instants in UTC; a date is its midnight |
| `a AND b`, `a OR b`, `NOT a`, `&&`, `\|\|`, `!` | as in logic: NOT before AND before OR |
| `a b` | any of them: OR is the default |
| `+a b -c` | rows with a and without c, those with b first |
| `a^2` | a counts twice in the score |
| `\` | takes the meaning from the character after it |
| `*:*` | every row |

Letter case matters in values and not in the names of fields. Every mistake is found here, before any row is looked at.

Where it is not as in Lucene: NOT in an OR means its complement (`a OR NOT b`: rows with a, and rows without b), and AND
binds before OR. A word that is longer than its tokenizer indexes is an error, not a clause that is silently left out. As
in Lucene, a clause without any word (`message:"--"`) is left out, and a query of nothing else finds nothing.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
from luqum import tree

from indextables.errors import SearchQueryError
from indextables.nearest import nearest
from indextables.search import nodes
from indextables.search.fields import TEXT, FieldRule
from indextables.search.leaves import MAX_FUZZY_DISTANCE, Field, LeafError, unescaped
from indextables.search.nodes import Query
from indextables.search.syntax import syntax_tree, unreadable
from indextables.search.terms import Shape, shape

_IMPLICIT = Decimal("0.5")  # luqum's word for `~` alone, from the days when it was a similarity
_BANNING = (tree.Prohibit, tree.Not)


def parse(
    text: str, *, schema: pa.Schema, rules: Mapping[str, FieldRule], default_fields: Sequence[str] | None
) -> Query:
    """The query that a text says; see `indextables.search.parse`."""
    try:
        return _Reader(text, schema, rules, default_fields).query(syntax_tree(text), None) or nodes.MatchNone()
    except RecursionError:
        raise unreadable(text, "it is nested too deep") from None


class _Reader:
    """One text, and the table that it is about. A clause without any word in it is None, and is left out."""

    def __init__(
        self, text: str, schema: pa.Schema, rules: Mapping[str, FieldRule], default_fields: Sequence[str] | None
    ) -> None:
        self.text = text
        self.fields = {f.name: Field(f.name, f.type, rules[f.name]) for f in schema}
        self.searchable = [f.name for f in self.fields.values() if shape(f.type, f.rule) != Shape.NOTHING]
        self.anywhere = default_fields is None
        texts = [name for name in self.searchable if rules[name].type == TEXT]
        self.defaults = texts if default_fields is None else [self.field(name, None).name for name in default_fields]

    def query(self, item: tree.Item, field: Field | None) -> Query | None:  # noqa: PLR0911 - one for each kind
        """What an item says, about a field or about the default ones."""
        match item:
            case tree.SearchField():
                return self.in_field(item)
            case tree.AndOperation():
                return _combined(nodes.conjunction, (self.query(part, field) for part in item.children))
            case tree.OrOperation() | tree.UnknownOperation():
                return self.alternatives(item, field)
            case tree.BaseGroup() | tree.Plus():
                return self.query(item.children[0], field)
            case tree.Not() | tree.Prohibit():
                return _negation(self.query(item.children[0], field))
            case tree.Boost():
                return self.boosted(item, self.query(item.expr, field))
            case _:
                return self.leaf(item, field)

    def in_field(self, item: tree.SearchField) -> Query | None:
        name, inner = unescaped(item.name), item.expr
        if isinstance(inner, tree.SearchField):
            raise self.error("a value with a colon in it needs quotes", inner, name)
        if name == "*":
            return self.everywhere(inner)
        field = self.field(name, item)
        match inner:
            case tree.Prohibit(a=tree.Word(value=number)) if not field.is_text:
                return self.leaf(tree.Word("-" + number, pos=inner.pos), field)
            case tree.Prohibit() | tree.Plus():
                raise self.error(f"write the sign before the field, or NOT {name}:...", inner, name)
            case _:
                return self.query(inner, field)

    def everywhere(self, item: tree.Item) -> Query | None:
        match item:
            case tree.Word(value="*"):
                return nodes.MatchAll()
            case tree.Boost():
                return self.boosted(item, self.everywhere(item.expr))
            case _:
                raise self.error("*:* is the only search in a field named *; name a field", item, "*")

    def alternatives(self, item: tree.Item, field: Field | None) -> Query | None:
        """Clauses side by side, with or without OR: what must be, what must not, and what should."""
        banning = _BANNING if isinstance(item, tree.UnknownOperation) else (tree.Prohibit,)
        must, banned, wishes = list[Query](), list[Query](), list[Query]()
        for part in item.children:
            clause = self.query(part, field)
            if clause is not None:
                kind = must if isinstance(part, tree.Plus) else banned if isinstance(part, banning) else wishes
                kind.append(clause)
        if must and wishes:
            return nodes.Prefer(nodes.conjunction([*must, *banned]), tuple(wishes))
        either = [nodes.disjunction(wishes)] if wishes else []
        return _combined(nodes.conjunction, [*must, *either, *banned])

    def boosted(self, item: tree.Boost, term: Query | None) -> Query | None:
        factor = float(item.force)
        if not (math.isfinite(factor) and factor > 0):
            raise self.error(f"a boost is a number above zero, not {item.force}", item)
        return None if term is None else nodes.Boost(term, factor)

    def leaf(self, item: tree.Item, field: Field | None) -> Query | None:
        if field is not None:
            return self.about(field, item)
        if self.anywhere and isinstance(item, tree.Word) and item.value == "*":
            return nodes.MatchAll()
        if not self.defaults:
            raise self.error("it has a word without a field, and no column is indexed as text; write field:word", item)
        return _combined(nodes.disjunction, (self.about(self.fields[name], item) for name in self.defaults))

    def about(self, field: Field, item: tree.Item) -> Query | None:  # noqa: PLR0911 - one for each kind
        """What a word, phrase, pattern or range says about a field."""
        try:
            match item:
                case tree.Word():
                    return field.word(item.value)
                case tree.Phrase():
                    return field.match(_quoted(item))
                case tree.Proximity():
                    return field.match(_quoted(item.term), slop=item.degree)
                case tree.Regex():
                    return field.regex(item.value[1:-1].replace("\\/", "/"))
                case tree.Fuzzy():
                    return field.fuzzy(unescaped(item.term.value), self.distance(item))
                case tree.Range():
                    return field.range(
                        self.end(item.low),
                        self.end(item.high),
                        includes_lower=item.include_low,
                        includes_upper=item.include_high,
                    )
                case tree.From():
                    return field.range(self.end(item.a), None, includes_lower=item.include, includes_upper=True)
                case tree.To():
                    return field.range(None, self.end(item.a), includes_lower=True, includes_upper=item.include)
                case _:
                    raise self.error(f"{type(item).__name__} is not supported", item, field.name)
        except LeafError as error:
            raise self.error(str(error), item, field.name) from None

    def end(self, item: tree.Item) -> str | None:
        match item:
            case tree.Word(value="*"):
                return None
            case tree.Word():
                return unescaped(item.value)
            case tree.Phrase():
                return _quoted(item)
            case tree.Prohibit(a=tree.Word(value=value)):
                return "-" + unescaped(value)
            case _:
                raise self.error("the end of a range is a word or a text in quotes", item)

    def distance(self, item: tree.Fuzzy) -> int:
        if item.degree == _IMPLICIT:
            return MAX_FUZZY_DISTANCE
        if item.degree != int(item.degree):
            raise self.error(f"the distance of a fuzzy search is 0, 1 or 2, not {item.degree}", item)
        return int(item.degree)

    def field(self, name: str, item: tree.Item | None) -> Field:
        """The column of a name, in any letter case, or an error that lists those that there are."""
        found = next((field for field in self.fields.values() if field.name.lower() == name.lower()), None)
        if found is None:
            meant = nearest(name, self.searchable)
            hint = f"did you mean {meant!r}? " if meant else ""
            listed = ", ".join(self.searchable) or "none"
            raise self.error(f"there is no field {name!r}; {hint}Fields are {listed}", item, name)
        if found.name not in self.searchable:
            raise self.error(f"the column {found.name!r} is not indexed, so it cannot be searched", item, found.name)
        return found

    def error(self, reason: str, item: tree.Item | None, field: str | None = None) -> SearchQueryError:
        error = unreadable(self.text, reason, None if item is None else item.pos)
        error.field, error.fields = field, tuple(self.searchable)
        return error


def _combined(combine: Callable[[Iterable[Query]], Query], clauses: Iterable[Query | None]) -> Query | None:
    kept = [clause for clause in clauses if clause is not None]
    return combine(kept) if kept else None


def _negation(term: Query | None) -> Query | None:
    if term is None:
        return None
    return nodes.MatchNone() if term == nodes.MatchAll() else nodes.Not(term)


def _quoted(phrase: tree.Phrase) -> str:
    return unescaped(phrase.value[1:-1])
