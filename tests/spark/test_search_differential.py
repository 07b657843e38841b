"""Searches in Spark find the rows that a look at each row finds: as conditions, as columns, counted, and deleted by."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indextables.search import queries as n
from indextables.search import to_text
from tests.laws.effort import share
from tests.laws.search_rows import RULES, Row, number_rows, rows, searches, write_parts
from tests.search.brute import satisfies

ASKED = 24  # searches in one query


def call(query: n.Query) -> str:
    quoted = to_text(query).replace("\\", "\\\\").replace("'", "\\'")
    return f"indexqueryall('{quoted}')"


def expected(every: list[Row], query: n.Query) -> list[int]:
    return [row["nr"] for row in every if satisfies(query, row, RULES)]


@settings(share(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.lists(rows, min_size=2, max_size=9), min_size=1, max_size=3),
    repeat=st.sampled_from([1, 40]),
    asked=st.lists(searches, min_size=ASKED, max_size=ASKED),
)
def test_searches_in_spark(
    spark: Any, tmp_path: Path, parts: list[list[Row]], repeat: int, asked: list[n.Query]
) -> None:
    numbered = number_rows(parts, repeat=repeat)
    every = [row for part in numbered for row in part]
    path = str(tmp_path / f"t{len(list(tmp_path.iterdir()))}")
    write_parts(numbered, path)
    spark.read.format("indextables").load(path).createOrReplaceTempView("rows")

    flags = ", ".join(f"{call(query)} AS q{place}" for place, query in enumerate(asked))
    flagged = spark.sql(f"SELECT nr, {flags} FROM rows ORDER BY nr").collect()
    for place, query in enumerate(asked):
        assert [row.nr for row in flagged if row[f"q{place}"]] == expected(every, query), to_text(query)

    for query in asked[:3]:
        found = spark.sql(f"SELECT nr FROM rows WHERE {call(query)} ORDER BY nr").collect()
        assert [row.nr for row in found] == expected(every, query), to_text(query)
        counted = spark.sql(f"SELECT count(*) FROM rows WHERE {call(query)} AND load >= 5").first()[0]
        assert counted == len([row for row in every if satisfies(query, row, RULES) and (row["load"] or 0) >= 5])

    spark.sql(f"DELETE FROM indextables.`{path}` WHERE {call(asked[0])}")
    left = spark.read.format("indextables").load(path).select("nr").orderBy("nr").collect()
    assert [row.nr for row in left] == [row["nr"] for row in every if not satisfies(asked[0], row, RULES)]
