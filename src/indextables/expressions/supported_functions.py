"""What an expression may be made of: nodes of sqlglot whose results in DuckDB are those of Spark.

A function that is not listed is refused: under one name, two engines may compute different things.
`tests/spark/test_expression_results.py` compares each with Spark's results.
"""

from sqlglot import exp

_SYNTAX = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var, exp.Interval, exp.IntervalSpan,
    exp.And, exp.Or, exp.Not, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between,
    exp.Like, exp.ILike, exp.Escape, exp.RegexpLike, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType,
    exp.DataTypeParam, exp.DPipe, exp.HexString, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot,
)  # fmt: skip
_FUNCTIONS = (
    exp.Abs, exp.AddMonths, exp.Ceil, exp.Coalesce, exp.Concat, exp.Contains, exp.CurrentDate, exp.CurrentTimestamp,
    exp.DateDiff, exp.Day, exp.DayOfYear, exp.EndsWith, exp.Exp, exp.Floor, exp.Greatest, exp.Hour, exp.IsNan, exp.Least,
    exp.Left, exp.Length, exp.Ln, exp.Lower, exp.MD5, exp.Minute, exp.Month, exp.Nullif, exp.Pow, exp.Quarter,
    exp.RegexpReplace, exp.Repeat, exp.Replace, exp.Reverse, exp.Right, exp.Round, exp.Second, exp.Sign, exp.Sqrt,
    exp.StartsWith, exp.StrPosition, exp.Substring, exp.Trim, exp.TsOrDsAdd, exp.TsOrDsToDate, exp.Upper, exp.Year,
)  # fmt: skip
BY_NAME = frozenset({"isnull", "isnotnull", "now"})
"""Functions that sqlglot has no class for."""
NAMES = (
    "abs, add_months, ceil, coalesce, concat, contains, current_date, current_timestamp, date_add, date_sub, datediff, day, "
    "dayofyear, endswith, exp, floor, greatest, hour, if, ifnull, instr, isnan, isnotnull, isnull, least, left, length, ln, "
    "lower, md5, minute, month, now, nullif, nvl, power, quarter, regexp_replace, repeat, replace, reverse, right, round, "
    "second, sign, sqrt, startswith, substring, to_date, trim, upper, year"
)
_NON_DETERMINISTIC = frozenset(
    {
        "rand",
        "randn",
        "random",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "gen_random_uuid",
    }
)


def is_supported(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return name_of(node) in BY_NAME
    return type(node) in _SYNTAX or type(node) in _FUNCTIONS


def is_non_deterministic(node: exp.Expr) -> bool:
    """Whether it is a function that gives another result each time: the rows could not be computed again."""
    return isinstance(node, exp.Func) and name_of(node) in _NON_DETERMINISTIC


def name_of(node: exp.Expr) -> str:
    """The name of a function, or what a construct is called."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()
