"""What a predicate says of one row, in the plainest Python: slow, obvious, and written without the package's help."""

import math
from decimal import Decimal
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from indextables.predicate import nodes

Answer = bool | None
COMPARE = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def answer(predicate: nodes.Predicate, row: dict[str, Any]) -> Answer:  # noqa: PLR0911
    match predicate:
        case nodes.And(terms):
            return both([answer(term, row) for term in terms])
        case nodes.Or(terms):
            return negation(both([negation(answer(term, row)) for term in terms]))
        case nodes.Not(term):
            return negation(answer(term, row))
        case nodes.Literal(value):
            return value
        case nodes.IsNull(operand):
            return row[operand.name] is None
        case nodes.NullSafeEqual(operand, value):
            mine, other = row[operand.name], value.as_py()
            return mine is other if mine is None or other is None else compare("=", mine, other)
        case nodes.Comparison(operand, op, value):
            return compare(op.value, row[operand.name], value.as_py())
        case nodes.In(operand, values):
            return among(row[operand.name], [value.as_py() for value in values])
        case _:
            return text_test(predicate, row[predicate.operand.name])


def both(answers: list[Answer]) -> Answer:
    if False in answers:
        return False
    return None if None in answers else True


def negation(answer: Answer) -> Answer:
    return None if answer is None else not answer


def compare(op: str, mine: Any, other: Any) -> Answer:
    if mine is None or other is None:
        return None
    if isinstance(mine, float) or isinstance(other, float):
        mine, other = float(mine), float(other)
    return bool(COMPARE[op](spark_order(mine), spark_order(other)))


def among(mine: Any, values: list[Any]) -> Answer:
    """All values in one type: a double among them makes doubles of all."""
    if any(isinstance(value, float) for value in values):
        values = [None if value is None else float(value) for value in values]
    return negation(both([negation(compare("=", mine, value)) for value in values]))


def spark_order(value: Any) -> Any:
    """A key that sorts as Spark does: NaN above all and equal to itself, decimals exactly."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return Fraction(value) if isinstance(value, Decimal | int) and not isinstance(value, bool) else value


def text_test(predicate: nodes.Predicate, text: str | None) -> Answer:
    match predicate:
        case _ if text is None:
            return None
        case nodes.StartsWith(_, part):
            return text.startswith(part)
        case nodes.EndsWith(_, part):
            return text.endswith(part)
        case nodes.Contains(_, part):
            return part in text
        case nodes.Like(_, pattern, escape):
            return like(text, pattern, escape)
        case _:
            raise AssertionError(predicate)


def like(text: str, pattern: str, escape: str) -> bool:
    match pattern[:1]:
        case "":
            return not text
        case first if first == escape:
            return text[:1] == pattern[1] and like(text[1:], pattern[2:], escape)
        case "%":
            return any(like(text[i:], pattern[1:], escape) for i in range(len(text) + 1))
        case "_":
            return bool(text) and like(text[1:], pattern[1:], escape)
        case first:
            return text[:1] == first and like(text[1:], pattern[1:], escape)
