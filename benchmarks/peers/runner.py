"""Runs the chosen operations in the chosen states; the tables are written once per number of rows."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from benchmarks.peers import lines
from benchmarks.peers.measure import (
    Measurement,
    Samples,
    Turn,
    bytes_below,
    in_fresh_process,
    interleaved,
    same_answer,
    timed,
)
from benchmarks.peers.operations import READS, SPARK_READS, Read, messages
from benchmarks.peers.s3 import BUCKET, counting_s3
from benchmarks.peers.systems import (
    STORED,
    Delta,
    DuckDB,
    IndexTables,
    Lance,
    Place,
    PlainParquet,
    SparkIndexTables,
    SparkParquet,
    System,
    spark_session,
)
from indextables import IndexTable

SMALL_SPLIT = 10  # rows
ROWS_PER_PARTITION = 100
PARTITIONS_PER_COMMIT = 1_000
SPARK_WARM_UP = 5  # the JVM compiles what it has run before


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured. `splits` and `partitions` are those of the operations small-splits and partitions."""

    rows: int
    spark_rows: int
    repetitions: int
    write_repetitions: int
    splits: int
    partitions: int
    scaling_rows: tuple[int, ...] = ()
    scaling_splits: tuple[int, ...] = ()
    scaling_split_rows: int = 0


SIZES = {
    "tiny": Size(20_000, 20_000, 2, 1, 20, 20, (10_000, 20_000), (1, 10), 20_000),
    "small": Size(200_000, 200_000, 7, 3, 500, 1_000),
    "full": Size(
        rows=2_000_000,
        spark_rows=10_000_000,
        repetitions=15,
        write_repetitions=3,
        splits=10_000,
        partitions=1_000,
        scaling_rows=(1_000_000, 2_000_000, 5_000_000, 10_000_000),
        scaling_splits=(1, 10, 100, 1_000),
        scaling_split_rows=1_000_000,
    ),
}
STATES = ("warm", "cold", "s3")


