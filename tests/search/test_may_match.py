import pyarrow as pa
import pytest

from indextables.read.term_pruning import may_match
from indextables.search import queries as n

ABSENT, PRESENT = n.Term("message", "absent"), n.Term("message", "present")
SEVEN, HALF = pa.scalar(7), pa.scalar(0.5)


def may_contain(_: str, text: str) -> bool:
    return text not in {"absent", "7"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (ABSENT, False),
        (PRESENT, True),
        (n.MatchAll(), True),
        (n.MatchNone(), False),
        (n.Phrase("message", ("present", "absent")), False),
        (n.Phrase("message", ("present", "absent"), 2), False),
        (n.Phrase("message", ("present", "present")), True),
        (n.And((PRESENT, ABSENT)), False),
        (n.And((PRESENT, n.Not(ABSENT))), True),
        (n.Or((ABSENT, PRESENT)), True),
        (n.Or((ABSENT, n.MatchNone())), False),
        (n.Not(ABSENT), True),
        (n.Not(n.MatchAll()), True),
        (n.Prefer(ABSENT, (PRESENT,)), False),
        (n.Prefer(PRESENT, (ABSENT,)), True),
        (n.Boost(ABSENT, 2.0), False),
        (n.Exists("message"), True),
        (n.Prefix("message", "absent"), True),
        (n.Wildcard("message", "absent"), True),
        (n.Regex("message", "absent"), True),
        (n.Fuzzy("message", "absent", 1), True),
        (n.Range("id", SEVEN, SEVEN), False),
        (n.Range("id", SEVEN, SEVEN, includes_upper=False), True),
        (n.Range("id", SEVEN, None), True),
        (n.Range("id", None, SEVEN), True),
        (n.Range("id", SEVEN, pa.scalar(8)), True),
        (n.Range("ratio", HALF, HALF), True),
        (n.Range("message", pa.scalar("absent"), pa.scalar("absent")), True),
    ],
)
def test_a_query_may_match_where_its_terms_may_be(query: n.Query, expected: bool) -> None:  # noqa: FBT001
    assert may_match(query, may_contain) is expected
