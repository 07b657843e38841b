"""Columns that were added to a table after a split was written: every row of such a split is null there.

The split's doc mapping shows it: a complete mapping lists all columns of the split.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from indextables.log.actions import Metadata
from indextables.log.column_ids import renamed_columns


def with_missing_column_nulls(splits: pa.Table, metadata: Metadata) -> pa.Table:
    """The splits table with a null count for columns that a split does not have: as many nulls as it has rows."""
    if "null_count" not in splits.schema.names or not len(splits):
        return splits
    nulls = splits["null_count"].combine_chunks()
    missing = mappings_lacking([field.name for field in nulls.type], metadata)
    if not missing:
        return splits
    mapping, rows = splits["doc_mapping_id"].combine_chunks(), splits["num_records"].combine_chunks()
    counts = [
        _null_counts(nulls.field(number), missing.get(field.name), mapping, rows)
        for number, field in enumerate(nulls.type)
    ]
    column = splits.schema.get_field_index("null_count")
    return splits.set_column(
        column, splits.schema.field(column), pa.StructArray.from_arrays(counts, fields=list(nulls.type))
    )


def mappings_lacking(columns: list[str], metadata: Metadata) -> Mapping[str, pa.Array]:
    """For each of the columns that some mapping does not have, the numbers of these mappings."""
    renamed = renamed_columns(metadata)
    complete = {
        mapping.doc_mapping_id: {names.get(name, name) for name in mapping.fields}
        for mapping in metadata.doc_mappings
        if mapping.complete
        for names in [renamed.get(mapping.doc_mapping_id, {})]
    }
    lacking = {c: [number for number, have in complete.items() if c not in have] for c in columns}
    return {column: pa.array(numbers, pa.int32()) for column, numbers in lacking.items() if numbers}


def _null_counts(nulls: pa.Array, lacking: pa.Array | None, mapping: pa.Array, rows: pa.Array) -> pa.Array:
    return nulls if lacking is None else pc.if_else(pc.is_in(mapping, lacking), rows, nulls)
