"""Term filters change no answer: a split that they exclude has no matching row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.layout import Layout
from indextables.log.actions import Add, Metadata, Protocol
from indextables.log.snapshot import TOMBSTONES, Rows, Snapshot
from indextables.log.splits import splits_table
from indextables.predicate import IndexQuery, Literal, Predicate, Verdict, bind
from indextables.predicate import nodes as p
from indextables.read.scan_plan import plan_scan
from indextables.read.scan_spec import ScanSpec
from indextables.schema import to_json
from indextables.search import FieldRule, parse, resolve, to_text
from indextables.search import queries as n
from indextables.search.analysis import too_long
from indextables.search.analysis import words as words_of
from indextables.search.field_rules import TOKENIZERS
from indextables.search.term_filter import SplitTerms
from indextables.search.text_fields import field_name
from indextables.write.write_plan import current_rules, new_metadata, with_schema
from tests.laws import naive
from tests.laws.conditions import SCHEMA as VALUES
from tests.laws.conditions import predicates, rows
from tests.laws.effort import each_writes_tables, share
from tests.laws.test_evolution import BEFORE, narrowed
from tests.search.brute import satisfies
from tests.search.indexes import MemorySplit, found, index_of

TEXTS = pa.schema({**dict.fromkeys(TOKENIZERS, pa.string()), "exact": pa.string(), "id": pa.int64()})
FIELDS = {tokenizer: f"text:{tokenizer}" for tokenizer in TOKENIZERS}
RULES = resolve(TEXTS, FIELDS)
SIZES = st.sampled_from([0, 8, 12, 20, 40, 4_096])  # of filters: many are too small for every column
IDS = [-1, 0, 7, 2**53 + 1, -(2**63)]

some_words = st.sampled_from(
    ["a", "B", "running", "run", "É", "\u0130", "\U0001f600", "-", "c" * 39, "d" * 40, "e" * 200]
)
lines = st.lists(some_words, max_size=4).map(" ".join) | st.text(max_size=5)
texts = st.fixed_dictionaries(
    {name: st.none() | lines for name in TEXTS.names[:-1]} | {"id": st.none() | st.sampled_from(IDS)}
)
chunks = st.lists(
    st.lists(texts, min_size=1, max_size=4).map(lambda some: pa.Table.from_pylist(some, TEXTS)), min_size=1, max_size=4
)


@st.composite
def leaves(draw: st.DrawFn, schema: pa.Schema = TEXTS) -> n.Query:
    name = draw(st.sampled_from(schema.names))
    if name == "id":
        value = pa.scalar(draw(st.sampled_from(IDS)), pa.int64())
        return n.Range(name, value, draw(st.sampled_from([value, None])), draw(st.booleans()))
    text = draw(lines)
    words = [text] if name == "exact" else words_of(text, name)
    match words:
        case []:
            return draw(st.sampled_from([n.MatchAll(), n.MatchNone(), n.Exists(name)]))
        case _ if name != "exact" and too_long(text, name):
            return n.Not(n.Exists(name))
        case [word]:
            return draw(st.sampled_from([n.Term(name, word), n.Term(name, word), n.Prefix(name, word[:9])]))
        case _:
            return n.Phrase(name, tuple(words), draw(st.sampled_from([0, 0, 1])))


def combined(leaves: st.SearchStrategy[n.Query]) -> st.SearchStrategy[n.Query]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda terms: n.And(tuple(terms))),
            st.lists(inner, min_size=1, max_size=3).map(lambda terms: n.Or(tuple(terms))),
            st.builds(n.Not, inner),
            st.builds(n.Prefer, inner, st.lists(inner, min_size=1, max_size=2).map(tuple)),
            st.builds(n.Boost, inner, st.just(2.0)),
        ),
        max_leaves=5,
    )


queries = combined(leaves())


def split_of(
    table: pa.Table, rules: Mapping[str, FieldRule], index: MemorySplit | None = None, *, mapping: int, max_bytes: int
) -> Add:
    """A split that exists in the log only, with the filter that its writer would give it."""
    terms = SplitTerms(table.schema, rules, max_bytes=max_bytes)
    terms.observe(table.to_batches())

    def words(column: str) -> pa.Array:
        assert index is not None
        return pa.array(
            [word for word, _ in index.words.searcher().terms_with_prefix(field_name(column), "")], pa.string()
        )

    return Add(
        path=f"{uuid4()}.split",
        size=1,
        modification_time=0,
        num_records=len(table),
        doc_mapping_id=mapping,
        term_filter=terms.term_filter(words),
    )


def excluded(
    metadata: Metadata, adds: Sequence[Add], predicate: Predicate, searches: Mapping[IndexQuery, n.Query]
) -> list[bool]:
    """The splits that a scan would not open."""
    rows = Rows(splits_table(adds, metadata), TOMBSTONES.empty_table(), None)
    protocol = Protocol(min_reader_version=1, min_writer_version=1)
    schema = metadata.arrow_schema()
    spec = ScanSpec(schema, current_rules(metadata), predicate, searches, tuple(schema.names), {})
    verdicts = plan_scan(Snapshot(0, 0, protocol, metadata, {}, rows, {}), spec).split_verdicts.verdicts
    return [verdict == Verdict.NEVER for verdict in verdicts.to_pylist()]


def described(schema: pa.Schema, fields: Mapping[str, str]) -> Metadata:
    return new_metadata(schema, layout=Layout.parse(""), fields=fields, properties={}, created_time=0)


@given(chunks, st.lists(queries, min_size=1, max_size=4), SIZES)
def test_a_split_that_a_search_excludes_has_no_match(parts: list[pa.Table], some: list[n.Query], size: int) -> None:
    indexes = [index_of(part, RULES) for part in parts]
    adds = [split_of(part, RULES, index, mapping=0, max_bytes=size) for part, index in zip(parts, indexes, strict=True)]
    for query in some:
        search = IndexQuery(None, "searched")
        out = excluded(described(TEXTS, FIELDS), adds, search, {search: query})
        assert not any(found(query, index) for index, is_out in zip(indexes, out, strict=True) if is_out)


@share(4)
@given(chunks, st.sampled_from(TEXTS.names), SIZES)
def test_every_term_of_a_split_is_found_in_its_filter(parts: list[pa.Table], name: str, size: int) -> None:
    adds = [split_of(part, RULES, index_of(part, RULES), mapping=0, max_bytes=size) for part in parts]
    metadata, search = described(TEXTS, FIELDS), IndexQuery(None, "searched")
    for number, part in enumerate(parts):
        for value in part[name].drop_null().to_pylist():
            scalar = pa.scalar(value, TEXTS.field(name).type)
            words = words_of(value, name) if name in TOKENIZERS else [value]
            in_index = [word for word in words if name not in TOKENIZERS or not too_long(word, name)]
            for word in in_index if name != "id" else []:
                assert not excluded(metadata, adds, search, {search: n.Term(name, word)})[number]
            assert not excluded(metadata, adds, p.Comparison(p.Column(name), p.Op.EQ, scalar), {})[number]


@given(
    st.lists(rows(min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(rows(min_size=1, max_size=3), max_size=2),
    st.lists(predicates, min_size=1, max_size=5),
    SIZES,
)
def test_a_split_that_a_condition_excludes_has_no_row_that_satisfies_it(
    late: list[pa.Table], early: list[pa.Table], asked: list[Predicate], size: int
) -> None:
    """Early splits have no column `name`, and narrower numbers."""
    old = described(BEFORE, {})
    metadata = with_schema(old, to_json(VALUES), resolve(VALUES))
    before = [narrowed(part) for part in early]
    adds = [split_of(part, resolve(BEFORE), mapping=0, max_bytes=size) for part in before]
    adds += [split_of(part, resolve(VALUES), mapping=1, max_bytes=size) for part in late]
    held = [[{"name": None, **row} for row in part.to_pylist()] for part in (*before, *late)]
    for predicate in asked:
        out = excluded(metadata, adds, bind(predicate, VALUES), {})
        for rows_of_split, is_out in zip(held, out, strict=True):
            assert not is_out or not any(naive.answer(predicate, row) for row in rows_of_split)


EXACT = pa.schema({"default": pa.string(), "whitespace": pa.string(), "raw": pa.string(), "exact": pa.string()})
LATER = EXACT.append(pa.field("id", pa.int64()))
_later = st.lists(texts, min_size=1, max_size=3)


def table_of(parts: Sequence[Sequence[dict[str, Any]]], last: Sequence[dict[str, Any]], max_bytes: int) -> IndexTable:
    """Some appends, and one more after a column was added."""
    options = {"spark.indextables.indexing.termFilter.maxBytes": str(max_bytes)}
    fields = {name: rule for name, rule in FIELDS.items() if name in EXACT.names}
    table = IndexTable.create(f"memory://{uuid4().hex}/t", EXACT, fields=fields, options=options)
    for part in parts:
        table.append(pa.Table.from_pylist(part, EXACT))
    table.add_column("id", "long")
    table.append(pa.Table.from_pylist(last, LATER))
    return table


@each_writes_tables
@given(
    st.lists(_later, min_size=1, max_size=2),
    _later,
    st.lists(combined(leaves(LATER)), min_size=1, max_size=3),
    st.lists(st.sampled_from(["a", "", "run", *IDS]), min_size=1, max_size=3),
    SIZES,
)
def test_a_table_with_filters_answers_as_one_without(
    parts: list[list[dict[str, Any]]], last: list[dict[str, Any]], some: list[n.Query], values: list[Any], size: int
) -> None:
    filtered, plain = table_of(parts, last, size), table_of(parts, last, 0)
    held = [{**row, "id": None} for part in parts for row in part] + last
    names = [name for name in LATER.names if name != "id"]
    wanted = [
        p.In(p.Column("id"), tuple(pa.scalar(v) for v in values if isinstance(v, int))),
        p.In(p.Column("exact"), tuple(pa.scalar(v) for v in values if isinstance(v, str))),
    ]
    conditions = [condition for condition in wanted if condition.values]
    rules = {name: RULES[name] for name in LATER.names}
    for text in map(to_text, some):
        search, query = IndexQuery(None, text), parse(text, schema=LATER, rules=rules)
        for condition in (search, *(search & other for other in conditions), *(search | other for other in conditions)):
            expected = [row for row in held if _holds(condition, search, query, row, rules)]
            for table in (filtered, plain):
                scan = table.scan(where=condition, columns=names)
                assert _comparable(scan.to_arrow().to_pylist(), names) == _comparable(expected, names)
                assert table.count(condition) == len(expected)


def _holds(
    condition: Predicate, search: IndexQuery, query: n.Query, row: dict[str, Any], rules: Mapping[str, FieldRule]
) -> bool:
    terms = condition.terms if isinstance(condition, p.And | p.Or) else (condition,)
    known = [Literal(satisfies(query, row, rules)) if term == search else term for term in terms]
    return bool(naive.answer(p.Or(tuple(known)) if isinstance(condition, p.Or) else p.And(tuple(known)), row))


def _comparable(some: list[dict[str, Any]], names: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in names) for row in some)
