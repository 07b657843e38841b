"""Conversion of schemas between Spark and Arrow."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import NullType, StringType, StructField, StructType, UserDefinedType

from indextables.errors import SchemaError
from indextables.schema import is_storable, not_storable, to_json
from indextables.spark.versions import CURRENT

_CHAR = "__CHAR_VARCHAR_TYPE_STRING"  # Spark's key


def arrow_schema(schema: StructType, *, as_declared: bool = False) -> pa.Schema:
    """The columns of a frame in Arrow: all nullable, because Spark infers NOT NULL for literals.

    With `as_declared`, columns keep their NOT NULL.

    >>> from pyspark.sql.types import LongType
    >>> arrow_schema(StructType().add("id", LongType(), nullable=False)).field("id").nullable
    True
    """
    return pa.schema(
        [
            _arrow_field(field).with_nullable(field.nullable if as_declared else True).remove_metadata()
            for field in schema
        ]
    )


def _arrow_field(field: StructField) -> pa.Field:
    """A column in Arrow; an error if Arrow alone would not keep its meaning."""
    kind = field.dataType
    if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
        refuse_collation(kind.collation, column=field.name)
    if is_char(field):
        why = "Spark compares it padded with blanks, and a table compares strings as they are; cast it to STRING"
        raise _unstorable(field, str(field.metadata[_CHAR]), why)
    if isinstance(kind, UserDefinedType):
        raise _unstorable(field, kind.simpleString(), f"its values would come back as {kind.sqlType().simpleString()}")
    try:
        found = to_arrow_utc(StructType([field])).field(0)
    except PySparkTypeError as error:
        raise not_storable(field.name, kind.simpleString()) from error
    if not is_storable(found.type) and not isinstance(kind, NullType):
        raise not_storable(field.name, kind.simpleString())  # by Spark's name, not by Arrow's
    return found


def to_arrow_utc(schema: StructType) -> pa.Schema:
    """The schema in which Spark exchanges rows with Python, timestamps in UTC."""
    return to_arrow_schema(schema, **CURRENT.utc)


def _unstorable(field: StructField, kind: str, why: str) -> SchemaError:
    return SchemaError(f"column {field.name!r} is {kind}, which a table cannot hold: {why}", column=field.name)


def is_char(field: StructField) -> bool:
    """Whether a string column is CHAR(n), which Spark keeps in its metadata. VARCHAR(n) compares as STRING does."""
    return str(field.metadata.get(_CHAR, "")).lower().startswith("char")


def refuse_collation(collation: str, *, column: str | None) -> None:
    """Raises an error: tables compare strings byte by byte, and pruning would lose rows under another collation."""
    raise SchemaError(
        f"{'strings' if column is None else f'column {column!r}'} with the collation {collation} cannot be stored, because "
        "a table compares strings byte by byte; cast to STRING, and write COLLATE in the query that compares",
        column=column,
    )


def declared_schema(schema: pa.Schema, comments: Mapping[str, str | None]) -> StructType:
    """The columns of a table as CREATE TABLE declares them, with NOT NULL and comments."""
    fields = [(field, schema.field(field.name).nullable, comments.get(field.name)) for field in spark_schema(schema)]
    return StructType(
        [StructField(f.name, f.dataType, nullable, {} if c is None else {"comment": c}) for f, nullable, c in fields]
    )


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns of a table in Spark: all nullable, as those of files in Spark are.

    >>> spark_schema(pa.schema([pa.field("id", pa.int64(), nullable=False)])).simpleString()
    'struct<id:bigint>'
    """
    return StructType.fromJson(to_json(pa.schema([field.with_nullable(True) for field in schema])))
