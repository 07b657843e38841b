"""Our own commands, run: each gives a frame."""

from dataclasses import asdict
from typing import assert_never

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from indextables.schema import type_name
from indextables.spark.options import settings_of
from indextables.statement import Checkpoint, Command, Describe, Subject
from indextables.table import IndexTable


def run(command: Command, spark: SparkSession) -> DataFrame:
    table = IndexTable.open(command.path, options=settings_of(spark))
    match command:
        case Checkpoint():
            result = table.checkpoint()
            rows = pa.Table.from_pylist([asdict(result)])
        case Describe():
            rows = _described(table, command.subject)
        case _:
            assert_never(command)
    return spark.createDataFrame(rows)


def _described(table: IndexTable, subject: Subject) -> pa.Table:
    match subject:
        case Subject.COLUMNS:
            return _columns(table.schema)
        case Subject.HISTORY | Subject.LOG:
            return table.history()
        case Subject.PARTITIONS:
            return table.partitions()
        case Subject.SPLITS:
            return table.splits()
        case _:
            assert_never(subject)


def _columns(schema: pa.Schema) -> pa.Table:
    return pa.table({"column": schema.names, "type": [type_name(field.type) for field in schema]})
