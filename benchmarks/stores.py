"""Object stores: requests and bytes of each question, cold and warm; uploads beside a bare multipart upload.

`python -m benchmarks.stores [upload MB]`. The store is moto's S3 on loopback, so that what counts is what is asked of it,
not how long it took; uploads are told as ratios to the same parts sent by obstore alone, in turns.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import pyarrow as pa

from benchmarks.split import log_lines
from indextables import IndexTable
from tests.stores.servers import Server, s3_server

DAYS, ROWS = 8, 50_000
PRUNED = "day = 'day-3'"
_UPLOAD = """
import sys, time
from pathlib import Path
import obstore
from benchmarks.memory import peak_memory
from indextables.config import Config
from indextables.storage import open_store
how, place, source, part, *options = sys.argv[1:]
config = Config.resolve({**dict(option.split("=", 1) for option in options), "s3.partSize": part})
store = open_store(place, config)
store.put("small", b"")
before, cpu = time.perf_counter(), time.process_time()
if how == "ours":
    store.put_file("large", Path(source))
else:
    obstore.put(store._backend, store._path("large"), Path(source), chunk_size=config.store.s3_part_size, max_concurrency=4)
spent, cpu = time.perf_counter() - before, time.process_time() - cpu
store.delete(["large"])
print(spent, cpu, peak_memory())
"""


def run(upload_mb: int = 500) -> dict[str, object]:
    with s3_server() as server, tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        return {"questions": _questions(server, Path(name)), "upload": _uploads(server, Path(name), upload_mb)}


def _questions(server: Server, scratch: Path) -> dict[str, dict[str, str]]:
    """What each question asks of the store: the first time on this machine, again, and after pruning."""
    place = _filled(server)
    questions: dict[str, Callable[[IndexTable, str | None], object]] = {
        "point lookup": lambda table, where: table.scan(where=_and("id = 163456", where)).to_arrow(),
        "top 20 of a search": lambda table, where: table.search("message:error", where=where, limit=20),
        "count of a search": lambda table, where: table.count(where, query="message:error"),
        "count": lambda table, where: table.count(where),
        "full scan": lambda table, where: table.scan(where=where).to_arrow(),
    }
    told: dict[str, dict[str, str]] = {"open the table": {"cold": str(_opened(server, place, scratch / "o").traffic)}}
    for name, ask in questions.items():
        told[name] = {}
        for suffix, where in (("", None), (", one day of 8", PRUNED)):
            table = _opened(server, place, scratch / f"{name}{suffix}")
            for state in ("cold", "warm"):
                before = table.traffic
                ask(table, where)
                spent = table.traffic - before
                told[name][state + suffix] = f"{spent.requests} requests, {spent.bytes_read:,} bytes"
    return told


def _filled(server: Server) -> str:
    data = log_lines(DAYS * ROWS)
    numbers = pa.arange(0, len(data))
    data = data.append_column("id", numbers).append_column(
        "day", pa.array([f"day-{i // ROWS}" for i in range(len(data))])
    )
    place = server.new_table()
    table = IndexTable.create(
        place, data.schema, partition_by="day", fields={"message": "text"}, options=server.options
    )
    table.append(data)
    return place


def _opened(server: Server, place: str, cache: Path) -> IndexTable:
    return IndexTable.open(place, options={**server.options, "cache.directory": str(cache)})


def _and(condition: str, where: str | None) -> str:
    return condition if where is None else f"{condition} AND {where}"


def _uploads(server: Server, scratch: Path, megabytes: int, repetitions: int = 3) -> dict[str, str]:
    source = scratch / "large.split"
    with source.open("wb") as file:
        for number in range(megabytes):
            file.write(number.to_bytes(4, "big") * (1024 * 256))
    runs: dict[str, list[tuple[float, ...]]] = {"ours": [], "bare": []}
    for _ in range(repetitions):
        for how, figures in runs.items():
            figures.append(_uploaded(how, server.new_table(), source, server.options))
    seconds, cpu, memory = ({how: median(f[at] for f in figures) for how, figures in runs.items()} for at in range(3))
    figures = {
        how: f"{megabytes / seconds[how]:.0f} MB/s, {cpu[how]:.1f} s of CPU, peak memory {memory[how]:.0f} MB"
        for how in runs
    }
    ratio = (
        f"{seconds['bare'] / seconds['ours']:.2f} of the throughput, {cpu['ours'] / cpu['bare']:.2f} of the CPU time"
    )
    return {"size": f"{megabytes} MB in parts of 64 MB, 4 at once", **figures, "ours / bare": ratio}


def _uploaded(how: str, place: str, source: Path, options: Mapping[str, str]) -> tuple[float, ...]:
    given = [f"{key}={value}" for key, value in options.items()]
    command = [sys.executable, "-c", _UPLOAD, how, place, str(source), "64M", *given]
    return tuple(map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()))


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:])), indent=2))
