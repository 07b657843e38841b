"""Texts of users: conditions, searches, settings, layouts. Grammars make most of them valid."""

import zlib
from functools import cache, partial
from random import Random

from indextables import IndexTable
from indextables.config import Config, markdown
from indextables.layout import Layout
from indextables.predicate import bind, parse, to_sql
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.sample_table import SCHEMA, put_table
from tests.fuzz.target import Target, attempt

_LOCATION = "memory://fuzz/texts"
_COLUMNS = (*SCHEMA.names, "extra", "N", "`day`", "missing", "`a b`", "t.n", "_score")
_LITERALS = (
    "'mon'", "''", "'O''Brien'", "'%d\\_k%'", "NULL", "TRUE", "false", "0", "1", "-1", "5L", "3.5", "1e3", "7Y",
    "5BD", "-5S", "99999999999999999999", "1e999", "1" * 60, "1.5e-400", "DATE '1970-01-03'",
    "DATE '9999-12-31'", "DATE 'x'", "TIMESTAMP '1970-01-01T05:00:00Z'", "TIMESTAMP_NTZ '1970-01-01 05:00:00'",
    "X'00ff'", "X'0'", "'1970-01-02'", "r'a\\b'", "CAST('NaN' AS DOUBLE)", "CAST('1' AS DECIMAL(3,1))",
    "current_date()", "INTERVAL 1 DAY", "n", "(1)", "((2))", "- - 3", "'\\u0000'", "'\U0001f600'", "1D", "2F",
    "CAST(1 AS TINYINT)", "'NaN'", "'-Infinity'", "9223372036854775807", "-9223372036854775808", "0.1BD",
)  # fmt: skip
_OPERATORS = ("=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "==")
_TYPES = (
    "INT", "STRING", "DATE", "TIMESTAMP", "DOUBLE", "DECIMAL(5,1)", "BOOLEAN", "BINARY", "BIGINT",
    "TIMESTAMP_NTZ", "ARRAY<INT>",
)  # fmt: skip
_WORDS = (
    "disk", "full", "word1", "INFO", "mon", "5", "-5", "1970-01-02", "1970-01-01T05:00:00Z", "1.25", "NaN",
    "true", "é", "a*", "d?sk", "*", "wor*1", "\\*", "\\u0041", "AND", "x" * 300, "/", "\\", "0x1", "9" * 40,
    "1e400",
)  # fmt: skip
_PATTERNS = ("w.*", "[a-z]{2,4}", "(", "(a+)+$", "a{1000}{1000}", "d(is|x)k", ".*.*.*.*=", "\\p{L}+")


def _operand(rng: Random) -> str:
    column = rng.choice(_COLUMNS[:10] if rng.random() < 0.9 else _COLUMNS)
    kind = rng.random()
    if kind < 0.8:
        return column
    return f"{rng.choice(('CAST', 'TRY_CAST'))}({column} AS {rng.choice(_TYPES)})"


def _leaf(rng: Random) -> str:  # noqa: PLR0911 - one for each kind
    operand, literal = _operand(rng), rng.choice(_LITERALS)
    match rng.randrange(12):
        case 0:
            listed = ", ".join(rng.choice(_LITERALS) for _ in range(rng.randrange(5)))
            return f"{operand} {rng.choice(('', 'NOT '))}IN ({listed})"
        case 1:
            return f"{operand} {rng.choice(('', 'NOT '))}BETWEEN {literal} AND {rng.choice(_LITERALS)}"
        case 2:
            return f"{operand} IS {rng.choice(('', 'NOT '))}{rng.choice(('NULL', 'TRUE', 'FALSE', 'DISTINCT FROM 1'))}"
        case 3:
            escape = rng.choice(("", "", " ESCAPE chr", f" ESCAPE {literal}"))
            return f"{operand} {rng.choice(('', 'NOT '))}LIKE {literal}{escape}"
        case 4:
            return f"{rng.choice(('startswith', 'endswith', 'contains', 'upper'))}({operand}, {literal})"
        case 5:
            return f"{operand} INDEXQUERY '{_search(rng, 1).replace(chr(39), '')}'"
        case 6:
            return rng.choice(
                (f"* INDEXQUERY {literal}", f"indexquery({operand}, {literal})", operand, literal, "TRUE", "1 = 1")
            )
        case _:
            sides = [operand, literal]
            rng.shuffle(sides)
            return f"{sides[0]} {rng.choice(_OPERATORS)} {sides[1]}"


def _condition(rng: Random, depth: int) -> str:
    if depth <= 0 or rng.random() < 0.3:
        return _leaf(rng)
    match rng.randrange(4):
        case 0:
            return f"NOT ({_condition(rng, depth - 1)})"
        case 1:
            return f"({_condition(rng, depth - 1)})"
        case _:
            joint = f" {rng.choice(('AND', 'OR', 'and'))} "
            return joint.join(_condition(rng, depth - 1) for _ in range(rng.choice((2, 2, 3, 5))))


def _generate_predicate(rng: Random) -> bytes:
    kind = rng.random()
    if kind < 0.002:
        count, depth = rng.choice((10, 500, 5000)), rng.choice((10, 30, 3000))
        long = rng.choice((" OR ", " AND ")).join(f"{_leaf(rng)}" for _ in range(count))
        return rng.choice(
            (long, "(" * depth + "n = 1" + ")" * depth, "NOT " * depth + "ok", "-" * depth + "1 = n")
        ).encode()
    text = _condition(rng, rng.choice((0, 1, 2, 2, 3))).encode()
    return mutate_bytes(rng, text) if kind < 0.15 else text


@cache
def _table() -> IndexTable:
    put_table({}, _LOCATION)
    return IndexTable.open(_LOCATION)


def _run_predicate(data: bytes, *, every: bool = False) -> None:
    text = data.decode(errors="surrogateescape")
    predicate = attempt(lambda: parse(text))
    if predicate is not None:
        shown = to_sql(predicate)
        assert to_sql(parse(shown)) == shown, f"{text!r} is shown as {shown!r}"
        if attempt(lambda: bind(predicate, SCHEMA)) is None:
            return
    uses = (
        lambda: _table().scan(where=text).to_arrow(),
        lambda: _table().count(text),
        lambda: _table().scan(where=text).explain(),
        lambda: _table().drop_partitions(text, dry_run=True),
    )
    for number, use in enumerate(uses):
        if every or zlib.crc32(data) % 8 == number:
            attempt(use)


def _term(rng: Random) -> str:  # noqa: PLR0911 - one for each kind
    word = rng.choice(_WORDS)
    match rng.randrange(10):
        case 0:
            return f'"{word} {rng.choice(_WORDS)}"{rng.choice(("", "", "~2", "~99999999999"))}'
        case 1:
            return f"{rng.choice('[{')}{word} TO {rng.choice(_WORDS)}{rng.choice(']}')}"
        case 2:
            return f"{rng.choice(('<', '<=', '>', '>='))}{word}"
        case 3:
            return f"{word}~{rng.choice(('', '1', '2', '7', '0.5'))}"
        case 4:
            return f"/{rng.choice(_PATTERNS)}/"
        case 5:
            return f"{word}^{rng.choice(('2', '0.5', '0', '1e9', '99999999999999999999999999999999999999999'))}"
        case _:
            return word


def _search(rng: Random, depth: int) -> str:
    if depth <= 0 or rng.random() < 0.3:
        field = (
            ""
            if rng.random() < 0.2
            else rng.choice((*SCHEMA.names, "message", "message", "extra", "missing", "*", "N")) + ":"
        )
        return field + _term(rng)
    match rng.randrange(6):
        case 0:
            return f"{rng.choice(('NOT ', '-', '+', '!'))}{_search(rng, depth - 1)}"
        case 1:
            return f"{rng.choice(('', '', 'message:'))}({_search(rng, depth - 1)}){rng.choice(('', '^3'))}"
        case _:
            joint = rng.choice((" AND ", " OR ", " ", " && "))
            return joint.join(_search(rng, depth - 1) for _ in range(rng.choice((2, 2, 3, 5))))


def _generate_query(rng: Random) -> bytes:
    kind = rng.random()
    if kind < 0.002:
        count, depth = rng.choice((10, 500, 2000)), rng.choice((10, 60, 5000))
        long = rng.choice((" OR ", " AND ", " ")).join(_search(rng, 0) for _ in range(count))
        return rng.choice((long, "(" * depth + "disk" + ")" * depth, "-" * depth + "disk")).encode()
    text = _search(rng, rng.choice((0, 1, 2, 2, 3))).encode()
    return mutate_bytes(rng, text) if kind < 0.15 else text


def _run_query(data: bytes, *, every: bool = False) -> None:
    text = data.decode(errors="surrogateescape")
    uses = (
        lambda: _table().search(text, limit=3),
        lambda: _table().scan(query=text).to_arrow(),
        lambda: _table().count(query=text),
    )
    for number, use in enumerate(uses):
        if every or zlib.crc32(data) % len(uses) == number:
            attempt(use)


@cache
def _keys() -> tuple[str, ...]:
    found = [
        part.strip("`") for line in markdown().splitlines() if line.startswith("| `") for part in line.split("|")[1:2]
    ]
    return (*(key.strip().strip("`") for key in found), "partitionBy", "replaceWhere", "mergeSchema", "own.key")


_VALUES = (
    "", "0", "1", "-1", "true", "FALSE", " yes ", "1.5", "1e9", "9" * 30, "9" * 5000, "512K", "1.5G", "0.0001T",
    "7 days", "99999999999 days", "1h", "-1 s", "n", "n, level", ",", "text", "text:xx", "bucket(4, n)",
    "day(ts), n", "NaN", "inf", "\0", "é", "../..", "/proc/x", "static", "dynamic", "http://x", "\u0661", "²",
    "1_000", "a" * 10_000,
)  # fmt: skip


def _generate_options(rng: Random) -> bytes:
    lines = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        key, value = rng.choice(_keys()), rng.choice(_VALUES)
        if rng.random() < 0.15:
            key = mutate_bytes(rng, key.encode()).decode(errors="replace")
        if rng.random() < 0.15:
            value = mutate_bytes(rng, value.encode()).decode(errors="replace")
        lines.append(f"{key.replace('<column>', 'n')}={value}".replace("\n", ""))
    return "\n".join(lines).encode()


def _run_options(data: bytes, *, every: bool = False) -> None:
    given = dict(line.partition("=")[::2] for line in data.decode(errors="surrogateescape").splitlines())
    attempt(lambda: Config.resolve(given))
    attempt(lambda: Config.resolve({}, properties=given))
    attempt(lambda: Layout.parse(",".join(given.values())).bind(SCHEMA))
    if every or zlib.crc32(data) % 8 == 0:
        put_table({}, _LOCATION)
        attempt(lambda: IndexTable.open(_LOCATION).set_properties(given))
        attempt(lambda: IndexTable.create("memory://fuzz/new", SCHEMA, properties=given))


PREDICATE = Target("predicate", _generate_predicate, _run_predicate, partial(_run_predicate, every=True))
QUERY = Target("query", _generate_query, _run_query, partial(_run_query, every=True))
OPTIONS = Target("options", _generate_options, _run_options, partial(_run_options, every=True))


def condition_text(rng: Random) -> str:
    return _generate_predicate(rng).decode(errors="replace")


def search_text(rng: Random) -> str:
    return _generate_query(rng).decode(errors="replace")


def setting_text(rng: Random) -> str:
    return _generate_options(rng).decode(errors="replace").partition("\n")[0]
