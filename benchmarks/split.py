"""Splits of 1,000,000 log lines: what row-group sizes cost, how fast they are written, read and searched.

python -m benchmarks.split
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet as pq
import tantivy

from indextables.config import Config, ReadConfig
from indextables.search import documents, parse, resolve, tantivy_schema
from indextables.search.text_fields import text_columns
from indextables.split import SplitCache, SplitOptions, SplitReader, write_split
from indextables.storage import open_store

ROWS = 1_000_000
ROW_GROUPS = (4096, 8192, 16384, 32768, 131072)
TEMPLATES = (
    "Failed password for invalid user {0} from 10.{1}.{2}.{3} port {4} ssh2",
    "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=10.{1}.{2}.{3}",
    "workerEnv.init() ok /etc/httpd/conf/workers{1}.properties",
    "jk2_init() Found child {4} in scoreboard slot {1}",
    "generating core.{4}",
    "{1} floating point alignment exceptions",
    "ciod: Error reading message prefix after LOGIN_MESSAGE on CioStream socket to 172.16.{2}.{3}:{4}",
    "Received disconnect from 10.{1}.{2}.{3}: 11: Bye Bye [preauth]",
)
USERS = ("root", "admin", "oracle", "guest", "webmaster", "test", "ubuntu", "backup")


def log_lines(rows: int = ROWS) -> pa.Table:
    chance = random.Random(7)

    def message() -> str:
        numbers = [chance.randrange(256) for _ in range(3)]
        return chance.choice(TEMPLATES).format(chance.choice(USERS), *numbers, chance.randrange(65536))

    return pa.table(
        {
            "ts": pa.array(
                [1_700_000_000_000_000 + n * 1000 + chance.randrange(1000) for n in range(rows)],
                pa.timestamp("us", "UTC"),
            ),
            "level": [chance.choice(("INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG")) for _ in range(rows)],
            "service": [f"svc-{chance.randrange(40)}" for _ in range(rows)],
            "host": [f"host-{chance.randrange(2000):04}.example.net" for _ in range(rows)],
            "status": pa.array([chance.choice((200, 200, 201, 404, 500, 503)) for _ in range(rows)], pa.int32()),
            "message": [message() for _ in range(rows)],
        }
    )


def run() -> dict[str, float]:
    lines = log_lines()
    with TemporaryDirectory() as scratch:
        figures = _writing(lines.select(["message", "level", "service", "host"]).slice(0, ROWS // 2), Path(scratch))
        for rows in ROW_GROUPS:
            figures |= _reading(lines, Path(scratch), rows)
        figures |= _searching(_split(Path(scratch)))
    for name, figure in figures.items():
        print(f"split, {name:48} {figure:>12,.1f}")
    return figures


def _writing(lines: pa.Table, scratch: Path) -> dict[str, float]:
    """Rows per second, beside what pyarrow and tantivy need one after the other for the same columns."""
    rules, batches = resolve(lines.schema, {"message": "text"}), lines.to_batches(max_chunksize=8192)
    path = scratch / "a.split"
    split = _seconds(lambda: write_split(batches, path, schema=lines.schema, rules=rules), 1)
    parquet = _seconds(lambda: pq.write_table(lines, path, row_group_size=8192, compression="zstd"), 1)
    ready = [document for batch in batches for document in documents(batch, rules)]
    directory = scratch / "bare"
    directory.mkdir()
    bare = _seconds(lambda: _index(ready, tantivy_schema(text_columns(lines.schema.names, rules)), directory), 1)
    shutil.rmtree(directory)
    return {
        "one text and three strings, rows/s": len(lines) / split,
        "as a part of Parquet + bare tantivy": (parquet + bare) / split,
    }


def _index(ready: list[str], schema: tantivy.Schema, directory: Path) -> None:
    writer = tantivy.Index(schema, path=str(directory)).writer(4_000_000_000, num_threads=1)
    for document in ready:
        writer.add_json(document)
    writer.commit()
    writer.wait_merging_threads()


def _reading(lines: pa.Table, scratch: Path, rows: int) -> dict[str, float]:
    rules = resolve(lines.schema, dict.fromkeys(["level", "service", "host", "message"], "none"))
    batches, options = lines.to_batches(max_chunksize=8192), SplitOptions(row_group_rows=rows)
    facts = write_split(batches, scratch / "a.split", schema=lines.schema, rules=rules, options=options)
    split, chance = _split(scratch), random.Random(1)
    few, many = (pa.array(sorted(chance.sample(range(ROWS), count)), pa.int64()) for count in (20, 1000))
    return {
        f"{rows} rows, MB of columns": facts.index[0] / 1e6,
        f"{rows} rows, KB of footer": (facts.footer[1] - facts.footer[0]) / 1e3,
        f"{rows} rows, scan ms": 1e3 * _seconds(lambda: sum(batch.num_rows for batch in split.read())),
        f"{rows} rows, fetch 20 ms": 1e3 * _seconds(lambda: split.take(few)),
        f"{rows} rows, fetch 1000 ms": 1e3 * _seconds(lambda: split.take(many)),
    }


def _searching(split: SplitReader) -> dict[str, float]:
    figures = {"unpack and open the index, ms": 1e3 * _seconds(lambda: split.index, 1)}
    for text in ("status:404", "status:200"):
        query = parse(text, schema=split.schema, rules=split.rules)
        figures[f"us per hit of {split.count(query)}"] = (
            1e6 * _seconds(lambda q=query: split.search(q)) / split.count(query)
        )
    return figures


def _split(scratch: Path) -> SplitReader:
    cache = SplitCache.configured(Config(read=ReadConfig(cache_directory=str(scratch / "cache"))))
    return SplitReader(open_store(scratch), "a.split", size=(scratch / "a.split").stat().st_size, cache=cache)


def _seconds(action: Callable[[], object], repetitions: int = 3) -> float:
    best = float("inf")
    for _ in range(repetitions):
        start = perf_counter()
        action()
        best = min(best, perf_counter() - start)
    return best


if __name__ == "__main__":
    run()
