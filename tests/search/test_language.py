import pickle

import pyarrow as pa
import pytest

from indextables.errors import IndexTablesError, SearchQueryError
from indextables.search import fields, parse, resolve, to_text
from indextables.search.queries import (
    And,
    Boost,
    Exists,
    Fuzzy,
    MatchAll,
    MatchNone,
    Not,
    Or,
    Phrase,
    Prefer,
    Prefix,
    Query,
    Range,
    Regex,
    Term,
    Wildcard,
)

SCHEMA = pa.schema(
    {
        "Message": pa.string(),
        "stem": pa.string(),
        "level": pa.string(),
        "status": pa.int32(),
        "ratio": pa.float32(),
        "ok": pa.bool_(),
        "price": pa.decimal128(9, 2),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "odd name": pa.string(),
        "hidden": pa.string(),
        "raw": pa.binary(),
    }
)
RULES = resolve(SCHEMA, {"message": "text", "stem": "text:en_stem", "hidden": "none"})
A, B, C = (Term("Message", letter) for letter in "abc")
ERROR = Term("level", "ERROR")


def read(text: str, *default_fields: str) -> Query:
    return parse(text, schema=SCHEMA, rules=RULES, default_fields=default_fields or ("message",))


def value(column: str, text: str) -> pa.Scalar:
    return pa.scalar(text).cast(SCHEMA.field(column).type)


