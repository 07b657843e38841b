"""The source of a MERGE: rows in whatever form a user has them, as one Arrow table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pyarrow as pa

from indextables.errors import SchemaError
from indextables.read.scan import Scan
from indextables.schema import normalize, type_name
from indextables.write.input_data import Data, batches_of, peeked

MergeSource: TypeAlias = Data | Scan | Any
"""What a write takes, a scan of a table, or a DataFrame of Spark, which is collected."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows:
    """The source before its rows are read: their schema in table types, and the rows."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]

    def read(self) -> pa.Table:
        """All rows, in memory; a source can be read once."""
        tables = [pa.Table.from_batches([batch]) for batch in self.batches]
        return pa.concat_tables([self.schema.empty_table(), *(_cast(table, self.schema) for table in tables)])


def source_rows(source: MergeSource, target: pa.Schema, *, all_columns: bool = False) -> SourceRows:
    """The rows of a source; Python values get the types of the target.

    A column of a type that no table holds is left out where the target does not have it, or an error with `all_columns`.
    """
    if isinstance(source, Scan):
        return SourceRows(_storable(source.schema), source.to_batches())
    if hasattr(source, "toArrow"):  # Spark's stream of Arrow data fails on timestamps
        source = cast("Any", source).toArrow()
    rows = peeked(batches_of(source, target))
    if rows.schema is None:
        raise SchemaError("the source has neither rows nor columns; give a table or batches with a schema", column=None)
    own = {name.lower() for name in target.names}
    kept = [field for field in rows.schema if all_columns or field.name.lower() in own or _is_storable(field)]
    return SourceRows(_storable(pa.schema(kept)), rows.batches)


def _is_storable(field: pa.Field) -> bool:
    try:
        _storable(pa.schema([field]))
    except SchemaError:
        return False
    return True


def _storable(schema: pa.Schema) -> pa.Schema:
    """The columns in table types; one of nulls only is compared as text."""
    typed = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema]
    return pa.schema([field.with_nullable(nullable=True) for field in normalize(pa.schema(typed))])


def _cast(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.table([_cast_column(rows, field) for field in schema], schema=schema)


def _cast_column(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    try:
        return rows[field.name].cast(field.type)
    except pa.ArrowInvalid as error:
        message = f"column {field.name!r} of the source does not fit {type_name(field.type)}: {error}"
        raise SchemaError(message, column=field.name) from error
