"""The metadata of a restored version: what it was, with all that has been added since and that splits may refer to.

Columns, the current layout, field types and properties are as they were. Doc mappings, specs and the highest column id only
grow: splits of other versions, which may be restored later, refer to them by their numbers.
"""

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from indextables.layout import Layout, Void
from indextables.log.actions import DocMapping, Metadata, PartitionSpec
from indextables.log.column_ids import column_ids
from indextables.write.write_plan import current_rules, partition_spec, with_mapping


def restored_metadata(current: Metadata, then: Metadata) -> Metadata:
    """The metadata of a table that is at `current`, and becomes what it was at `then`."""
    restored = structs.replace(
        current,
        schema=then.schema,
        partition_specs=_specs(current, then),
        current_spec_id=then.current_spec_id,
        current_doc_mapping_id=then.current_doc_mapping_id,
        properties=then.properties,
    )
    names = then.arrow_schema().names
    if current.max_column_id is None or column_ids(restored).keys() == set(names):
        return restored
    return _with_mapping_of(restored, names)


def columns_come_back(current: Metadata, then: Metadata) -> bool:
    """Whether there were columns that the table does not have: the log has forgotten what splits say of these."""
    names = _current_names(current, then)
    return any(name not in names.values() for name in then.arrow_schema().names)


def _with_mapping_of(restored: Metadata, names: list[str]) -> Metadata:
    """The metadata with a mapping of exactly its columns; the one of that time may be that of splits with any column."""
    known, highest = column_ids(restored), restored.max_column_id or 0
    new = [name for name in names if name not in known]
    ids = {**known, **{name: highest + number for number, name in enumerate(new, 1)}}
    rules = current_rules(restored)
    after = structs.replace(restored, max_column_id=highest + len(new))
    return with_mapping(after, {name: rules[name] for name in names}, {name: ids[name] for name in names})


def _specs(current: Metadata, then: Metadata) -> list[PartitionSpec]:
    """The specs as they were, and later ones over the columns of that time: a field of another column is void."""
    were, names = {spec.spec_id: spec for spec in then.partition_specs}, _current_names(current, then)
    return [
        were.get(number) or partition_spec(_over_columns(layout, names), number)
        for number, layout in current.layouts.items()
    ]


def _over_columns(layout: Layout, names: Mapping[str, str]) -> Layout:
    fields = (
        replace(field, source=names[field.source]) if field.source in names else replace(field, transform=Void())
        for field in layout.fields
    )
    return Layout(tuple(fields))


def _current_names(current: Metadata, then: Metadata) -> dict[str, str]:
    """The columns that the table has and had, by the names that they have: the names that they had."""
    columns = then.arrow_schema().names
    ids_now, ids_then = column_ids(current), _ids_of(then.current_doc_mapping_id, current)
    if not ids_now:
        have = set(current.arrow_schema().names)
        return {name: name for name in columns if name in have}
    had = {ids_then[name]: name for name in columns if name in ids_then}
    return {name: had[number] for name, number in ids_now.items() if number in had}


def _ids_of(number: int | None, metadata: Metadata) -> Mapping[str, int]:
    mapping = next((m for m in metadata.doc_mappings if m.doc_mapping_id == number), DocMapping(doc_mapping_id=0))
    return mapping.column_ids
