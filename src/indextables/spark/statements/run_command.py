"""Our own commands, run: each gives a frame."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, assert_never

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from indextables.errors import TableNotFoundError
from indextables.predicate import read
from indextables.schema import type_name
from indextables.spark.catalog import lookup_table, quote_name
from indextables.spark.catalyst.local_relation import local_frame
from indextables.spark.source.options import settings_of
from indextables.statements import (
    AddColumn,
    Checkpoint,
    Command,
    Describe,
    DropPartitions,
    EvolveLayout,
    MergeSplits,
    Prewarm,
    Purge,
    Subject,
    Table,
    TableName,
    TablePath,
    WidenColumn,
)
from indextables.table import IndexTable


def run(command: Command, spark: SparkSession) -> DataFrame:
    table = IndexTable.open(_path(command.table, spark), options=settings_of(spark))
    return local_frame(spark, _answer(command, table, spark))


def _path(table: Table, spark: SparkSession) -> str:
    match table:
        case TablePath(path):
            return path
        case TableName(parts):
            entry, name = lookup_table(spark, parts), quote_name(parts)
            if entry is None:
                raise TableNotFoundError(
                    f"the session's catalog has no table {name} of indextables; name it as the catalog does, or give its "
                    "path in quotes",
                    table=name,
                )
            return entry.location
        case _:
            assert_never(table)


def _answer(command: Command, table: IndexTable, spark: SparkSession) -> pa.Table:  # noqa: PLR0911 - one line per command
    match command:
        case Checkpoint():
            return _row(asdict(table.checkpoint()))
        case Describe():
            return _described(table, command.subject)
        case MergeSplits():
            return _merged(command, table, spark)
        case DropPartitions():
            return _row(asdict(table.drop_partitions(command.where, dry_run=command.dry_run, **_as_read_by(spark))))
        case Purge(older_than=older_than, force=force, dry_run=dry_run):
            return _row(asdict(table.purge(older_than=older_than, force=force, dry_run=dry_run)))
        case Prewarm():
            return _prewarmed(command, table, spark)
        case EvolveLayout():
            change = table.evolve_layout(command.layout)
            return _row({**asdict(change), "layout": str(change.layout)})
        case AddColumn():
            return _row({"version": table.add_column(command.name, command.kind)})
        case WidenColumn():
            return _row({"version": table.widen_column(command.name, command.kind)})
        case _:
            assert_never(command)


def _merged(command: MergeSplits, table: IndexTable, spark: SparkSession) -> pa.Table:
    result = table.merge_splits(
        where=command.where,
        target_size=command.target_size,
        max_dest_splits=command.max_dest_splits,
        max_source_splits_per_merge=command.max_source_splits_per_merge,
        cluster_by=command.cluster_by or None,
        rewrite_layout=command.rewrite_layout,
        coalesce=command.coalesce,
        dry_run=command.dry_run,
        spark=spark,
        **_as_read_by(spark),
    )
    return _row(asdict(result))


def _prewarmed(command: Prewarm, table: IndexTable, spark: SparkSession) -> pa.Table:
    where = None if command.where is None else read(command.where, table.schema, **_as_read_by(spark))
    result = table.prewarm(where)
    return _row({"splits": result.splits, "unpacked": result.unpacked, **asdict(result.traffic)})


def _as_read_by(spark: SparkSession) -> dict[str, Any]:
    """How the session reads conditions."""
    zone, case = spark.conf.get("spark.sql.session.timeZone"), spark.conf.get("spark.sql.caseSensitive")
    return {"time_zone": zone or "UTC", "case_sensitive": case == "true"}


def _row(values: Mapping[str, object]) -> pa.Table:
    """One row; lists are of texts, which an empty one does not show."""
    return pa.table(
        {
            name: pa.array([value], pa.list_(pa.string()) if isinstance(value, tuple) else None)
            for name, value in values.items()
        }
    )


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
