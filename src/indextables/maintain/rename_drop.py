"""Columns that are renamed and dropped: commits of metadata, after which no split is written again.

Each change is a function from a description of the table to the next one, as in `alter`. How a split is read under other
names than those that it was written with is in `indextables.log.column_ids`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
from msgspec import structs

from indextables.config import property_key
from indextables.config.setting import names as column_names
from indextables.errors import LayoutError, SchemaError
from indextables.layout import Layout, PartitionField, Void
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Metadata
from indextables.log.column_ids import column_ids, with_column_ids
from indextables.schema import column_named, refuse_ambiguous_names, to_json
from indextables.write.table_settings import is_layout
from indextables.write.write_plan import current_rules, partition_spec, with_mapping

_CLUSTER_BY, _PARTITION_BY = property_key("optimizeWrite.clusterBy"), property_key("partitionBy")
_FAMILIES = ("indexing.typemap.", "indexing.exact.")


def alter_columns(
    log: TransactionLog, snapshot: Snapshot, change: Callable[[Metadata], Metadata], parameters: Mapping[str, str]
) -> Snapshot:
    """Commits a change of names; nothing is written where it changes nothing."""

    def transaction(read: Snapshot) -> Transaction:
        after = checked_change(read, change, table=log.table)
        return Transaction(
            operation=Operation.ALTER,
            snapshot=read,
            metadata=None if after == read.metadata else after,
            parameters=parameters,
        )

    return log.commit(transaction(snapshot), replan=transaction).snapshot


def checked_change(snapshot: Snapshot, change: Callable[[Metadata], Metadata], *, table: str) -> Metadata:
    """The description after a change; an error where the table cannot be changed so."""
    after = change(snapshot.metadata)
    if after != snapshot.metadata:
        _refuse_unmapped_splits(snapshot, table=table)
    return after


def with_renamed_column(metadata: Metadata, old: str, new: str) -> Metadata:
    """The description with another name of a column. The names of partition fields and directories stay."""
    schema = metadata.arrow_schema()
    old = column_named(schema, old)
    if old == new:
        return metadata
    _refuse_name(old, new, metadata)
    metadata = _with_ids_and_sources(metadata)
    renamed = {old: new}
    fields = [_renamed_field(field, renamed) for field in metadata.schema["fields"]]
    ids = {renamed.get(name, name): number for name, number in column_ids(metadata).items()}
    rules = {renamed.get(name, name): rule for name, rule in current_rules(metadata).items()}
    layouts = {number: _with_source(layout, renamed) for number, layout in metadata.layouts.items()}
    after = structs.replace(
        metadata,
        schema={**metadata.schema, "fields": fields},
        partition_specs=[partition_spec(layout, number) for number, layout in layouts.items()],
        properties=_renamed_properties(metadata, layouts[metadata.current_spec_id], old, new),
    )
    return with_mapping(after, rules, ids)


def without_columns(metadata: Metadata, names: Iterable[str], *, missing_ok: bool = False) -> Metadata:
    """The description without some columns, all or none of them dropped. With `missing_ok`, those that there are."""
    schema = metadata.arrow_schema()
    known = {name.lower() for name in schema.names}
    gone = dict.fromkeys(column_named(schema, name) for name in names if not missing_ok or name.lower() in known)
    return reduce(_without_column, gone, metadata)


def _without_column(metadata: Metadata, name: str) -> Metadata:
    _refuse_drop(name, metadata)
    metadata = _with_ids_and_sources(metadata)
    schema = metadata.arrow_schema()
    left = pa.schema([field for field in schema if field.name != name])
    layouts = {number: _without_source(layout, {name}) for number, layout in metadata.layouts.items()}
    families = {property_key(family + name) for family in _FAMILIES}
    after = structs.replace(
        metadata,
        schema=to_json(left),
        partition_specs=[partition_spec(layout, number) for number, layout in layouts.items()],
        properties={key: value for key, value in metadata.properties.items() if property_key(key) not in families},
    )
    rules = {column: rule for column, rule in current_rules(metadata).items() if column != name}
    return with_mapping(after, rules, {column: ids for column, ids in column_ids(metadata).items() if column != name})


def _with_ids_and_sources(metadata: Metadata) -> Metadata:
    """The description with ids of columns, in which a partition field whose column is gone finds no other of its name."""
    metadata = with_column_ids(metadata)
    columns = set(metadata.arrow_schema().names)
    layouts = metadata.layouts
    lost = {number: {field.source for field in layout.fields} - columns for number, layout in layouts.items()}
    if not any(lost.values()):
        return metadata
    specs = [partition_spec(_without_source(layouts[number], lost[number]), number) for number in layouts]
    return structs.replace(metadata, partition_specs=specs)


def _renamed_field(field: Mapping[str, object], renamed: Mapping[str, str]) -> dict[str, object]:
    name = str(field["name"])
    return {**field, "name": renamed.get(name, name)}


def _with_source(layout: Layout, renamed: Mapping[str, str]) -> Layout:
    """The layout over renamed columns; its fields keep their names, which are those of directories."""
    return Layout(tuple(replace(field, source=renamed.get(field.source, field.source)) for field in layout.fields))


def _without_source(layout: Layout, gone: set[str]) -> Layout:
    return Layout(tuple(replace(field, transform=Void()) if field.source in gone else field for field in layout.fields))


def _renamed_properties(metadata: Metadata, layout: Layout, old: str, new: str) -> dict[str, str]:
    """The table's settings for a renamed column, under its new name."""
    moved = {property_key(family + old): property_key(family + new) for family in _FAMILIES}
    changed = dict[str, str]()
    for key, value in metadata.properties.items():
        full = property_key(key)
        if full == _CLUSTER_BY:
            columns = column_names(value)
            value = ", ".join(new if column.lower() == old.lower() else column for column in columns)  # noqa: PLW2901
            if "," in new and old.lower() in map(str.lower, columns):
                raise SchemaError(
                    f"column {old!r} cannot be renamed to {new!r}, because the property {key} names it, and names in a list "
                    "cannot have commas; unset the property first",
                    column=new,
                )
        elif full == _PARTITION_BY and _is_layout(value, metadata):
            value = str(layout)  # noqa: PLW2901
        changed[moved.get(full, key)] = value
    return changed


