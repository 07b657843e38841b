"""Planning a write: the table as it is, the table after the write, and everything that can be refused before any file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from msgspec import structs

from indextables.config import Config
from indextables.errors import ConfigError, IndexTablesError, TableNotFoundError
from indextables.layout import Layout
from indextables.log import Operation, Snapshot, TransactionLog
from indextables.log.actions import Metadata
from indextables.log.clock import now
from indextables.log.table_paths import refuse_nested
from indextables.log.transaction import ROW_LEVEL
from indextables.schema import normalize
from indextables.search import FieldRule
from indextables.write.conform_schema import conformer
from indextables.write.overwrite import (
    FullOverwrite,
    OverwriteResolver,
    full_overwrite_only,
    refuse_contradictory_options,
    refuse_partial_overwrite,
)
from indextables.write.sizing import sized
from indextables.write.table_settings import (
    refuse_other_layout,
    refuse_unknown_cluster_columns,
    refuse_unusable_properties,
)
from indextables.write.text_columns import TextColumns, new_field_rules
from indextables.write.write_job import Mode, WriteJob, commit_job, refuse_existing, txn_of
from indextables.write.write_plan import (
    new_metadata,
    plan_write,
    property_texts,
    with_columns_of,
    with_replaced_schema,
)


def plan_job(
    table: str | Path,
    schema: pa.Schema,
    *,
    mode: Mode,
    sources: Sequence[Mapping[str, str]] = (),
    overwrite: OverwriteResolver = full_overwrite_only,
    properties: Mapping[str, str] | None = None,
    log: TransactionLog | None = None,
    by_value: bool = False,
    texts: TextColumns | None = None,
    replace_table: bool = False,
) -> WriteJob:
    """The write of rows with this schema; `sources` are settings, the strongest first. Nothing is written yet.

    `overwrite` resolves what an overwrite replaces. A new table gets the `properties`. With `replace_table`, a table that is
    there becomes what a new one would be: its columns, layout, field rules and properties are replaced with its rows. A
    caller that has the `log` open passes it. See `conform_schema.conformer` for `by_value`, and
    `text_columns.new_field_rules` for `texts`.

    >>> job = plan_job("memory://docs/new", pa.schema({"day": pa.string(), "id": pa.int64()}), mode=Mode.APPEND,
    ...                sources=[{"partitionBy": "day"}])
    >>> job.read_version, str(job.plan.layout)
    (None, 'day')
    """
    refuse_contradictory_options(sources[0] if sources else {}, overwrites=mode is Mode.OVERWRITE)
    log = log or TransactionLog.open(table, Config.resolve(*sources))
    snapshot = current_snapshot(log)
    kept = snapshot.metadata.properties if snapshot and not replace_table else dict(properties or {})
    config = Config.resolve(*sources, properties=kept)
    if snapshot is None or replace_table:
        config = config.for_columns(schema.names)
        layout = Layout.parse(config.write.partition_by or "")
        fields = new_field_rules(config, texts, table=log.table, layout=layout)
        if snapshot is not None:
            return _replacement(log, snapshot, schema, config, layout=layout, fields=fields, properties=kept)
        metadata = _new_table(log, schema, layout=layout, fields=fields, properties=kept)
        config = sized(config, None, table=log.table)
        return _planned(log, None, schema, metadata, config, mode=mode, overwrite=overwrite)
    return plan_on(log, snapshot, schema, config, mode=mode, overwrite=overwrite, by_value=by_value, texts=texts)


def plan_on(
    log: TransactionLog,
    snapshot: Snapshot,
    schema: pa.Schema | None,
    config: Config,
    *,
    mode: Mode,
    overwrite: OverwriteResolver = full_overwrite_only,
    by_value: bool = False,
    texts: TextColumns | None = None,
) -> WriteJob:
    """The write to a table at a snapshot; the `schema` is None where there are no rows."""
    if mode.operation is Operation.CREATE:
        raise refuse_existing(log.table)
    metadata, layout = snapshot.metadata, config.write.partition_by
    replaces_schema = config.write.overwrite_schema and mode is Mode.OVERWRITE and schema is not None
    kept = [] if replaces_schema else metadata.arrow_schema().names
    config = config.for_columns([*kept, *(schema.names if schema is not None else ())])
    if replaces_schema and schema is not None:
        refuse_partial_overwrite(overwrite(config, metadata, table=log.table))
        metadata = _replaced(metadata, schema, config, texts, table=log.table)
    elif layout is not None:
        refuse_other_layout(Layout.parse(layout), metadata, replaces_all=_replaces_all(config, mode))
    if config.write.merge_schema and schema is not None and not replaces_schema:
        metadata = with_columns_of(metadata, schema, config.write.field_rules)
    config = sized(config, snapshot, table=log.table)
    return _planned(log, snapshot, schema, metadata, config, mode=mode, overwrite=overwrite, by_value=by_value)


def _replaced(
    metadata: Metadata, schema: pa.Schema, config: Config, texts: TextColumns | None, *, table: str
) -> Metadata:
    """The metadata after an overwrite with overwriteSchema."""
    given, columns = config.write.partition_by, metadata.arrow_schema()
    layout = None if given is None else Layout.parse(given)
    kept = [field.name for field in normalize(schema) if field in columns]
    into = metadata.layouts[metadata.current_spec_id] if layout is None else layout
    fields = new_field_rules(config, texts, table=table, layout=into, kept=kept)
    after = with_replaced_schema(metadata, schema, layout=layout, fields=fields)
    try:
        refuse_unusable_properties(after)
    except IndexTablesError as error:
        raise ConfigError(
            f"a property of the table does not fit what overwriteSchema makes of it: {error}; unset the property first",
            key="overwriteSchema",
            value="true",
        ) from error
    return after


def create_table(
    log: TransactionLog,
    schema: pa.Schema,
    *,
    layout: Layout,
    fields: Mapping[str, str | FieldRule],
    properties: Mapping[str, str],
    replace_existing: bool = False,
) -> Snapshot:
    """Commits an empty table: a job without tasks."""
    snapshot = current_snapshot(log) if replace_existing else None
    if snapshot is not None:
        job = _replacement(log, snapshot, schema, log.config, layout=layout, fields=fields, properties=properties)
        return commit_job(job, [], log=log, snapshot=snapshot)
    if log.exists():
        raise refuse_existing(log.table)
    metadata = _new_table(log, schema, layout=layout, fields=fields, properties=properties)
    if log.config.write.partition_by is not None:
        refuse_other_layout(Layout.parse(log.config.write.partition_by), metadata)
    job = _planned(log, None, schema, metadata, log.config, mode=Mode.ERROR, overwrite=full_overwrite_only)
    return commit_job(job, [], log=log)


def _replaces_all(config: Config, mode: Mode) -> bool:
    is_part = config.write.replace_where is not None or config.write.partition_overwrite_mode == "dynamic"
    return mode is Mode.OVERWRITE and not is_part


def _replacement(
    log: TransactionLog,
    snapshot: Snapshot,
    schema: pa.Schema,
    config: Config,
    *,
    layout: Layout,
    fields: Mapping[str, str | FieldRule],
    properties: Mapping[str, str],
) -> WriteJob:
    """The write that replaces a table: one commit, after which it is what a new table would be, with its history."""
    before = snapshot.metadata
    after = with_replaced_schema(before, schema, layout=layout, fields=fields, keep_rules=False)
    metadata = structs.replace(after, properties=property_texts(properties))
    refuse_unusable_properties(metadata)
    whole = FullOverwrite(replaces_table=True)
    config = sized(config, None, table=log.table)
    return _planned(log, snapshot, schema, metadata, config, mode=Mode.OVERWRITE, overwrite=lambda *_, **__: whole)


def _planned(
    log: TransactionLog,
    snapshot: Snapshot | None,
    schema: pa.Schema | None,
    metadata: Metadata,
    config: Config,
    *,
    mode: Mode,
    overwrite: OverwriteResolver,
    by_value: bool = False,
) -> WriteJob:
    replaced = overwrite(config, metadata, table=log.table) if mode is Mode.OVERWRITE else None
    keeps_rows = mode is Mode.APPEND or (replaced is not None and replaced.operation in ROW_LEVEL)
    existing = snapshot if keeps_rows else None
    plan = plan_write(metadata, config, existing=existing, replaces_all=_replaces_all(config, mode))
    if schema is not None:
        conformer(schema, plan.schema, layout=plan.layout, by_value=by_value)
    refuse_unknown_cluster_columns(plan.config.write.cluster_by, plan.schema)
    return WriteJob(
        table=log.table,
        mode=mode,
        plan=plan,
        input_schema=schema,
        overwrite=replaced,
        read_version=snapshot.version if snapshot else None,
        changes_metadata=snapshot is None or metadata is not snapshot.metadata,
        started=now(),
        already_committed=snapshot is not None and snapshot.has_batch(txn_of(config)),
    )


def _new_table(
    log: TransactionLog,
    schema: pa.Schema,
    *,
    layout: Layout,
    fields: Mapping[str, str | FieldRule],
    properties: Mapping[str, str],
) -> Metadata:
    metadata = new_metadata(schema, layout=layout, fields=fields, properties=properties, created_time=now())
    refuse_unusable_properties(metadata)
    refuse_nested(log.store)
    return metadata


def current_snapshot(log: TransactionLog) -> Snapshot | None:
    """The snapshot that the log has now; None where there is no table yet."""
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None
