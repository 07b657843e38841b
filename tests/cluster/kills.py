"""The kill matrix: executors die during writes, compactions and replacements, and every row is there once.

Each case is a value. Setting up its table happens with the killer disarmed; then the operation runs while executors are
killed, and the table is compared with the rows that it must have.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indextables import IndexTable
from tests.cluster.driver import Place, wait_for_executors
from tests.cluster.kill_points import Point
from tests.cluster.killer import Killer, Strike, Victim
from tests.cluster.table_state import TableState, inspect_table

ROWS = 30_000
_CHECKSUMS = "spark.sql.shuffle.orderIndependentChecksum"
_REPLACED = (5_000, 25_000)

MID_TASK = Strike(Point.WRITING, Victim.OWN)
LATER_MID_TASK = Strike(Point.WRITING, Victim.OWN, nth=4)
TASK_FINISHED = Strike(Point.READING, Victim.FINISHED)
SHUFFLE_READ = Strike(Point.READING, Victim.OTHER)
AT_COMMIT = Strike(Point.COMMIT, Victim.OTHER)
SPECULATED = Strike(Point.READING, Victim.ORIGINAL)
_NAMES = {
    MID_TASK: "mid-task",
    LATER_MID_TASK: "mid-task, later",
    TASK_FINISHED: "after a task finished",
    SHUFFLE_READ: "other, during read",
    AT_COMMIT: "at the commit",
    SPECULATED: "original of a speculated task",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KillCase:
    """An operation, its input, and when executors are killed. Input is shuffled upstream of the operation, or not."""

    operation: str
    place: str
    strikes: tuple[Strike, ...]
    shuffled: bool = False
    checksums: bool = True
    speculation: bool = False
    adaptive: bool = True

    def __str__(self) -> str:
        marks = {
            "shuffled input": self.shuffled,
            "no checksums": not self.checksums,
            "speculation": self.speculation,
            "no AQE": not self.adaptive,
        }
        when = " + ".join(_NAMES[strike] for strike in self.strikes)
        return ", ".join([self.operation, self.place, *(mark for mark, on in marks.items() if on), when])


@dataclass(frozen=True, slots=True)
class KillResult:
    """What came out. A speculative task that Spark gave up may put a split after the commit; nobody else may leave one."""

    case: KillCase
    kills: int
    stage_retries: int
    state: TableState

    def __str__(self) -> str:
        state = self.state
        return (
            f"{self.kills} kills, {self.stage_retries} stages run again, {state.found} of {state.expected} rows, "
            f"{state.distinct} distinct, orphans {state.orphans}, after vacuum {state.orphans_after_vacuum}"
        )

    @property
    def violations(self) -> tuple[str, ...]:
        missed, orphans = len(self.case.strikes) - self.kills, self.state.orphans
        facts = {
            f"{missed} executors were not killed": missed == 0,
            f"{orphans} orphans were left": orphans == 0 or self.case.speculation,
        }
        return (*self.state.violations, *(fact for fact, holds in facts.items() if not holds))


def matrix(kills: int | None = None) -> Iterator[KillCase]:
    """The cases, each once; or over and over, until they have so many kills."""
    planned = 0
    for case in _all_cases() if kills is None else cycle(_all_cases()):
        if kills is not None and planned >= kills:
            return
        planned += len(case.strikes)
        yield case


def short_matrix() -> Iterator[KillCase]:
    """What the test suite runs: lost shuffle files, with checksums and without, partitioned or not, and a merge."""
    yield KillCase(operation="optimized", place="local", strikes=(TASK_FINISHED,), shuffled=True, checksums=False)
    yield KillCase(operation="partitioned", place="local", strikes=(MID_TASK,), shuffled=True)
    yield KillCase(operation="merge", place="s3", strikes=(MID_TASK,))


def _all_cases() -> Iterator[KillCase]:
    """Every operation with every kill point that it has; the other dimensions alternate."""
    for place in ("local", "s3"):
        s3 = place == "s3"
        for operation in ("optimized", "partitioned", "coalesced", "standard"):
            case = KillCase(operation=operation, place=place, strikes=(MID_TASK,), checksums=s3)
            yield case
            yield replace(case, strikes=(TASK_FINISHED,), shuffled=True, checksums=not s3)
            upstream = s3 or operation == "standard"  # without that, a standard write reads no shuffle
            yield replace(case, strikes=(SHUFFLE_READ,), shuffled=upstream, adaptive=s3)
        yield KillCase(operation="optimized", place=place, strikes=(MID_TASK, AT_COMMIT), shuffled=True, checksums=s3)
        for operation in ("merge", "replaceWhere"):
            yield KillCase(operation=operation, place=place, strikes=(MID_TASK, LATER_MID_TASK))
        yield KillCase(operation="replaceWhere", place=place, strikes=(TASK_FINISHED,), shuffled=True, checksums=s3)
    for place, operation in (("local", "standard"), ("s3", "optimized"), ("local", "merge")):
        yield KillCase(operation=operation, place=place, strikes=(SPECULATED,), speculation=True)


def run_case(spark: Any, killer: Killer, place: Place, case: KillCase) -> KillResult:
    spark.conf.set("spark.sql.adaptive.enabled", str(case.adaptive).lower())
    for key in ("enabled", "enableFullRetryOnMismatch"):
        spark.conf.set(f"{_CHECKSUMS}.{key}", str(case.checksums).lower())
    operation, path = _OPERATIONS[case.operation], place.new_table()
    for prepare in operation.prepare:
        prepare(_Write(spark, path, place.options, shuffled=case.shuffled))
    wait_for_executors(spark)
    kills, jobs = killer.kills, _jobs(spark)
    with killer.armed(case.strikes):
        operation.run(_Write(spark, path, place.options, shuffled=case.shuffled))
    retried = _retried_stages(spark, _jobs(spark) - jobs)
    return KillResult(case, killer.kills - kills, retried, inspect_table(spark, path, place, operation.expected()))


def _retried_stages(spark: Any, jobs: set[int]) -> int:
    """How many stages of the jobs Spark ran again, because shuffle files were lost with an executor."""
    tracker = spark.sparkContext.statusTracker()
    known = filter(None, map(tracker.getJobInfo, jobs))
    stages = {number for job in known for number in job.stageIds}
    return sum(stage is not None and stage.currentAttemptId > 0 for stage in map(tracker.getStageInfo, stages))


def _jobs(spark: Any) -> set[int]:
    return set(spark.sparkContext.statusTracker().getJobIdsForGroup())


@dataclass(frozen=True, slots=True)
class _Write:
    spark: Any
    path: str
    options: Mapping[str, str]
    shuffled: bool = False

    def frame(self, first: int, end: int, word: str = "line") -> Any:
        """Rows with ids from `first` up to `end`."""
        rows = self.spark.range(first, end, numPartitions=6).selectExpr("id", f"concat('{word} ', id) AS message")
        rows = rows.repartition(6, "message") if self.shuffled else rows
        return rows.selectExpr("*", f"IF(id < {ROWS // 2}, 'hot', concat('p', id % 12)) AS p")

    def save(self, frame: Any, mode: str = "errorifexists", **options: Any) -> None:
        writer = frame.write.format("indextables").mode(mode).options(**self.options)
        writer.option("indexing.typemap.message", "text").options(**options).save(self.path)


def _expected(first: int = 0, end: int = ROWS, word: str = "line") -> pa.Table:
    ids = list(range(first, end))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "message": [f"{word} {number}" for number in ids],
            "p": ["hot" if number < ROWS // 2 else f"p{number % 12}" for number in ids],
        }
    )


def _optimized(write: _Write) -> None:
    write.save(write.frame(0, ROWS), targetRecordsPerSplit=4_000)


def _partitioned(write: _Write) -> None:
    write.save(write.frame(0, ROWS), partitionBy="p", targetRecordsPerSplit=4_000)


def _coalesced(write: _Write) -> None:
    small = {"coalesce.enabled": "true", "coalesce.minRows": 2_500}
    write.save(write.frame(0, ROWS), partitionBy="p", targetRecordsPerSplit=4_000, **small)


def _standard(write: _Write) -> None:
    write.save(write.frame(0, ROWS), targetRecordsPerSplit=1_500, **{"optimizeWrite.enabled": "false"})


def _many_small_splits(write: _Write) -> None:
    standard = {"optimizeWrite.enabled": "false", "targetRecordsPerSplit": 1_250}
    write.save(write.frame(0, ROWS), partitionBy="p", **standard)


def _merge(write: _Write) -> None:
    table = IndexTable.open(write.path, options=write.options)
    merged = table.merge_splits(spark=write.spark)
    assert merged.merged > 1, merged


def _hidden_partitions(write: _Write) -> None:
    write.save(write.frame(0, ROWS), partitionBy="truncate(10000, id)", targetRecordsPerSplit=2_000)


def _replace_where(write: _Write) -> None:
    first, end = _REPLACED
    options = {"replaceWhere": f"id >= {first} AND id < {end}", "replaceWhere.driverRows": "0"}
    write.save(write.frame(first, end, "new line"), "overwrite", targetRecordsPerSplit=2_000, **options)


def _replaced() -> pa.Table:
    first, end = _REPLACED
    old = _expected()
    kept = old.filter(pc.or_(pc.less(old["id"], first), pc.greater_equal(old["id"], end)))
    return pa.concat_tables([kept, _expected(first, end, "new line")])


@dataclass(frozen=True, slots=True)
class _Operation:
    run: Callable[[_Write], None]
    prepare: tuple[Callable[[_Write], None], ...] = ()
    expected: Callable[[], pa.Table] = field(default=_expected)


_OPERATIONS = {
    "optimized": _Operation(_optimized),
    "partitioned": _Operation(_partitioned),
    "coalesced": _Operation(_coalesced),
    "standard": _Operation(_standard),
    "merge": _Operation(_merge, (_many_small_splits,)),
    "replaceWhere": _Operation(_replace_where, (_hidden_partitions,), _replaced),
}
