import pickle

import pytest

from indextables.predicate import And, IndexQuery, Or, col, columns, conjunction, disjunction, index_queries
from indextables.predicate.nodes import FALSE, TRUE

x, y, z = col("x") == 1, col("y") == 2, col("z").is_null()


def test_and_and_or_do_not_nest() -> None:
    assert x & y & z == And((x, y, z))
    assert (x | y) | z == Or((x, y, z))
    assert x & (y | z) == And((x, Or((y, z))))


def test_of_nothing_and_of_one() -> None:
    assert (conjunction(), disjunction()) == (TRUE, FALSE)
    assert conjunction(x) == disjunction(x) == x


def test_columns_and_index_queries() -> None:
    query = IndexQuery("message", "a")
    predicate = x & ~(y | query) & query
    assert columns(predicate) == {"x", "y"}
    assert index_queries(predicate) == [query]


def test_equal_predicates_have_equal_hashes_and_survive_pickling() -> None:
    predicate = x & ~y | z
    assert hash(predicate) == hash((col("x") == 1) & ~(col("y") == 2) | col("z").is_null())
    assert pickle.loads(pickle.dumps(predicate)) == predicate


def test_literals_of_different_types_differ() -> None:
    assert (col("x") == 1) != (col("x") == 1.0)


def test_python_and_is_refused() -> None:
    with pytest.raises(TypeError, match="&"):
        bool(x and y)