def equal(column: str, text: str) -> Range:
    return Range(column, value(column, text), value(column, text))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a", A),
        ("MESSAGE:A", A),
        ("level:ERROR", ERROR),
        ("level:error", Term("level", "error")),
        ('level:"a b"', Term("level", "a b")),
        (r"level:a\ b", Term("level", "a b")),
        (r"odd\ name:x", Term("odd name", "x")),
        ('level:""', Term("level", "")),
        ("a-b", Phrase("Message", ("a", "b"))),
        ('"a, B"', Phrase("Message", ("a", "b"))),
        ('"a b c"~2', Phrase("Message", ("a", "b", "c"), 2)),
        ('"a"~2', A),
        ("stem:Running", Term("stem", "run")),
        ("stem:runn*", Prefix("stem", "runn")),
        ("A*", Prefix("Message", "a")),
        ("level:A*", Prefix("level", "A")),
        (r"level:\*a*", Prefix("level", "*a")),
        (r"level:a\*b?", Wildcard("level", r"a\*b?")),
        ("T?st*x", Wildcard("Message", "t?st*x")),
        (r"level:a\*", Term("level", "a*")),
        ("level:*", Exists("level")),
        ("level:[* TO *]", Exists("level")),
        ("status:*", Exists("status")),
        ("*:*", MatchAll()),
        ("/a[bc]+/", Regex("Message", "a[bc]+")),
        (r"level:/a\/b/", Regex("level", "a/b")),
        ("roam~", Fuzzy("Message", "roam", 2)),
        ("ROAM~1", Fuzzy("Message", "roam", 1)),
        ("a~0", A),
        ("status:200", equal("status", "200")),
        ("status:-5", equal("status", "-5")),
        ("status:(200 OR 404)", Or((equal("status", "200"), equal("status", "404")))),
        ("status:[500 TO 599]", Range("status", value("status", "500"), value("status", "599"))),
        ("status:{-5 TO 5]", Range("status", value("status", "-5"), value("status", "5"), includes_lower=False)),
        ("status:>=500", Range("status", value("status", "500"), None)),
        ("status:>500", Range("status", value("status", "500"), None, includes_lower=False)),
        ("status:<=-10", Range("status", None, value("status", "-10"))),
        ("status:{* TO 10}", Range("status", None, value("status", "10"), includes_upper=False)),
        ("ratio:0.1", equal("ratio", "0.1")),
        ("ok:True", Range("ok", pa.scalar(True), pa.scalar(True))),
        ("price:1.10", equal("price", "1.10")),
        ("day:2024-02-29", equal("day", "2024-02-29")),
        ("ts:2024-01-01T10:00:00Z", equal("ts", "2024-01-01T10:00:00Z")),
        ('ts:"2024-01-01 10:00:00"', equal("ts", "2024-01-01T10:00:00Z")),
        ("ts:>2024-01-01", Range("ts", value("ts", "2024-01-01T00:00:00Z"), None, includes_lower=False)),
        ("level:[a TO b}", Range("level", pa.scalar("a"), pa.scalar("b"), includes_upper=False)),
        ("a b", Or((A, B))),
        ("a OR b", Or((A, B))),
        ("a || b", Or((A, B))),
        ("a AND b", And((A, B))),
        ("a && b", And((A, B))),
        ("a AND b OR c", Or((And((A, B)), C))),
        ("a OR b AND c", Or((A, And((B, C))))),
        ("(a OR b) AND c", And((Or((A, B)), C))),
        ("NOT a", Not(A)),
        ("!a", Not(A)),
        ("-a", Not(A)),
        ("NOT (NOT a)", Not(Not(A))),
        ("a AND NOT b", And((A, Not(B)))),
        ("a NOT b", And((A, Not(B)))),
        ('!"a b"', Not(Phrase("Message", ("a", "b")))),
        ('NOT"a b"', Not(Phrase("Message", ("a", "b")))),
        ("NOT(a)", Not(A)),
        ("!/a.*/", Not(Regex("Message", "a.*"))),
        ('"a b"&&"b c"', And((Phrase("Message", ("a", "b")), Phrase("Message", ("b", "c"))))),
        ("(a)&&!(b)", And((A, Not(B)))),
        ("NOT/a.*/", Not(Regex("Message", "a.*"))),
        ("/a/||/b/", Or((Regex("Message", "a"), Regex("Message", "b")))),
        ('a"b c"', Or((A, Phrase("Message", ("b", "c"))))),
        ("a!b", And((A, Not(B)))),
        ("a OR b -c", And((Or((A, B)), Not(C)))),
        ("a OR b +c", Prefer(C, (A, B))),
        ("a AND b +c", And((A, B, C))),
        ("+a OR NOT b", And((A, Not(B)))),
        ("NOT a OR b", Or((Not(A), B))),
        ("a^2~1", Boost(Fuzzy("Message", "a", 1), 2.0)),
        ("a~1^2", Boost(Fuzzy("Message", "a", 1), 2.0)),
        ("(a^2)^3", Boost(Boost(A, 2.0), 3.0)),
        ("a/b", Phrase("Message", ("a", "b"))),
        (r"\u0061 \b", Or((A, B))),
        (r"level:\u0041*", Prefix("level", "A")),
        ("ts:2024-01-01T10:00:00.5+02:00", equal("ts", "2024-01-01T08:00:00.5Z")),
        ('status:[ "1" TO 2 ]', Range("status", value("status", "1"), value("status", "2"))),
        ("level:[TO TO \\]x]", Range("level", pa.scalar("TO"), pa.scalar("]x"))),
        ("level:>=a", Range("level", pa.scalar("a"), None)),
        ('level:<"a b"', Range("level", None, pa.scalar("a b"), includes_upper=False)),
        ("TO", Term("Message", "to")),
        ("ANDa", Term("Message", "anda")),
        ("a -b", And((A, Not(B)))),
        ("a && !b", And((A, Not(B)))),
        ("a OR NOT b", Or((A, Not(B)))),
        ("NOT (a OR b)", Not(Or((A, B)))),
        ("-a -b", And((Not(A), Not(B)))),
        ("+a b", Prefer(A, (B,))),
        ("+a b -c", Prefer(And((A, Not(C))), (B,))),
        ("+a +b", And((A, B))),
        ("level:(+ERROR -x)", And((ERROR, Not(Term("level", "x"))))),
        ("a^2 b", Or((Boost(A, 2.0), B))),
        ("a AND level:ERROR", And((A, ERROR))),
        ('a AND "--"', A),
        ('"--"', MatchNone()),
        ("NOT *:*", MatchNone()),
        ("and or not", Or((Term("Message", "and"), Term("Message", "or"), Term("Message", "not")))),
        (r"level:\= OR level:a\=\'b", Or((Term("level", "="), Term("level", "a='b")))),
        ("日本 é", Or((Term("Message", "日本"), Term("Message", "é")))),
    ],
)
def test_what_a_text_says(text: str, query: Query) -> None:
    assert read(text) == query
    assert read(to_text(query)) == query
    assert pickle.loads(pickle.dumps(query)) == query


def test_words_without_a_field_are_looked_for_in_all_text_fields() -> None:
    query = parse("running", schema=SCHEMA, rules=RULES)
    assert query == Or((Term("Message", "running"), Term("stem", "run")))


