"""Conditions as users give them, SQL text or Python, become predicates; the SQL parser is imported on first use."""

import pyarrow as pa

from indextables.errors import InvalidPredicateError, PredicateError
from indextables.predicate.bind import bind
from indextables.predicate.nodes import Predicate


def parse(text: str, *, time_zone: str = "UTC", operators: str | None = None) -> Predicate:
    """SQL as a predicate that is not bound yet.

    >>> parse("5 < x")
    Comparison(operand=Column(name='x'), op=<Op.GT: '>'>, value=<pyarrow.Int32Scalar: 5>)

    `TIMESTAMP '2024-01-01 00:00:00'` is a time of day in `time_zone`, as it is in the Spark session that speaks so. Errors
    list the `operators` that are understood, all of them unless the caller takes fewer.
    """
    from indextables.predicate import parser  # noqa: PLC0415 - sqlglot takes 0.2 s to import

    return parser.parse(text, time_zone=time_zone, operators=operators or parser.SUPPORTED_OPERATORS)


def parse_condition(
    where: str | Predicate, schema: pa.Schema, *, time_zone: str = "UTC", case_sensitive: bool = False
) -> Predicate:
    """A predicate bound to a schema, from SQL or from what Python built: the one step from what a user gave.

    >>> parse_condition("YEAR = '2024'", pa.schema({"year": pa.int16()}))
    Comparison(operand=Column(name='year'), op=<Op.EQ: '='>, value=<pyarrow.Int16Scalar: 2024>)
    """
    if not isinstance(where, str | Predicate):
        reason = "a condition is a text of SQL, or built from col(...)"
        raise InvalidPredicateError(f"{where!r} is no condition: {reason}", predicate=repr(where), reason=reason)
    written = _parsed(where, schema, time_zone) if isinstance(where, str) else where
    try:
        return bind(written, schema, time_zone=time_zone, case_sensitive=case_sensitive)
    except InvalidPredicateError as error:
        if isinstance(where, str) and error.columns:
            error.predicate, error.position = where, _position_of(error.predicate, where)
        raise


def _parsed(text: str, schema: pa.Schema, time_zone: str) -> Predicate:
    try:
        return parse(text, time_zone=time_zone)
    except PredicateError as error:
        from indextables.predicate import parser  # noqa: PLC0415 - it is loaded by now

        raise parser.unquoted_name(error, schema.names) or error from error.__cause__


def _position_of(name: str, text: str) -> int | None:
    from indextables.predicate import parser  # noqa: PLC0415 - it is loaded by now

    return parser.position_of(name, text)
