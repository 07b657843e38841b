r"""Lucene's query language.

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

Where it is not as in Lucene:

- AND binds before OR, and NOT in an OR means its complement (`a OR NOT b`: rows with a, and rows without b). Beside a `+`,
  every clause is required, prohibited or optional as in Lucene.
- A slash inside a word belongs to it (`a/b`), and so do the colons of a timestamp and the minus of `status:-5`.
- A word that is longer than its tokenizer indexes is an error, not a clause that is silently left out.
- What Lucene reads in a way that is hardly meant is an error: `a&&b`, `! a`, `key="value"`, `a!=b`, `'a'`, `a = b`, `a^2b`.

As in Lucene, a clause without any word (`message:"--"`) is left out, and a query of nothing else finds nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa

from indextables.errors import SearchQueryError
from indextables.nearest import nearest
from indextables.predicate.sql_text import name_sql
from indextables.search import queries as nodes
from indextables.search import syntax
from indextables.search.field_queries import MAX_FUZZY_DISTANCE, Field, LeafError
from indextables.search.field_rules import TEXT, FieldRule
from indextables.search.lexer import syntax_error
from indextables.search.queries import Query
from indextables.search.text_choice import named_as_text
from indextables.search.text_fields import Shape, shape
from indextables.search.to_lucene import as_word, quoted

_MAX_LISTED = 5
_BACKTICKS = re.compile(r"`([^`]+)`\s*:")


def parse(
    text: str,
    *,
    schema: pa.Schema,
    rules: Mapping[str, FieldRule],
    default_fields: Sequence[str] | None = None,
) -> Query:
    """Parses a search and binds it to the columns of a table, or raises a SearchQueryError.

    >>> from indextables.search import resolve
    >>> schema = pa.schema({"message": pa.string(), "level": pa.string(), "status": pa.int32()})
    >>> rules = resolve(schema, {"message": "text"})
    >>> parse('"Connection reset" AND NOT level:INFO', schema=schema, rules=rules)
    And(terms=(Phrase(field='message', words=('connection', 'reset'), slop=0), Not(term=Term(field='level', text='INFO'))))

    Words without a field are looked for in the `default_fields`, or in all text fields where none are given.
    """
    reader = _Reader(text, schema, rules, default_fields)
    return reader.query(syntax.syntax_tree(text), None) or nodes.MatchNone()


class _Reader:
    """One text, and the table that it is about. A clause without any word in it is None, and is left out."""

    def __init__(
        self, text: str, schema: pa.Schema, rules: Mapping[str, FieldRule], default_fields: Sequence[str] | None
    ) -> None:
        self.text = text
        self.fields = {f.name: Field(f.name, f.type, rules[f.name]) for f in schema}
        self.searchable = [f.name for f in self.fields.values() if shape(f.rule) is not Shape.NOTHING]
        self.anywhere = default_fields is None
        texts = [name for name in self.searchable if rules[name].type == TEXT]
        self.defaults = texts if default_fields is None else [self.field(name, None).name for name in default_fields]

    def query(self, item: syntax.Item, field: Field | None) -> Query | None:
        """The query of an item, on a field or on the default ones."""
        match item:
            case syntax.Group():
                return self.group(item.clauses, field)
            case syntax.InField():
                return self.in_field(item)
            case syntax.Boost():
                term = self.query(item.item, field)
                return None if term is None else nodes.Boost(term, item.factor)
            case _:
                return self.leaf(item, field)

    def group(self, clauses: Sequence[syntax.Clause], field: Field | None) -> Query | None:
        """Clauses side by side: what must be, what must not, and what should."""
        as_lucene = any(clause.modifier == "+" for clause in clauses)
        must, banned, should = list[Query](), list[Query](), list[Query]()
        for run in _and_runs(clauses):
            found = [(clause.modifier, self.query(clause.item, field)) for clause in run.clauses]
            terms = [(modifier, term) for modifier, term in found if term is not None]
            if len(run.clauses) > 1 and not as_lucene:
                should += [nodes.conjunction(map(_signed, terms))] if terms else []
                continue
            for modifier, term in terms:
                if modifier == "NOT" and run.in_or and not as_lucene:
                    should.append(_negation(term))
                elif modifier in ("-", "NOT"):
                    banned.append(_negation(term))
                else:
                    (must if modifier == "+" or len(run.clauses) > 1 else should).append(term)
        if must and should:
            return nodes.Prefer(nodes.conjunction([*must, *banned]), tuple(should))
        either = [nodes.disjunction(should)] if should else []
        return _combine(nodes.conjunction, [*must, *either, *banned])

    def in_field(self, item: syntax.InField) -> Query | None:
        if item.name == "*":
            if not (isinstance(item.item, syntax.Word) and item.item.text == "*"):
                raise self.error("*:* is the only search in a field named *; name a field", item.item, "*")
            return nodes.MatchAll()
        field = self.field(item.name, item)
        if isinstance(item.item, syntax.Signed) and field.is_text:
            raise self.error(f"write the sign before the field, or NOT {item.name}:...", item.item, item.name)
        return self.query(item.item, field)

    def leaf(self, item: syntax.Leaf, field: Field | None) -> Query | None:
        if field is not None:
            return self.about(field, item)
        if self.anywhere and isinstance(item, syntax.Word) and item.text == "*":
            return nodes.MatchAll()
        if not self.defaults:
            raise self.error(self.without_text(), item)
        return _combine(nodes.disjunction, (self.about(self.fields[name], item) for name in self.defaults))

    def without_text(self) -> str:
        """Why a word without a field finds nothing here, and what does."""
        hint = "a word without a field is searched in text columns, and the table has none"
        strings = [name for name in self.searchable if self.fields[name].is_text]
        if not strings:
            return f"{hint}; write field:value. Fields are {', '.join(self.searchable) or 'none'}"
        strings.sort(key=named_as_text, reverse=True)
        name = strings[0] if len(strings) == 1 or named_as_text(strings[0]) else "COLUMN"
        listed = ", ".join(strings[:_MAX_LISTED]) + (" ..." if len(strings) > _MAX_LISTED else "")
        return (
            f"{hint}. Indexed as exact values: {listed}; there, {name}:word finds values that are just this word, and "
            f"{name}:*word* values that contain it. To search by words, change the index of the column: "
            f"ALTER TABLE ... SET INDEXING ({name} = text), or `indextables set-indexing TABLE {name}=text`"
        )

    def about(self, field: Field, item: syntax.Leaf) -> Query | None:
        """The query of a word, phrase, pattern or range on a field."""
        try:
            return _said(field, item)
        except LeafError as error:
            raise self.error(str(error), item, field.name) from None

    def field(self, name: str, item: syntax.Item | None) -> Field:
        """The column of a name, in any letter case, or an error that lists those that there are."""
        found = next((field for field in self.fields.values() if field.name.lower() == name.lower()), None)
        if found is None:
            hint = self.field_hint(name, item)
            listed = ", ".join(map(as_word, self.searchable)) or "none"
            raise self.error(f"there is no field {name!r}; {hint} Fields are {listed}", item, name)
        if found.name not in self.searchable:
            raise self.error(f"the column {found.name!r} is not indexed, so it cannot be searched", item, found.name)
        return found

    def field_hint(self, name: str, item: syntax.Item | None) -> str:
        """What to write in place of a field that there is not."""
        if name.endswith("`") and (found := _BACKTICKS.search(self.text)):
            return f"a field is written without backticks: {as_word(found[1])}:..."
        meant = nearest(name, self.searchable)
        before, _, path = name.partition(".")
        column = next((field for field in self.fields.values() if field.name.lower() == before.lower()), None)
        if path and column is not None and column.is_text and meant in (None, column.name):
            return f"{_json_hint(column, path, item)}."
        colon = "to search for a text with a colon in it, put it in quotes."
        return f"did you mean '{as_word(meant)}'?" if meant else colon

    def error(self, reason: str, item: syntax.Item | None, field: str | None = None) -> SearchQueryError:
        error = syntax_error(self.text, reason, None if item is None else item.position)
        error.field, error.fields = field, tuple(self.searchable)
        return error


@dataclass(frozen=True, slots=True)
class _Run:
    """Clauses that AND joins; `in_or` if an OR is before or after them."""

    clauses: Sequence[syntax.Clause]
    in_or: bool


def _json_hint(column: Field, path: str, item: syntax.Item | None) -> str:
    """How a value in JSON text is found."""
    words = item.item if isinstance(item, syntax.InField) else None
    value = words.text if isinstance(words, syntax.Word | syntax.Quoted) else "..."
    literal = value.replace("'", "''")
    sql = f"json_extract_string({name_sql(column.name)}, '$.{path}') = '{literal}' in the SQL of `indextables sql`"
    if not column.has_words:
        return f"a value in the JSON text of {column.name} is found by {sql}"
    phrase = quoted(f"{path.rpartition('.')[2]} {value}")
    return f"JSON text is searched by its words, as in {as_word(column.name)}:{phrase}, or by {sql}"


def _and_runs(clauses: Sequence[syntax.Clause]) -> Iterator[_Run]:
    starts = [place for place, clause in enumerate(clauses) if place == 0 or clause.joined != "AND"]
    for start, end in zip(starts, [*starts[1:], len(clauses)], strict=True):
        after = clauses[end].joined if end < len(clauses) else ""
        yield _Run(clauses[start:end], "OR" in (clauses[start].joined, after))


def _said(field: Field, item: syntax.Leaf) -> Query | None:
    match item:
        case syntax.Word(text):
            return field.word(text)
        case syntax.Signed(text):
            return field.match(text)
        case syntax.Quoted(text, slop):
            return field.match(text, slop=slop)
        case syntax.Regex(pattern):
            return field.regex(pattern)
        case syntax.Fuzzy(text, distance):
            return field.fuzzy(text, MAX_FUZZY_DISTANCE if distance is None else distance)
        case syntax.Range():
            return field.range(
                item.lower, item.upper, includes_lower=item.includes_lower, includes_upper=item.includes_upper
            )
        case _:
            assert_never(item)


def _combine(combine: Callable[[Iterable[Query]], Query], clauses: Iterable[Query | None]) -> Query | None:
    kept = [clause for clause in clauses if clause is not None]
    return combine(kept) if kept else None


def _signed(clause: tuple[str, Query]) -> Query:
    modifier, term = clause
    return _negation(term) if modifier else term


def _negation(term: Query) -> Query:
    return nodes.MatchNone() if term == nodes.MatchAll() else nodes.Not(term)
