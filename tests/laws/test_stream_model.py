"""A stream delivers what was appended, once and in order, whatever else happens to the table and to the stream."""

from collections import Counter
from datetime import timedelta
from typing import Any, ClassVar
from uuid import uuid4

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from indextables import IndexTable
from indextables.log import TransactionLog
from indextables.read.appended_splits import AppendedSplits, ChangePolicy, Increment
from indextables.read.stream_offset import ReadLimits
from tests.laws.effort import share
from tests.laws.test_rewrite_model import COLUMNS, EXACT, PARTITION
from tests.laws.test_table_model import CONDITIONS, LAYOUTS, ROWS, SCHEMA, comparable
from tests.read.stream import Stream, kept

Row = dict[str, Any]
Delivery = tuple[int, Counter[tuple[str, ...]]]
LIMITS = st.builds(
    ReadLimits,
    max_files=st.one_of(st.none(), st.integers(1, 5)),
    max_bytes=st.one_of(st.none(), st.sampled_from([1, 3_000, 10_000, 100_000])),
)


class StreamModel(RuleBasedStateMachine):
    """`commits` has the rows that each commit appended; the stream has to deliver those of the versions after its start.

    A stream that `searches` delivers those of them that satisfy a condition.
    """

    policy: ClassVar[dict[str, bool]] = {}
    searches: ClassVar[bool] = False
    where: str | None = None

    @initialize(
        layout=st.sampled_from(LAYOUTS),
        roll=st.sampled_from(["1", "2", "1000"]),
        small=st.sampled_from(["1", "3"]),
        merging=st.booleans(),
        rows=st.lists(ROWS, max_size=6),
    )
    def create(self, layout: str, roll: str, small: str, *, merging: bool, rows: list[Row]) -> None:
        options = {"targetRecordsPerSplit": roll, "checkpoint.interval": "3", "merge.targetSize": "1M"}
        options |= {"coalesce.enabled": "true", "coalesce.minRows": small}
        options |= {"mergeOnWrite.enabled": str(merging).lower(), "mergeOnWrite.minSplits": "3"}
        place = f"memory://{uuid4().hex}/t"
        self.table = IndexTable.create(place, SCHEMA, partition_by=layout, fields={"note": "text"}, options=options)
        self.partition_columns = {field.source for field in self.table.layout.fields}
        self.live: list[Row] = []
        self.commits: list[tuple[int, list[Row]]] = []
        self.append(rows)
        self.begin("snapshot", 0)

    @rule(
        start=st.sampled_from(["snapshot", "version", "latest"]),
        share_of=st.integers(0, 100),
        where=st.sampled_from(sorted(CONDITIONS)),
    )
    def begin(self, start: str, share_of: int, where: str = "n >= 0") -> None:
        """Another stream, from the rows that there are, from any version that there was or the next one."""
        if hasattr(self, "stream"):
            self.drain()
        self.where = where if self.searches else None
        self.stream = Stream(self.table.path, self.policy, self.where)
        latest = self.table.refresh().version
        version = latest + 1 if start == "latest" else (latest + 1) * share_of // 100
        if start == "version":
            self.stream.offset = self.stream.splits.from_version(version)
        if start == "latest":
            self.stream.offset = self.stream.splits.latest()
        self.delivered: list[Delivery] = []
        self.known: list[tuple[int, list[Row]]] = []
        if start == "snapshot":
            version = latest + 1
            self.known = [(latest, self.live)]
        self.first = version

    def expected(self) -> list[Delivery]:
        commits = self.known + [(version, rows) for version, rows in self.commits if version >= self.first]
        holds = CONDITIONS[self.where or "TRUE"]
        found = [(version, [row for row in rows if holds(row)]) for version, rows in commits]
        return [(version, comparable(rows)) for version, rows in found if rows]

    # ---------------------------------------------------------------------------------------------- what others commit

    @rule(rows=st.lists(ROWS, max_size=6))
    def append(self, rows: list[Row]) -> None:
        before = self.table.version
        self.table.append(pa.Table.from_pylist(rows, SCHEMA))
        if rows:
            self.live = self.live + rows
            self.commits.append((before + 1, rows))

    @rule(size=st.sampled_from(["60K", "1M"]), rewrite=st.booleans(), by=st.sampled_from(["n", "note", None]))
    def merge(self, size: str, by: str | None, *, rewrite: bool) -> None:
        self.table.merge_splits(target_size=size, rewrite_layout=rewrite, cluster_by=by)

    @rule(layout=st.sampled_from(LAYOUTS))
    def evolve(self, layout: str) -> None:
        self.table.evolve_layout(layout)
        self.partition_columns |= {field.source for field in self.table.layout.fields}

    @rule(owner=st.sampled_from(["web", "ops"]))
    def set_property(self, owner: str) -> None:
        self.table.set_properties({"owner": owner})

    @rule()
    def clean_up(self) -> None:
        """Nothing has expired: a clean-up that deletes what a stream has not read is an error, and not silent."""
        self.table.checkpoint()
        assert TransactionLog.open(self.table.path).clean_up(retention=timedelta(days=1)) == []

    # --------------------------------------------------------------------------------------------- what the stream does

    @rule(limits=LIMITS, where=st.sampled_from(sorted(CONDITIONS)))
    def read(self, limits: ReadLimits, where: str) -> None:
        start = self.stream.offset
        increment = self.stream.advance(limits)
        self.is_a_batch(increment, limits)
        self.is_planned_again(start, increment)
        rows = list(self.stream.rows(increment))
        for version, row in rows:
            self.deliver(version, row)
        matching = [row for _, row in rows if CONDITIONS[where](row)]
        found = [row for _, row in self.stream.rows(increment, where=f"({where}) AND ({self.where or 'TRUE'})")]
        assert comparable(found) == comparable(matching)

    def deliver(self, version: int, row: Row) -> None:
        """Rows of a version follow those of older ones, in one batch and from batch to batch."""
        if not self.delivered or self.delivered[-1][0] != version:
            assert all(earlier < version for earlier, _ in self.delivered)
            self.delivered.append((version, Counter()))
        self.delivered[-1][1].update(comparable([row]))

    def is_a_batch(self, increment: Increment, limits: ReadLimits) -> None:
        assert increment.snapshot.splits["path"].to_pylist() == list(increment.versions)
        splits = self.stream.matching_splits(increment)
        assert splits or not increment.versions or self.searches
        assert limits.max_files is None or len(splits) <= limits.max_files
        assert limits.max_bytes is None or len(splits) < 2 or sum(split.size for split in splits) <= limits.max_bytes

    def is_planned_again(self, start: Any, increment: Increment) -> None:
        """Another process gets the same splits from the offsets in a checkpoint."""
        log = TransactionLog.open(self.table.path)
        again = AppendedSplits(log, log.snapshot(), ChangePolicy(**self.policy)).between(
            kept(start), kept(self.stream.offset)
        )
        assert list(again.versions.items()) == list(increment.versions.items())

    @rule()
    def restart(self) -> None:
        self.stream.restart()

    @rule(limits=LIMITS)
    def read_to_the_end(self, limits: ReadLimits) -> None:
        """As a query with `availableNow`."""
        target, start = self.stream.splits.latest(), self.stream.offset
        while True:
            increment = self.stream.advance(limits, until=target)
            if self.stream.offset == start:
                break
            start = self.stream.offset
            for version, row in self.stream.rows(increment):
                self.deliver(version, row)
        assert self.stream.offset.version <= target.version
        assert self.delivered == self.expected()

    def drain(self) -> None:
        self.read_to_the_end(ReadLimits(max_files=2))

    def teardown(self) -> None:
        if hasattr(self, "stream"):
            self.drain()


