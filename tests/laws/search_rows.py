"""Rows, conditions and searches for the laws about answers to searches.

Searches have every kind of leaf, on columns of words, of exact values, and on columns that some splits do not have.
"""

from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.search import queries as n
from indextables.search import resolve

EARLY = pa.schema({"nr": pa.int64(), "memo": pa.string(), "port": pa.string(), "load": pa.int64()})
LATE = {"note": pa.string(), "berth": pa.string()}  # columns that the first splits do not have
SCHEMA = pa.schema([*EARLY, *(pa.field(name, kind) for name, kind in LATE.items())])
FIELDS = {"memo": "text", "note": "text"}
RULES = resolve(SCHEMA, FIELDS)
MEMOS = ["crane", "keel", "tide", "crane keel", "keel crane", "crane keel tide", "tide tide keel", ""]
PORTS = ["Porto", "Hull", "Perth"]
Row = dict[str, Any]

memos, ports = st.sampled_from([*MEMOS, None]), st.sampled_from([*PORTS, None])
rows = st.fixed_dictionaries(
    {"memo": memos, "port": ports, "load": st.sampled_from([4, 5, 6, None]), "note": memos, "berth": ports}
)


def word_leaves(column: str) -> list[n.Leaf]:
    return [
        n.Exists(column),
        n.Term(column, "keel"),
        n.Term(column, "crane"),
        n.Phrase(column, ("crane", "keel")),
        n.Phrase(column, ("keel", "tide"), 2),
        n.Phrase(column, ("tide", "tide", "keel"), 1),
        n.Prefix(column, "ke"),
        n.Wildcard(column, "t?d*"),
        n.Regex(column, "[ck].*e.*"),
        n.Fuzzy(column, "crani", 1),
        n.Range(column, pa.scalar("crane"), pa.scalar("keel"), includes_lower=False),
    ]


def string_leaves(column: str) -> list[n.Leaf]:
    return [
        n.Exists(column),
        n.Term(column, "Porto"),
        n.Prefix(column, "P"),
        n.Wildcard(column, "?u*"),
        n.Regex(column, "Per.*"),
        n.Fuzzy(column, "Hell", 1),
        n.Range(column, pa.scalar("Hull"), pa.scalar("Perth"), includes_upper=False),
    ]


NUMBER_LEAVES: list[n.Leaf] = [
    n.Exists("load"),
    n.Range("load", pa.scalar(5), pa.scalar(5)),
    n.Range("load", pa.scalar(5), None),
]
LEAVES: list[n.Leaf] = [
    n.MatchAll(),
    *word_leaves("memo"),
    *string_leaves("port"),
    *NUMBER_LEAVES,
    *word_leaves("note")[:4],
    *string_leaves("berth")[:2],
]


def _groups(inner: st.SearchStrategy[n.Query]) -> st.SearchStrategy[n.Query]:
    """Groups of queries, some of which are excluded."""
    terms = st.lists(inner | st.builds(n.Not, inner), min_size=2, max_size=3).map(tuple)
    weighed = st.builds(n.Prefer, inner, terms) | st.builds(n.Boost, inner, st.just(2.0))
    return st.one_of(st.builds(n.And, terms), st.builds(n.And, terms), st.builds(n.Or, terms), weighed)


WORDS: list[n.Leaf] = [n.Term("memo", "keel"), n.Term("memo", "crane"), n.Exists("memo"), n.Term("note", "tide")]
EXACT: list[n.Leaf] = [n.Term("port", "Porto"), n.Range("load", pa.scalar(5), pa.scalar(5)), n.Exists("berth")]


@st.composite
def mixed(draw: st.DrawFn) -> n.Query:
    """A word, and a group of an exact value and a word, each of which may be excluded: few rows are left for the group."""
    first, word, exact = (draw(st.sampled_from(some)) for some in (WORDS, WORDS, EXACT))
    group = draw(st.sampled_from([n.And, n.Or]))((_signed(draw, exact), _signed(draw, word)))
    return n.And((first, _signed(draw, group)))


def _signed(draw: st.DrawFn, query: n.Query) -> n.Query:
    return n.Not(query) if draw(st.booleans()) else query


leaves: st.SearchStrategy[n.Query] = st.sampled_from([*WORDS, *EXACT]) | st.sampled_from(LEAVES)
groups = _groups(leaves)
nested = _groups(leaves | groups | mixed())
searches = leaves | mixed() | groups | mixed() | nested | _groups(leaves | groups | nested)

CONDITIONS = {
    None: lambda _: True,
    "load >= 5": lambda row: row["load"] is not None and row["load"] >= 5,
    "port = 'Hull'": lambda row: row["port"] == "Hull",
    "nr = 1": lambda row: row["nr"] == 1,
    "port IS NULL OR berth = 'Porto'": lambda row: row["port"] is None or row["berth"] == "Porto",
}
"""Conditions of SQL, and what they say of a row."""


def number_rows(parts: list[list[Row]], *, repeat: int = 1) -> list[list[Row]]:
    """Rows with numbers, each part so many times; the first part does not have the late columns."""
    first, numbered = 0, []
    for place, part in enumerate(parts):
        absent = {} if place else dict.fromkeys(LATE)
        numbered.append([{**row, **absent, "nr": first + at} for at, row in enumerate(part * repeat)])
        first += len(part) * repeat
    return numbered


def write_parts(parts: list[list[Row]], path: str | None = None) -> IndexTable:
    """A table with one split for each part.

    The first one is written before the late columns are added, and while another column has another name.
    """
    names = ["remark" if name == "memo" else name for name in EARLY.names]
    first = pa.Table.from_pylist(parts[0], EARLY).rename_columns(names)
    table = IndexTable.create(path or f"memory://{uuid4()}", first.schema, fields={"remark": FIELDS["memo"]})
    table.append(first)
    table.rename_column("remark", "memo")
    for name, kind in LATE.items():
        table.add_column(name, kind, field=FIELDS.get(name))
    for part in parts[1:]:
        table.append(pa.Table.from_pylist(part, SCHEMA))
    return table
