"""A bound predicate as its author could have written it: as text it can travel, and binding it again gives it back."""

from msgspec.structs import replace

from indextables.predicate.nodes import And, Cast, Column, IndexQuery, Literal, Not, Or, Predicate


def as_written(predicate: Predicate) -> Predicate:
    """The predicate without casts, which binding makes again: the values have the types that columns are cast to.

    >>> import pyarrow as pa
    >>> from indextables.predicate import read, to_sql
    >>> to_sql(as_written(read("name = 5", pa.schema({"name": pa.string()}))))
    'name = 5L'
    """
    match predicate:
        case And(terms) | Or(terms):
            return replace(predicate, terms=tuple(map(as_written, terms)))
        case Not(term):
            return Not(as_written(term))
        case IndexQuery() | Literal():
            return predicate
        case _:
            operand = predicate.operand
            return replace(predicate, operand=Column(operand.name)) if isinstance(operand, Cast) else predicate