class Runner:
    def __init__(self, scratch: Path, size: Size, seed: int, report: Callable[[str], object]) -> None:
        self._scratch, self._size, self._seed, self._report = scratch, size, seed, report

    def run(self, only: Sequence[str], states: Sequence[str]) -> Iterator[Measurement]:
        """Operations without Spark come first, so that no JVM is idle beside them."""
        reads = [key for key in READS if key in only]
        for key, operation in self._special.items():
            if key in only:
                self._report(key)
                yield from operation()
        if reads and "warm" in states:
            yield from self._warm(reads)
        if reads and "cold" in states:
            yield from self._cold(reads)
        if reads and "s3" in states:
            yield from self._s3(reads)
        if any(key in only for key in ("spark-write", *SPARK_READS)):
            yield from self._in_spark(only)

    @cached_property
    def _special(self) -> dict[str, Callable[[], Iterator[Measurement]]]:
        return {
            "write": self._write,
            "small-splits": self._small_splits,
            "partitions": self._partitions,
            "scaling-rows": self._scaling_rows,
            "scaling-splits": self._scaling_splits,
            "scaling-hits": self._scaling_hits,
        }

    def _place(self, rows: int, systems: Sequence[Any]) -> Place:
        """The tables of some systems, written if they are not there yet."""
        root = self._scratch / str(rows)
        root.mkdir(exist_ok=True)
        for system in systems:
            if not (root / system.directory).exists():
                self._report(f"  preparing {rows:,} rows: {system.directory}")
                # Spark's systems read the tables that the engine has written
                writer = {"indextables": IndexTables, "parquet": PlainParquet}.get(system.directory, system)
                writer.write(self._data(rows), str(root / system.directory))
        return Place(str(root), rows, str(self._scratch / "cache"), self._trace_ids(rows))

    def _data(self, rows: int) -> pa.Table:
        return lines.lines(rows, self._seed)

    def _trace_ids(self, rows: int) -> list[str]:
        """Fifty of them, evenly over the rows; kept beside the tables, so that the rows need not be made again."""
        kept = self._scratch / str(rows) / "trace_ids.json"
        if not kept.exists():
            spots = np.linspace(0, rows - 1, 50).astype(int)
            kept.write_bytes(msgspec.json.encode(self._data(rows)["trace_id"].take(pa.array(spots)).to_pylist()))
        return msgspec.json.decode(kept.read_bytes(), type=list[str])

    def _write(self) -> Iterator[Measurement]:
        rows = self._size.rows
        data, root = self._data(rows), self._scratch / str(rows)
        root.mkdir(exist_ok=True)
        turns = {s.name: _write_turn(s, data, root / s.directory) for s in STORED}
        for system in STORED:  # libraries are loaded and warm before the first repetition
            system.write(data.slice(0, 1_000), str(root / "warm-up"))
            shutil.rmtree(root / "warm-up")
        _, samples = interleaved(turns, self._size.write_repetitions, warm_up=0, digest=str)
        yield _written("write", root, STORED, samples)

    def _warm(self, keys: Sequence[str]) -> Iterator[Measurement]:
        for key in keys:
            self._report(f"{key}, warm")
            yield self._measured(key, READS[key], self._place(self._size.rows, READS[key].systems))

    def _measured(self, key: str, read: Read, place: Place, x: int = 0, label: str = "") -> Measurement:
        turns = {s.name: _read_turn(read, s(place), place) for s in read.systems}
        answer, samples = interleaved(turns, self._size.repetitions, warm_up=2, digest=read.digest)
        return Measurement(label or key, "warm", place.rows, answer, samples, x)

    def _cold(self, keys: Sequence[str]) -> Iterator[Measurement]:
        """Each repetition in a fresh process, with an empty cache of indexes; the pages of the files are in memory."""
        for key in keys:
            self._report(f"{key}, cold")
            read = READS[key]
            place = self._place(self._size.rows, read.systems)
            samples = {system.name: Samples() for system in read.systems}
            answer = ""
            for number in range(min(5, self._size.repetitions)):
                answers = {s.name: self._asked_afresh(place, key, s.name, number, samples) for s in read.systems}
                answer = same_answer(answers)
            yield Measurement(key, "cold", place.rows, answer, samples)

    def _asked_afresh(self, place: Place, key: str, name: str, number: int, samples: dict[str, Samples]) -> str:
        cache = self._scratch / "cold-cache"
        shutil.rmtree(cache, ignore_errors=True)
        file = self._scratch / "place.json"
        file.write_bytes(msgspec.json.encode(msgspec.structs.replace(place, cache=str(cache))))
        told = in_fresh_process("benchmarks.peers.fresh", "read", str(file), key, name, str(number))
        samples[name].seconds.append(told["seconds"])
        samples[name].cpu.append(told["cpu"])
        return told["answer"]

    def _s3(self, keys: Sequence[str]) -> Iterator[Measurement]:
        with counting_s3() as (options, counts):
            systems = {s.directory: s for key in keys for s in READS[key].systems if s.remote}
            local = self._place(self._size.rows, list(systems.values()))
            self._report("  copying the tables to S3")
            remote = _copied(local, list(systems), options)
            for key in keys:
                self._report(f"{key}, S3")
                yield self._measured_on_s3(key, remote, counts)

    def _measured_on_s3(self, key: str, place: Place, counts: Callable[[], dict[str, int]]) -> Measurement:
        """The first time with an empty cache of indexes, and again by the same handle. Counts, not times, matter here."""
        read = READS[key]
        samples, answers = {}, {}
        for system in (system for system in read.systems if system.remote):
            where = msgspec.structs.replace(place, cache=str(self._scratch / f"s3-cache-{key}"))
            started = counts()
            opened, opening, _ = timed(lambda s=system, w=where: s(w))
            answers[system.name], seconds, cpu = timed(lambda s=opened, w=where: read.digest(read.ask(s, w, 0)))
            first = counts()
            _, again, more_cpu = timed(lambda s=opened, w=where: read.ask(s, w, 1))
            facts = _difference("first", started, first) | _difference("again", first, counts())
            samples[system.name] = Samples([opening + seconds, again], [cpu, more_cpu], facts)
        return Measurement(key, "s3", place.rows, same_answer(answers), samples)

    def _small_splits(self) -> Iterator[Measurement]:
        """A rare word over splits of ten rows, in Lance over the same rows."""
        splits = self._size.splits
        data, root = self._data(splits * SMALL_SPLIT), self._scratch / "small-splits"
        root.mkdir()
        _write_small_splits(data, root / IndexTables.directory, splits)
        Lance.write(data, str(root / Lance.directory))
        place = Place(str(root), len(data), str(root / "cache"), [])
        systems = (IndexTables, Lance)
        read = Read("", systems, lambda system, _place, _number: system.hits(lines.RARE), messages)
        measured = self._measured("small-splits", read, place, x=splits)
        measured.systems[IndexTables.name].facts |= IndexTables(place).splits(lines.RARE)
        yield measured

    def _partitions(self) -> Iterator[Measurement]:
        """A write of many small partitions, each repetition in a fresh process, whose peak memory counts."""
        count = self._size.partitions
        source, target = self._scratch / "partitions.parquet", self._scratch / "partitions"
        data = self._data(count * ROWS_PER_PARTITION)
        pq.write_table(_numbered(data, count), source)
        samples: dict[str, Samples] = {s.name: Samples() for s in (IndexTables, PlainParquet, Delta)}
        answer = ""
        for _ in range(self._size.write_repetitions):
            answer = same_answer({name: _written_afresh(source, target, name, samples[name]) for name in samples})
        yield Measurement("partitions", "warm", len(data), answer, samples, count)

    def _scaling_rows(self) -> Iterator[Measurement]:
        for rows in self._size.scaling_rows:
            self._report(f"  {rows:,} rows")
            for key in ("top20", "hits", "lookup", "scan-numbers"):
                read = READS[key]
                yield self._measured(key, read, self._place(rows, read.systems), rows, f"scaling-rows {key}")

    def _scaling_splits(self) -> Iterator[Measurement]:
        """The same rows in more and more splits, or fragments of Lance."""
        rows = self._size.scaling_split_rows
        for splits in self._size.scaling_splits:
            self._report(f"  {splits:,} splits")
            root = self._scratch / f"{rows}-in-{splits}"
            root.mkdir()
            for system in (IndexTables, Lance):
                path = str(root / system.directory)
                system.write(self._data(rows), path, "", rows_per_split=-(-rows // splits))
            place = Place(str(root), rows, str(root / "cache"), self._place(rows, []).trace_ids)
            for key in ("top20", "hits", "lookup"):
                read = READS[key]
                two = Read(read.title, (IndexTables, Lance), read.ask, read.digest)
                yield self._measured(key, two, place, splits, f"scaling-splits {key}")
            shutil.rmtree(root)

    def _scaling_hits(self) -> Iterator[Measurement]:
        systems = (IndexTables, Lance, DuckDB)
        place = self._place(self._size.rows, systems)
        for hits, word in lines.hit_counts(self._size.rows).items():
            read = Read("", systems, lambda system, _place, _number, word=word: system.hits(word), messages)
            yield self._measured("hits", read, place, hits, "scaling-hits hits")

    def _in_spark(self, only: Sequence[str]) -> Iterator[Measurement]:
        spark = spark_session(self._scratch)
        try:
            if "spark-write" in only:
                self._report("spark-write")
                yield self._spark_write(spark)
            for key, read in SPARK_READS.items():
                if key in only:
                    self._report(key)
                    yield self._spark_read(spark, key, read)
        finally:
            spark.stop()

    def _spark_read(self, spark: Any, key: str, read: Read) -> Measurement:
        place = self._place(self._size.spark_rows, read.systems)
        turns = {s.name: _read_turn(read, s(place, spark), place) for s in read.systems}
        warm_up = min(SPARK_WARM_UP, self._size.repetitions)
        answer, samples = interleaved(turns, self._size.repetitions, warm_up=warm_up, digest=read.digest)
        return Measurement(key, "warm", place.rows, answer, samples)

    def _spark_write(self, spark: Any) -> Measurement:
        rows = self._size.rows
        root = self._scratch / "spark-write"
        root.mkdir()
        pq.write_table(self._data(rows), root / "input.parquet", row_group_size=-(-rows // 8))
        frame = spark.read.parquet(str(root / "input.parquet"))
        systems = (SparkIndexTables, SparkParquet)
        turns = {s.name: _write_turn(s, frame, root / s.directory) for s in systems}
        _, samples = interleaved(turns, self._size.write_repetitions, warm_up=1, digest=str)
        return _written("spark-write", root, systems, samples)


def _written(key: str, root: Path, systems: Sequence[Any], samples: dict[str, Samples]) -> Measurement:
    """Every system must have the same number of rows; how many bytes they take is a fact."""
    counts = {system.name: system.count(str(root / system.directory)) for system in systems}
    for system in systems:
        samples[system.name].facts["bytes"] = bytes_below(root / system.directory)
    rows = same_answer(counts)
    return Measurement(key, "warm", rows, f"{rows:,} rows", samples)


def _read_turn(read: Read, opened: Any, place: Place) -> Turn:
    return Turn(lambda number: read.ask(opened, place, number))


def _write_turn(system: System, data: Any, target: Path) -> Turn:
    """What others have written is on disk before the clock starts: who syncs must not wait for it."""

    def before() -> None:
        shutil.rmtree(target, ignore_errors=True)
        os.sync()

    def write(_number: int) -> str:
        system.write(data, str(target))
        return "written"

    return Turn(write, before)


def _written_afresh(source: Path, target: Path, name: str, sample: Samples) -> str:
    shutil.rmtree(target, ignore_errors=True)
    told = in_fresh_process("benchmarks.peers.fresh", "write", str(source), str(target), "part", name)
    sample.seconds.append(told["seconds"])
    sample.cpu.append(told["cpu"])
    sample.facts = {fact: max(told[fact], sample.facts.get(fact, 0)) for fact in ("peak_mb", "added_mb")}
    return told["answer"]


def _numbered(data: pa.Table, partitions: int) -> pa.Table:
    return data.append_column("part", pa.array(np.arange(len(data)) % partitions, pa.int32()))


def _write_small_splits(data: pa.Table, path: Path, splits: int) -> None:
    """One split per partition and commit, at most 1,000 per commit."""
    partitions = min(splits, PARTITIONS_PER_COMMIT)
    data = _numbered(data, partitions)
    table = IndexTable.create(path, data.schema, fields={"message": "text"}, partition_by="part")
    rows = partitions * SMALL_SPLIT
    for start in range(0, len(data), rows):
        table.append(data.slice(start, rows))
    assert len(table.splits()) == splits


def _copied(local: Place, directories: Sequence[str], options: Mapping[str, str]) -> Place:
    remote = msgspec.structs.replace(local, root=f"s3://{BUCKET}/benchmark", s3=dict(options))
    for directory in directories:
        target = remote.of(directory).removeprefix("s3://")
        pafs.copy_files(local.of(directory), target, destination_filesystem=remote.filesystem)
    return remote


def _difference(when: str, before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
    return {f"{when} {name}": after[name] - before[name] for name in after}
