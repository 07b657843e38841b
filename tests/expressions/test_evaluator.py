import numpy as np
import pyarrow as pa
import pytest

from indextables.errors import ExpressionError
from indextables.expressions import Evaluator, Relation, Scope

ROWS = 400_000


def scope_of(**relations: pa.Table) -> Scope:
    return Scope(tuple(Relation(name, name, rows.schema) for name, rows in relations.items()))


def in_chunks(values: np.ndarray, count: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(part) for part in np.array_split(values, count)])


def test_values_come_in_the_order_of_the_rows_whatever_the_chunks() -> None:
    a, b = np.random.default_rng(1).integers(0, 10**9, (2, ROWS))
    t, s = pa.table({"a": in_chunks(a, 37)}), pa.table({"b": in_chunks(b, 11)})
    scope = scope_of(t=t, s=s)
    with Evaluator(scope, threads=8) as evaluator:
        one = evaluator.compile(scope.expression("CASE WHEN a % 7 = 0 THEN a * 2 ELSE a + 1 END"))
        both = evaluator.compile(scope.expression("t.a - s.b"))
        (values,) = evaluator.project([one], {"t": t})
        (differences,) = evaluator.project([both], {"t": t, "s": s}, relations="t POSITIONAL JOIN s")
    assert np.array_equal(np.asarray(values), np.where(a % 7 == 0, a * 2, a + 1))
    assert np.array_equal(np.asarray(differences), a - b)


def test_an_error_shows_the_expression_that_failed() -> None:
    rows = pa.table({"n": [1, 0], "text": ["1", "x"]})
    scope = scope_of(t=rows)
    with Evaluator(scope) as evaluator:
        texts = ["n + 1", "CAST(text AS INT)", "n * 2"]
        columns = [evaluator.compile(scope.expression(text)) for text in texts]
        with pytest.raises(ExpressionError, match="'x' is no INTEGER") as caught:
            evaluator.project(columns, {"t": rows})
    assert caught.value.expression == "CAST(text AS INT)"


@pytest.mark.parametrize(
    "text",
    [
        "read_text('/etc/passwd')",
        "getenv('HOME')",
        "current_setting('threads')",
        "(SELECT count(*) FROM duckdb_settings())",
        "EXISTS (SELECT 1)",
        "n IN (SELECT 1)",
        "*",
        "t.*",
        "n; SELECT 1",
        "n) FROM t; DROP VIEW t; SELECT (1",
    ],
)
def test_nothing_but_the_columns_can_be_read(text: str) -> None:
    with pytest.raises(ExpressionError):
        scope_of(t=pa.table({"n": [1]})).expression(text)
