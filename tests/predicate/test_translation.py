"""The common table, over trees that are written down here: what is read of them, and where types decide."""

from typing import Any

import pyarrow as pa
import pytest

from indextables.predicate import Cast, CastMode, Column, Predicate, bind, col
from indextables.predicate.translation import (
    Call,
    ColumnReference,
    Node,
    Refusal,
    Translator,
    UntranslatableError,
    Value,
    cast_node,
)

INT, LONG, TEXT, DAY, TIME = pa.int32(), pa.int64(), pa.string(), pa.date32(), pa.timestamp("us", "UTC")


class Tree:
    """Expressions as tuples: `("=", "x", 5)`. A text is a column, anything else a literal."""

    def __init__(self, **types: pa.DataType) -> None:
        self.types = types
        self.read: list[Any] = []

    def node(self, source: Any) -> Node | None:
        self.read.append(source)
        match source:
            case ("length", _):
                return None
            case (str() as function, *arguments):
                return Call(function, tuple(arguments))
            case str():
                return ColumnReference(Column(source), self.types.get(source))
            case _:
                return Value(pa.scalar(source))

    def predicate(self, source: Any) -> Predicate:
        return Translator(self.node).predicate(source)


def test_nodes_are_read_once_and_only_as_far_as_they_are_needed() -> None:
    tree = Tree()
    assert tree.predicate(("between", "x", 1, 5)) == col("x").between(pa.scalar(1), pa.scalar(5))
    assert tree.read == [("between", "x", 1, 5), "x", 1, 5]
    tree = Tree()
    with pytest.raises(UntranslatableError):
        tree.predicate(("and", (">", ("length", "x"), 5), ("=", "y", 1)))
    assert tree.read[1:] == [(">", ("length", "x"), 5), ("length", "x")]


def test_a_literal_has_the_type_in_which_it_is_compared_if_that_is_known() -> None:
    value = pa.scalar(5)
    assert Tree().predicate((">", 5, "x")) == Tree(x=LONG).predicate(("<", "x", 5)) == (col("x") < value)
    assert Tree(x=INT).predicate(("=", "x", None)) == (col("x") == None)  # noqa: E711 - null has any type
    for condition in [("=", "x", 5), ("in", "x", None, 5), ("startswith", "x", "5"), "x"]:
        with pytest.raises(UntranslatableError):
            Tree(x=INT).predicate(condition)


@pytest.mark.parametrize(
    ("condition", "source", "refusal"),
    [
        (("=", ("length", "x"), 5), ("length", "x"), Refusal.VALUE),
        (("isnull", ("length", "x")), ("length", "x"), Refusal.COLUMN),
        (("=", "x", "y"), "y", Refusal.VALUE),
        (("=", 1, 2.5), ("=", 1, 2.5), Refusal.COMPARISON),
        (("like", "x", 5), 5, Refusal.TEXT),
        (("or", "x", ("length", "x")), ("length", "x"), Refusal.CONDITION),
        (("not", "x", "y"), ("not", "x", "y"), Refusal.CONDITION),
    ],
)
def test_a_refusal_names_the_node(condition: Any, source: Any, refusal: Refusal) -> None:
    with pytest.raises(UntranslatableError) as caught:
        Tree().predicate(condition)
    assert (caught.value.source, caught.value.refusal) == (source, refusal)


@pytest.mark.parametrize(
    ("own", "kind", "expected"),
    [
        (None, INT, Cast("x", INT)),
        (INT, INT, Column("x")),
        (INT, LONG, Cast("x", LONG)),
        (LONG, INT, None),
        (TEXT, INT, Cast("x", INT)),
        (TIME, DAY, Cast("x", DAY)),
        (DAY, TEXT, None),
        (pa.bool_(), TEXT, Cast("x", TEXT)),
    ],
)
def test_casts_are_those_that_binding_knows(
    own: pa.DataType | None, kind: pa.DataType, expected: Column | Cast | None
) -> None:
    node = cast_node(ColumnReference(Column("x"), own), kind)
    assert node == (None if expected is None else ColumnReference(expected, own and kind))
    if node is not None and own is not None:
        bind(Translator(lambda one: one).predicate(Call("isnull", (node,))), pa.schema({"x": own}))


def test_a_cast_of_a_cast_is_compared_in_the_wider_type() -> None:
    inner = cast_node(ColumnReference(Column("x"), TEXT), INT, CastMode.TRY)
    assert cast_node(inner, LONG) == ColumnReference(Cast("x", INT, mode=CastMode.TRY), LONG)
    assert cast_node(inner, TEXT) is None
    assert cast_node(cast_node(ColumnReference(Column("x")), INT), LONG) is None
