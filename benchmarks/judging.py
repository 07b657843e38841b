"""How long it takes to judge a million files: `python -m benchmarks.judging`."""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc

from indextables.predicate import Bounds, ColumnBounds, Verdict, judge, parse_condition

FILES = 1_000_000
WHERE = "region = 'region-17' AND at >= '2024-04-01' AND at < '2024-04-02' AND id BETWEEN 400000 AND 410000"
SCHEMA = pa.schema({"region": pa.string(), "at": pa.timestamp("us", "UTC"), "id": pa.int64()})
HOUR = 3_600_000_000
START = 1_704_067_200_000_000  # 2024-01-01T00:00Z


def run(*, files: int = FILES, rounds: int = 5) -> dict[str, float | int]:
    """Milliseconds, the best of several rounds; the region as a partition value, as a dictionary, as min and max."""
    predicate = parse_condition(WHERE, SCHEMA)
    texts = _regions(files)
    plain = texts.dictionary_decode()
    statistics = pc.binary_join_element_wise(plain, "", "~")
    shapes = {"plain": (plain, plain), "dictionary": (texts, texts), "min_max": (plain, statistics)}
    bounds = {shape: _bounds(files, *regions) for shape, regions in shapes.items()}
    times = {f"{s}_ms": _milliseconds(partial(judge, predicate, known), rounds) for s, known in bounds.items()}
    return {"files": files, "kept": _kept(judge(predicate, bounds["plain"]))} | times


def _kept(verdicts: pa.Array) -> int:
    return pc.sum(pc.not_equal(verdicts, pa.scalar(int(Verdict.NEVER), pa.uint8()))).as_py()


def _regions(files: int) -> pa.DictionaryArray:
    indices = pc.bit_wise_and(pa.array(range(files), pa.int64()), 63).cast(pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array([f"region-{i}" for i in range(64)]))


def _bounds(files: int, least_region: pa.Array, greatest_region: pa.Array) -> Bounds:
    numbers = pa.array(range(files), pa.int64())
    begin = pc.add(pc.multiply(pc.bit_wise_and(pc.shift_right(numbers, 6), 4095), HOUR), START)
    at = [moments.cast(SCHEMA.field("at").type) for moments in (begin, pc.add(begin, HOUR))]
    return Bounds(
        files,
        {
            "region": (ColumnBounds(least_region, greatest_region, may_be_null=False),),
            "at": (ColumnBounds(*at, upper_inclusive=False, may_be_null=False),),
            "id": (ColumnBounds(numbers, pc.add(numbers, 100)),),
        },
    )


def _milliseconds(work: Callable[[], object], rounds: int) -> float:
    def once() -> float:
        begin = perf_counter()
        work()
        return (perf_counter() - begin) * 1000

    return round(min(once() for _ in range(rounds)), 2)


if __name__ == "__main__":
    print(run())
