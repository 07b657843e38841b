"""Expressions in DuckDB's SQL that give the results of Spark: its casts, its types of numbers, its functions.

DuckDB's casts to integers round, and its casts between text and bytes read escapes. So it matters what is cast: DuckDB tells
the types of operands (`TypeOf`).
"""

from collections.abc import Callable

import pyarrow as pa
from sqlglot import exp

TypeOf = Callable[[str], str]
"""The type of an expression, by its name in DuckDB; both are DuckDB's SQL."""
_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.timestamp("us"): "TIMESTAMP",
}
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_MAX_INT = 2**31 - 1


def duckdb_type(kind: pa.DataType) -> str:
    """DuckDB's name of a table type.

    >>> duckdb_type(pa.decimal128(10, 2)), duckdb_type(pa.timestamp("us", "UTC"))
    ('DECIMAL(10,2)', 'TIMESTAMP WITH TIME ZONE')
    """
    return f"DECIMAL({kind.precision},{kind.scale})" if pa.types.is_decimal(kind) else _NAMES[kind]


def to_duckdb(tree: exp.Expr, type_of: TypeOf) -> str:
    """The expression in DuckDB's SQL."""
    return _sql(_translated(tree.copy(), type_of))


def cast_sql(sql: str, given: str, wanted: str, *, safe: bool = False) -> str:  # noqa: PLR0911 - one for each pair
    """A cast as Spark casts: numbers are truncated, and what does not fit is an error, or with `safe` null."""
    cast = f"TRY_CAST({sql} AS {wanted})" if safe else f"CAST({sql} AS {wanted})"
    if given == wanted:
        return sql
    if wanted in _INTEGERS and (given in _FLOATS or given.startswith("DECIMAL")):
        return cast.replace(sql, f"TRUNC({sql})", 1)
    if wanted in _INTEGERS and given == "VARCHAR":
        otherwise = "NULL" if safe else f"error('''' || {sql} || ''' is no {wanted}')"
        whole = f"regexp_full_match({sql}, '\\s*[+-]?[0-9]+\\s*')"
        return f"CASE WHEN {sql} IS NULL THEN NULL WHEN {whole} THEN {cast} ELSE {otherwise} END"
    if wanted == "VARCHAR" and given == "TIMESTAMP WITH TIME ZONE":
        return f"CAST(CAST({sql} AS TIMESTAMP) AS VARCHAR)"
    if wanted == "VARCHAR" and given in _FLOATS:
        return _float_text(sql)
    if wanted == "VARCHAR" and given == "BLOB":
        return f"decode({sql})"
    if wanted == "BLOB" and given == "VARCHAR":
        return f"encode({sql})"
    return cast


def _float_text(sql: str) -> str:
    """The text of a number as Spark writes it; an error where Spark has an exponent."""
    special = (
        f"WHEN isnan({sql}) THEN 'NaN' WHEN isinf({sql}) THEN CASE WHEN {sql} > 0 THEN 'Infinity' ELSE '-Infinity' END"
    )
    plain = f"WHEN {sql} IS NULL OR {sql} = 0 OR abs({sql}) BETWEEN 0.001 AND 9999999 THEN CAST({sql} AS VARCHAR)"
    return (
        f"CASE {special} {plain} ELSE error('a number is too large or too small to be text; cast it to a decimal') END"
    )


def _translated(node: exp.Expr, type_of: TypeOf) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 - one for each kind
    for key, value in list(node.args.items()):
        if isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
            node.set(key, _translated(value, type_of))
        elif isinstance(value, list):
            node.set(key, [_translated(v, type_of) if isinstance(v, exp.Expr) else v for v in value])
    match node:
        case exp.Literal() if not node.is_string and isinstance(node.parent, _ARITHMETIC):
            return _number(node)
        case exp.Div():
            node.set("safe", False)
            return node
        case exp.Cast():
            return _cast(node, type_of)
        case exp.TsOrDsToDate() if node.args.get("format") is None:
            return _raw(_cast_to(node.this, "DATE", type_of))
        case exp.TsOrDsAdd() | exp.AddMonths():
            return _raw(f"CAST({_sql(node)} AS DATE)")
        case exp.Concat() | exp.DPipe():
            return _concatenated(node, type_of)
        case exp.Substring():
            return _substring(node)
        case exp.Floor() | exp.Ceil() if type_of(_sql(node.this)) in _FLOATS:
            return _raw(f"CAST({_sql(node)} AS BIGINT)")
        case exp.Like() | exp.ILike() if not isinstance(node.parent, exp.Escape):
            return exp.Escape(this=node, expression=exp.Literal.string("\\"))
        case exp.IsNan():
            return _raw(f"coalesce({_sql(node)}, false)")
        case exp.HexString():
            return _raw(f"unhex('{node.name}')")
        case exp.Anonymous() if str(node.this).lower() in ("isnull", "isnotnull"):
            word = "IS NULL" if str(node.this).lower() == "isnull" else "IS NOT NULL"
            return _raw(f"({_sql(node.expressions[0])} {word})")
        case _:
            return node


def _number(node: exp.Literal) -> exp.Expr:
    """A whole number is an INT or a BIGINT, whatever it is added to."""
    if not node.name.isdigit():
        return node
    value = int(node.name)
    return _raw(f"CAST({value} AS {'INTEGER' if value <= _MAX_INT else 'BIGINT'})") if value < 2**63 else node


def _cast(node: exp.Cast, type_of: TypeOf) -> exp.Expr:
    kind = node.to.sql(dialect="duckdb")
    wanted = type_of(f"CAST(NULL AS {kind})")
    sql = _sql(node.this)
    return _raw(cast_sql(sql, type_of(sql), wanted, safe=bool(node.args.get("safe"))))


def _cast_to(node: exp.Expr, wanted: str, type_of: TypeOf) -> str:
    sql = _sql(node)
    return cast_sql(sql, type_of(sql), wanted)


def _concatenated(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """Values are cast to text, unless all are bytes; null if any is."""
    operands = node.expressions if isinstance(node, exp.Concat) else (node.this, node.args["expression"])
    parts = [_sql(operand) for operand in operands]
    types = [type_of(part) for part in parts]
    if set(types) != {"BLOB"}:
        parts = [cast_sql(part, given, "VARCHAR") for part, given in zip(parts, types, strict=True)]
    return _raw(f"({' || '.join(f'({part})' for part in parts)})")


def _substring(node: exp.Substring) -> exp.Expr:
    """The first character is number 1, and number 0 as well."""
    start = _sql(node.args["start"])
    first = start if start.isdigit() and start != "0" else f"CASE WHEN {start} = 0 THEN 1 ELSE {start} END"
    node.set("start", _raw(first))
    return node


def _raw(sql: str) -> exp.Expr:
    """A piece of DuckDB's SQL that is written as it is."""
    return exp.Var(this=f"({sql})" if sql.startswith("CASE") else sql)


def _sql(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb", comments=False)
