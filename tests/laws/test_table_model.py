"""A table does what a list of rows does, whatever is done to it.

Appends, overwrites, replaceWhere, deletes, updates, merges of a source, compaction, layouts, renames, restores; scans,
counts, groups, extremes, searches, time travel.
"""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indextables import IndexTable
from tests.laws.effort import share

START = datetime(1969, 12, 31, 22, tzinfo=UTC)
WORDS = ["disk", "full", "retry", "timeout", "ok"]
SCHEMA = pa.schema(
    {
        "region": pa.string(),
        "n": pa.int32(),
        "x": pa.float64(),
        "ts": pa.timestamp("us", "UTC"),
        "note": pa.string(),
    }
)
ROWS = st.fixed_dictionaries(
    {
        "region": st.sampled_from(["eu", "us", "", "[#small]", "a/b", None]),
        "n": st.one_of(st.none(), st.integers(-3, 3)),
        "x": st.sampled_from([None, 0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")]),
        "ts": st.one_of(st.none(), st.integers(0, 60).map(lambda hours: START + timedelta(hours=hours))),
        "note": st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)),
    }
)
LAYOUTS = [
    "",
    "region",
    "x",
    "day(ts)",
    "region, bucket(3, n)",
    "truncate(1, region), hour(ts)",
    "truncate(2, n), year(ts)",
]


def larger(x: float | None, y: float) -> bool:
    """As Spark compares: NaN is above everything."""
    return x is not None and (x != x or x > y)  # noqa: PLR0124


def words(row: dict[str, Any]) -> list[str]:
    return (row["note"] or "").split()


LINE = START + timedelta(hours=26)
CONDITIONS: dict[str, Any] = {
    "TRUE": lambda r: True,
    "region = 'eu'": lambda r: r["region"] == "eu",
    "region IN ('us', '[#small]', NULL)": lambda r: r["region"] in {"us", "[#small]"},
    "region <> 'eu'": lambda r: r["region"] not in {None, "eu"},
    "region IS NULL OR region = ''": lambda r: r["region"] in {None, ""},
    "n >= 0": lambda r: r["n"] is not None and r["n"] >= 0,
    "NOT (n BETWEEN -1 AND 1)": lambda r: r["n"] is not None and not -1 <= r["n"] <= 1,
    "x > 1": lambda r: larger(r["x"], 1),
    "x = 0": lambda r: r["x"] == 0,
    "n = 2 AND x IS NOT NULL": lambda r: r["n"] == 2 and r["x"] is not None,
    "ts < TIMESTAMP '1970-01-02T00:00:00Z'": lambda r: r["ts"] is not None and r["ts"] < LINE,
    "ts >= TIMESTAMP '1970-01-02T00:00:00Z' OR n < 0": lambda r: (
        (r["ts"] is not None and r["ts"] >= LINE) or (r["n"] is not None and r["n"] < 0)
    ),
    "note LIKE '%disk%'": lambda r: "disk" in (r["note"] or ""),
    "note INDEXQUERY 'disk'": lambda r: "disk" in words(r),
    "region = 'eu' AND note INDEXQUERY 'disk OR full'": lambda r: (
        r["region"] == "eu" and {"disk", "full"} & set(words(r))
    ),
    "NOT note INDEXQUERY 'retry AND NOT ok'": lambda r: not ("retry" in words(r) and "ok" not in words(r)),
    "n > 0 OR indexquery(note, 'timeout')": lambda r: (r["n"] or 0) > 0 or "timeout" in words(r),
}


