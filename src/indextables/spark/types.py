"""Schemas, from Spark's to Arrow's and back."""

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType, _parse_datatype_json_string

from indextables.errors import SchemaError
from indextables.schema import to_json
from indextables.spark.java import Java


def arrow_schema(schema: StructType, *, as_declared: bool = False) -> pa.Schema:
    """The columns of a frame as a table would have them: all nullable, because Spark calls a literal not null.

    Columns that somebody has declared keep their NOT NULL.

    >>> from pyspark.sql.types import LongType
    >>> arrow_schema(StructType().add("id", LongType(), nullable=False)).field("id").nullable
    True
    """
    try:
        converted = to_arrow_schema(schema, timezone="UTC")
    except PySparkTypeError as error:
        raise SchemaError(f"a column has a type that a table cannot hold: {error}", column=None) from error
    return pa.schema(
        [field.with_nullable(field.nullable if as_declared else True).remove_metadata() for field in converted]
    )


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns of a table as a frame has them: all nullable, as those of Spark's own files are.

    >>> spark_schema(pa.schema([pa.field("id", pa.int64(), nullable=False)])).simpleString()
    'struct<id:bigint>'
    """
    return StructType.fromJson(to_json(pa.schema([field.with_nullable(True) for field in schema])))


def data_type(java: Java) -> DataType:
    """A type of a parsed statement."""
    return _parse_datatype_json_string(java.json())
