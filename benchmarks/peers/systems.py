"""The systems that are compared, each with the same verbs: `write`, `count`, `top`, `hits`, `lookup` and `scan`.

A system that has no such operation lacks the verb. Each loads its library when it is used, so that a fresh process has
only one of them.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs

ROW_GROUP = 131_072
WORDS = {"message": "text"}
ALL = 1_000_000_000  # a limit that no answer reaches
VERSION_OF = ("indextables", "deltalake", "duckdb", "pyarrow", "pylance", "pyspark", "tantivy", "numpy", "moto")


class Place(msgspec.Struct, frozen=True):
    """Where the same rows lie, once per system. `trace_ids` are some of theirs; `s3` reaches an object store."""

    root: str
    rows: int
    cache: str
    trace_ids: list[str]
    s3: dict[str, str] = {}

    def of(self, directory: str) -> str:
        return f"{self.root}/{directory}"

    def trace_id(self, repetition: int) -> str:
        """Another one for each repetition, so that no cache of results helps."""
        return self.trace_ids[repetition % len(self.trace_ids)]

    @property
    def filesystem(self) -> pafs.FileSystem:
        if not self.s3:
            return pafs.LocalFileSystem()
        return pafs.S3FileSystem(
            access_key=self.s3["s3.accessKey"],
            secret_key=self.s3["s3.secretKey"],
            region=self.s3["s3.region"],
            endpoint_override=self.s3["s3.endpoint"],
        )


class System(Protocol):
    name: ClassVar[str]
    directory: ClassVar[str]
    remote: ClassVar[bool]  # it reads from S3 without anything that must be downloaded

    def __init__(self, place: Place) -> None: ...

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date") -> None: ...


class IndexTables:
    name, directory, remote = "indextables", "indextables", True

    def __init__(self, place: Place) -> None:
        from indextables import IndexTable

        options = {**place.s3, "cache.directory": place.cache}
        self.table = IndexTable.open(place.of(self.directory), options=options)

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date", rows_per_split: int | None = None) -> None:
        from indextables import IndexTable

        options = {} if rows_per_split is None else {"targetRecordsPerSplit": str(rows_per_split)}
        table = IndexTable.create(path, data.schema, fields=WORDS, partition_by=partition_by)
        table.append(data, options=options)

    @staticmethod
    def count(path: str) -> int:
        from indextables import IndexTable

        return IndexTable.open(path).count()

    def top(self, word: str, limit: int) -> pa.Table:
        return self.table.search(word, limit=limit)

    def hits(self, word: str) -> pa.Table:
        return self.table.scan(query=f"message:{word}", columns=["message"]).to_arrow()

    def lookup(self, trace_id: str) -> pa.Table:
        return self.table.scan(where=f"trace_id = '{trace_id}'").to_arrow()

    def scan(self, columns: Sequence[str]) -> pa.Table:
        return self.table.scan(columns=columns).to_arrow()

    def splits(self, word: str) -> dict[str, float]:
        """How many splits there are, and how many of them a search for a word opens."""
        plan = self.table.scan(query=f"message:{word}", columns=["message"]).explain()
        return {"splits": plan.total, "opened": plan.opened}


class Lance:
    """Its full-text index has positions, as ours, and no stemming or stop words, which ours does not have."""

    name, directory, remote = "Lance", "lance", True

    def __init__(self, place: Place) -> None:
        import lance

        self.dataset = lance.dataset(place.of(self.directory), storage_options=_lance_options(place.s3))

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date", rows_per_split: int | None = None) -> None:  # noqa: ARG004 - it has no partitions
        import lance

        dataset = lance.write_dataset(data, path, max_rows_per_file=rows_per_split or 1_048_576)
        dataset.create_scalar_index(
            "message", "INVERTED", with_position=True, stem=False, remove_stop_words=False, ascii_folding=False
        )

    @staticmethod
    def count(path: str) -> int:
        import lance

        return lance.dataset(path).count_rows()

    def top(self, word: str, limit: int) -> pa.Table:
        return self.dataset.to_table(full_text_query=_lance_query(word), limit=limit)

    def hits(self, word: str) -> pa.Table:
        return self.dataset.to_table(
            full_text_query=_lance_query(word),
            columns=["message"],
            limit=ALL,
            disable_scoring_autoprojection=True,
        )

    def lookup(self, trace_id: str) -> pa.Table:
        return self.dataset.to_table(filter=f"trace_id = '{trace_id}'")

    def scan(self, columns: Sequence[str]) -> pa.Table:
        return self.dataset.to_table(columns=list(columns))


class LanceBtree(Lance):
    name, directory, remote = "Lance, BTREE on trace_id", "lance-btree", True

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date") -> None:
        import lance

        Lance.write(data, path, partition_by)
        lance.dataset(path).create_scalar_index("trace_id", "BTREE")


class PlainParquet:
    """Partitioned Parquet by pyarrow."""

    name, directory, remote = "Parquet", "parquet", True

    def __init__(self, place: Place) -> None:
        path = place.of(self.directory).removeprefix("s3://")
        self.dataset = ds.dataset(path, partitioning="hive", filesystem=place.filesystem)

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date") -> None:
        write_parquet(data, path, partition_by)

    @staticmethod
    def count(path: str) -> int:
        return ds.dataset(path).count_rows()

    def scan(self, columns: Sequence[str]) -> pa.Table:
        return self.dataset.to_table(columns=list(columns))


class DuckDB:
    """Over the files of `PlainParquet`."""

    name, directory, remote = "DuckDB over Parquet", "parquet", False

    def __init__(self, place: Place) -> None:
        import duckdb

        self.database = duckdb.connect()
        files = f"{place.of(self.directory)}/*/*.parquet"
        self.database.sql(f"CREATE VIEW lines AS FROM read_parquet('{files}', hive_partitioning = true)")

    write = staticmethod(PlainParquet.write)

    def hits(self, word: str) -> pa.Table:
        return self._table(f"SELECT message FROM lines WHERE message LIKE '%{word}%'")

    def lookup(self, trace_id: str) -> pa.Table:
        return self._table(f"FROM lines WHERE trace_id = '{trace_id}'")

    def _table(self, query: str) -> pa.Table:
        return self.database.sql(query).to_arrow_table()


class BareTantivy:
    """The same Parquet files, and one tantivy index of the messages alone, fed row by row: a search gives no rows."""

    name, directory, remote = "Parquet and bare tantivy", "tantivy", False

    def __init__(self, place: Place) -> None:
        import tantivy

        self.index = tantivy.Index.open(f"{place.of(self.directory)}/index")
        self.searcher = self.index.searcher()

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date") -> None:
        import tantivy

        write_parquet(data, f"{path}/rows", partition_by)
        directory = Path(path, "index")
        directory.mkdir()
        schema = tantivy.SchemaBuilder().add_text_field("message").build()
        writer = tantivy.Index(schema, path=str(directory)).writer(1_000_000_000, num_threads=1)
        for batch in data.select(["message"]).to_batches(max_chunksize=8192):
            for message in batch["message"].to_pylist():
                writer.add_document(tantivy.Document(message=message))
        writer.commit()
        writer.wait_merging_threads()

    @staticmethod
    def count(path: str) -> int:
        import tantivy

        return tantivy.Index.open(f"{path}/index").searcher().num_docs

    def top(self, word: str, limit: int) -> int:
        import tantivy

        query = tantivy.Query.term_query(self.index.schema, "message", word)
        return len(self.searcher.search(query, limit).hits)


class Delta:
    name, directory, remote = "delta-rs", "delta", False

    @staticmethod
    def write(data: pa.Table, path: str, partition_by: str = "date") -> None:
        from deltalake import WriterProperties, write_deltalake

        zstd = WriterProperties(compression="ZSTD")
        write_deltalake(path, data, partition_by=[partition_by], writer_properties=zstd)

    @staticmethod
    def count(path: str) -> int:
        from deltalake import DeltaTable

        return DeltaTable(path).count()


class SparkIndexTables:
    name, directory, remote = "indextables", "indextables", False

    def __init__(self, place: Place, spark: Any) -> None:
        self._spark, self._path = spark, place.of(self.directory)

    @staticmethod
    def write(frame: Any, path: str) -> None:
        writer = frame.write.format("indextables").partitionBy("date")
        writer.option("indexing.typemap.message", "text").save(path)

    count = staticmethod(IndexTables.count)

    def hits(self, word: str) -> pa.Table:
        return self._rows().filter(f"indexquery(message, '{word}')").select("message").toArrow()

    def lookup(self, trace_id: str) -> pa.Table:
        return self._rows().filter(f"trace_id = '{trace_id}'").toArrow()

    def _rows(self) -> Any:
        return self._spark.read.format("indextables").load(self._path)


class SparkParquet:
    name, directory, remote = "Spark's Parquet", "parquet", False

    def __init__(self, place: Place, spark: Any) -> None:
        self._rows = spark.read.parquet(place.of(self.directory))  # once: it lists the files and reads a schema

    @staticmethod
    def write(frame: Any, path: str) -> None:
        frame.write.partitionBy("date").option("compression", "zstd").parquet(path)

    count = staticmethod(PlainParquet.count)

    def hits(self, word: str) -> pa.Table:
        return self._rows.filter(f"message LIKE '%{word}%'").select("message").toArrow()

    def lookup(self, trace_id: str) -> pa.Table:
        return self._rows.filter(f"trace_id = '{trace_id}'").toArrow()


STORED = (IndexTables, Lance, LanceBtree, BareTantivy, PlainParquet, Delta)
BY_NAME = {system.name: system for system in (*STORED, DuckDB)}


def write_parquet(data: pa.Table, path: str, partition_by: str) -> None:
    """Row groups of 128k rows, or of a whole partition where that is smaller; one file per partition."""
    partition = pa.schema([data.schema.field(partition_by)])
    parquet = ds.ParquetFileFormat()
    ds.write_dataset(
        data,
        path,
        format=parquet,
        file_options=parquet.make_write_options(compression="zstd"),
        partitioning=ds.partitioning(partition, flavor="hive"),
        min_rows_per_group=ROW_GROUP,
        max_rows_per_group=ROW_GROUP,
        max_partitions=10_000,
        max_open_files=10_000,
    )


def spark_session(scratch: Path) -> Any:
    """A local session of two cores, with us enabled."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from benchmarks.spark_write import session

    return session(scratch)


def _lance_query(word: str) -> Any:
    from lance.query import MatchQuery

    return MatchQuery(word, "message")


def _lance_options(s3: dict[str, str]) -> dict[str, str] | None:
    if not s3:
        return None
    return {
        "aws_endpoint": s3["s3.endpoint"],
        "aws_region": s3["s3.region"],
        "aws_access_key_id": s3["s3.accessKey"],
        "aws_secret_access_key": s3["s3.secretKey"],
        "allow_http": "true",
    }
