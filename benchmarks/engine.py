"""The engine without Spark, beside what users would otherwise take: DuckDB `LIKE`, Lance's full-text index, bare tantivy.

`python -m benchmarks.engine [rows ...]`; figures are medians of interleaved repetitions, with their spread.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import tantivy

from benchmarks.log import peak_memory
from benchmarks.split import log_lines
from indextables import IndexTable
from indextables.search import documents, resolve, tantivy_schema

CHUNK = 250_000
REPETITIONS = 5
NEEDLE = "needle"
WORDS = {"message": "text"}


def lines(rows: int) -> Iterator[pa.Table]:
    """Log lines with a unique id each; one in 2,000 has the needle, one in 100,000 has it twice."""
    base = log_lines(CHUNK)
    for start in range(0, rows, CHUNK):
        number = pa.arange(start, min(rows, start + CHUNK))
        part = base.slice(0, len(number))
        ids = pc.binary_join_element_wise("id", pc.multiply(number, 2_654_435_761).cast(pa.string()), "-")
        marked = pc.binary_join_element_wise(part["message"], NEEDLE, " ")
        message = pc.if_else(pc.equal(pc.bit_wise_and(number, 2047), 7), marked, part["message"])
        yield part.set_column(5, "message", message).append_column("id", ids)


def run(sizes: tuple[int, ...] = (2_000_000, 10_000_000)) -> dict[str, object]:
    results: dict[str, object] = {"import and open a small table, ms": _import_time(), **_memory()}
    results["write"] = _write(1_000_000)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
            results[f"{size:,} rows"] = _read(Path(name), size)
    return results


def _write(rows: int) -> dict[str, str]:
    """Against the limit: Parquet by pyarrow and the index by bare tantivy, one after the other, of the same columns."""
    columns = ["ts", "level", "service", "host", "message"]
    data = pa.concat_tables(part.select(columns) for part in lines(rows))
    rules = resolve(data.schema, WORDS)

    def ours(place: Path) -> None:
        IndexTable.create(place, data.schema, fields=WORDS).append(data)

    def limit(place: Path) -> None:
        place.mkdir()
        pq.write_table(data, place / "rows.parquet", compression="zstd", row_group_size=8192)
        index = tantivy.Index(tantivy_schema(data.schema, rules), path=str(place))
        writer = index.writer(2_000_000_000, num_threads=1)
        for batch in data.to_batches(max_chunksize=8192):
            for document in documents(batch, rules):
                writer.add_json(document)
        writer.commit()
        writer.wait_merging_threads()

    def plain(place: Path) -> None:
        place.mkdir()
        pq.write_table(data, place / "rows.parquet", compression="zstd")

    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        seconds = _interleaved({w.__name__: _in_new_place(w, Path(name)) for w in (ours, limit, plain)}, 3)
    return _rates(seconds, rows) | {"ours / limit": f"{_median(seconds['limit']) / _median(seconds['ours']):.2f}"}


def _in_new_place(write: Callable[[Path], None], directory: Path) -> Callable[[], None]:
    def once() -> None:
        place = directory / "it"
        write(place)
        shutil.rmtree(place)

    return once


def _read(directory: Path, rows: int) -> dict[str, object]:
    import duckdb  # noqa: PLC0415 - the benchmark's peers
    import lance  # noqa: PLC0415

    table = IndexTable.create(directory / "ours", next(lines(1)).schema, fields=WORDS)
    start = perf_counter()
    table.append(batch for part in lines(rows) for batch in part.to_batches())
    wrote = perf_counter() - start
    _plain_parquet(directory / "plain", rows)
    lance.write_dataset(pa.RecordBatchReader.from_batches(table.schema, _batches(rows)), directory / "lance")
    dataset = lance.dataset(directory / "lance")
    dataset.create_scalar_index("message", "INVERTED", with_position=False)
    index = _bare_tantivy(directory / "bare", rows)
    database = duckdb.connect()
    files = f"read_parquet('{directory}/plain/*.parquet')"
    searcher = index.searcher()
    schema = index.schema
    needle = tantivy.Query.term_query(schema, "message", NEEDLE)
    hits = table.count(query=NEEDLE)

    def lance_search(limit: int) -> pa.Table:
        return dataset.to_table(columns=["ts", "message", "_score"], full_text_query=NEEDLE, limit=limit)

    like = f"SELECT ts, message FROM {files} WHERE message LIKE '%{NEEDLE}%'"
    top = {
        "ours": lambda: table.search(NEEDLE, columns=["ts", "message"], limit=20),
        "DuckDB LIKE": lambda: database.sql(f"{like} LIMIT 20").to_arrow_table(),
        "Lance": lambda: lance_search(20),
        "bare tantivy, no rows": lambda: searcher.search(needle, 20),
    }
    thousand = {
        "ours": lambda: table.scan(query=NEEDLE, columns=["ts", "message"], limit=1000).to_arrow(),
        "DuckDB LIKE": lambda: database.sql(f"{like} LIMIT 1000").to_arrow_table(),
        "Lance": lambda: lance_search(1000),
        "bare tantivy, no rows": lambda: searcher.search(needle, 1000),
    }
    full = {
        "ours": lambda: table.scan(columns=["ts", "status", "message"]).to_arrow(),
        "pyarrow, plain Parquet": lambda: ds.dataset(directory / "plain").to_table(columns=["ts", "status", "message"]),
    }
    return {
        "hits": hits,
        "rows/s written": f"{rows / wrote:,.0f}",
        "splits": len(table.splits()),
        "bytes, MB": _megabytes(directory),
        "top 20, ms": _milliseconds(_interleaved(top)),
        "1,000 hits with two columns, ms": _milliseconds(_interleaved(thousand)),
        "full scan of three columns, ms": _milliseconds(_interleaved(full, 3)),
    }


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    return (batch for part in lines(rows) for batch in part.to_batches())


def _plain_parquet(place: Path, rows: int) -> None:
    place.mkdir()
    for number, part in enumerate(_merged(rows, 1_000_000)):
        pq.write_table(part, place / f"{number}.parquet", compression="zstd")


def _merged(rows: int, size: int) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for part in lines(rows):
        waiting.append(part)
        if sum(map(len, waiting)) >= size:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _bare_tantivy(place: Path, rows: int) -> tantivy.Index:
    place.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("message").build()
    index = tantivy.Index(schema, path=str(place))
    writer = index.writer(1_000_000_000, num_threads=1)
    for part in lines(rows):
        for text in part["message"].to_pylist():
            writer.add_document(tantivy.Document(message=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def _interleaved(work: dict[str, Callable[[], object]], repetitions: int = REPETITIONS) -> dict[str, list[float]]:
    """Seconds of each repetition after a first one to warm up, all candidates in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for repetition in range(repetitions + 1):
        for name, once in work.items():
            start = perf_counter()
            once()
            if repetition:
                seconds[name].append(perf_counter() - start)
    return seconds


