"""IN and EXISTS as Spark has analyzed them: the rows in which a condition looks for a match, and what it compares.

Only subqueries that a match makes true, and its absence false or unknown, are found here. NOT IN, NOT EXISTS, and all that
stands in an OR, are conditions like any other that Spark alone evaluates.
"""

from dataclasses import dataclass, field
from typing import Any

from indextables.spark.catalyst.expressions import conjuncts
from indextables.spark.catalyst.java import Java, has, kind, references_of, sequence, simplified


@dataclass(frozen=True, slots=True)
class MatchingSubquery:
    """A subquery, `root` its whole plan. A condition is true only of rows that have a match among its `rows`.

    Pairs of expressions are `compared`, the first of them outside of the subquery, and are equal for a match; it satisfies
    the `conditions` too. Others compare the columns in `references`.
    """

    root: Java
    rows: Java
    compared: list[tuple[Java, Java]]
    conditions: list[Java] = field(default_factory=list)
    references: frozenset[int] = frozenset()


def matching_subquery(term: Java, spark: Any) -> MatchingSubquery | None:
    """The subquery of a condition; None where that is not one of a known form."""
    match kind(term):
        case "InSubquery":
            return _of_in(term, spark)
        case "Exists":
            return _of_exists(term, spark)
    return None


def _of_in(term: Java, spark: Any) -> MatchingSubquery | None:
    root = term.query().plan()
    values, output = sequence(term.values()), sequence(root.output())
    if has(root, "OUTER_REFERENCE", spark) or len(values) != len(output):
        return None
    return MatchingSubquery(root, root, list(zip(values, output, strict=True)))


def _of_exists(term: Java, spark: Any) -> MatchingSubquery | None:
    """`EXISTS (SELECT ... FROM b WHERE b.k = a.k AND ...)`: one filter has all references to the query around it."""
    root = node = term.plan()
    while kind(node) in {"Project", "SubqueryAlias"}:  # what EXISTS selects does not matter
        node = node.child()
    if kind(node) != "Filter" or has(node.child(), "OUTER_REFERENCE", spark):
        return None
    simple = simplified(node, spark)
    condition = (simple if kind(simple) == "Filter" else node).condition()
    if not condition.deterministic():
        return None
    compared, conditions, references = [], [], references_of(term)
    for each in conjuncts(condition):
        if not has(each, "OUTER_REFERENCE", spark):
            conditions.append(each)
        elif (pair := _outer_equality(each)) is not None:
            compared.append(pair)
        else:
            references |= references_of(each)
    return MatchingSubquery(root, node.child(), compared, conditions, references)


def _outer_equality(term: Java) -> tuple[Java, Java] | None:
    """A column of the query around a subquery, and the column of the subquery that it equals."""
    if kind(term) != "EqualTo":
        return None
    sides = [term.left(), term.right()]
    for outer, own in (sides, reversed(sides)):
        if kind(outer) == "OuterReference" and kind(own) == "AttributeReference":
            return outer.e(), own
    return None