class SkippingStreamModel(StreamModel):
    """With `skip_change_commits`, the rows of commits that removed rows are left out, and no others."""

    policy: ClassVar[dict[str, bool]] = {"skip_change_commits": True}

    def changed(self, left: list[Row], rows: list[Row], *, before: int) -> None:
        removed = len(left) < len(self.live)
        self.live = left + rows
        if rows and not removed:
            self.commits.append((before + 1, rows))

    @rule(rows=st.lists(ROWS, max_size=4))
    def overwrite(self, rows: list[Row]) -> None:
        before = self.table.version
        self.table.overwrite(pa.Table.from_pylist(rows, SCHEMA))
        self.changed([], rows, before=before)

    @rule(rows=st.lists(ROWS, max_size=4))
    def overwrite_partitions(self, rows: list[Row]) -> None:
        key = PARTITION[str(self.table.layout)]
        given, before = {key(row) for row in rows}, self.table.version
        left = [row for row in self.live if key(row) not in given]
        options = {"partitionOverwriteMode": "dynamic"}
        self.table.overwrite(pa.Table.from_pylist(rows, SCHEMA), options=options)
        self.changed(left, rows, before=before)

    @property
    def conditions(self) -> list[str]:
        """The conditions on partition columns."""
        return [where for where in EXACT if self.partition_columns and COLUMNS[where] <= self.partition_columns]

    @precondition(lambda self: self.partition_columns)
    @rule(data=st.data(), rows=st.lists(ROWS, max_size=6))
    def replace_where(self, data: st.DataObject, rows: list[Row]) -> None:
        where = data.draw(st.sampled_from(self.conditions))
        before = self.table.version
        inside = [row for row in rows if CONDITIONS[where](row)]
        left = [row for row in self.live if not CONDITIONS[where](row)]
        self.table.replace_where(pa.Table.from_pylist(inside, SCHEMA), where)
        self.changed(left, inside, before=before)

    @precondition(lambda self: self.partition_columns)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        where = data.draw(st.sampled_from(self.conditions))
        self.table.drop_partitions(where)
        self.live = [row for row in self.live if not CONDITIONS[where](row)]


class SearchingStreamModel(SkippingStreamModel):
    """A standing search delivers what matches, and is not woken up by what cannot."""

    searches: ClassVar[bool] = True

    @rule()
    def sleep(self) -> None:
        """A batch has a split that may match, unless many versions have none."""
        start = self.stream.offset
        increment = self.stream.advance()
        for version, row in self.stream.rows(increment):
            self.deliver(version, row)
        woken = self.stream.offset != start
        assert not woken or self.stream.matching_splits(increment) or self.stream.offset.version - start.version > 64


TestStreamModel = StreamModel.TestCase
TestStreamModel.settings = share(10, steps=15)
TestSkippingStreamModel = SkippingStreamModel.TestCase
TestSkippingStreamModel.settings = share(10, steps=15)
TestSearchingStreamModel = SearchingStreamModel.TestCase
TestSearchingStreamModel.settings = share(10, steps=15)
