"""Column types: which ones a table may have, and their names in the transaction log.

The log stores a schema as Spark's JSON (`StructType.json()`), so that people and other tools can read it:

>>> schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us", "UTC"))])
>>> [field["type"] for field in to_json(schema)["fields"]]
['long', 'timestamp']
>>> from_json(to_json(schema)).equals(schema)
True
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from indextables.arrow_features import view_types
from indextables.errors import SchemaError
from indextables.nearest import nearest

SchemaInput: TypeAlias = pa.Schema | Mapping[str, str | pa.DataType]
_ARROW_BY_NAME = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_SQL_NAMES = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long", "real": "float"}
_OTHER_NAMES = {"str": "string", "text": "string", "varchar": "string", "bool": "boolean", "datetime": "timestamp"} | {
    "int64": "long", "int32": "integer", "int16": "short", "int8": "byte", "float64": "double", "float32": "float"
}  # fmt: skip
"""What types are called elsewhere."""
_SQL_NAME_BY_NAME = {name: sql for sql, name in _SQL_NAMES.items() if sql != "real"}
_NAME_BY_ARROW = {arrow: name for name, arrow in _ARROW_BY_NAME.items()}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
MAX_DECIMAL_PRECISION = 38
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float32(), pa.float64())

# Arrow types that hold the same values as a table type in another shape.
_SAME_VALUES = {
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    **view_types(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


def type_name(arrow: pa.DataType) -> str:
    """The log's name of a table type.

    >>> type_name(pa.decimal128(10, 2))
    'decimal(10,2)'
    """
    if pa.types.is_decimal128(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return _NAME_BY_ARROW[arrow]


def shown_type(arrow: pa.DataType) -> str:
    """The name of a type for messages: the log's, and Arrow's for a type that no table has.

    >>> shown_type(pa.int32()), shown_type(pa.list_(pa.int32()))
    ('integer', 'list<item: int32>')
    """
    is_table_type = arrow in _NAME_BY_ARROW or pa.types.is_decimal128(arrow)
    return type_name(arrow) if is_table_type else str(arrow)


def sql_type_name(arrow: pa.DataType) -> str:
    """The name of a table type in Spark's SQL.

    >>> sql_type_name(pa.int64()), sql_type_name(pa.date32())
    ('BIGINT', 'DATE')
    """
    name = type_name(arrow)
    return _SQL_NAME_BY_NAME.get(name, name).upper()


def type_named(name: str) -> pa.DataType:
    """The table type of a name in the log; KeyError where there is none."""
    decimal = _DECIMAL.fullmatch(name)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _ARROW_BY_NAME[name]


def parse_type(text: str) -> pa.DataType:
    """The table type of a name as users write it: the log's, or SQL's, in any letter case.

    >>> parse_type("BIGINT"), parse_type("decimal(10, 2)")
    (DataType(int64), Decimal128Type(decimal128(10, 2)))
    """
    name = text.strip().lower()
    try:
        return type_named(_SQL_NAMES.get(name, name))
    except (KeyError, ValueError, OverflowError):
        known = ", ".join([*_ARROW_BY_NAME, "decimal(p,s)"])
        meant = _OTHER_NAMES.get(name) or nearest(name, [*_ARROW_BY_NAME, *_SQL_NAMES])
        hint = f"did you mean {meant!r}? Use" if meant else "use"
        raise SchemaError(f"{text!r} is not a type of a column; {hint} one of {known}", column=None) from None


def schema_from_input(given: SchemaInput) -> pa.Schema:
    """A schema, or columns and their types, which may be names of SQL types, as a schema.

    >>> schema_from_input({"id": "bigint", "at": pa.timestamp("us"), "price": "decimal(10,2)"}).types
    [DataType(int64), TimestampType(timestamp[us]), Decimal128Type(decimal128(10, 2))]
    """
    if isinstance(given, pa.Schema):
        return given  # Arrow would copy it by C, where a name ends at its first zero byte
    if isinstance(given, Mapping):
        return _schema_from_mapping(given)
    try:
        return pa.schema(given)
    except (TypeError, AttributeError, ValueError):
        raise SchemaError(
            f"a schema is a pyarrow.Schema, or a dict of columns and their types such as {_EXAMPLE}, not {given!r:.60}",
            column=None,
        ) from None


_EXAMPLE = '{"id": "bigint", "message": "string"}'


def _schema_from_mapping(given: Mapping[str, str | pa.DataType]) -> pa.Schema:
    for name, kind in given.items():
        if not isinstance(name, str) or not isinstance(kind, str | pa.DataType):
            raise SchemaError(
                f"column {name!r} has type {kind!r:.60} in the schema; give the name of a type, as in {_EXAMPLE}, or a "
                "pyarrow.DataType",
                column=None,
            )
    return pa.schema([(name, _type_of(name, kind)) for name, kind in given.items()])


def _type_of(column: str, kind: str | pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    try:
        return parse_type(kind)
    except SchemaError as error:
        raise SchemaError(f"column {column!r}: {error}", column=column) from None


def normalize(schema: pa.Schema) -> pa.Schema:
    """The same columns in table types, or a SchemaError that names the column that cannot be stored.

    >>> normalize(pa.schema({"name": pa.large_string(), "at": pa.timestamp("ms", "Europe/Berlin")})).types
    [DataType(string), TimestampType(timestamp[us, tz=UTC])]
    >>> normalize(pa.schema({"tags": pa.list_(pa.string())}))
    Traceback (most recent call last):
    indextables.errors.SchemaError: column 'tags' has type list<item: string>, which a table cannot hold; ...
    """
    refuse_ambiguous_names(schema.names)
    return pa.schema([pa.field(f.name, _table_type(f.name, f.type), nullable=f.nullable) for f in schema])


def column_named(schema: pa.Schema, name: str, *, case_sensitive: bool = False) -> str:
    """The schema's own spelling of a column, or a SchemaError that lists what there is.

    >>> column_named(pa.schema({"Day": pa.string()}), "day")
    'Day'
    """
    if not isinstance(name, str):
        raise SchemaError(
            f"{name!r} is not the name of a column; {available_columns_hint('', schema.names)}", column=None
        )
    own: dict[str, str] = {column if case_sensitive else column.lower(): column for column in schema.names}
    found = own.get(name if case_sensitive else name.lower())
    if found is None:
        raise SchemaError(f"there is no column {name!r}; {available_columns_hint(name, schema.names)}", column=name)
    return found


def available_columns_hint(name: str, columns: list[str]) -> str:
    """The end of a message on a column that is not there.

    >>> available_columns_hint("yaer", ["year", "name"]), available_columns_hint("n", ["year", "name"])
    ("did you mean 'year'? The table has year, name", 'the table has year, name')
    """
    known = f"table has {', '.join(columns)}"
    meant = nearest(name, columns)
    return f"did you mean {meant!r}? The {known}" if meant else f"the {known}"


def to_json(schema: pa.Schema) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": f.name, "type": type_name(f.type), "nullable": f.nullable, "metadata": {}}
            for f in normalize(schema)
        ],
    }


def from_json(value: dict[str, Any]) -> pa.Schema:
    return pa.schema([_field_from_json(field) for field in value["fields"]])


def _field_from_json(field: Any) -> pa.Field:
    match field:
        case {"name": str(name), "type": kind} if isinstance(nullable := field.get("nullable", True), bool):
            pass
        case _:
            raise SchemaError(f"a column has name, type and nullable, and not {field!r:.60}", column=None)
    try:
        arrow = type_named(kind)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SchemaError(
            f"column {name!r} has type {kind!r}, which this release does not support", column=name
        ) from None
    return pa.field(name, arrow, nullable=nullable)


def _table_type(column: str, arrow: pa.DataType) -> pa.DataType:
    if isinstance(arrow, pa.BaseExtensionType):
        return _table_type(column, arrow.storage_type)
    arrow = _SAME_VALUES.get(arrow, arrow)
    if arrow in _NAME_BY_ARROW:
        return arrow
    if pa.types.is_dictionary(arrow):
        return _table_type(column, arrow.value_type)
    if pa.types.is_fixed_size_binary(arrow):
        return pa.binary()
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", "UTC" if arrow.tz else None)
    if pa.types.is_decimal(arrow) and arrow.precision <= MAX_DECIMAL_PRECISION and arrow.scale >= 0:
        return pa.decimal128(arrow.precision, arrow.scale)
    if pa.types.is_null(arrow):
        raise SchemaError(
            f"column {column!r} has only nulls, so its type is not known; cast it to the type that it is to have, or leave "
            "it out",
            column=column,
        )
    raise not_storable(column, str(arrow))


def not_storable(column: str, kind: str) -> SchemaError:
    """The error for a column whose type, under the name that its users know, no table can have."""
    return SchemaError(
        f"column {column!r} has type {kind}, which a table cannot hold; "
        f"cast it to one of {', '.join(_ARROW_BY_NAME)} or decimal(p,s), or leave it out",
        column=column,
    )


def is_storable(arrow: pa.DataType) -> bool:
    """Whether a table can have a column for values of a type.

    >>> is_storable(pa.large_string()), is_storable(pa.list_(pa.int32()))
    (True, False)
    """
    try:
        _table_type("", arrow)
    except SchemaError:
        return False
    return True


def refuse_ambiguous_names(names: list[str]) -> None:
    """A SchemaError for two columns of one name, in any letter case, or of none."""
    twice = [name for name, count in Counter(map(str.lower, names)).items() if count > 1]
    if twice:
        same = [name for name in names if name.lower() == twice[0]]
        raise SchemaError(
            f"columns {', '.join(map(repr, same))} have the same name but for case; rename all but one", column=same[0]
        )
    if "" in names:
        raise SchemaError("a column has an empty name; give it one", column="")


def widens(incoming: pa.DataType, target: pa.DataType) -> bool:
    """Whether one is a wider number of the same kind.

    >>> widens(pa.int32(), pa.int64()), widens(pa.int32(), pa.float64()), widens(pa.int64(), pa.int32())
    (True, False, False)
    """
    families = [family for family in (_INTEGERS, _FLOATS) if incoming in family and target in family]
    return any(family.index(incoming) < family.index(target) for family in families)


def unreadable_column(stored: pa.Schema, table: pa.Schema) -> str | None:
    """The first column that cannot be read with the type that the table has; None where rows can be.

    >>> table = pa.schema({"id": pa.int64(), "new": pa.string()})
    >>> unreadable_column(pa.schema({"id": pa.int32(), "gone": pa.string()}), table)
    >>> unreadable_column(pa.schema({"id": pa.string()}), table)
    'id'
    """
    types = {field.name: field.type for field in table}
    shared = [field for field in stored if field.name in types]
    found = (f.name for f in shared if f.type != types[f.name] and not widens(f.type, types[f.name]))
    return next(found, None)
