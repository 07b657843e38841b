import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from indextables.errors import ConfigError, SchemaError
from indextables.predicate import Column, In, bind, evaluate, parse
from indextables.predicate.literals import literal
from indextables.read.index_lookup import look_up, point_conditions
from indextables.search import resolve
from indextables.search.queries import Exists, Prefix, Range, Term, Wildcard
from indextables.split import SplitOptions, SplitReader, exact_index
from indextables.split.exact_index import (
    DictionaryIndex,
    HashIndex,
    Kind,
    build,
    choose,
    is_hashable,
    kinds,
    parse_index,
)
from tests.split.samples import EVERY_TYPE, query, reader, split_of, write

TYPES = [name for name in EVERY_TYPE.column_names if not pa.types.is_binary(EVERY_TYPE[name].type)]
HASHABLE = [name for name in TYPES if is_hashable(EVERY_TYPE[name].type)]


def repeated(name: str, rows: int = 90) -> pa.ChunkedArray:
    """The values of a column over and over, null among them, in two chunks."""
    values = EVERY_TYPE[name].combine_chunks()
    picked = random.Random(name).choices(range(len(values)), k=rows)
    return pa.chunked_array([values.take(picked[:40]), values.take(picked[40:])])


def rows_with(column: pa.ChunkedArray, value: Any) -> list[int]:
    """By the text of a value: NaN is equal to itself, and zero to itself with another sign."""
    same = {"-0.0": "0.0"}
    wanted = same.get(str(value), str(value))
    return [n for n, found in enumerate(column.to_pylist()) if same.get(str(found), str(found)) == wanted]


@pytest.mark.parametrize("name", TYPES)
def test_a_dictionary_index_of_every_type(name: str) -> None:
    column = repeated(name)
    built = build(column, Kind.DICTIONARY)
    assert isinstance(built, DictionaryIndex)
    for index in (built, parse_index(built.to_bytes())):
        assert isinstance(index, DictionaryIndex)
        assert index.rows_of(Exists(name)).tolist() == np.flatnonzero(column.is_valid()).tolist()
        for value in EVERY_TYPE[name].drop_null().unique():
            assert index.rows_with(pa.array([value], column.type)).tolist() == rows_with(column, value)
        assert index.rows_with(pa.array([], column.type)).tolist() == []
        assert (
            index.rows_with(EVERY_TYPE[name].drop_null().combine_chunks()).tolist()
            == index.rows_of(Exists(name)).tolist()
        )


@pytest.mark.parametrize("name", HASHABLE)
def test_a_hash_index_of_every_type(name: str) -> None:
    column = repeated(name)
    built = build(column, Kind.HASH)
    assert isinstance(built, HashIndex)
    for index in (built, parse_index(built.to_bytes())):
        assert isinstance(index, HashIndex)
        for value in EVERY_TYPE[name].drop_null():
            assert index.candidates(pa.array([value], column.type)).tolist() == rows_with(column, value)
        assert index.candidates(pa.array([], column.type)).tolist() == []
        every = EVERY_TYPE[name].combine_chunks()
        assert index.candidates(every).tolist() == np.flatnonzero(column.is_valid()).tolist()


@pytest.mark.parametrize("kind", [Kind.DICTIONARY, Kind.HASH])
@pytest.mark.parametrize("name", [name for name in HASHABLE if name != "message"])  # it has words
def test_a_split_finds_every_value(tmp_path: Path, name: str, kind: Kind) -> None:
    rows = pa.table({name: repeated(name), "n": range(90)})
    split = split_of(rows, tmp_path, options=SplitOptions(exact={name: kind, "n": Kind.NONE}))
    assert split.footer.index.exact[name].kind == kind
    for value in EVERY_TYPE[name].drop_null():
        found = split.candidates(name, pa.array([value], rows[name].type))
        assert found is not None
        assert found.tolist() == rows_with(rows[name], value)


def test_no_index_of_nothing_but_nulls() -> None:
    column = pa.chunked_array([pa.nulls(9, pa.string())])
    assert build(column, Kind.DICTIONARY) is build(column, Kind.HASH) is None
    assert build(pa.chunked_array([["a"]]), Kind.NONE) is None


def test_queries_on_a_dictionary() -> None:
    index = build(pa.chunked_array([["b", "ab", None, "abc", "b"]]), Kind.DICTIONARY)
    assert isinstance(index, DictionaryIndex)
    assert index.rows_of(Term("c", "b")).tolist() == [0, 4]
    assert index.rows_of(Term("c", "x")).tolist() == []
    assert index.rows_of(Prefix("c", "ab")).tolist() == [1, 3]
    assert index.rows_of(Wildcard("c", "*b")).tolist() == [0, 1, 4]
    assert index.rows_of(Range("c", pa.scalar("abc"), None)).tolist() == [0, 3, 4]


