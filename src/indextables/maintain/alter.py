"""Changing what a table is: its layout, its columns and its properties. No split is touched, and no query changes.

Each change is a function from a description to the next one, so that it can be decided again when another writer was
first.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from indextables.config import Config, property_key
from indextables.display.text_output import text_output
from indextables.errors import ConfigError, SchemaError
from indextables.layout import Layout
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Metadata
from indextables.log.column_ids import column_ids
from indextables.plural import agreeing
from indextables.schema import column_named, normalize, to_json, type_name, widens
from indextables.search import FieldRule, resolve
from indextables.search.field_rules import NONE, default_rule
from indextables.write.sizing import refuse_missing_target_size
from indextables.write.table_settings import refuse_unusable_properties
from indextables.write.write_plan import (
    current_rules,
    doc_mapping,
    property_texts,
    with_columns_of,
    with_schema,
)

Change: TypeAlias = Callable[[Metadata], Metadata]


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """The layout of what is written from now on, and the splits that were written under others."""

    version: int
    spec_id: int
    layout: Layout
    splits: int
    splits_of_other_layouts: int

    def __str__(self) -> str:
        old = self.splits_of_other_layouts
        return (
            f"version {self.version}: new splits are laid out by {str(self.layout) or 'nothing'} (spec {self.spec_id}); "
            f"{old:,} of {self.splits:,} splits {agreeing(old, 'has another layout', 'have other layouts')}"
        )

    _repr_html_ = text_output


def parsed_layout(given: str | Sequence[str]) -> Layout:
    """The layout of a text such as `region, day(ts)`, or of a list of such terms."""
    return Layout.parse(given) if isinstance(given, str) else Layout.of(*given)


def layout_change(snapshot: Snapshot) -> LayoutChange:
    """The layout of a snapshot."""
    current = snapshot.metadata.current_spec_id
    others = pc.sum(pc.not_equal(snapshot.splits["spec_id"], current)).as_py() or 0
    layout = snapshot.metadata.layouts[current]
    return LayoutChange(snapshot.version, current, layout, len(snapshot.splits), others)


def alter(log: TransactionLog, snapshot: Snapshot, change: Change, parameters: Mapping[str, str]) -> Snapshot:
    """Commits a change of the description; nothing is written where it changes nothing."""

    def transaction(read: Snapshot) -> Transaction:
        after = change(read.metadata)
        return Transaction(
            operation=Operation.ALTER,
            snapshot=read,
            metadata=None if after == read.metadata else after,
            parameters=parameters,
        )

    return log.commit(transaction(snapshot), replan=transaction).snapshot


def with_column(metadata: Metadata, name: str, kind: pa.DataType, rule: str | FieldRule | None) -> Metadata:
    """The description with one more column, which is null in every row that is there."""
    schema = metadata.arrow_schema()
    if name.lower() in {column.lower() for column in schema.names}:
        raise SchemaError(f"the table has a column {column_named(schema, name)!r} already", column=name)
    added = normalize(pa.schema({name: kind}))
    metadata.layouts[metadata.current_spec_id].bind(pa.schema([*schema, *added]))  # the name may be that of a field
    return with_columns_of(metadata, added, {} if rule is None else {name: rule})


def with_columns(metadata: Metadata, columns: pa.Schema) -> Metadata:
    """The description with more columns, all or none of them."""
    return reduce(lambda before, added: with_column(before, added.name, added.type, None), columns, metadata)


def with_wider_columns(metadata: Metadata, columns: Mapping[str, pa.DataType]) -> Metadata:
    """The description with wider columns, all or none of them."""
    return reduce(lambda before, column: with_wider_column(before, *column), columns.items(), metadata)


def with_wider_column(metadata: Metadata, name: str, kind: pa.DataType) -> Metadata:
    """The description with a column of a type that holds all that it held before."""
    schema = metadata.arrow_schema()
    field = schema.field(column_named(schema, name))
    if field.type == kind:
        return metadata
    _refuse_other_values(field, kind)
    _refuse_partitioned_floats(field, metadata)
    rules = {**current_rules(metadata)}
    if rules[field.name].type != NONE:
        rules[field.name] = default_rule(kind)
    wider = pa.schema([field.with_type(kind) if other.name == field.name else other for other in schema])
    return with_schema(metadata, to_json(wider), resolve(wider, rules))


def with_indexing(metadata: Metadata, given: Mapping[str, str | FieldRule]) -> Metadata:
    """The description with other field rules for new splits; a mapping that the table had before gets its number again.

    Splits that are there keep the index that they have, and are searched by the new rules.
    """
    rules = current_rules(metadata)
    wanted = resolve(metadata.arrow_schema(), {**rules, **given})
    if wanted == rules:
        return metadata
    ids = column_ids(metadata)
    earlier = (
        m for m in metadata.doc_mappings if m == structs.replace(doc_mapping(wanted, m.doc_mapping_id), column_ids=ids)
    )
    if (known := next(earlier, None)) is not None:
        after = structs.replace(metadata, current_doc_mapping_id=known.doc_mapping_id)
    else:
        after = with_schema(metadata, metadata.schema, wanted)
    after = structs.replace(after, properties=_with_field_types(metadata.properties, rules, wanted))
    refuse_unusable_properties(after)
    return after


def _with_field_types(
    properties: Mapping[str, str], before: Mapping[str, FieldRule], after: Mapping[str, FieldRule]
) -> dict[str, str]:
    """The properties, with the new field type where one of them has the old type of a column that changes."""
    changed = {
        property_key(f"indexing.typemap.{name}"): str(rule) for name, rule in after.items() if rule != before[name]
    }
    return {key: changed.get(property_key(key), value) for key, value in properties.items()}


def with_properties(metadata: Metadata, given: Mapping[str, object]) -> Metadata:
    """The description with some properties set. A setting is kept under its full key, however it is spelled."""
    new = {property_key(key): value for key, value in property_texts(given).items()}
    kept = {key: value for key, value in metadata.properties.items() if property_key(key) not in new}
    after = structs.replace(metadata, properties={**kept, **new})
    refuse_unusable_properties(after)
    return after


def without_properties(metadata: Metadata, keys: Iterable[str], *, missing_ok: bool = False) -> Metadata:
    """The description without some properties, each in any spelling of its key."""
    gone = {property_key(key): key for key in keys}
    missing = gone.keys() - {property_key(key) for key in metadata.properties}
    if missing and not missing_ok:
        names = ", ".join(sorted(gone[key] for key in missing))
        known = ", ".join(sorted(metadata.properties)) or "none"
        raise ConfigError(f"the table has no property {names}; its properties: {known}", key=names, value=None)
    kept = {key: value for key, value in metadata.properties.items() if property_key(key) not in gone}
    refuse_missing_target_size(Config.resolve(properties=kept))
    return structs.replace(metadata, properties=kept)


def _refuse_other_values(field: pa.Field, kind: pa.DataType) -> None:
    if not widens(field.type, kind):
        raise SchemaError(
            f"column {field.name!r} is {type_name(field.type)} and cannot become {type_name(kind)} without a rewrite; "
            "integers can become wider integers, and float can become double",
            column=field.name,
        )


def _refuse_partitioned_floats(field: pa.Field, metadata: Metadata) -> None:
    """The log has the shortest text of a float: read as a double it would be another number."""
    terms = [f.term for layout in metadata.layouts.values() for f in layout.fields if f.source == field.name]
    if terms and pa.types.is_floating(field.type):
        raise SchemaError(
            f"column {field.name!r} cannot become double, because splits are partitioned by {terms[0]}; "
            "add a double column instead, and fill it",
            column=field.name,
        )