def _is_layout(text: str, metadata: Metadata) -> bool:
    wanted = Layout.parse(text).bind(metadata.arrow_schema())
    return is_layout(wanted, metadata.layouts[metadata.current_spec_id])


def _refuse_name(old: str, new: str, metadata: Metadata) -> None:
    schema = metadata.arrow_schema()
    others = [name for name in schema.names if name != old]
    taken = next((name for name in others if name.lower() == new.lower()), None)
    if taken is not None:
        raise SchemaError(
            f"column {old!r} cannot be renamed to {new!r}: the table has a column {taken!r}; rename or drop that first",
            column=new,
        )
    refuse_ambiguous_names([*others, new])
    for field in metadata.layouts[metadata.current_spec_id].fields:
        if field.name.lower() == new.lower() and not (field.is_identity and field.source == old):
            raise LayoutError(
                f"column {old!r} cannot be renamed to {new!r}: this is the name of the partition field {field}; "
                "choose another name",
                field=field.name,
            )


def _refuse_drop(name: str, metadata: Metadata) -> None:
    schema, layout = metadata.arrow_schema(), metadata.layouts[metadata.current_spec_id]
    used = [field for field in layout.fields if field.source == name]
    if used:
        raise LayoutError(
            f"column {name!r} cannot be dropped: the table is partitioned by {_terms(used)}; change the layout first, with "
            "evolve_layout or ALTER INDEXTABLE ... PARTITION BY",
            field=used[0].name,
        )
    left = [field.name for field in schema if field.name != name]
    if not left:
        raise SchemaError(f"column {name!r} cannot be dropped: the table has no other column", column=name)
    if {field.source for field in layout.fields if field.is_identity} == set(left):
        raise SchemaError(
            f"column {name!r} cannot be dropped: only partition columns would be left ({', '.join(left)})", column=name
        )
    clustered = next((v for k, v in metadata.properties.items() if property_key(k) == _CLUSTER_BY), "")
    if clustered and name.lower() in map(str.lower, column_names(clustered)):
        raise SchemaError(
            f"column {name!r} cannot be dropped: the property {_CLUSTER_BY} is {clustered!r}; set it to other columns or "
            "unset it first",
            column=name,
        )


def _terms(fields: Sequence[PartitionField]) -> str:
    return ", ".join(field.term for field in fields)


def _refuse_unmapped_splits(snapshot: Snapshot, *, table: str) -> None:
    """Splits without a doc mapping are read by the names of their columns: nothing says which these were."""
    unmapped = snapshot.splits["doc_mapping_id"].null_count
    if unmapped or snapshot.metadata.current_doc_mapping_id is None:
        raise SchemaError(
            f"columns of {table} cannot be renamed or dropped: its log does not say which columns {unmapped} of its splits "
            "have, because another program wrote them; copy the rows to a new table, and change that",
            column=None,
        )
