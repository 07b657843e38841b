"""The CREATE TABLE statement that makes a table like one that is there: SHOW CREATE TABLE."""

import re
from collections.abc import Iterable, Mapping

from pyspark.sql.types import StructField, StructType

from indextables.config import PREFIX, property_key
from indextables.layout import Layout, PartitionField
from indextables.search import FieldRule, resolve
from indextables.spark.options import FORMAT
from indextables.spark.source.quoting import quote_name, quote_string
from indextables.spark.source.spark_types import arrow_schema

_RULE = f"{PREFIX}indexing.typemap."
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def create_table_text(
    name: str,
    columns: StructType,
    *,
    layout: Layout,
    rules: Mapping[str, FieldRule],
    properties: Mapping[str, str],
    comment: str | None = None,
    location: str | None = None,
) -> str:
    """The statement; `name` is quoted, columns have their comments and NOT NULL, `location` is that of an external table.

    >>> columns = StructType().add("id", "long", False).add("message", "string", metadata={"comment": "as it came"})
    >>> rules = {"id": FieldRule("long"), "message": FieldRule.parse("text")}
    >>> print(create_table_text("logs", columns, layout=Layout.parse("bucket(4, id)"), rules=rules, properties={}))
    CREATE TABLE logs (
      id BIGINT NOT NULL,
      message STRING COMMENT 'as it came')
    USING indextables
    PARTITIONED BY (bucket(4, id))
    TBLPROPERTIES (
      'indexing.typemap.message' = 'text')
    <BLANKLINE>
    """
    defaults = resolve(arrow_schema(columns), {})
    others = {column: str(rule) for column, rule in rules.items() if rule != defaults[column]}
    kept = {key: text for key, text in properties.items() if not property_key(key).startswith(_RULE)}
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
