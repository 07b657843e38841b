"""The fields of the word index: which columns tantivy has, and under which names.

Only `text` columns are in it. Columns with exact values are found by exact indexes, or by a scan of the column
(`exact_values`), because tantivy would neither store them exactly nor build their index as fast as Arrow does.

Beside the field of a column is its *null field*: 0 where the column is null, nothing elsewhere.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeAlias

import tantivy

from indextables.search.field_rules import NONE, TEXT, FieldRule

NULL = 0
PLACEHOLDER = ":"  # a field that no document has


class Shape(Enum):
    """How a column is indexed."""

    WORDS = "words"
    EXACT = "exact"
    NOTHING = "nothing"


def shape(rule: FieldRule) -> Shape:
    """How a column is indexed under a field rule."""
    return {TEXT: Shape.WORDS, NONE: Shape.NOTHING}.get(rule.type, Shape.EXACT)


def is_indexed_alike(rule: FieldRule, other: FieldRule) -> bool:
    """Whether both rules give a column the same kind of index.

    >>> is_indexed_alike(FieldRule("integer"), FieldRule("long")), is_indexed_alike(FieldRule("string"), FieldRule("none"))
    (True, False)
    """
    return shape(rule) is shape(other) and has_same_words(rule, other)


def has_same_words(rule: FieldRule, other: FieldRule) -> bool:
    """Whether both rules give a column the same words: those of one tokenizer, or none.

    >>> has_same_words(FieldRule("string"), FieldRule("none")), has_same_words(FieldRule("text"), FieldRule("string"))
    (True, False)
    """
    return text_columns(["column"], {"column": rule}) == text_columns(["column"], {"column": other})


TextColumns: TypeAlias = tuple[tuple[str, str], ...]
"""Names of columns and their tokenizers."""


def text_columns(names: Iterable[str], rules: Mapping[str, FieldRule]) -> TextColumns:
    """Those of some columns that the word index has."""
    return tuple((name, rules[name].tokenizer or "default") for name in names if shape(rules[name]) is Shape.WORDS)


def field_name(column: str) -> str:
    """The field of a column; a prefix, so that no column's name is one that tantivy refuses.

    >>> field_name("message")
    '=message'
    """
    return "=" + _without_nul(column)


def null_field_name(column: str) -> str:
    """The field that marks the rows in which a column is null."""
    return "?" + _without_nul(column)


def tantivy_schema(columns: TextColumns) -> tantivy.Schema:
    """The fields of a word index of these columns. Nothing is stored: the rows are elsewhere."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field(PLACEHOLDER, fast=True)
    for column, tokenizer in columns:
        builder.add_text_field(field_name(column), tokenizer_name=tokenizer, index_option="position")
        builder.add_integer_field(null_field_name(column), fast=True)
    return builder.build()


def _without_nul(column: str) -> str:
    return column.replace("%", "%25").replace("\0", "%00")  # tantivy ends a column's name at NUL