def test_a_star_alone_is_every_row_or_every_value_of_the_given_fields() -> None:
    assert parse("*", schema=SCHEMA, rules=RULES) == MatchAll()
    assert read("*", "level") == Exists("level")


def test_several_default_fields() -> None:
    assert read("a", "message", "level") == Or((A, Term("level", "a")))


@pytest.mark.parametrize(
    ("text", "reason", "position", "field"),
    [
        ("", "it is empty", None, None),
        (" \n ", "it is empty", None, None),
        ("(a", "something is missing at its end", 2, None),
        ("a AND", "something is missing at its end", 5, None),
        ("a)", r"'\)' is not expected here", 1, None),
        ("AND a", "'AND' is not expected", 0, None),
        ('a "b', "the quote is not closed", 2, None),
        ('failure"', "the quote is not closed", 7, None),
        ("a /b", "the regular expression is not closed; put a text with slashes in quotes", 2, None),
        ("stem:/ad*", r"is not closed; to search for a text with slashes, write \\/ad\*$", 5, None),
        (r"(/a\/b/c?)", r"ends before it; to search for a text with slashes, write \\/a\\/b\\/c\?$", 7, None),
        ("a\\", "a backslash takes the meaning from the character after it, and there is none", 1, None),
        ('level="disk full"', 'write field:"value" to search a column', 0, None),
        ("level!=ERROR", "there is no !=; write NOT field:value", 5, None),
        ("level:'ERROR'", "a text is put in double quotes, not in single ones", 6, None),
        ("a&&b", "put spaces around &&", 1, None),
        ('"a b"||c', r"put spaces around \|\|", 5, None),
        (r"a\&&&b", "put spaces around &&", 3, None),
        ("a ! b", "'!' stands alone; write !word without a space", 2, None),
        ("a - b", "'-' stands alone", 2, None),
        ("--a", "'-' is not expected here", 1, None),
        ("NOT NOT a", "'NOT' is not expected here", 4, None),
        ("a^-1", "a boost is a number above zero", 1, None),
        ("a^ 2", "a boost is a number above zero", 1, None),
        ("a^2b", "a boost is a number above zero, as in word\\^2; put a space after it", 3, None),
        ("a^2^3", r"'\^3' is not expected here", 3, None),
        ("a~b", "a distance is a number, as in word~1; put a space after it", 2, None),
        ("a*~1", "a word with wildcards has no distance", 2, None),
        ("/a/~1", "a distance follows a word or a text in quotes", 3, None),
        ('"a b"~', "a distance is a number of words", 5, None),
        ('"a b"~1.5', "a distance is a number of words", 5, None),
        ("/api/v1/users", "a regular expression ends before it; put a text with slashes in quotes", 5, None),
        ("status:> 500", "a value follows '>' without a space", 7, None),
        ("status:<>500", "'>' is not expected here", 8, None),
        ("status:>==500", "a comparison is <, <=, > or >= and one value", 9, None),
        ("status:>5*", "a comparison is <, <=, > or >= and one value", 8, None),
        ("status:[1 TO 2", r"a range is written \[a TO b\]", 7, None),
        ("status:[1 2]", r"a range is written \[a TO b\]", 7, None),
        ("level:NOT a", "write the sign before the field, or NOT level:", 6, None),
        ("level:AND", "'AND' is not expected here", 6, None),
        ("()", r"'\)' is not expected here", 1, None),
        (r"a\u00", "four hexadecimal digits", 1, None),
        (r"a \ud800", "four hexadecimal digits", 2, None),
        ("statos:1", "there is no field 'statos'; did you mean 'status'", 0, "statos"),
        ('a "Odd Name":1', r"a field is written without quotes: Odd\\ Name:\.\.\.", 2, None),
        ("`odd name$`:1", r"a field is written without backticks: odd\\ name\$:\.\.\.", 5, "name$`"),
        (
            "message.user.id:148",
            'searched by its words, as in Message:"id 148", or by json_extract_string',
            0,
            "message.user.id",
        ),
        (
            "a level.id:x",
            r"is found by json_extract_string\(level, '\$.id'\) = 'x' in the SQL of `indextables sql`",
            2,
            "level.id",
        ),
        ("a zzz:1", "Fields are Message, stem, level, status, ratio, ok, price, day, ts, odd\\\\ name$", 2, "zzz"),
        ("hidden:a", "the column 'hidden' is not indexed", 0, "hidden"),
        ("raw:a", "the column 'raw' is not indexed", 0, "raw"),
        ("status:abc", "'abc' is not a value of type integer", 7, "status"),
        ("status:99999999999", "is not a value of type integer", 7, "status"),
        ("status:[1 TO x]", "'x' is not a value", 7, "status"),
        ("price:1.105", "is not a value of type decimal", 6, "price"),
        ("day:2023-02-29", "is not a value of type date", 4, "day"),
        ("ok:yes", "is not a value of type boolean", 3, "ok"),
        ("status:5*", "a wildcard needs a column of strings, and 'status' has type integer", 7, "status"),
        ("status:/5/", "a regular expression needs a column of strings", 7, "status"),
        ("status:5~1", "a fuzzy search needs a column of strings", 7, "status"),
        ('level:"a b"~2', "a distance between words needs a text field", 6, "level"),
        ("a~3", "up to 2 changes, not 3", 0, "Message"),
        ("a~1.5", "a distance is 0, 1 or 2 changes", 1, None),
        ("a^0", "a boost is a number above zero, up to 1,000,000,000, not 0", 1, None),
        ("/(/", "unclosed group", 0, "Message"),
        ("/^a$/", "cannot be searched for", 0, "Message"),
        ("level:-a", "write the sign before the field", 6, "level"),
        ("ts:10:20", "a value with a colon in it needs quotes", 3, None),
        ("*:a", "the only search in a field named", 2, "*"),
        ("x" * 40, "a word that long cannot be searched for", 0, "Message"),
        ('"' + "a " * 8 + '"~9', "8 words with a distance of 9 are too many", 0, "Message"),
        ("stem:" + "nationaliz" * 4 + "ing", "a word that long cannot be searched for", 5, "stem"),
        ("level:" + "x" * 32_767, "a word that long cannot be searched for", 6, "level"),
        ("a" * 300_000, "it has 300,000 characters", None, None),
        ("a " * 20_000, "more than 16,000 words", None, None),
        ("(" * 60 + "a" + ")" * 60, "nested more than 50 deep", None, None),
        ("a \ud800", "a surrogate", None, None),
    ],
)
def test_what_cannot_be_read_is_said(text: str, reason: str, position: int | None, field: str | None) -> None:
    with pytest.raises(SearchQueryError, match=reason) as error:
        read(text)
    assert (error.value.query, error.value.position, error.value.field) == (text, position, field)
    assert isinstance(error.value, IndexTablesError)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a zzz:1", "zzz"),
        (r"a z\ z:1", r"z\ z"),
        ("status:abc OR a", "abc"),
        ("status:[1 TO x] a", "[1 TO x]"),
        ('a "b c', '"'),
        ("a AND", ""),
        ("a ) b", ")"),
        ("/(/ b", "/(/"),
        ("😀 zzz:1", "zzz"),
    ],
)
def test_the_mistake_is_marked_from_its_start_to_its_end(text: str, wrong: str) -> None:
    with pytest.raises(SearchQueryError) as error:
        read(text)
    assert text[error.value.position : error.value.end] == wrong
    assert error.value.end is not None


def test_without_text_columns_a_word_needs_a_field() -> None:
    schema = pa.schema({"n": pa.int64(), "level": pa.string(), "message": pa.string()})
    with pytest.raises(
        SearchQueryError, match="the table has none. Indexed as exact values: message, level; "
    ) as error:
        parse("level:x AND a", schema=schema, rules=resolve(schema))
    assert error.value.position == 12
    assert "message:*word* values that contain it" in str(error.value)
    assert "SET INDEXING (message = text), or `indextables set-indexing TABLE message=text`" in str(error.value)
    schema = pa.schema({"level": pa.string(), "message_id": pa.string()})
    with pytest.raises(
        SearchQueryError, match=r"level, message_id; there, COLUMN:word .* SET INDEXING \(COLUMN = text\)"
    ):
        parse("a", schema=schema, rules=resolve(schema))
    schema = pa.schema({"n": pa.int64()})
    with pytest.raises(SearchQueryError, match="the table has none; write field:value. Fields are n"):
        parse("a", schema=schema, rules=resolve(schema))


def test_a_query_names_its_columns() -> None:
    assert fields(read("+a b -level:x AND status:>5")) == {"Message", "level", "status"}
