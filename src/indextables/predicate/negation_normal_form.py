"""Negation normal form: NOT only directly above a leaf that has no opposite of its own.

>>> from indextables.predicate.column_expression import col
>>> from indextables.predicate.sql_text import to_sql
>>> to_sql(push_negations(~((col("p") == "a") & col("x").is_null())))
"p <> 'a' OR x IS NOT NULL"

What may be concluded from a part of a conjunction may not be concluded under a NOT. With the NOTs at the leaves, no
reader of a predicate needs to remember how many of them it is under. De Morgan's laws, `NOT (x < 5)` as `x >= 5` and
`NOT NOT p` as `p` all hold in three-valued logic too: unknown stays unknown.
"""

from indextables.predicate.nodes import And, Comparison, Literal, Not, Or, Predicate, conjunction, disjunction


def push_negations(predicate: Predicate) -> Predicate:
    """The same predicate, with every NOT pushed down to the leaves."""
    match predicate:
        case And(terms):
            return conjunction(*map(push_negations, terms))
        case Or(terms):
            return disjunction(*map(push_negations, terms))
        case Not(term):
            return _negate(term)
        case _:
            return predicate


def _negate(predicate: Predicate) -> Predicate:
    match predicate:
        case And(terms):
            return disjunction(*map(_negate, terms))
        case Or(terms):
            return conjunction(*map(_negate, terms))
        case Not(term):
            return push_negations(term)
        case Comparison(operand, op, value):
            return Comparison(operand, op.negated, value)
        case Literal(value):
            return Literal(None if value is None else not value)
        case _:
            return Not(predicate)
