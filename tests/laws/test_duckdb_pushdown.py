"""SQL without Spark finds what DuckDB finds in the same rows as an Arrow table, whatever is pushed down to the scans."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf, nan
from typing import NamedTuple
from uuid import uuid4

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from tests.laws.effort import each_writes_tables

WORDS = ["disk", "full", "slow"]
DAY = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "s": pa.string(),
        "m": pa.string(),
        "i": pa.int32(),
        "f": pa.float64(),
        "g": pa.float32(),
        "b": pa.bool_(),
        "d": pa.date32(),
        "t": pa.timestamp("us", "UTC"),
        "u": pa.timestamp("us"),
        "c": pa.decimal128(6, 2),
    }
)
VALUES = {
    "s": ["", "a", "A", "ab", "it's", "a%b", "a_b", "\\", "\u00e9", "1"],
    "m": ["disk full", "disk slow", "full", "slow disk disk", ""],
    "i": [-(2**31), -1, 0, 1, 2, 2**31 - 1],
    "f": [-inf, -1.5, -0.0, 0.0, 0.1, 1.0, inf, nan],
    "g": [-0.5, 0.0, 0.1, nan],
    "b": [True, False],
    "d": [date(1969, 12, 31), date(2024, 1, 1), date(2024, 1, 2)],
    "t": [DAY - timedelta(microseconds=1), DAY, DAY + timedelta(hours=12), datetime(1960, 1, 1, tzinfo=UTC)],
    "u": [DAY.replace(tzinfo=None), datetime(2024, 1, 1, 12)],  # noqa: DTZ001 - without a zone
    "c": [Decimal("-1.50"), Decimal("0.00"), Decimal("1.00"), Decimal("9999.99")],
}
TIMES = [
    "'2024-01-01'",
    "'2024-01-01 12:00:00'",
    "'2024-01-01T12:00'",
    "'2024-01-01 12:00:00.000001'",
    "DATE '2024-01-01'",
    "TIMESTAMP '2024-01-01 00:00:00'",
    "TIMESTAMPTZ '2024-01-01 00:00:00+00'",
    "CAST('2024-01-01' AS DATE)",
    "'2024-01-01 01:00:00+01:00'",
]
NUMBERS = ["-1", "0", "1", "2147483647", "2147483648", "1.0", "1.5", "-1.50", "0.1", "1e0", "1_0", "9999.99"]
LITERALS = {
    "s": ["''", "'a'", "'ab'", "'it''s'", "'\\'", "'\u00e9'", "E'a'", "$$a$$"],
    "i": NUMBERS,
    "f": [*NUMBERS, "'inf'::DOUBLE", "'nan'::DOUBLE"],
    "g": ["0.1", "0", "-0.5"],
    "b": ["true", "false"],
    "d": ["'2024-01-01'", "DATE '2024-01-02'", "'2024-01-01'::DATE", "TIMESTAMP '2024-01-01 12:00:00'"],
    "t": TIMES,
    "u": [*TIMES[:-1]],
    "c": ["-1.5", "0", "1", "1.005", "9999.99", "10000"],
}
PATTERNS = ["'a%'", "'a'", "'%b'", "'a_%'", "'a\\%%'", "'\u00e9%'"]


class Condition(NamedTuple):
    """A condition on the alias `x`, as it is written for us, and in DuckDB's own words."""

    ours: str
    theirs: str


def both(text: str) -> Condition:
    return Condition(text, text)


def _comparisons() -> st.SearchStrategy[Condition]:
    negated = st.sampled_from(["", "NOT"])

    def on(column: str) -> st.SearchStrategy[Condition]:
        name, one = st.sampled_from([column, f"x.{column}", column.upper()]), st.sampled_from(LITERALS[column])
        some = st.lists(one, min_size=1, max_size=3)
        op = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"])
        return st.one_of(
            st.builds(lambda c, o, v: both(f"{c} {o} {v}"), name, op, one),
            st.builds(lambda c, o, v: both(f"{v} {o} {c}"), name, op, one),
            st.builds(lambda c, n, v, w: both(f"{c} {n} BETWEEN {v} AND {w}"), name, negated, one, one),
            st.builds(lambda c, n, v: both(f"{c} {n} IN ({', '.join(v)})"), name, negated, some),
            st.builds(lambda c, n: both(f"{c} IS {n} NULL"), name, negated),
        )  # fmt: skip

    texts = st.builds(
        lambda n, p: both(f"x.s {n} {p}"), st.sampled_from(["LIKE", "NOT LIKE", "ILIKE"]), st.sampled_from(PATTERNS)
    )
    truths = st.sampled_from(["b", "x.b", "b IS TRUE", "x.s IN ('a', NULL)", "i + 1 > 1", "x.s < x.m"]).map(both)
    return st.one_of(st.sampled_from(sorted(LITERALS)).flatmap(on), texts, truths)


