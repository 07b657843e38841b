"""Opening, pruning and committing with 1,000 / 100,000 / 1,000,000 splits, and delta-rs beside it.

Each figure is the median of several repetitions, each in a process of its own (so memory is its own too), interleaved with
the peer's.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.memory import peak_memory
from indextables.config import Config, MaintenanceConfig
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, Metadata, PartitionSpec, Protocol, SpecField
from indextables.log.snapshot import TOMBSTONES, Rows
from indextables.log.split_bounds import bounds_of_splits
from indextables.log.splits import splits_schema
from indextables.predicate import Verdict, columns, judge, parse_condition
from indextables.schema import to_json

SIZES = (1_000, 100_000, 1_000_000)
REPETITIONS = 5
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "app": pa.string(), "id": pa.int64(), "message": pa.string()})
METADATA = Metadata(
    id="bench",
    schema=to_json(SCHEMA),
    partition_specs=[
        PartitionSpec(
            spec_id=0,
            fields=[
                SpecField(source="app", transform="identity", name="app"),
                SpecField(source="ts", transform="day", name="ts_day"),
            ],
        )
    ],
)
START = 1_704_067_200_000_000  # 2024-01-01
DAY = 86_400_000_000


def run() -> dict[str, object]:
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        for size in SIZES:
            ours, theirs = Path(name, f"ours-{size}"), Path(name, f"delta-{size}")
            _make_ours(ours, size)
            _make_delta(theirs, size)
            rounds = [{**_child("ours", ours, size), **_child("delta", theirs, size)} for _ in range(REPETITIONS)]
            results[f"{size:,} splits"] = {key: _summary([r[key] for r in rounds]) for key in rounds[0]}
    return results


def _summary(values: list[float]) -> str:
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def _child(what: str, table: Path, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.log", what, str(table), str(size)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _number(size: int) -> pa.Array:
    return pa.array(range(size), pa.int64())


def _splits(size: int) -> pa.Table:
    """Splits of 100 apps x 365 days, of a minute each, as a writer would describe them."""
    number = _number(size)
    app_number = pa.array([i % 100 for i in range(size)])
    day = pa.array([i // 100 % 365 for i in range(size)], pa.int32())
    app = pc.binary_join_element_wise("app-", app_number.cast(pa.string()), "")
    ordinal = pc.add(day, 19723)
    low = pc.add(
        START, pc.add(pc.multiply(day.cast(pa.int64()), DAY), pc.multiply(pc.divide(number, 36500), 60_000_000))
    )
    path = pa.array(
        f"app=app-{i % 100}/ts_day=2024-{i // 100 % 365:03}/part-{i % 200:05}-0b2f9f5e-{i * 2654435761 % 2**48:012x}.split"
        for i in range(size)
    )
    none = pa.nulls(size, pa.string())
    partition = pa.StructArray.from_arrays(
        [pa.StructArray.from_arrays([v, none], ["value", "malformed"]) for v in (app, ordinal)], ["app", "day(ts)"]
    )
    bounds = {
        end: pa.StructArray.from_arrays(
            [pc.add(low, offset).view(pa.timestamp("us", "UTC")), app, pc.add(pc.multiply(number, 1000), offset), app],
            SCHEMA.names,
        )
        for end, offset in (("min", 0), ("max", 999))
    }
    zero = pa.array([0] * size, pa.int64())
    given = {
        "path": path,
        "spec_id": zero.cast(pa.int32()),
        "size": pc.add(number, 100_000_000),
        "modification_time": pc.add(number, 1_700_000_000_000),
        "data_change": pa.array([True] * size),
        "num_records": pc.add(zero, 1_000_000),
        "has_footer_offsets": pa.array([True] * size),
        **{name: pc.add(number, 7) for name in ("footer_start_offset", "footer_end_offset")},
        **{name: pc.add(number, 5) for name in ("index_start_offset", "index_end_offset")},
        "num_merge_ops": zero.cast(pa.int32()),
        "doc_mapping_id": zero.cast(pa.int32()),
        "uncompressed_size_bytes": pc.add(number, 300_000_000),
        "partition": partition,
        **bounds,
        "null_count": pa.StructArray.from_arrays([zero] * 4, SCHEMA.names),
    }
    schema = splits_schema(METADATA)
    return pa.table([given.get(f.name, pa.nulls(size, f.type)) for f in schema], schema=schema)


def _make_ours(table: Path, size: int) -> None:
    log = TransactionLog.open(table)
    protocol = Protocol(min_reader_version=1, min_writer_version=1)
    first = log.commit(
        Transaction(operation=Operation.CREATE, snapshot=None, protocol=protocol, metadata=METADATA)
    ).snapshot
    for _ in range(9):
        first = log.commit(_one_more(first)).snapshot
    rows = Rows(_splits(size), TOMBSTONES.empty_table())
    log.checkpoint(Snapshot(first.version, first.timestamp, protocol, METADATA, {}, rows, {}))


def _one_more(snapshot: Snapshot) -> Transaction:
    add = Add(
        path=f"app=app-1/{time.monotonic_ns()}.split",
        partition_values={"app": "app-1", "ts_day": "2024-01-01"},
        size=1,
        modification_time=1,
        num_records=1,
    )
    return Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=[add])


def _make_delta(table: Path, size: int) -> None:
    import deltalake  # noqa: PLC0415 - only the benchmark's extra installs it

    log = table / "_delta_log"
    log.mkdir(parents=True)
    fields = [
        {"name": n, "type": t, "nullable": True, "metadata": {}}
        for n, t in {"ts": "timestamp", "app": "string", "id": "long", "message": "string", "ts_day": "date"}.items()
    ]
    meta = {
        "id": "0b2f9f5e-0000-4000-8000-000000000000",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["app", "ts_day"],
        "configuration": {},
        "createdTime": 0,
    }
    with (log / f"{0:020}.json").open("w") as file:
        file.write(json.dumps({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}) + "\n")
        file.write(json.dumps({"metaData": meta}) + "\n")
        for i in range(size):
            stats = {
                "numRecords": 1_000_000,
                "minValues": {"id": i * 1000, "message": f"app-{i % 100}"},
                "maxValues": {"id": i * 1000 + 999, "message": f"app-{i % 100}"},
                "nullCount": {"id": 0, "message": 0, "ts": 0},
            }
            add = {
                "path": f"app=app-{i % 100}/part-{i % 200:05}-0b2f9f5e-{i * 2654435761 % 2**48:012x}.parquet",
                "partitionValues": {"app": f"app-{i % 100}", "ts_day": f"2024-{i // 100 % 12 + 1:02}-01"},
                "size": i + 100_000_000,
                "modificationTime": 1_700_000_000_000,
                "dataChange": True,
                "stats": json.dumps(stats),
            }
            file.write(json.dumps({"add": add}) + "\n")
    deltalake.DeltaTable(table).create_checkpoint()


def _measure_ours(table: Path, size: int) -> dict[str, float]:
    before = peak_memory()
    start = time.perf_counter()
    log = TransactionLog.open(table, Config(maintenance=MaintenanceConfig(checkpoint_interval=10**9)))
    snapshot = log.snapshot()
    assert len(snapshot.splits) == size
    opened, memory = time.perf_counter() - start, peak_memory() - before
    schema = snapshot.metadata.arrow_schema()

    def prune(text: str) -> tuple[float, int]:
        start = time.perf_counter()
        predicate = parse_condition(text, schema)
        verdicts = judge(predicate, bounds_of_splits(columns(predicate), snapshot.splits, snapshot.metadata))
        kept = len(snapshot.splits.filter(pc.not_equal(verdicts, Verdict.NEVER)))
        return time.perf_counter() - start, kept

    parse_condition("app = 'warm up'", schema)
    by_value, kept = prune("app = 'app-7'")
    assert kept == size // 100
    by_range, kept = prune(f"id >= {1000 * (size // 2)} AND id < {1000 * (size // 2) + 3000}")
    assert kept == 3
    by_day, _ = prune("ts >= TIMESTAMP '2024-03-01 00:00:00Z' AND ts < TIMESTAMP '2024-03-02 00:00:00Z'")
    commits = []
    for _ in range(20):
        start = time.perf_counter()
        snapshot = log.commit(_one_more(snapshot)).snapshot
        commits.append(time.perf_counter() - start)
    start = time.perf_counter()
    log.checkpoint(snapshot)
    checkpoint = time.perf_counter() - start
    for path in Path(table, "_transaction_log").glob("*.json"):
        if int(path.stem) > 9:
            path.unlink()
    for path in Path(table, "_transaction_log").glob("*.parquet"):
        if int(path.name.split(".")[0]) > 9:
            path.unlink()
    return {
        "open, s": opened,
        "open, MB": memory,
        "prune by partition value, ms": by_value * 1000,
        "prune by min/max range, ms": by_range * 1000,
        "prune by hidden day, ms": by_day * 1000,
        "commit an append, ms": statistics.median(commits) * 1000,
        "write a checkpoint, s": checkpoint,
    }


def _measure_delta(table: Path, size: int) -> dict[str, float]:
    import deltalake  # noqa: PLC0415

    before = peak_memory()
    start = time.perf_counter()
    delta = deltalake.DeltaTable(table)
    actions = delta.get_add_actions(flatten=True)
    assert actions.num_rows == size
    return {"delta-rs: open and list, s": time.perf_counter() - start, "delta-rs: MB": peak_memory() - before}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure = {"ours": _measure_ours, "delta": _measure_delta}[sys.argv[1]]
        print(json.dumps(measure(Path(sys.argv[2]), int(sys.argv[3]))))
    else:
        print(json.dumps(run(), indent=2))
