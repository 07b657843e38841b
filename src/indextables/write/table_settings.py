"""Settings that must agree with the table: its layout, and the columns that it is clustered by.

A write is refused where they do not, and so is a property that every later write would be refused for.
"""

from collections.abc import Iterable

import pyarrow as pa

from indextables.config import Config
from indextables.errors import LayoutError, SchemaError
from indextables.layout import Layout
from indextables.log.actions import Metadata
from indextables.schema import available_columns_hint
from indextables.write.sizing import refuse_missing_target_size
from indextables.write.write_plan import OVERWRITE_SCHEMA_HINT, plan_write


def refuse_other_layout(wanted: Layout, metadata: Metadata, *, replaces_all: bool = False) -> None:
    """Raises a LayoutError where `partitionBy` is not the layout of the table."""
    own = metadata.layouts[metadata.current_spec_id]
    wanted = wanted.bind(metadata.arrow_schema())
    if not is_layout(wanted, own):
        hint = OVERWRITE_SCHEMA_HINT if replaces_all else ""
        raise LayoutError(
            f"the table is partitioned by {str(own) or 'nothing'}, and partitionBy asks for {str(wanted) or 'nothing'}; "
            f"leave partitionBy out to use the table's layout, {hint}or change that with "
            "evolve_layout or ALTER INDEXTABLE ... PARTITION BY",
            field=str(wanted),
        )


def is_layout(wanted: Layout, own: Layout) -> bool:
    """Whether a setting means the layout of the table. A field without AS may have any name: a renamed column keeps it."""
    if len(wanted.fields) != len(own.fields):
        return False
    pairs = zip(wanted.fields, own.fields, strict=True)
    return all(field == its or (field.has_default_name and field.term == its.term) for field, its in pairs)


def refuse_unknown_cluster_columns(columns: Iterable[str], schema: pa.Schema) -> None:
    """Raises a SchemaError where `clusterBy` names a column that the table does not have."""
    known = {name.lower() for name in schema.names}
    for column in columns:
        if column.lower() not in known:
            raise SchemaError(
                f"clusterBy names a column {column!r} that is not there; {available_columns_hint(column, schema.names)}",
                column=column,
            )


def refuse_unusable_properties(metadata: Metadata) -> None:
    """Raises an error where properties are unknown settings, or contradict what the table is."""
    config, schema = Config.resolve(properties=metadata.properties), metadata.arrow_schema()
    plan_write(metadata, config)
    refuse_missing_target_size(config)
    refuse_unknown_cluster_columns(config.write.cluster_by, schema)
    if config.write.partition_by is not None:
        refuse_other_layout(Layout.parse(config.write.partition_by), metadata)
