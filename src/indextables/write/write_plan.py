"""How rows are written to a table, planned before any file exists, and the metadata that a write changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
from msgspec import structs

from indextables.config import (
    PREFIX,
    Config,
    is_of_one_write,
    is_secret,
    is_store_setting,
    property_key,
    refuse_misspelled_property,
)
from indextables.errors import ConfigError, IndexTablesError, LayoutError, SchemaError
from indextables.layout import Coalescing, Layout
from indextables.log import Snapshot
from indextables.log.actions import DocMapping, FieldMapping, Metadata, PartitionSpec, SpecField
from indextables.log.column_ids import ids_for
from indextables.schema import normalize, to_json
from indextables.search import FieldRule, resolve
from indextables.split.exact_index import Kind, kinds
from indextables.write.coalescing import coalescing_for, columns_shared_in
from indextables.write.conform_schema import widened
from indextables.write.task_placement import target_with_slack

OVERWRITE_SCHEMA_HINT = "give overwriteSchema with the overwrite to replace it with the rows, "


@dataclass(frozen=True, slots=True)
class WritePlan:
    """All that a task needs to turn rows into splits; it travels to executors.

    `metadata` describes the table as it is after the write, `spec_id` is the layout of the new splits, and `job` is the id
    that is part of their names. `coalescing` is None where every partition has splits of its own.
    """

    metadata: Metadata
    spec_id: int
    config: Config
    job: str
    coalescing: Coalescing | None = None

    @property
    def table_id(self) -> str:
        return self.metadata.id

    @property
    def schema(self) -> pa.Schema:
        return self.metadata.arrow_schema()

    @property
    def layout(self) -> Layout:
        return self.metadata.layouts[self.spec_id]

    @property
    def rules(self) -> dict[str, FieldRule]:
        """How each column is indexed."""
        return current_rules(self.metadata)

    @property
    def exact_indexes(self) -> dict[str, Kind]:
        """The kinds of exact indexes that settings ask for, by column."""
        return kinds(self.config.write.exact, self.schema, self.rules)

    @property
    def doc_mapping_id(self) -> int:
        return self.metadata.current_doc_mapping_id or 0


def new_metadata(
    schema: pa.Schema,
    *,
    layout: Layout,
    fields: Mapping[str, str | FieldRule],
    properties: Mapping[str, str],
    created_time: int,
) -> Metadata:
    """The metadata of a new table; errors name the column or field."""
    schema = normalize(schema)
    if not len(schema):
        raise SchemaError("a table needs at least one column", column=None)
    bound = layout.bind(schema)
    return Metadata(
        id=str(uuid4()),
        schema=to_json(schema),
        partition_specs=[partition_spec(bound, 0)],
        doc_mappings=[doc_mapping(resolve(schema, fields), 0)],
        current_doc_mapping_id=0,
        properties=property_texts(properties),
        created_time=created_time,
    )


def property_texts(properties: Mapping[str, object]) -> dict[str, str]:
    """Properties as the log stores them: text, and no secrets."""
    return {key: _text(key, value) for key, value in properties.items()}


def _text(key: str, value: object) -> str:
    if is_secret(key):
        raise ConfigError(
            f"the property {key!r} would be kept in the table's log for all to read; "
            "give it as an option, in the session or in the environment",
            key=key,
            value=None,
        )
    if is_of_one_write(key):
        raise ConfigError(
            f"{key} is an option of one write, and no property of a table; give it with the write",
            key=key,
            value=str(value),
        )
    if property_key(key) == f"{PREFIX}indexing.text":
        raise ConfigError(
            f"{key} is an option of the write that makes a table, and no property; indexing.typemap.<column> = text is one",
            key=key,
            value=str(value),
        )
    if is_store_setting(key):
        raise ConfigError(
            f"{key} says how the store of a table is reached, which has to be known before its properties can be read; "
            "give it as an option, or in the session",
            key=key,
            value=str(value),
        )
    refuse_misspelled_property(key)
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case _:
            raise ConfigError(f"the property {key!r} is {value!r}; properties are text", key=key, value=str(value))


def with_columns_of(metadata: Metadata, incoming: pa.Schema, fields: Mapping[str, str | FieldRule]) -> Metadata:
    """The metadata with the columns that only the data has."""
    schema = metadata.arrow_schema()
    wider = widened(schema, incoming)
    if len(wider) == len(schema):
        return metadata
    rules = resolve(wider, {**fields, **current_rules(metadata)})  # indexed fields keep their rules
    return with_schema(metadata, to_json(wider), rules)


def with_schema(metadata: Metadata, schema: Mapping[str, Any], rules: Mapping[str, FieldRule]) -> Metadata:
    """The metadata with another schema, and a new field mapping for it."""
    ids, highest = ids_for([field["name"] for field in schema["fields"]], metadata)
    return with_mapping(structs.replace(metadata, schema=schema, max_column_id=highest), rules, ids)


def with_mapping(metadata: Metadata, rules: Mapping[str, FieldRule], column_ids: Mapping[str, int]) -> Metadata:
    """The metadata with a new current field mapping."""
    number = 1 + max((mapping.doc_mapping_id for mapping in metadata.doc_mappings), default=-1)
    mapping = structs.replace(doc_mapping(rules, number), column_ids=column_ids)
    return structs.replace(metadata, doc_mappings=[*metadata.doc_mappings, mapping], current_doc_mapping_id=number)


def with_replaced_schema(
    metadata: Metadata,
    incoming: pa.Schema,
    *,
    layout: Layout | None,
    fields: Mapping[str, str | FieldRule],
    keep_rules: bool = True,
) -> Metadata:
    """The metadata with the columns of the data in place of its own, for an overwrite of all rows.

    Without a `layout`, the table keeps its own. With `keep_rules`, columns that keep their name and type keep their field
    rule, unless another one is given. Specs and mappings of before stay, because splits of older versions refer to them.
    """
    schema, before, rules = normalize(incoming), metadata.arrow_schema(), current_rules(metadata)
    if not len(schema):
        raise SchemaError("a table needs at least one column", column=None)
    kept = {field.name: rules[field.name] for field in schema if field in before} if keep_rules else {}
    wanted = resolve(schema, {**kept, **fields})
    after = metadata
    if schema != before or wanted != rules:
        ids, highest = ids_for(schema.names, metadata, known=[field.name for field in schema if field in before])
        after = with_mapping(
            structs.replace(metadata, schema=to_json(schema), max_column_id=highest), wanted, column_ids=ids
        )
    try:
        return with_layout(after, metadata.layouts[metadata.current_spec_id] if layout is None else layout)
    except IndexTablesError as error:
        if layout is not None:
            raise
        raise LayoutError(
            f"the table is partitioned by {metadata.layouts[metadata.current_spec_id]}, and the new columns cannot be: "
            f'{error}; give partitionBy with overwriteSchema, "" for no partitions',
            field=str(metadata.layouts[metadata.current_spec_id]),
        ) from error


def with_layout(metadata: Metadata, layout: Layout) -> Metadata:
    """The description with another layout for new splits; a layout that the table had before gets its number again."""
    bound = layout.bind(metadata.arrow_schema())
    known = metadata.layouts
    number = next((spec for spec, earlier in known.items() if earlier == bound), None)
    if number is not None:
        return structs.replace(metadata, current_spec_id=number)
    number = 1 + max(known, default=-1)
    specs = [*metadata.partition_specs, partition_spec(bound, number)]
    return structs.replace(metadata, partition_specs=specs, current_spec_id=number)


def plan_write(
    metadata: Metadata, config: Config, *, existing: Snapshot | None = None, replaces_all: bool = False
) -> WritePlan:
    """How rows are written to a table with this metadata; the `existing` rows decide which partitions are large.

    Errors say what an overwrite that `replaces_all` rows could do instead.
    """
    config = config.for_columns(metadata.arrow_schema().names)
    _refuse_other_field_types(metadata, config.write.field_rules, replaces_all=replaces_all)
    kinds(config.write.exact, metadata.arrow_schema(), current_rules(metadata))
    layout = metadata.layouts[metadata.current_spec_id]
    return WritePlan(
        metadata=metadata,
        spec_id=metadata.current_spec_id,
        config=config,
        job=uuid4().hex[:12],
        coalescing=coalescing_for(layout, config, existing=existing),
    )


def coalesced_like(splits: pa.Table, plan: WritePlan, *, existing: Snapshot | None = None) -> WritePlan:
    """The plan for rows of these splits: partitions that shared a split share one again, whatever the settings are now.

    Those that are large in the `existing` table get splits of their own.
    """
    columns = columns_shared_in(splits, plan.layout)
    if plan.coalescing is not None or not columns:
        return plan
    from_first = plan.layout.names[plan.layout.names.index(columns[0]) :]
    write = replace(plan.config.write, coalesce=True, coalesce_columns=from_first)
    config = replace(plan.config, write=write)
    return replace(plan, coalescing=coalescing_for(plan.layout, config, existing=existing))


def after_repartition(plan: WritePlan) -> WritePlan:
    """The plan of tasks among which the rows were repartitioned, where the settings ask for that.

    A task gets its share of a split only approximately, so it may fill a split beyond the target. Its share of a large
    partition is at least half a split, so less than that is small.
    """
    write = plan.config.write
    if not write.optimize_write:
        return plan
    config = replace(plan.config, write=replace(write, target_records=target_with_slack(write.target_records)))
    if plan.coalescing is None:
        return replace(plan, config=config)
    small_below = max(1, min(plan.coalescing.small_below, write.target_records // 2))
    return replace(plan, config=config, coalescing=replace(plan.coalescing, small_below=small_below))


def partition_spec(layout: Layout, spec_id: int) -> PartitionSpec:
    return PartitionSpec(spec_id=spec_id, fields=[SpecField(**field) for field in layout.to_json()])


def doc_mapping(rules: Mapping[str, FieldRule], number: int) -> DocMapping:
    fields = {column: FieldMapping(type=rule.type, tokenizer=rule.tokenizer) for column, rule in rules.items()}
    return DocMapping(doc_mapping_id=number, fields=fields, complete=True)


def rules_of(metadata: Metadata, doc_mapping_id: int | None) -> dict[str, FieldRule]:
    """How the columns are indexed under a mapping; by the default of their types where there is none."""
    mapping = next((m for m in metadata.doc_mappings if m.doc_mapping_id == doc_mapping_id), None)
    return resolve(metadata.arrow_schema(), mapped_rules(mapping) if mapping else {})


def mapped_rules(mapping: DocMapping) -> dict[str, FieldRule]:
    """The field rules of a mapping, by column."""
    return {column: FieldRule(field.type, field.tokenizer) for column, field in mapping.fields.items()}


def current_rules(metadata: Metadata) -> dict[str, FieldRule]:
    """How the columns of new splits are indexed; computed once for a version of the metadata."""
    known = metadata.__dict__.get("_current_rules")
    if known is None:
        known = metadata.__dict__["_current_rules"] = rules_of(metadata, metadata.current_doc_mapping_id)
    return dict(known)


def _refuse_other_field_types(metadata: Metadata, typemap: Mapping[str, str], *, replaces_all: bool) -> None:
    """Raises a SchemaError where a setting asks for another field type than the table has."""
    table = current_rules(metadata)
    for column, rule in resolve(metadata.arrow_schema(), {**table, **typemap}).items():
        if column in table and rule != table[column]:
            hint = OVERWRITE_SCHEMA_HINT if replaces_all else ""
            raise SchemaError(
                f"field {column!r} is indexed as {table[column].type} in this table, and the write asks for {rule.type}; "
                f"leave the setting out, {hint}or change the table with set_indexing or ALTER TABLE ... SET INDEXING",
                column=column,
            )