def _memory() -> dict[str, str]:
    """Peak memory of a task that meets 1,000 partitions in 2,000,000 rows, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.engine", "--tuples"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"peak memory of a task with 1,000 tuples, MB": done.stdout.strip()}


def _thousand_tuples() -> None:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        schema = next(lines(1)).schema.append(pa.field("tenant", pa.string()))
        table = IndexTable.create(name, schema, partition_by="tenant", fields=WORDS)

        def batches() -> Iterator[pa.RecordBatch]:
            for part in lines(2_000_000):
                tenant = pa.array([f"t{i % 1000}" for i in range(len(part))])
                yield from part.append_column("tenant", tenant).to_batches(max_chunksize=65_536)

        table.append(batches())
        assert len(table.splits()) == 1000
    print(f"{peak_memory():.0f}")


def _import_time() -> str:
    with tempfile.TemporaryDirectory(prefix="indextables-bench-") as name:
        IndexTable.create(name, pa.schema({"x": pa.string()})).append(pa.table({"x": ["a"]}))
        opening = f"from indextables import IndexTable; IndexTable.open({name!r})"
        code = f"from time import perf_counter as t; a = t(); {opening}; print(t() - a)"
        command = [sys.executable, "-c", code]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(REPETITIONS)]
    return _spread([float(seconds) * 1000 for seconds in runs])


def _megabytes(directory: Path) -> dict[str, int]:
    sizes = {path: path.stat().st_size for path in directory.rglob("*") if path.is_file()}
    names = sorted({path.relative_to(directory).parts[0] for path in sizes})
    return {n: round(sum(s for p, s in sizes.items() if p.relative_to(directory).parts[0] == n) / 1e6) for n in names}


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _spread(values: list[float]) -> str:
    return f"{_median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def _milliseconds(seconds: dict[str, list[float]]) -> dict[str, str]:
    return {name: _spread([second * 1000 for second in of]) for name, of in seconds.items()}


def _rates(seconds: dict[str, list[float]], rows: int) -> dict[str, str]:
    return {f"{name}, rows/s": _spread([rows / second for second in of]) for name, of in seconds.items()}


if __name__ == "__main__":
    if "--tuples" in sys.argv:
        _thousand_tuples()
    else:
        chosen = tuple(int(argument) for argument in sys.argv[1:])
        print(json.dumps(run(chosen) if chosen else run(), indent=2))