@pytest.mark.parametrize("data", [b"", b"no stream", b"\xff" * 40])
def test_bytes_that_are_no_index(data: bytes) -> None:
    with pytest.raises((OSError, ValueError)):
        parse_index(pa.py_buffer(data))


def dictionary(values: pa.Array, rows: list[list[int]]) -> exact_index.ExactIndex:
    lists = pa.array(rows, pa.list_(pa.uint8()))
    return exact_index.DictionaryIndex.of(pa.record_batch({"value": values, "rows": lists}))


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (dictionary(pa.array([1]), [[0]]), "values of type int64"),
        (dictionary(pa.array(["a", None]), [[0], [1]]), "or nulls"),
        (dictionary(pa.array(["a"]), [[3]]), "rows that are not there"),
        (dictionary(pa.array(["a", "b"]), [[], [0]]), "do not follow each other"),
    ],
)
def test_an_index_of_another_column(index: exact_index.ExactIndex, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        exact_index.checked_index(index, pa.string(), num_rows=3)


def test_offsets_that_lead_nowhere() -> None:
    """Arrow would follow them, and the process would end."""
    built = dictionary(pa.array(["a", "b"]), [[0], [1]])
    data = bytearray(built.to_bytes())
    at = data.rindex((1).to_bytes(4, "little") + (2).to_bytes(4, "little"))
    data[at : at + 4] = (2**30).to_bytes(4, "little")
    with pytest.raises(ValueError, match="offset"):
        parse_index(pa.py_buffer(bytes(data)))


def test_a_stream_of_another_kind() -> None:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"a": [1]}).replace_schema_metadata({b"kind": b"tree"})
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    with pytest.raises(ValueError, match="an unknown kind 'tree'"):
        parse_index(sink.getvalue())


MANY = 5000
SHUFFLED = random.Random(1).sample(range(MANY), MANY)
COLUMNS = [
    ("few rows", pa.array([f"{n}" for n in SHUFFLED[:4095]]), Kind.NONE),
    ("enough rows", pa.array([f"{n}" for n in SHUFFLED[:4096]]), Kind.HASH),
    ("few values", pa.array([f"{n % 256}" for n in SHUFFLED]), Kind.NONE),
    ("strings that repeat", pa.array([f"{n % 1000}" for n in SHUFFLED]), Kind.DICTIONARY),
    ("strings that repeat a little", pa.array([f"{n % 2000}" for n in SHUFFLED]), Kind.HASH),
    ("unique strings", pa.array([f"{n}" for n in SHUFFLED]), Kind.HASH),
    ("unique strings in order", pa.array([f"{n:05}" for n in range(MANY)]), Kind.NONE),
    ("unique strings with nulls", pa.array([None if n % 9 == 0 else f"{n}" for n in SHUFFLED]), Kind.HASH),
    ("ids", pa.array(SHUFFLED, pa.int64()), Kind.HASH),
    ("ids in order", pa.array(range(MANY), pa.int64()), Kind.NONE),
    ("ids in order but for the last", pa.array([*range(1, MANY), 0], pa.int64()), Kind.HASH),
    ("ids in order with a null", pa.array([None, *range(MANY)], pa.int64()), Kind.HASH),
    ("small ids", pa.array(SHUFFLED, pa.int16()), Kind.HASH),
    ("numbers that repeat", pa.array([n % 2000 for n in SHUFFLED]), Kind.NONE),
    ("unique decimals", pa.array(SHUFFLED).cast(pa.decimal128(19, 0)), Kind.HASH),
    ("floats", pa.array(SHUFFLED, pa.float64()), Kind.NONE),
    ("timestamps", pa.array(SHUFFLED, pa.timestamp("us")), Kind.NONE),
    ("dates", pa.array(SHUFFLED, pa.date32()), Kind.NONE),
    ("booleans", pa.array([n % 2 == 0 for n in SHUFFLED]), Kind.NONE),
    ("bytes", pa.array([f"{n}".encode() for n in SHUFFLED]), Kind.NONE),
    ("nothing but nulls", pa.nulls(MANY, pa.string()), Kind.NONE),
]


@pytest.mark.parametrize(("column", "kind"), [case[1:] for case in COLUMNS], ids=[case[0] for case in COLUMNS])
def test_the_kind_that_is_chosen(column: pa.Array, kind: Kind) -> None:
    chunks = pa.chunked_array([column.slice(0, 100), column.slice(100)])
    assert choose(chunks) is kind
    index = build(chunks, Kind.AUTO)
    assert (Kind.NONE if index is None else index.kind) is kind


