"""The order of rows: `ORDER BY` as in Spark SQL.

Nulls come first in ascending order and last in descending order, unless a term says otherwise. NaN is greater than any other
number, and texts are compared by their code points. Rows that are equal stay in the order in which they are given.

>>> order = parse_order_by("level, ts desc", pa.schema({"ts": pa.int64(), "level": pa.string()}))
>>> print(", ".join(map(str, order)))
level ASC NULLS FIRST, ts DESC NULLS LAST
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import ConfigError, SchemaError
from indextables.kernels import flat
from indextables.predicate import Column, Comparison, IsNull, Literal, Not, Op, Predicate, conjunction, disjunction
from indextables.schema import column_named
from indextables.search.ordinals import is_ordinal, ordinals

OrderBy: TypeAlias = str | Sequence[str]
_TERM = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>.+?))"
    r"(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?\s*",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_SPELLING = re.compile(
    r"-\s*(?P<negated>.+)|(?P<spelled>.+?)\s+(?:(?P<up>ascending)|descending)", re.IGNORECASE | re.DOTALL
)
_SEPARATOR = re.compile(r",(?=(?:[^`]*`[^`]*`)*[^`]*\Z)")  # a comma outside of backquotes
_FALSE = Literal(value=False)
_MANY = 4  # times as many rows as are wanted are worth a selection before they are sorted


@dataclass(frozen=True, slots=True)
class SortTerm:
    """One column of an order."""

    column: str
    descending: bool
    nulls_first: bool

    def __str__(self) -> str:
        return f"{self.column} {'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


Order: TypeAlias = tuple[SortTerm, ...]


def parse_order_by(order_by: OrderBy, schema: pa.Schema) -> Order:
    """The order that a text such as `ts desc, id` means, or a list of such terms; each column counts once.

    >>> schema = pa.schema({"ts": pa.int64(), "level, old": pa.string()})
    >>> [str(term) for term in parse_order_by(["ts desc nulls first", "`level, old`"], schema)]
    ['ts DESC NULLS FIRST', 'level, old ASC NULLS FIRST']
    >>> parse_order_by("tz desc", schema)
    Traceback (most recent call last):
    indextables.errors.SchemaError: there is no column 'tz'; ...
    """
    texts = _SEPARATOR.split(order_by) if isinstance(order_by, str) else order_by
    if not isinstance(texts, Sequence) or not texts or not all(isinstance(text, str) for text in texts):
        raise _invalid(order_by)
    terms = [_parse_term(text, schema) for text in texts]
    return tuple({term.column: term for term in reversed(terms)}[name] for name in columns_of(terms))


def _parse_term(text: str, schema: pa.Schema) -> SortTerm:
    whole = next((name for name in schema.names if name.lower() == text.strip().lower()), None)
    if whole is not None:  # a column may be named `date desc`
        return SortTerm(whole, descending=False, nulls_first=True)
    found = _TERM.fullmatch(text)
    if found is None:
        raise _invalid(text)
    name = found["plain"] if found["quoted"] is None else found["quoted"].replace("``", "`")
    descending = (found["direction"] or "").lower() == "desc"
    nulls = found["nulls"]
    nulls_first = not descending if nulls is None else nulls.lower() == "first"
    return SortTerm(_column(name, schema), descending, nulls_first)


def _column(name: str, schema: pa.Schema) -> str:
    """The column of a term, or a SchemaError; for `-ts` and `ts descending` it says what to write."""
    known = {column.lower(): column for column in schema.names}
    other = _OTHER_SPELLING.fullmatch(name)
    meant = known.get((other["negated"] or other["spelled"]).lower()) if other else None
    if other is None or meant is None or name.lower() in known:
        return column_named(schema, name)
    direction = "asc" if other["up"] else "desc"
    raise SchemaError(f"there is no column {name!r}; write '{meant} {direction}'", column=name)


def columns_of(order: Sequence[SortTerm]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term.column for term in order))


def _invalid(order_by: object) -> ConfigError:
    return ConfigError(
        f"order_by is {order_by!r:.80}; it is text such as 'ts desc' or 'level, ts desc nulls last', or a list of them",
        key="order_by",
        value=str(order_by),
    )


def sorted_positions(rows: pa.Table, order: Order, limit: int | None = None) -> pa.Array:
    """The positions of rows in an order, or of the first `limit` of them.

    >>> rows = pa.table({"x": [1.0, float("nan"), None, 2.0]})
    >>> sorted_positions(rows, (SortTerm("x", descending=True, nulls_first=False),)).to_pylist()
    [1, 3, 0, 2]
    """
    contenders = None if limit is None else _contenders(rows, order[0], limit)
    if contenders is None:
        return _positions(rows, order).slice(0, limit)
    among = rows.select(columns_of(order)).take(contenders)
    return contenders.take(_positions(among, order).slice(0, limit))


def _positions(rows: pa.Table, order: Order) -> pa.Array:
    columns, directions = list[pa.Array](), list[str]()
    for term in order:
        values = _comparable(rows[term.column])
        if values.null_count:
            columns.append(values.is_null())
            directions.append("descending" if term.nulls_first else "ascending")
        columns.append(values)
        directions.append("descending" if term.descending else "ascending")
    names = [str(number) for number in range(len(columns))]
    return pc.sort_indices(pa.table(columns, names=names), sort_keys=list(zip(names, directions, strict=True)))


def _comparable(column: pa.ChunkedArray) -> pa.Array:
    """Values that Arrow orders as Spark orders those of the column."""
    values = flat(column)
    return ordinals(values) if is_ordinal(values.type) and not pa.types.is_binary(values.type) else values


def _contenders(rows: pa.Table, term: SortTerm, limit: int) -> pa.Array | None:
    """The positions of the rows that may be among the first, by the first column of the order; None for all rows."""
    if len(rows) <= _MANY * limit or not limit:
        return None
    values = _comparable(rows[term.column])
    if len(values) - values.null_count <= limit:
        return None
    least = _least_wanted(values.drop_null(), limit, descending=term.descending)
    kept = (pc.greater_equal if term.descending else pc.less_equal)(values, least)
    return pc.indices_nonzero(pc.fill_null(kept, fill_value=term.nulls_first))


def _least_wanted(values: pa.Array, limit: int, *, descending: bool) -> pa.Scalar:
    """The value of the last of the first `limit` rows."""
    if pa.types.is_int64(values.type):
        number = len(values) - limit if descending else limit - 1
        return pa.scalar(int(np.partition(values.to_numpy(), number)[number]))
    direction = "descending" if descending else "ascending"
    return values[pc.select_k_unstable(values, limit, sort_keys=[("", direction)])[-1].as_py()]


def before(order: Order, row: Sequence[pa.Scalar]) -> Predicate:
    """The rows that come before a row in an order, whose values in the columns of the order are given.

    >>> from indextables.predicate import to_sql
    >>> newest = SortTerm("ts", descending=True, nulls_first=False)
    >>> to_sql(before((newest, SortTerm("id", descending=False, nulls_first=True)), [pa.scalar(7), pa.scalar(1)]))
    'ts > 7L OR ts = 7L AND (id < 1L OR id IS NULL)'
    """
    earlier: Predicate = _FALSE
    for term, value in reversed(list(zip(order, row, strict=True))):
        tied = _FALSE if earlier == _FALSE else conjunction(_same(term, value), earlier)
        earlier = disjunction(*(part for part in (_earlier(term, value), tied) if part != _FALSE))
    return earlier


def _earlier(term: SortTerm, value: pa.Scalar) -> Predicate:
    column = Column(term.column)
    if not value.is_valid:
        return _FALSE if term.nulls_first else Not(IsNull(column))
    compared = Comparison(column, Op.GT if term.descending else Op.LT, value)
    return disjunction(compared, IsNull(column)) if term.nulls_first else compared


def _same(term: SortTerm, value: pa.Scalar) -> Predicate:
    return Comparison(Column(term.column), Op.EQ, value) if value.is_valid else IsNull(Column(term.column))
