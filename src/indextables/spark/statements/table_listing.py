"""What SHOW shows of a table, for classic Spark and for Connect: partitions, properties, and its CREATE TABLE."""

import re
from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql.types import StructField

from indextables.config import PREFIX, property_key
from indextables.errors import LayoutError
from indextables.inspect.listing import with_values
from indextables.layout import PartitionField
from indextables.search import resolve
from indextables.spark.options import FORMAT
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.spark.source.spark_types import arrow_schema, declared_schema
from indextables.table import IndexTable

_RULE = f"{PREFIX}indexing.typemap."
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def partition_rows(table: IndexTable, name: str, values: Mapping[str, str | None] | None = None) -> pa.Table:
    """SHOW PARTITIONS, from the log: partitions that share splits too; `values` are those of PARTITION (...)."""
    names = table.partition_names()
    if not names.num_rows and not table.layout.fields:
        raise LayoutError(f"SHOW PARTITIONS: {name} is not partitioned", field=None)
    fields = {field.lower() for field in table.partitions()["partition"].type.names}
    for field in values or {}:
        if field.lower() not in fields:
            raise LayoutError(
                f"SHOW PARTITIONS: {field} is not a partition field of {name}; its fields are {', '.join(sorted(fields))}",
                field=field,
            )
    return with_values(names, values or {})


def property_rows(table: IndexTable, name: str, key: str | None = None) -> pa.Table:
    """SHOW TBLPROPERTIES, of one key or of all."""
    found = table.properties
    if key is not None:
        found = {
            key: found.get(key, found.get(property_key(key), f"Table {name} does not have property: {key}")),
        }
    rows = sorted(found.items())
    return pa.table(
        {"key": pa.array([k for k, _ in rows], pa.string()), "value": pa.array([v for _, v in rows], pa.string())}
    )


def create_table_text(
    table: IndexTable,
    name: str,
    *,
    comments: Mapping[str, str | None] | None = None,
    comment: str | None = None,
    location: str | None = None,
) -> str:
    """SHOW CREATE TABLE; `name` is quoted, `comments` are those of columns, and `location` is that of an external table.

    >>> schema = {"id": "long", "message": "string"}
    >>> table = IndexTable.create("memory://docs/shown", schema, partition_by="bucket(4, id)", fields=["message"])
    >>> print(create_table_text(table, "logs", comments={"message": "as it came"}))
    CREATE TABLE logs (
      id BIGINT,
      message STRING COMMENT 'as it came')
    USING indextables
    PARTITIONED BY (bucket(4, id))
    TBLPROPERTIES (
      'indexing.typemap.message' = 'text')
    <BLANKLINE>
    """
    columns, layout = declared_schema(table.schema, comments or {}), table.layout
    defaults = resolve(arrow_schema(columns), {})
    others = {column: str(rule) for column, rule in table.fields.items() if rule != defaults[column]}
    kept = {key: text for key, text in table.properties.items() if not property_key(key).startswith(_RULE)}
    pairs = {**{f"indexing.typemap.{column}": rule for column, rule in others.items()}, **dict(sorted(kept.items()))}
    is_plain = all(field.has_default_name for field in layout.fields)
    clauses = [
        f"CREATE TABLE {name} (\n{_list(map(_column, columns))})",
        f"USING {FORMAT}",
        ""
        if is_plain
        else f"OPTIONS (\n{_list([_pair('partitionBy', str(layout))])})",  # Spark's grammar has no AS there
        f"PARTITIONED BY ({', '.join(map(_term, layout.fields))})" if layout.fields and is_plain else "",
        "" if comment is None else f"COMMENT {quote_string(comment)}",
        "" if location is None else f"LOCATION {quote_string(location)}",
        f"TBLPROPERTIES (\n{_list(_pair(key, text) for key, text in pairs.items())})" if pairs else "",
    ]
    return "\n".join(clause for clause in clauses if clause) + "\n"


def _column(field: StructField) -> str:
    comment = field.metadata.get("comment")
    parts = [_name(field.name), field.dataType.simpleString().upper(), "" if field.nullable else "NOT NULL"]
    return " ".join(
        [part for part in parts if part] + ([] if comment is None else [f"COMMENT {quote_string(comment)}"])
    )


def _term(field: PartitionField) -> str:
    return field.transform.over(_name(field.source))


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote_name([name])


def _pair(key: str, text: str) -> str:
    return f"{quote_string(key)} = {quote_string(text)}"


def _list(lines: Iterable[str]) -> str:
    return ",\n".join(f"  {line}" for line in lines)
