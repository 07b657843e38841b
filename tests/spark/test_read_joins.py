"""Programs that join frames with answers from the log: columns mean what they mean over Parquet."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indextables import IndexTable


@pytest.fixture(scope="module")
def frames(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The same rows as a table and as Parquet."""
    path = tmp_path_factory.mktemp("joins")
    rows = pa.table({"p": ["a", "b", "a", "c"], "q": ["x", "x", "y", None], "id": [1, 2, 3, 4]})
    IndexTable.create(path / "table", rows.schema, partition_by="p, q").append(rows)
    pq.write_table(rows, path / "rows.parquet")
    return spark.read.format("indextables").load(str(path / "table")), spark.read.parquet(str(path / "rows.parquet"))


def groups(frame: Any) -> Any:
    return frame.groupBy("p").count()


def joined(frame: Any) -> Any:
    found = groups(frame)
    return frame.join(found, frame["p"] == found["p"]).select(frame["id"], found["count"])


def left_joined(frame: Any) -> Any:
    found = groups(frame)
    return frame.join(found.filter(found["count"] > 1), frame["p"] == found["p"], "left").select("id", found["count"])


def joined_the_other_way(frame: Any) -> Any:
    found = groups(frame)
    return found.join(frame, frame["p"] == found["p"]).select(frame["id"], found["count"])


def two_answers(frame: Any) -> Any:
    one, other = groups(frame), groups(frame)
    return one.join(other, one["p"] == other["p"]).select(one["p"], other["count"])


def named_figures(frame: Any) -> Any:
    found = frame.groupBy("p").agg({"*": "count"}).withColumnRenamed("count(1)", "n")
    return frame.join(found, frame["p"] == found["p"]).select(frame["id"], found["n"])


def several_keys(frame: Any) -> Any:
    found = frame.groupBy("q", "p").count()
    return frame.join(found, (frame["p"] == found["p"]) & frame["q"].eqNullSafe(found["q"])).select("id", "count")


def with_overall_figures(frame: Any) -> Any:
    found = frame.selectExpr("count(*) AS n", "max(id) AS id")
    return frame.join(found, frame["id"] == found["id"]).select(frame["p"], found["n"])


def with_itself(frame: Any) -> Any:
    found = groups(frame)
    return found.join(found, "p")


def with_aliases(frame: Any) -> Any:
    return frame.alias("d").join(groups(frame).alias("g"), "p").select("d.id", "g.count", "p")


def columns_of_the_frame(frame: Any) -> Any:
    found = groups(frame)
    return found.filter(frame["p"] > "a").select(frame["p"], "count").union(found.select(found["p"], found["count"]))


def without_a_key(frame: Any) -> Any:
    found = groups(frame)
    return frame.join(found, frame["p"] == found["p"]).drop(found["p"])


def in_sql(frame: Any) -> Any:
    text = "SELECT d.id, g.count, max(g.count) OVER () FROM {d} d JOIN {g} g ON d.p = g.p WHERE g.count >= :least"
    return frame.sparkSession.sql(text, {"least": 1}, d=frame, g=groups(frame))


def in_views(frame: Any) -> Any:
    groups(frame).createOrReplaceTempView("found")
    frame.createOrReplaceTempView("rows")
    return frame.sparkSession.sql(
        "SELECT a.p, b.count, id FROM found a JOIN found b USING (p) JOIN rows ON rows.p = a.p"
        " WHERE a.p IN (SELECT p FROM found WHERE count > 1)"
    )


PROGRAMS = [
    joined, left_joined, joined_the_other_way, two_answers, named_figures, several_keys, with_overall_figures, with_itself,
    with_aliases, columns_of_the_frame, without_a_key, in_sql, in_views,
]  # fmt: skip


def outcome(program: Callable[[Any], Any], frame: Any) -> Any:
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - only where PySpark is

    try:
        found = program(frame)
    except AnalysisException as error:
        return error.getCondition() or str(error).split(".")[0].split(" are ")[-1]
    return found.columns, sorted(map(str, found.collect()))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_answers_are_joined_as_over_parquet(frames: tuple[Any, Any], program: Callable[[Any], Any]) -> None:
    ours, plain = frames
    assert outcome(program, ours) == outcome(program, plain)


def test_threads_and_sessions_join_answers(spark: Any, frames: tuple[Any, Any], tmp_path: Path) -> None:
    _, plain = frames
    rows = plain.toArrow()
    IndexTable.create(tmp_path / "table", rows.schema, partition_by="p").append(rows)
    sessions = [spark, spark.newSession()]
    ours = [session.read.format("indextables").load(str(tmp_path / "table")) for session in sessions]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda frame: sorted(joined(frame).collect()), ours * 2))
    assert found == [sorted(joined(plain).collect())] * 4
