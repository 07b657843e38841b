"""Rows, predicates and bounds, drawn so that values meet: small pools, with the edges of every type in them."""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from indextables.predicate import (
    Bounds,
    Column,
    ColumnBounds,
    ColumnImage,
    Comparison,
    Contains,
    EndsWith,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    NullSafeEqual,
    Op,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
)
from indextables.predicate.literals import literal
from tests.laws.naive import spark_order

SCHEMA = pa.schema(
    {
        "flag": pa.bool_(),
        "small": pa.int16(),
        "id": pa.int64(),
        "ratio": pa.float32(),
        "price": pa.float64(),
        "cost": pa.decimal128(9, 2),
        "name": pa.string(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
    }
)
DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 3, 1)]
INSTANTS = [dt.datetime(d.year, d.month, d.day, h, tzinfo=dt.UTC) for d in DAYS for h in (0, 12)]
FLOATS = [0.0, -0.0, 0.5, 1.0, 1.5, 2.0**53, -3.0, math.inf, -math.inf, math.nan]
TENTH = pa.scalar(0.1, pa.float32()).as_py()
VALUES: dict[str, list[Any]] = {
    "flag": [True, False],
    "small": [-(2**15), -1, 0, 1, 2, 2**15 - 1],
    "id": [-(2**63), -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1],
    "ratio": [*FLOATS, TENTH],
    "price": [*FLOATS, 0.1],
    "cost": [Decimal(text) for text in ("-9999999.99", "-0.01", "0.00", "0.10", "1.00", "1.50", "9999999.99")],
    "name": ["", "a", "aa", "ab", "a\0", "A", "b%", "b_", "é", "\U0010ffff", "\ud7ff", "\\"],
    "day": DAYS,
    "at": INSTANTS,
}
NUMBERS = [0, 1, -1, 2, 40_000, 2**53 + 1, 2**63 - 1, 10**20, *FLOATS, 0.1, TENTH, 1e300]
NUMBERS += [Decimal(text) for text in ("0.1", "1.5", "1.000", "1.005", "-0.01", "99999999999.999")]
LITERALS = dict.fromkeys(("small", "id", "ratio", "price", "cost"), NUMBERS) | {
    name: VALUES[name] for name in ("flag", "name", "day", "at")
}

columns = st.sampled_from(SCHEMA.names)
short_texts = st.text("aAb%_\\é\0\U0010ffff", max_size=3)


def rows(*, min_size: int = 0, max_size: int = 5) -> st.SearchStrategy[pa.Table]:
    """A table of a few rows, one row in four columns null."""
    row = st.fixed_dictionaries({name: st.none() | st.sampled_from(values) for name, values in VALUES.items()})
    return st.lists(row, min_size=min_size, max_size=max_size).map(lambda drawn: pa.Table.from_pylist(drawn, SCHEMA))


@st.composite
def leaves(draw: st.DrawFn) -> Predicate:
    name = draw(columns)
    column, values = Column(name), st.none() | st.sampled_from(LITERALS[name])
    texts = draw(short_texts)
    choices = [
        Comparison(column, draw(st.sampled_from(Op)), literal(draw(values))),
        NullSafeEqual(column, literal(draw(values))),
        In(column, tuple(map(literal, draw(st.lists(values, min_size=1, max_size=12))))),
        IsNull(column),
        Literal(draw(st.sampled_from([True, False, None]))),
        StartsWith(Column("name"), texts),
        EndsWith(Column("name"), texts),
        Contains(Column("name"), texts),
        Like(Column("name"), draw(st.text("aAb%_é", max_size=4))),
        Like(Column("name"), draw(st.sampled_from(["a!%%", "b!_", "_!!", "!%!_a%"])), "!"),
    ]
    return draw(st.sampled_from(choices))


def combined(leaves: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    some = st.lists(leaves, min_size=2, max_size=3)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=2, max_size=3).map(lambda terms: conjunction(*terms)),
            st.lists(inner, min_size=2, max_size=3).map(lambda terms: disjunction(*terms)),
        ),
        max_leaves=6,
    ) | some.map(lambda terms: conjunction(*terms))


predicates = combined(leaves())


@st.composite
def bounds(draw: st.DrawFn, files: Sequence[pa.Table], columns: Iterable[str]) -> Bounds:
    """Facts that are true of the files: exact, widened, forgotten here and there, several at once or none."""
    facts = {name: tuple(draw(st.lists(_fact(name, files), max_size=2))) for name in sorted(columns)}
    return Bounds(len(files), {name: known for name, known in facts.items() if known})


@st.composite
def _fact(draw: st.DrawFn, name: str, files: Sequence[pa.Table]) -> ColumnBounds | ColumnImage:
    held = [file.column(name).to_pylist() for file in files]
    if name in {"small", "id", "name"} and draw(st.booleans()):
        return _image(name, held)
    kind = SCHEMA.field(name).type
    lower, upper = zip(*(_ends(values) if draw(st.booleans()) else (None, None) for values in held), strict=True)
    above = [None if value is None else _above(value, kind) for value in upper]
    widen = draw(st.booleans()) and [v is None for v in above] == [v is None for v in upper]
    arrays = [pa.array(lower, kind), pa.array(above if widen else upper, kind)]
    if name == "name" and draw(st.booleans()):
        arrays = [array.dictionary_encode() for array in arrays]
    return ColumnBounds(
        *arrays,
        upper_inclusive=not widen,
        may_be_null=draw(_flags([None in values for values in held])),
        may_be_value=draw(_flags([any(v is not None for v in values) for values in held])),
        may_be_nan=draw(_flags([any(_is_nan(v) for v in values) for values in held])),
    )


def _ends(values: list[Any]) -> tuple[Any, Any]:
    """The least and the greatest value, as statistics have them: without nulls and NaN."""
    ordered = sorted((v for v in values if v is not None and not _is_nan(v)), key=spark_order)
    return (ordered[0], ordered[-1]) if ordered else (None, None)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _above(value: Any, kind: pa.DataType) -> Any:
    """The next value, to be an upper bound that is itself out; None where there is none."""
    steps = {"day": dt.timedelta(days=1), "at": dt.timedelta(microseconds=1), "cost": Decimal("0.01")}
    if isinstance(value, str):
        return value + "\0"
    if pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return None
    step = next((steps[name] for name in steps if SCHEMA.field(name).type == kind), 1)
    following = value + step
    try:
        return pa.scalar(following, kind).as_py()
    except (pa.ArrowInvalid, OverflowError):
        return None


def _flags(exact: list[bool]) -> st.SearchStrategy[Any]:
    unknown = st.lists(st.booleans(), min_size=len(exact), max_size=len(exact))
    weaker = unknown.map(lambda doubts: pa.array([a or b for a, b in zip(exact, doubts, strict=True)], pa.bool_()))
    return st.one_of(st.just(pa.array(exact, pa.bool_())), weaker, st.just(True))


def _image(name: str, held: list[list[Any]]) -> ColumnImage:
    """A bucket of three, known where all rows of a file agree."""

    def apply(values: pa.Array) -> pa.Array:
        if name == "name":
            return pc.binary_length(values)
        return pc.bit_wise_and(values, pa.scalar(1, values.type)).cast(pa.int32())

    images = [apply(pa.array(values, SCHEMA.field(name).type)).unique() for values in held]
    known = [len(image) == 1 for image in images]
    values = [image[0].as_py() if ok else None for image, ok in zip(images, known, strict=True)]
    return ColumnImage(apply, pa.array(values, pa.int32()), pa.array(known, pa.bool_()))
