"""Inputs that give other rows each time that Spark computes them: the write fails, or what it commits is consistent.

Optimized write computes its input twice: it counts the rows, and then it writes them. Whatever changes in between, every
row that is written is in the table once, and the log says how many there are.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.functions import udf

from indextables import IndexTable
from indextables.errors import TableNotFoundError
from indextables.spark.write import repartition as module
from tests.cluster.driver import Place, wait_for_executors
from tests.cluster.kill_points import Point
from tests.cluster.killer import Killer, Strike, Victim
from tests.cluster.table_state import split_files

ROWS = 20_000


class ChangingSource(DataSource):
    """Each of four partitions has other rows each time that it is read: `change` is what happens to them."""

    @classmethod
    def name(cls) -> str:
        return "changing"

    def schema(self) -> str:
        return "id bigint, p bigint"

    def reader(self, schema: Any) -> "ChangingReader":  # noqa: ARG002 - Spark passes it by name
        return ChangingReader(self.options["directory"], self.options["change"])


class ChangingReader(DataSourceReader):
    def __init__(self, directory: str, change: str) -> None:
        self._directory, self._change = directory, change

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(4)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
        times = _count_up(Path(self._directory, str(partition.value)))
        rows = {"grow": 1_000 * times, "shrink": 4_000 // times, "vanish": 2_000 if times == 1 else 0}[self._change]
        for row in range(rows):
            yield partition.value * ROWS + row, row % (5 * times)


@dataclass(frozen=True, slots=True)
class UnstableInput:
    """A frame, and how it is written. `rows` are how many the table must have if the write succeeds, None if any will do.

    `fails` says whether the write must fail; None if it may.
    """

    name: str
    frame: Callable[[Any, Path], Any]
    options: dict[str, str]
    rows: int | None = None
    strike: Strike | None = None
    between: Callable[[Path], None] | None = None
    fails: bool | None = False


@dataclass(frozen=True, slots=True)
class UnstableResult:
    name: str
    outcome: str
    rows: int
    kills: int
    violations: tuple[str, ...]


def inputs() -> Iterator[UnstableInput]:
    plain, by_p = {"targetRecordsPerSplit": "2000"}, {"targetRecordsPerSplit": "2000", "partitionBy": "p"}
    shuffled = lambda spark, _: spark.range(ROWS, numPartitions=6).repartition(6, "id").selectExpr("id", "uuid() AS p")
    yield UnstableInput("rows chosen by rand()", lambda spark, _: spark.range(ROWS).filter("rand() < 0.5"), plain)
    yield UnstableInput("partitions by rand()", _random_partitions, by_p, ROWS)
    yield UnstableInput("buckets of uuid()", shuffled, {**plain, "partitionBy": "bucket(4, p)"}, ROWS)
    for victim in (Strike(Point.READING, Victim.OTHER), Strike(Point.READING, Victim.FINISHED)):
        name = f"uuid() after a shuffle, {victim.victim} executor killed"
        yield UnstableInput(name, shuffled, plain, ROWS, victim, fails=None)
    yield UnstableInput("a UDF that chooses partitions by chance", _random_udf, by_p, ROWS)
    for change in ("grow", "shrink", "vanish"):
        source = lambda spark, directory, change=change: _changing(spark, directory, change)
        yield UnstableInput(f"a data source whose rows {change}", source, plain)
        yield UnstableInput(f"a data source whose rows {change}, partitioned", source, by_p)
    yield UnstableInput("files that are added after the count", _files, by_p, ROWS, between=_add_file)
    yield UnstableInput("files that are deleted after the count", _files, by_p, between=_delete_file, fails=True)


def run_input(spark: Any, killer: Killer, place: Place, directory: Path, unstable: UnstableInput) -> UnstableResult:
    """Writes an input, and looks at what is there then."""
    path, kills = place.new_table(), killer.kills
    (scratch := directory / path.rpartition("/")[2]).mkdir()
    frame = unstable.frame(spark, scratch)
    wait_for_executors(spark)
    try:
        with killer.armed([unstable.strike] if unstable.strike else []), _between(unstable.between, scratch):
            frame.write.format("indextables").options(**place.options, **unstable.options).save(path)
        outcome = "written"
    except (PySparkException, Py4JJavaError) as error:
        outcome = f"failed: {_reason(error)}"
    rows, violations = _consistency(path, place, unstable, written=outcome == "written")
    if unstable.fails not in (None, outcome != "written"):
        violations.append(f"it should have been {'refused' if unstable.fails else 'written'}")
    return UnstableResult(unstable.name, outcome, rows, killer.kills - kills, tuple(violations))


def _consistency(path: str, place: Place, unstable: UnstableInput, *, written: bool) -> tuple[int, list[str]]:
    try:
        table = IndexTable.open(path, options=place.options)
    except TableNotFoundError:
        left = split_files(path, place.options)
        return 0, ["it was written, and there is no table"] if written else [f"{name} was left" for name in left]
    ids = table.scan(columns=["id"]).to_arrow()["id"]
    facts = {
        "a write that failed has made a table": written,
        f"the log records {table.count()} rows, and there are {len(ids)}": table.count() == len(ids),
        f"{len(ids) - len(ids.unique())} rows are there more than once": len(ids.unique()) == len(ids),
        f"there are {len(ids)} rows, not {unstable.rows}": unstable.rows in (None, len(ids)),
        "files are left that no version has": split_files(path, place.options)
        == set(table.splits()["path"].to_pylist()),
    }
    findings = table.check(deep=True, sample=None).findings
    return len(ids), [fact for fact, holds in facts.items() if not holds] + list(map(str, findings))


@contextmanager
def _between(change: Callable[[Path], None] | None, scratch: Path) -> Iterator[None]:
    """Changes something after the rows were counted, and before they are written."""
    if change is None:
        yield
        return

    def counted(*args: Any, original: Any = module._counts) -> Any:
        counts = original(*args)
        change(scratch)
        return counts

    with patch.object(module, "_counts", counted):
        yield


def _random_partitions(spark: Any, _: Path) -> Any:
    return spark.range(ROWS).selectExpr("id", "floor(rand() * 20) AS p")


def _random_udf(spark: Any, _: Path) -> Any:
    chosen = udf(lambda: random.randrange(20), "int").asNondeterministic()
    return spark.range(ROWS).withColumn("p", chosen())


def _changing(spark: Any, directory: Path, change: str) -> Any:
    spark.dataSource.register(ChangingSource)
    return spark.read.format("changing").option("directory", str(directory)).option("change", change).load()


def _files(spark: Any, directory: Path) -> Any:
    spark.range(ROWS, numPartitions=4).selectExpr("id", "id % 3 AS p").write.parquet(str(directory / "files"))
    return spark.read.parquet(str(directory / "files"))


def _add_file(directory: Path) -> None:
    first = min((directory / "files").glob("*.parquet"))
    first.with_name(f"part-added-{first.name}").write_bytes(first.read_bytes())


def _delete_file(directory: Path) -> None:
    min((directory / "files").glob("*.parquet")).unlink()


def _count_up(file: Path) -> int:
    """How often it was called for the file; each call is by another task, one after the other."""
    with file.open("a") as calls:
        calls.write("x")
    return file.stat().st_size


def _reason(error: Exception) -> str:
    """The line of Spark's message that says why."""
    return next((line for line in str(error).splitlines() if "Exception: " in line or "] " in line), str(error))[:160]
