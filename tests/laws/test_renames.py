"""Columns that were renamed, dropped and added again answer as a list of rows does, whatever the splits were written as."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from indextables import IndexTable
from indextables.errors import LayoutError, SchemaError
from tests.laws.effort import share

NAMES = ["a", "b", "c", "d"]
WORDS = ["red", "green", "blue"]
TYPES = {"string": pa.string(), "long": pa.int64()}
LAYOUTS = ["", "{0}", "bucket(2, {0})", "truncate(1, {0}), {1}"]


class RenamedColumns(RuleBasedStateMachine):
    """Rows are dictionaries by column numbers, which never change. `columns` are the names and numbers of the table."""

    @initialize(layout=st.sampled_from(LAYOUTS))
    def create(self, layout: str) -> None:
        schema = {"a": pa.string(), "b": pa.int64(), "c": pa.string()}
        text = layout.format("c", "b") if layout else ""
        self.table = IndexTable.create(
            f"memory://{uuid4().hex}/t", schema, partition_by=text, fields={"a": "text", "c": "string"}
        )
        self.columns = {name: number for number, name in enumerate(schema)}
        self.types: dict[int, pa.DataType] = dict(enumerate(schema.values()))
        self.words = {0}
        self.rows: list[Mapping[int, Any]] = []
        self.past: dict[int, tuple[Mapping[str, int], list[Mapping[int, Any]], set[int]]] = {}
        self.append([[0] * 8, [1] * 8, [None] * 8])

    @rule(values=st.lists(st.lists(st.none() | st.integers(0, 2), min_size=8, max_size=8), min_size=1, max_size=4))
    def append(self, values: list[list[int | None]]) -> None:
        new = [{n: self._value(n, row[n % 8]) for n in self.columns.values()} for row in values]
        self.table.append(self._named(new))
        self.rows += new

    @rule(old=st.sampled_from(NAMES), new=st.sampled_from(NAMES))
    def rename(self, old: str, new: str) -> None:
        if old not in self.columns or old == new:
            return
        try:
            self.table.rename_column(old, new)
        except (SchemaError, LayoutError):
            fields = {name.lower() for name in self.table.layout.names}
            assert new in self.columns or new in fields
        else:
            self.columns = {new if name == old else name: number for name, number in self.columns.items()}

    @rule(name=st.sampled_from(NAMES))
    def drop(self, name: str) -> None:
        if name not in self.columns:
            return
        try:
            self.table.drop_column(name)
        except (SchemaError, LayoutError):
            assert name in self.table.layout.sources or len(self.columns) - 1 <= len(self.table.layout.fields)
        else:
            del self.columns[name]

    @rule(name=st.sampled_from(NAMES), kind=st.sampled_from(sorted(TYPES)), text=st.booleans())
    def add(self, name: str, kind: str, *, text: bool) -> None:
        if name in self.columns or name in self.table.layout.names:
            return
        number = len(self.types)
        self.table.add_column(name, kind, field="text" if text and kind == "string" else None)
        self.columns[name] = number
        self.types[number] = TYPES[kind]
        self.words |= {number} if text and kind == "string" else set()

    @rule(name=st.sampled_from(NAMES), kind=st.sampled_from(sorted(TYPES)), text=st.booleans())
    def drop_and_add(self, name: str, kind: str, *, text: bool) -> None:
        self.drop(name)
        self.add(name, kind, text=text)

    @rule(one=st.sampled_from(NAMES), other=st.sampled_from(NAMES))
    def swap(self, one: str, other: str) -> None:
        if one not in self.columns or other not in self.columns or one == other or "z" in self.columns:
            return
        numbers = self.columns[one], self.columns[other]
        for old, new in ((one, "z"), (other, one), ("z", other)):
            self.rename(old, new)
            if new not in self.columns:  # a partition field has the name
                return
        assert (self.columns[other], self.columns[one]) == numbers

    @rule(layout=st.sampled_from(LAYOUTS), at=st.integers(0, 4))
    def evolve(self, layout: str, at: int) -> None:
        names = list(self.columns)
        try:
            self.table.evolve_layout(layout.format(names[at % len(names)], names[(at + 1) % len(names)]))
        except LayoutError:  # it would be the same layout, or have a field twice
            return

    @rule(at=st.integers(0, 4), value=st.integers(0, 2))
    def delete(self, at: int, value: int) -> None:
        name = list(self.columns)[at % len(self.columns)]
        number = self.columns[name]
        wanted = self._value(number, value)
        self.table.delete(f"{name} = {_literal(wanted)}")
        self.rows = [row for row in self.rows if row.get(number) != wanted]

    @rule(at=st.integers(0, 4), to=st.integers(0, 4), value=st.integers(0, 2), new=st.none() | st.integers(0, 2))
    def update(self, at: int, to: int, value: int, new: int | None) -> None:
        names = list(self.columns)
        name, changed = names[at % len(names)], names[to % len(names)]
        number, target = self.columns[name], self.columns[changed]
        wanted, given = self._value(number, value), self._value(target, new)
        self.table.update({changed: _literal(given)}, f"{name} = {_literal(wanted)}")
        self.rows = [{**row, target: given} if row.get(number) == wanted else row for row in self.rows]

    @rule(name=st.sampled_from(NAMES), text=st.booleans())
    def set_indexing(self, name: str, *, text: bool) -> None:
        number = self.columns.get(name)
        if number is None or self.types[number] != pa.string():
            return
        self.table.set_indexing({name: "text" if text else "string"})
        self.words = self.words | {number} if text else self.words - {number}

    @rule()
    def reindex(self) -> None:
        self.table.reindex()

    @precondition(lambda self: self.past)
    @rule(at=st.integers(0, 9))
    def restore(self, at: int) -> None:
        version = sorted(self.past)[at % len(self.past)]
        self.table.restore(version=version)
        columns, rows, words = self.past[version]
        self.columns, self.rows, self.words = dict(columns), list(rows), set(words)

    @rule(move=st.booleans())
    def compact(self, *, move: bool) -> None:
        assert not self.table.merge_splits(rewrite_layout=move).conflicts

    @rule()
    def checkpoint(self) -> None:
        self.table.checkpoint()

    @rule()
    def reopen(self) -> None:
        self.table = IndexTable.open(self.table.path)

    @rule()
    def remember(self) -> None:
        self.past[self.table.version] = dict(self.columns), list(self.rows), set(self.words)

    @precondition(lambda self: self.past)
    @rule()
    def time_travel(self) -> None:
        for version, (columns, rows, _) in self.past.items():
            found = IndexTable.open(self.table.path, version=version).scan().to_arrow()
            assert _counted(found.to_pylist()) == _counted(_by_name(rows, columns))

    @rule(at=st.integers(0, 4), value=st.integers(0, 2))
    def find(self, at: int, value: int) -> None:
        name = list(self.columns)[at % len(self.columns)]
        number = self.columns[name]
        wanted = self._value(number, value)
        same = [row for row in self.rows if row.get(number) == wanted]
        text = _literal(wanted)
        assert _counted(self.table.scan(where=f"{name} = {text}").to_arrow().to_pylist()) == self._expected(same)
        assert self.table.count(f"{name} = {text}") == len(same)
        assert self.table.count(f"{name} IS NULL") == sum(row.get(number) is None for row in self.rows)
        found = [row for row in self.rows if _has(row.get(number), value, words=number in self.words)]
        query = f"{name}:{WORDS[value] if self.types[number] == pa.string() else value}"
        assert _counted(self.table.scan(query=query).to_arrow().to_pylist()) == self._expected(found)
        assert self.table.count(query=f"NOT {name}:*") == sum(row.get(number) is None for row in self.rows)
        known = [row[number] for row in self.rows if row.get(number) is not None]
        assert self.table.scan().min(name) == min(known, default=None)
        groups = self.table.scan().group_by(name).count().to_pylist()
        assert {row[name]: row["count"] for row in groups} == Counter(row.get(number) for row in self.rows)

    @rule()
    def check(self) -> None:
        assert self.table.check(deep=True, all_versions=True).ok

    @invariant()
    def all_rows_are_there(self) -> None:
        assert self.table.schema.names == list(self.columns)
        assert _counted(self.table.scan().to_arrow().to_pylist()) == self._expected(self.rows)

    def _value(self, number: int, value: int | None) -> Any:
        if value is None:
            return None
        if self.types[number] == pa.int64():
            return value
        return f"{WORDS[value]} sky" if number in self.words else WORDS[value]

    def _named(self, rows: list[dict[int, Any]]) -> pa.Table:
        schema = pa.schema({name: self.types[number] for name, number in self.columns.items()})
        return pa.Table.from_pylist(_by_name(rows, self.columns), schema)

    def _expected(self, rows: list[Mapping[int, Any]]) -> Counter[tuple[Any, ...]]:
        return _counted(_by_name(rows, self.columns))


def _literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _by_name(rows: Any, columns: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{name: row.get(number) for name, number in columns.items()} for row in rows]


def _counted(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def _has(found: Any, value: int, *, words: bool) -> bool:
    return found is not None and (found == value or (WORDS[value] in found.split() if words else found == WORDS[value]))


RenamedColumns.TestCase.settings = share(5, steps=25)
TestRenamedColumns = RenamedColumns.TestCase
