"""Handlers of our own commands: each returns its result as an Arrow table."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import assert_never

import pyarrow as pa
from pyspark.sql import SparkSession

from indextables.predicate import parse_condition
from indextables.schema import type_name
from indextables.spark.environment.session_settings import condition_settings
from indextables.spark.options import FORMAT
from indextables.spark.planner.read_options import timestamp_of
from indextables.statements import (
    AddColumn,
    Check,
    Checkpoint,
    Describe,
    DropColumn,
    DropPartitions,
    EvolveLayout,
    MergeSplits,
    Prewarm,
    Purge,
    Reindex,
    RenameColumn,
    Restore,
    SetIndexing,
    Subject,
    Table,
    TableName,
    WidenColumn,
)
from indextables.table import IndexTable


def check(command: Check, path: str, options: Mapping[str, str]) -> pa.Table:
    """One row for each finding."""
    result = IndexTable.check_path(path, deep=command.deep, all_versions=command.all_versions, options=options)
    columns = ("severity", "kind", "file", "place", "message")
    facts = {name: pa.array([getattr(one, name) for one in result.findings], pa.string()) for name in columns}
    return pa.table({**facts, "repair": pa.array([one.repair() for one in result.findings], pa.string())})


def checkpoint(_: SparkSession, __: Checkpoint, table: IndexTable) -> pa.Table:
    return _row(asdict(table.checkpoint()))


def describe(_: SparkSession, command: Describe, table: IndexTable) -> pa.Table:
    match command.subject:
        case Subject.COLUMNS:
            return _columns(table.schema)
        case Subject.DETAIL:
            return _detail(table, command.table)
        case Subject.HISTORY | Subject.LOG:
            history = table.history()
            return history if command.limit is None else history.slice(0, command.limit)
        case Subject.PARTITIONS:
            return table.partitions()
        case Subject.SPLITS:
            return table.splits()
        case _:
            assert_never(command.subject)


def merge_splits(spark: SparkSession, command: MergeSplits, table: IndexTable) -> pa.Table:
    result = table.merge_splits(
        where=command.where,
        target_size=command.target_size,
        max_dest_splits=command.max_dest_splits,
        max_source_splits_per_merge=command.max_source_splits_per_merge,
        cluster_by=command.cluster_by or None,
        rewrite_layout=command.rewrite_layout,
        coalesce=command.coalesce,
        deleted_rows=command.deleted_rows,
        dry_run=command.dry_run,
        spark=spark,
        **condition_settings(spark),
    )
    return _row(asdict(result))


def restore(spark: SparkSession, command: Restore, table: IndexTable) -> pa.Table:
    zone = condition_settings(spark)["time_zone"]
    plan = table.restore_plan(command.version, timestamp_of(command.timestamp, zone, key="TIMESTAMP AS OF"))
    if not command.dry_run:
        plan = replace(plan, version=table.restore(plan.restored), dry_run=False)
    return _row(asdict(plan))


def drop_partitions(spark: SparkSession, command: DropPartitions, table: IndexTable) -> pa.Table:
    settings = condition_settings(spark)
    return _row(asdict(table.drop_partitions(command.where, dry_run=command.dry_run, **settings)))


def purge(_: SparkSession, command: Purge, table: IndexTable) -> pa.Table:
    result = table.purge(
        older_than=command.older_than,
        log_retention=command.log_retention,
        force=command.force,
        dry_run=command.dry_run,
    )
    return _row(asdict(result))


def prewarm(spark: SparkSession, command: Prewarm, table: IndexTable) -> pa.Table:
    where = None if command.where is None else parse_condition(command.where, table.schema, **condition_settings(spark))
    result = table.prewarm(where)
    return _row({"splits": result.splits, "unpacked": result.unpacked, **asdict(result.traffic)})


def set_indexing(_: SparkSession, command: SetIndexing, table: IndexTable) -> pa.Table:
    return _row({"version": table.set_indexing(dict(command.fields))})


def reindex(spark: SparkSession, command: Reindex, table: IndexTable) -> pa.Table:
    settings = condition_settings(spark)
    result = table.reindex(
        command.columns or None, where=command.where, dry_run=command.dry_run, spark=spark, **settings
    )
    return _row(asdict(result))


def evolve_layout(_: SparkSession, command: EvolveLayout, table: IndexTable) -> pa.Table:
    change = table.evolve_layout(command.layout)
    return _row({**asdict(change), "layout": str(change.layout)})


def add_column(_: SparkSession, command: AddColumn, table: IndexTable) -> pa.Table:
    return _row({"version": table.add_column(command.name, command.kind)})


def widen_column(_: SparkSession, command: WidenColumn, table: IndexTable) -> pa.Table:
    return _row({"version": table.widen_column(command.name, command.kind)})


def rename_column(_: SparkSession, command: RenameColumn, table: IndexTable) -> pa.Table:
    return _row({"version": table.rename_column(command.name, command.new_name)})


def drop_column(_: SparkSession, command: DropColumn, table: IndexTable) -> pa.Table:
    return _row({"version": table.drop_column(command.name)})


def _row(values: Mapping[str, object]) -> pa.Table:
    """One row. Lists are lists of strings, empty ones too."""
    return pa.table(
        {
            name: pa.array([value], pa.list_(pa.string()) if isinstance(value, tuple) else None)
            for name, value in values.items()
        }
    )


def _detail(table: IndexTable, named: Table) -> pa.Table:
    """The columns that other formats have in DESCRIBE DETAIL, by their names, and the version and the number of rows."""
    detail = table.detail()
    name = ".".join(named.parts) if isinstance(named, TableName) else None
    columns = {
        "format": pa.array([FORMAT]),
        "id": pa.array([detail.id]),
        "name": pa.array([name], pa.string()),
        "location": pa.array([detail.location]),
        "version": pa.array([detail.version]),
        "partitionColumns": pa.array([list(detail.partition_by)], pa.list_(pa.string())),
        "numFiles": pa.array([detail.num_splits]),
        "numRecords": pa.array([detail.num_records]),
        "sizeInBytes": pa.array([detail.size]),
        "properties": pa.array([sorted(detail.properties.items())], pa.map_(pa.string(), pa.string())),
    }
    return pa.table(columns)


def _columns(schema: pa.Schema) -> pa.Table:
    return pa.table({"column": schema.names, "type": [type_name(field.type) for field in schema]})


COMMANDS: dict[type, Callable[..., pa.Table]] = {  # (spark, command, table)
    AddColumn: add_column,
    Checkpoint: checkpoint,
    Describe: describe,
    DropColumn: drop_column,
    DropPartitions: drop_partitions,
    EvolveLayout: evolve_layout,
    MergeSplits: merge_splits,
    Prewarm: prewarm,
    Purge: purge,
    RenameColumn: rename_column,
    Reindex: reindex,
    Restore: restore,
    SetIndexing: set_indexing,
    WidenColumn: widen_column,
}
