import pickle

import pyarrow as pa
import pytest

from indextables.errors import SchemaError
from indextables.search import FieldRule, resolve

SCHEMA = pa.schema({"Message": pa.large_string(), "n": pa.int64(), "price": pa.decimal128(9, 2), "raw": pa.binary()})


def test_every_column_has_a_rule() -> None:
    assert {name: str(rule) for name, rule in resolve(SCHEMA).items()} == {
        "Message": "string",
        "n": "long",
        "price": "decimal(9,2)",
        "raw": "none",
    }


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"message": "text"}, FieldRule("text", "default")),
        ({"MESSAGE": "Text:Whitespace"}, FieldRule("text", "whitespace")),
        ({"Message": FieldRule("text")}, FieldRule("text", "default")),
        ({"Message": "string"}, FieldRule("string")),
        ({"Message": " none "}, FieldRule("none")),
    ],
)
def test_a_given_rule_decides(given: dict[str, str | FieldRule], rule: FieldRule) -> None:
    assert resolve(SCHEMA, given)["Message"] == rule


def test_other_columns_may_say_what_they_are_or_be_left_out() -> None:
    rules = resolve(SCHEMA, {"n": "long", "price": "none", "raw": "none"})
    assert (rules["n"], rules["price"], rules["raw"]) == (FieldRule("long"), FieldRule("none"), FieldRule("none"))


def test_types_of_the_index_are_synonyms() -> None:
    kinds = {
        pa.bool_(): "i64",
        pa.int32(): "I64",
        pa.int64(): "i64",
        pa.timestamp("us", "UTC"): "i64",
        pa.timestamp("us"): "i64",
    }
    kinds |= {pa.float32(): "f64", pa.float64(): "f64", pa.binary(): "bytes", pa.date32(): "date"}
    schema = pa.schema([pa.field(f"c{number}", kind) for number, kind in enumerate(kinds)])
    assert resolve(schema, dict(zip(schema.names, kinds.values(), strict=True))) == resolve(schema)


@pytest.mark.parametrize(
    ("given", "column", "message"),
    [
        ({"mesage": "text"}, "mesage", "did you mean 'Message'"),
        ({"zzz": "text"}, "zzz", "the table has Message, n, price, raw"),
        ({"n": "text"}, "n", "has type long and cannot be indexed as 'text'; use long or none"),
        ({"raw": "string"}, "raw", "use none"),
        ({"n": "f64"}, "n", "has type long and cannot be indexed as 'f64'; use long or none"),
        ({"message": "bytes"}, "Message", "use text, string or none"),
        ({"message": "keyword"}, "Message", "use text, string or none"),
        ({"message": "string:default"}, "Message", "cannot be indexed as 'string"),
        ({"message": "text:klingon"}, "Message", "use default, en_stem, raw, whitespace"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, str], column: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as error:
        resolve(SCHEMA, given)
    assert error.value.column == column


def test_rules_travel() -> None:
    rules = resolve(SCHEMA)
    assert pickle.loads(pickle.dumps(rules)) == rules
