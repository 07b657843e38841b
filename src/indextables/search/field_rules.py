"""How each column is indexed: field rules, as users give them and as the log stores them.

A column of strings is `string` (the whole value, exactly; the default), `text` (words, by a tokenizer) or `none`. Columns
of other types are indexed by their values, under the name of their type; they can only be left out. Binary columns are
always left out. The names that tantivy has for types, `i64`, `f64` and `bytes`, are synonyms.

>>> schema = pa.schema({"Message": pa.string(), "level": pa.string(), "status": pa.int32(), "raw": pa.binary()})
>>> rules = resolve(schema, {"message": "text:en_stem"})
>>> [f"{column}: {rule}" for column, rule in rules.items()]
['Message: text:en_stem', 'level: string', 'status: integer', 'raw: none']

| tokenizer | words |
|---|---|
| `default` | runs of letters and digits, in lower case; words of 40 bytes and more are left out |
| `en_stem` | the same, reduced to their English stems |
| `whitespace` | what is between ASCII white space, as it is |
| `raw` | the whole value, as it is |

Words over 65,530 bytes are left out by every tokenizer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.schema import available_columns_hint, normalize, type_name

DEFAULT_TOKENIZER = "default"
TOKENIZERS = (DEFAULT_TOKENIZER, "en_stem", "raw", "whitespace")
NONE, STRING, TEXT = "none", "string", "text"
_INDEX_TYPES = {
    **dict.fromkeys(("boolean", "byte", "short", "integer", "long", "timestamp", "timestamp_ntz"), "i64"),
    **dict.fromkeys(("float", "double"), "f64"),
    "binary": "bytes",
}
"""What tantivy calls the types of columns that are indexed by their values: synonyms of their own names."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """`text` with its tokenizer, `string`, `none`, or the name of another column type.

    >>> FieldRule.parse("text")
    FieldRule(type='text', tokenizer='default')
    """

    type: str
    tokenizer: str | None = None

    @staticmethod
    def parse(text: str) -> "FieldRule":
        """The rule of a text such as `string`, `text` or `text:whitespace`; any letter case."""
        kind, _, tokenizer = (part.strip() for part in text.lower().partition(":"))
        return FieldRule(kind, tokenizer or (DEFAULT_TOKENIZER if kind == TEXT else None))

    def __str__(self) -> str:
        plain = self.tokenizer is None or self == FieldRule(TEXT, DEFAULT_TOKENIZER)
        return self.type if plain else f"{self.type}:{self.tokenizer}"


FieldsInput: TypeAlias = Mapping[str, str | FieldRule] | Sequence[str] | str
"""Columns with their rules, or the names of columns that are indexed as text."""


def fields_from_input(given: FieldsInput | None, text: str | Sequence[str] | None = None) -> dict[str, str | FieldRule]:
    """The rules that a user gives for columns; `text` names more columns that are indexed as text.

    >>> fields_from_input(["title", "body"]), fields_from_input({"id": "none"}, text="body")
    ({'title': 'text', 'body': 'text'}, {'id': 'none', 'body': 'text'})
    >>> fields_from_input({"body": "string"}, text=["Body"])
    Traceback (most recent call last):
    indextables.errors.SchemaError: column 'Body' is to be indexed as text, and by fields as string; leave one of them out
    """
    rules: dict[str, str | FieldRule] = {}
    rules.update(given if isinstance(given, Mapping) else dict.fromkeys(_names(given), TEXT))
    known = {name.lower(): rule for name, rule in rules.items()}
    for name in _names(text):
        rule = known.get(name.lower())
        if rule is None:
            rules[name] = TEXT
        elif (rule if isinstance(rule, FieldRule) else FieldRule.parse(rule)).type != TEXT:
            raise SchemaError(
                f"column {name!r} is to be indexed as text, and by fields as {rule}; leave one of them out", column=name
            )
    return rules


def _names(given: str | Sequence[str] | None) -> list[str]:
    names = [given] if isinstance(given, str) else list(given or ())
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise SchemaError(f"{odd[0]!r} is not the name of a column to index", column=None)
    return names


def resolve(schema: pa.Schema, given: Mapping[str, str | FieldRule] | None = None) -> dict[str, FieldRule]:
    """A rule for every column: the given one, or the default of its type; SchemaError where a rule cannot be.

    >>> resolve(pa.schema({"message": pa.string()}), {"mesage": "text"})
    Traceback (most recent call last):
    indextables.errors.SchemaError: there is no column 'mesage' to index; did you mean 'message'? The table has message
    """
    schema = normalize(schema)
    by_name = {name.lower(): name for name in schema.names}
    rules = {field.name: default_rule(field.type) for field in schema}
    for name, rule in (given or {}).items():
        column = by_name.get(name.lower())
        if column is None:
            hint = available_columns_hint(name, schema.names)
            raise SchemaError(f"there is no column {name!r} to index; {hint}", column=name)
        rules[column] = _allowed(schema.field(column), rule if isinstance(rule, FieldRule) else FieldRule.parse(rule))
    return rules


def indexed_as(rule: FieldRule) -> str:
    """What is indexed of a column with such a rule, as text.

    >>> indexed_as(FieldRule("text", "default")), indexed_as(FieldRule("string")), indexed_as(FieldRule("long"))
    ('words', 'exact values', 'values')
    """
    return {TEXT: "words", STRING: "exact values"}.get(rule.type, "values")


def default_rule(arrow: pa.DataType) -> FieldRule:
    """The rule of a column for which none is given.

    >>> default_rule(pa.timestamp("us", "UTC"))
    FieldRule(type='timestamp', tokenizer=None)
    """
    return FieldRule(NONE if pa.types.is_binary(arrow) else type_name(arrow))


def _allowed(field: pa.Field, rule: FieldRule) -> FieldRule:
    own = default_rule(field.type)
    if rule == FieldRule(_INDEX_TYPES.get(type_name(field.type), own.type)):
        return own
    words = rule.type == TEXT and own.type == STRING
    if not words and rule not in (own, FieldRule(NONE)):
        choices = f"text, {own} or none" if own.type == STRING else " or ".join(dict.fromkeys([own.type, NONE]))
        raise SchemaError(
            f"column {field.name!r} has type {type_name(field.type)} and cannot be indexed as '{rule}'; use {choices}",
            column=field.name,
        )
    tokenizer = rule.tokenizer or DEFAULT_TOKENIZER
    if words and tokenizer not in TOKENIZERS:
        raise SchemaError(
            f"column {field.name!r} cannot be indexed by a tokenizer {tokenizer!r}; use {', '.join(TOKENIZERS)}",
            column=field.name,
        )
    return FieldRule(TEXT, tokenizer) if words else rule