SCHEMA = pa.schema(
    {"id": pa.int64(), "Name": pa.string(), "a.b": pa.string(), "text": pa.string(), "price": pa.float64()}
)
RULES = resolve(SCHEMA, {"text": "text", "a.b": "none"})


def test_settings() -> None:
    given = {"ID": "hash", "name": " Dictionary ", "price": "none", "text": "auto", "a.b": "NONE"}
    assert kinds(given, SCHEMA, RULES) == {
        "id": Kind.HASH,
        "Name": Kind.DICTIONARY,
        "price": Kind.NONE,
        "text": Kind.AUTO,
        "a.b": Kind.NONE,
    }
    assert kinds({}, SCHEMA, RULES) == {}
    assert kinds({"price": "dictionary"}, SCHEMA, RULES) == {"price": Kind.DICTIONARY}


@pytest.mark.parametrize(
    ("column", "text", "kind", "words"),
    [
        ("nme", "hash", SchemaError, "there is no column 'nme' to index; .*Name"),
        ("id", "btree", ConfigError, "indexing.exact.id is 'btree'; use auto, dictionary, hash, none"),
        ("id", "", ConfigError, "indexing.exact.id is ''; use"),
        ("price", "hash", SchemaError, "column 'price' has type double and cannot have a hash index; use dictionary"),
        ("text", "hash", SchemaError, "column 'text' is indexed as .* and has no exact index; leave"),
        ("text", "dictionary", SchemaError, "has no exact index"),
        ("a.b", "hash", SchemaError, "column 'a.b' is indexed as .* and has no exact index"),
    ],
)
def test_settings_that_are_refused(column: str, text: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        kinds({column: text}, SCHEMA, RULES)


@pytest.fixture
def _few_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few that many values share one."""
    monkeypatch.setattr(exact_index, "_HASHES", 4)


@pytest.fixture
def collisions(tmp_path: Path, _few_hashes: None) -> SplitReader:
    rows = pa.table({"id": pa.array([*SHUFFLED[:300], None]), "name": [*(f"name {n}" for n in SHUFFLED[:300]), None]})
    path = tmp_path / "a.split"
    return reader(path, write(rows, path, options=SplitOptions(exact={"id": Kind.HASH, "name": Kind.HASH})))


def test_values_with_the_same_hash_are_told_apart(collisions: SplitReader) -> None:
    for place in (0, 7, 299):
        number = SHUFFLED[place]
        candidates = collisions.candidates("id", pa.array([number]))
        assert candidates is not None
        assert place in candidates
        assert len(candidates) > 20
        assert collisions.search(query(collisions, f"id:{number}")).tolist() == [place]
        assert collisions.search(Term("name", f"name {number}")).tolist() == [place]
        assert collisions.count(query(collisions, f"id:{number}")) == 1
    missing = next(n for n in range(MANY) if n not in SHUFFLED[:300])
    assert collisions.search(query(collisions, f"id:{missing}")).tolist() == []
    assert collisions.search(query(collisions, f"NOT id:{SHUFFLED[5]}")).tolist() == [n for n in range(301) if n != 5]


def test_a_lookup_has_all_rows_with_the_hash(collisions: SplitReader) -> None:
    text = f"id IN ({SHUFFLED[3]}, {SHUFFLED[40]}) AND name = 'name {SHUFFLED[3]}'"
    found = look_up(collisions, point_conditions(bind(parse(text), collisions.schema)))
    assert found is not None
    assert 3 in found
    assert found.tolist() == sorted(set(found.tolist()))


@pytest.mark.parametrize("wanted", [[0.0], [-0.0], [1.5], [7.0, -0.0], [float("nan")], [float("nan"), 0.0]])
def test_a_lookup_of_floats_leaves_no_row_out(tmp_path: Path, wanted: list[float]) -> None:
    rows = pa.table({"ratio": [0.0, -0.0, 1.5, float("nan"), None, 3.0, float("inf")] * 10})
    split = split_of(rows, tmp_path, options=SplitOptions(exact={"ratio": Kind.DICTIONARY}))
    predicate = bind(In(Column("ratio"), tuple(map(literal, wanted))), rows.schema)
    found = look_up(split, point_conditions(predicate))
    assert found is not None
    matching = pc.fill_null(evaluate(predicate, rows), fill_value=False)
    assert found.tolist() == np.flatnonzero(matching).tolist()
