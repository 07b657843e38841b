"""The first rows in an order, where a search has many hits, and what is refused."""

from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest

from indextables import IndexTable
from indextables.errors import ConfigError, SchemaError

ROWS = 12_000
LOGS = pa.schema({"ts": pa.int64(), "level": pa.string(), "message": pa.string()})


@pytest.fixture(scope="module")
def logs() -> IndexTable:
    """Splits of many rows by time, one of them in no order within, and a last one that overlaps all."""
    table = IndexTable.create(f"memory://{uuid4().hex}/logs", LOGS, fields={"message": "text"})
    random = np.random.default_rng(7)
    for start, shuffled in ((0, False), (ROWS, True), (2 * ROWS, False)):
        ts = np.arange(start, start + ROWS)
        table.append(part(random.permutation(ts) if shuffled else ts))
    table.append(part(np.arange(0, 3 * ROWS, 100)))
    table.delete(f"ts > {3 * ROWS - 20} OR ts = {ROWS + 5}")
    return table


def part(ts: np.ndarray) -> pa.Table:
    words = np.array(["disk full", "disk ok", "net down", "network up", "error on disk"])
    levels = np.array(["INFO", "WARN", "ERROR"])
    return pa.table([ts, levels[ts % 3], words[ts % 5]], schema=LOGS)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("disk", None),
        ("disk OR net", None),
        ("disk AND level:ERROR", None),
        ("disk NOT full", "level <> 'INFO'"),
        ('"error on disk" OR net*', None),
        ("net*", "ts < 30000"),
        ("*:*", None),
        ("level:WARN", None),
    ],
)
@pytest.mark.parametrize("order_by", ["ts desc", "ts", "level desc, ts", "message, ts desc"])
def test_the_first_of_many_hits_are_those_of_all_hits_sorted(
    logs: IndexTable, query: str, where: str | None, order_by: str
) -> None:
    hits = logs.scan(query=query, where=where).to_arrow()
    keys = [term.split() for term in order_by.split(", ")]
    expected = hits.sort_by([(name, "descending" if desc else "ascending") for name, *desc in keys])
    for limit, offset in ((5, 0), (7, 400)):
        found = logs.search(query, where=where, order_by=order_by, limit=limit, offset=offset)
        assert found.drop_columns("_score").equals(expected.slice(offset, limit))
    scores = [
        sorted(
            (row["ts"], row["_score"]) for row in logs.search(query, where="ts < 60", limit=100, **order).to_pylist()
        )
        for order in ({}, {"order_by": order_by})
    ]
    assert np.array(scores[1]) == pytest.approx(np.array(scores[0]), rel=1e-5)


def test_only_splits_are_opened_that_can_have_one_of_the_first_rows(logs: IndexTable) -> None:
    newest = logs.scan(query="disk", order_by="ts desc", limit=10)
    assert newest.to_arrow()["ts"][0].as_py() == 3 * ROWS - 20
    assert len(newest.opened_splits) == 1
    assert newest.explain().opened == 4
    assert newest.count() == 10
    everything = logs.scan(columns=["ts"], order_by="ts desc", offset=3 * ROWS - 20)
    assert everything.to_arrow()["ts"].to_pylist() == sorted(everything.to_arrow()["ts"].to_pylist(), reverse=True)
    assert everything.count() == len(everything.to_arrow())


def test_rows_without_columns_can_be_ordered(logs: IndexTable) -> None:
    assert logs.scan(columns=[], order_by="ts", limit=3).to_arrow().shape == (3, 0)
    assert logs.scan(columns=[], order_by="ts").to_arrow().num_rows == logs.count()


def test_what_is_no_order_is_refused(logs: IndexTable) -> None:
    with pytest.raises(SchemaError, match="there is no column 'tss'; did you mean 'ts'"):
        logs.scan(order_by="tss desc")
    for term, meant in {"ts descending": "ts desc", "-TS": "ts desc", "ts ascending nulls last": "ts asc"}.items():
        with pytest.raises(SchemaError, match=f"there is no column '.*'; write '{meant}'"):
            logs.search("disk", order_by=["level", term])
    for wrong in ([], "", "ts,", [7]):
        with pytest.raises((ConfigError, SchemaError), match=r"order_by is|no column|name of a column"):
            logs.scan(order_by=wrong)
    with pytest.raises(ConfigError, match="in no order without order_by"):
        logs.scan(offset=3)
    with pytest.raises(ConfigError, match="the offset is -1"):
        logs.search("disk", offset=-1)
    with pytest.raises(ConfigError, match="an offset can only be read or counted"):
        logs.scan(order_by="ts", offset=1).max("ts")
