"""What a predicate says of a row of nulls: an outer join makes such rows for the side that has no match."""

from indextables.predicate import And, IndexQuery, IsNull, Literal, Not, NullSafeEqual, Or, Predicate


def rejects_nulls(predicate: Predicate) -> bool:
    """Whether the predicate is false or unknown where all of its columns are null.

    >>> from indextables.predicate import col
    >>> rejects_nulls(col("a") > 1), rejects_nulls(~(col("a") > 1)), rejects_nulls(col("a").is_null())
    (True, True, False)
    """
    return _of_nulls(predicate) is not True


def _of_nulls(predicate: Predicate) -> bool | None:  # noqa: PLR0911 - one for each kind of predicate
    match predicate:
        case And(terms):
            found = {_of_nulls(term) for term in terms}
            return False if False in found else None if None in found else True
        case Or(terms):
            found = {_of_nulls(term) for term in terms}
            return True if True in found else None if None in found else False
        case Not(term):
            inner = _of_nulls(term)
            return None if inner is None else not inner
        case IsNull():
            return True
        case NullSafeEqual(_, value):
            return not value.is_valid
        case Literal(value):
            return value
        case IndexQuery():
            return False
        case _:
            return None
