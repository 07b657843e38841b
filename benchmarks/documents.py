"""Rows to documents, on one core: `python -m benchmarks.documents`. Never the bottleneck of a write, is the aim."""

import random
import time

import pyarrow as pa

from indextables.search import documents, resolve

ROWS = 200_000
WORDS = ["failed", "password", "for", "invalid", "user", "admin", "from", "port", "ssh2", "session", "timeout", "retry"]


def log_lines(rows: int) -> pa.RecordBatch:
    chance = random.Random(7)
    return pa.record_batch(
        {
            "message": [" ".join(chance.choices(WORDS, k=12)) + f' "{chance.random()}"' for _ in range(rows)],
            "level": chance.choices(["INFO", "WARN", "ERROR", None], k=rows),
            "service": chance.choices([f"service-{n}" for n in range(50)], k=rows),
            "trace": [f"{chance.getrandbits(128):032x}" for _ in range(rows)],
            "ts": pa.array(range(rows), pa.timestamp("us", "UTC")),
            "status": chance.choices(range(200, 600), k=rows),
        }
    )


def main() -> None:
    batch = log_lines(ROWS)
    rules = resolve(batch.schema, {"message": "text"})
    started = time.perf_counter()
    total = sum(map(len, documents(batch, rules)))
    seconds = time.perf_counter() - started
    print(f"{ROWS:,} rows in {seconds:.2f} s: {ROWS / seconds:,.0f} rows/s, {total / seconds / 1e6:,.0f} MB/s")


if __name__ == "__main__":
    main()
