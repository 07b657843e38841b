"""A condition or a search on a batch of a stream gives the rows that it gives of all rows of the batch."""

from typing import Any
from uuid import uuid4

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from indextables import IndexTable
from indextables.log import TransactionLog
from indextables.read.opener import SplitOpener
from indextables.read.scan import Scan
from indextables.read.scan_spec import build_scan_spec
from indextables.read.stream_offset import ReadLimits
from indextables.write.write_plan import current_rules
from tests.laws.effort import each_writes_tables
from tests.laws.test_table_model import CONDITIONS, LAYOUTS, ROWS, SCHEMA, comparable, words
from tests.read.stream import Stream

SEARCHES: dict[str, Any] = {
    "note:disk": lambda r: "disk" in words(r),
    "note:disk AND NOT note:full": lambda r: "disk" in words(r) and "full" not in words(r),
    "region:eu OR note:retry": lambda r: r["region"] == "eu" or "retry" in words(r),
    "NOT note:ok": lambda r: "ok" not in words(r),
}
ADDED: dict[str, Any] = {
    "more IS NULL": lambda r: r["more"] is None,
    "more > 1": lambda r: r["more"] is not None and r["more"] > 1,
    "more IS NOT NULL AND region = 'eu'": lambda r: r["more"] is not None and r["region"] == "eu",
    "NOT (more = 0) OR n > 0": lambda r: r["more"] not in {None, 0} or (r["n"] or 0) > 0,
}
WIDER = SCHEMA.append(pa.field("more", pa.int64()))
COMMITS = st.lists(st.one_of(st.lists(ROWS, min_size=1, max_size=8), st.sampled_from(LAYOUTS)), min_size=1, max_size=5)
FILES = st.one_of(st.none(), st.integers(1, 4))


def written(commits: list[list[dict[str, Any]] | str], layout: str, options: dict[str, str]) -> IndexTable:
    """A table in which rows were appended, and between which its layout changed."""
    place = f"memory://{uuid4().hex}/t"
    table = IndexTable.create(place, SCHEMA, partition_by=layout, fields={"note": "text"}, options=options)
    for commit in commits:
        if isinstance(commit, str):
            table.evolve_layout(commit)
        else:
            table.append(pa.Table.from_pylist(commit, SCHEMA))
    return table


@each_writes_tables
@given(
    commits=COMMITS,
    later=st.lists(st.tuples(ROWS, st.integers(0, 2) | st.none()), max_size=4),
    layout=st.sampled_from(LAYOUTS),
    roll=st.sampled_from(["2", "1000"]),
    shared=st.sampled_from(["1", "4"]),
    files=FILES,
    data=st.data(),
)
def test_pruning_a_batch_never_changes_the_answer(
    *, commits: list[Any], later: list[Any], layout: str, roll: str, shared: str, files: int | None, data: st.DataObject
) -> None:
    options = {"targetRecordsPerSplit": roll, "coalesce.enabled": "true", "coalesce.minRows": shared}
    table = written(commits, layout, options)
    stream = Stream(table.path)
    stream.offset = stream.splits.from_version(0)
    conditions = CONDITIONS
    if later:  # the stream is loaded with a column that the older splits do not have
        table.add_column("more", "long")
        rows = [{**row, "more": more} for row, more in later]
        table.append(pa.Table.from_pylist(rows, WIDER))
        stream.restart()
        conditions = CONDITIONS | ADDED
    where = data.draw(st.one_of(st.none(), st.sampled_from(sorted(conditions))))
    query = data.draw(st.one_of(st.none(), st.sampled_from(sorted(SEARCHES))))
    log = TransactionLog.open(table.path)
    metadata, opener = log.snapshot().metadata, SplitOpener.of(log.store, log.config)
    spec = build_scan_spec(log.snapshot(), current_rules(metadata), where=where, query=query)
    total = 0
    while (increment := stream.advance(ReadLimits(max_files=files))).versions:
        scan = Scan(increment.snapshot, spec, opener)
        everything = [row for _, row in stream.rows(increment)]
        expected = [
            row
            for row in everything
            if (where is None or conditions[where](row)) and (query is None or SEARCHES[query](row))
        ]
        assert comparable(scan.to_arrow().to_pylist()) == comparable(expected)
        assert scan.count() == len(expected)
        counts = {group["region"]: group["count"] for group in scan.group_by("region").count().to_pylist()}
        assert counts == {region: len([r for r in expected if r["region"] == region]) for region in counts}
        assert sum(counts.values()) == len(expected)
        total += len(everything)
    assert total == table.count()