def _searches() -> st.SearchStrategy[Condition]:
    def search(word: str, form: str) -> Condition:
        found = f"list_contains(string_split(coalesce(x.m, ''), ' '), '{word}')"
        return Condition(form.format(word), f"(NOT {found})" if "NOT" in form else found)

    forms = ["x.m INDEXQUERY '{}'", "x.m NOT INDEXQUERY '{}'", "indexquery(x.m, '{}')", "x.* INDEXQUERY 'm:{}'"]
    return st.builds(search, st.sampled_from(WORDS), st.sampled_from(forms))


def _combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def joined(word: str, one: Condition, other: Condition) -> Condition:
        return Condition(*(f"({a}) {word} ({b})" for a, b in zip(one, other, strict=True)))

    return st.one_of(
        st.builds(joined, st.sampled_from(["AND", "OR"]), inner, inner),
        inner.map(lambda one: Condition(f"NOT ({one.ours})", f"NOT ({one.theirs})")),
    )


CONDITIONS = st.recursive(st.one_of(_comparisons(), _searches()), _combined, max_leaves=5)
SHAPES = [
    "SELECT x.* FROM {x} x WHERE {where}",
    "SELECT count(*), sum(i)::BIGINT, min(x.s) FROM {x} x WHERE {where}",
    "SELECT ({where}) AS hit, count(*) FROM {x} x GROUP BY hit",
    "SELECT DISTINCT s, x.b FROM {x} x WHERE {where} AND x.i = 1",
    "SELECT x.i, y.s FROM {x} x LEFT JOIN {y} y ON x.i = y.i AND y.b WHERE {where}",
    "SELECT y.i, x.s FROM {y} y LEFT JOIN {x} x ON x.i = y.i AND ({where})",
    "SELECT y.i, x.s FROM {y} y FULL JOIN {x} x ON x.i = y.i WHERE y.i = 1",
    "SELECT y.i FROM {y} y WHERE y.i IN (SELECT x.i FROM {x} x WHERE {where}) AND y.b",
    "SELECT y.i FROM {y} y WHERE EXISTS (SELECT 1 FROM {x} x WHERE ({where}) AND x.i = y.i AND y.b)",
    "WITH q AS (SELECT x.* FROM {x} x WHERE {where}) SELECT q.i AS a, r.i AS b FROM q, q r WHERE r.b",
]
ROWS = st.lists(
    st.fixed_dictionaries({name: st.one_of(st.none(), st.sampled_from(values)) for name, values in VALUES.items()}),
    max_size=12,
)


def canonical(table: pa.Table) -> list[str]:
    return sorted(repr(list(row.values())) for row in table.to_pylist())


@given(ROWS, CONDITIONS, st.sampled_from(SHAPES))
@each_writes_tables
def test_pushdown_changes_no_answer(rows: list[dict[str, object]], where: Condition, shape: str) -> None:
    data = pa.Table.from_pylist(rows, SCHEMA)
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("data", data)
        try:
            expected = canonical(connection.sql(shape.format(x="data", y="data", where=where.theirs)).to_arrow_table())
        except duckdb.Error:
            return  # types that cannot be compared, or a name that two tables have
    table = IndexTable.create(f"memory://{uuid4().hex}/t", SCHEMA, fields={"m": "text"})
    table.append(data.slice(0, 6))
    table.append(data.slice(6))
    ours = IndexTable.sql(shape.format(x="logs", y="logs", where=where.ours), tables={"logs": table})
    assert canonical(ours) == expected