def comparable(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """The rows, whatever their column x is called."""
    return Counter(tuple(str(row[name if name in row else RENAMED]) for name in SCHEMA.names) for row in rows)


RENAMED = "renamed"
Rows = list[dict[str, Any]]
UPDATES: list[tuple[dict[str, str], Any]] = [
    ({"n": "n + 1"}, lambda r: {**r, "n": None if r["n"] is None else r["n"] + 1}),
    ({"region": "'moved'", "note": "region"}, lambda r: {**r, "region": "moved", "note": r["region"]}),
    ({"note": "CASE WHEN n > 0 THEN 'disk' END"}, lambda r: {**r, "note": "disk" if (r["n"] or 0) > 0 else None}),
]


class TableModel(RuleBasedStateMachine):
    @initialize(
        layout=st.sampled_from(LAYOUTS),
        roll=st.sampled_from(["2", "1000"]),
        small=st.sampled_from(["1", "3"]),
        vectors=st.sampled_from([{"deletionVectors.maxDeletedShare": "1"}, {}, {"deletionVectors": "false"}]),
    )
    def create(self, layout: str, roll: str, small: str, vectors: dict[str, str]) -> None:
        options = {"targetRecordsPerSplit": roll, "checkpoint.interval": "3", **vectors}
        options |= {
            "coalesce.enabled": "true",
            "coalesce.minRows": small,
        }  # every partition has a row: 1 shares nothing
        place = f"memory://{uuid4().hex}/t"
        self.table = IndexTable.create(place, SCHEMA, partition_by=layout, fields={"note": "text"}, options=options)
        self.states: list[Rows] = [[]]
        self.names = ["x"]  # of the column x, in each version

    def becomes(self, rows: Rows, version: int, *, name: str | None = None) -> None:
        """The table has these rows in a version, which is the next one, or the same if nothing was to be done."""
        if version == len(self.states):
            self.states.append(rows)
            self.names.append(name or self.names[-1])
        assert version == self.table.version == len(self.states) - 1
        assert comparable(rows) == comparable(self.states[-1])

    def data(self, rows: Rows) -> pa.Table:
        return pa.Table.from_pylist(rows, SCHEMA).rename_columns(self.columns)

    @property
    def columns(self) -> list[str]:
        return [self.names[-1] if name == "x" else name for name in SCHEMA.names]

    def sql(self, where: str, version: int = -1) -> str:
        return re.sub(r"\bx\b", self.names[version], where)

    @rule(rows=st.lists(ROWS, max_size=6))
    def append(self, rows: Rows) -> None:
        self.becomes(self.states[-1] + rows, self.table.append(self.data(rows)))

    @rule(rows=st.lists(ROWS, max_size=4))
    def overwrite(self, rows: Rows) -> None:
        self.becomes(rows, self.table.overwrite(self.data(rows)))

    @rule(rows=st.lists(ROWS, max_size=3))
    def replace(self, rows: Rows) -> None:
        if not any(field.source == "region" for field in self.table.layout.fields):
            return
        new = [{**row, "region": "eu"} for row in rows]
        others = [row for row in self.states[-1] if row["region"] != "eu"]
        self.becomes(others + new, self.table.replace_where(self.data(new), "region = 'eu'"))

    @rule(where=st.sampled_from(sorted(CONDITIONS)), update=st.sampled_from(UPDATES))
    def update(self, where: str, update: tuple[dict[str, str], Any]) -> None:
        expressions, change = update
        updated = self.table.update(expressions, self.sql(where))
        rows = [change(row) if CONDITIONS[where](row) else row for row in self.states[-1]]
        assert updated.rows == sum(bool(CONDITIONS[where](row)) for row in self.states[-1])
        self.becomes(rows, updated.version)

    @rule(source=st.lists(ROWS, max_size=4, unique_by=lambda row: row["n"]), by_source=st.booleans())
    def merge_into(self, source: Rows, *, by_source: bool) -> None:
        """Upserts by n, which is null in some rows; rows of the table whose n the source has not go, if so wished."""
        merge = self.table.merge(self.data(source), "t.n = s.n").when_matched_delete("s.region IS NULL")
        merge = merge.when_matched_update({"note": "s.note"}).when_not_matched_insert_all("s.region = 'eu'")
        done = (merge.when_not_matched_by_source_delete("t.region = 'us'") if by_source else merge).execute()
        by_n = {row["n"]: row for row in source if row["n"] is not None}
        rows = []
        for row in self.states[-1]:
            match = by_n.get(row["n"])
            if match is not None and match["region"] is not None:
                rows.append({**row, "note": match["note"]})
            elif match is None and not (by_source and row["region"] == "us"):
                rows.append(row)
        there = {row["n"] for row in self.states[-1] if row["n"] is not None}
        rows += [row for row in source if row["n"] not in there and row["region"] == "eu"]
        self.becomes(rows, done.version)

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, len(self.states) - 1))
        restored = self.table.restore(version=version)
        self.becomes(self.states[version], restored, name=self.names[version])
        assert self.table.schema.names == self.columns

    @rule()
    def rename(self) -> None:
        name = "x" if self.names[-1] != "x" else RENAMED
        if name in self.table.layout.names:
            return
        self.becomes(self.states[-1], self.table.rename_column(self.names[-1], name), name=name)

    @rule(where=st.sampled_from(sorted(CONDITIONS)))
    def delete(self, where: str) -> None:
        kept = [row for row in self.states[-1] if not CONDITIONS[where](row)]
        would, deleted = self.table.delete(self.sql(where), dry_run=True), self.table.delete(self.sql(where))
        assert would.rows == deleted.rows == len(self.states[-1]) - len(kept)
        self.becomes(kept, deleted.version)

    @rule(size=st.sampled_from(["60K", "1M"]), rewrite=st.integers(0, 1), by=st.sampled_from(["n", "note", None]))
    def merge(self, size: str, rewrite: int, by: str | None) -> None:
        self.table.merge_splits(target_size=size, rewrite_layout=bool(rewrite), cluster_by=by)
        self._nothing_changed()
        assert self.table.merge_splits(target_size=size).groups == 0

    @rule(layout=st.sampled_from(LAYOUTS))
    def evolve(self, layout: str) -> None:
        if layout != "x" or self.names[-1] == "x":
            self.table.evolve_layout(layout)
        self._nothing_changed()

    def _nothing_changed(self) -> None:
        new = self.table.version + 1 - len(self.states)
        self.states += [self.states[-1]] * new
        self.names += [self.names[-1]] * new

    @rule(where=st.sampled_from(sorted(CONDITIONS)), data=st.data())
    def ask(self, where: str, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, len(self.states) - 1))
        table = self.table.at(version=version)
        expected = [row for row in self.states[version] if CONDITIONS[where](row)]
        where = self.sql(where, version)
        assert comparable(table.scan(where=where).to_arrow().to_pylist()) == comparable(expected)
        assert table.count(where) == len(expected)
        groups = table.scan(where=where).group_by("region").count().to_pylist()
        assert {g["region"]: g["count"] for g in groups} == Counter(row["region"] for row in expected)
        numbers = [row["n"] for row in expected if row["n"] is not None]
        ends = table.scan(where=where).min("n"), table.scan(where=where).max("n")
        assert ends == (min(numbers, default=None), max(numbers, default=None))

    @rule(where=st.sampled_from(sorted(CONDITIONS)), limit=st.integers(1, 5))
    def search(self, where: str, limit: int) -> None:
        found = self.table.search("note:disk", where=self.sql(where), limit=limit)
        matches = [row for row in self.states[-1] if CONDITIONS[where](row) and "disk" in words(row)]
        assert found.num_rows == min(limit, len(matches))
        assert comparable(found.drop_columns("_score").to_pylist()) <= comparable(matches)
        scores = found["_score"].to_pylist()
        assert scores == sorted(scores, reverse=True)

    @rule()
    def open_again(self) -> None:
        self.table = IndexTable.open(self.table.path, options={"checkpoint.interval": "3"})

    @invariant()
    def holds_its_rows(self) -> None:
        if hasattr(self, "table"):
            assert self.table.count() == len(self.states[-1])


TestTableModel = TableModel.TestCase
TestTableModel.settings = share(20, steps=12)
