"""Pruning by term filters: a search for a rare word opens few of many small splits, and finds the same rows."""

from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from msgspec import structs

from indextables import IndexTable
from indextables.log import Snapshot, TransactionLog
from indextables.predicate import Verdict
from indextables.read.scan_plan import plan_scan
from indextables.read.scan_spec import build_scan_spec
from indextables.search.term_filter import build
from indextables.write.write_plan import current_rules
from tests.log.samples import add, append

MAX_BYTES = "spark.indextables.indexing.termFilter.maxBytes"
LOGS = pa.schema({"day": pa.int32(), "message": pa.string(), "trace_id": pa.string(), "user": pa.int64()})
DAYS = 100


def fresh(schema: pa.Schema = LOGS, options: dict[str, str] | None = None) -> IndexTable:
    place = f"memory://{uuid4().hex}/t"
    return IndexTable.create(place, schema, partition_by="day", fields={"message": "text"}, options=options)


def lines(days: int = DAYS, *, start: int = 0) -> pa.Table:
    """Two lines a day, with words and ids of their own, which are in no order."""
    rows = range(2 * start, 2 * (start + days))
    return pa.table(
        [
            [row // 2 for row in rows],
            [f"Request {row} took {'long' if row % 2 else 'ages'}" for row in rows],
            [f"trace-{row * 7_919 % 10_007:x}" for row in rows],
            [row * 6_007 % 10_007 for row in rows],
        ],
        schema=LOGS,
    )


def appended(*tables: pa.Table, options: dict[str, str] | None = None) -> IndexTable:
    table = fresh(options=options)
    for rows in tables:
        table.append(rows)
    return table


@pytest.fixture(scope="module")
def logs() -> IndexTable:
    return appended(lines())


class TestASearch:
    @pytest.mark.parametrize(
        ("query", "most", "rows"),
        [
            ("message:17", 2, 1),
            ("17", 2, 1),
            ("message:absent", 1, 0),
            ('message:"request 17 took"', 2, 1),
            ('message:"17 request"', 2, 0),
            ("message:17 OR message:18", 4, 2),
            ("+message:17 took", 2, 1),
            ("message:17^3 AND NOT message:absent", 2, 1),
            ("trace_id:trace-7b6", 3, 0),
            ("user:6007", 2, 1),
            ("user:[6007 TO 6007]", 2, 1),
            ("message:17 AND user:1", 1, 0),
        ],
    )
    def test_for_rare_terms_opens_few_splits(self, logs: IndexTable, query: str, most: int, rows: int) -> None:
        plan = logs.scan(query=query).explain()
        assert plan.opened <= most
        assert plan.pruned_by_terms == plan.never == plan.total - plan.opened
        assert logs.count(query=query) == logs.scan(query=query).to_arrow().num_rows == rows
        assert logs.search(query).num_rows == rows

    @pytest.mark.parametrize(
        "query",
        ["took", "*:*", "NOT message:17", "message:17 OR NOT user:1", "message:1*", "message:/17/", "17~", "user:*"],
    )
    def test_that_needs_more_than_terms_opens_all(self, logs: IndexTable, query: str) -> None:
        assert logs.scan(query=query).explain().pruned_by_terms == 0

    def test_of_two_thousand_splits_opens_one_in_a_hundred(self) -> None:
        table = fresh()
        [mapping] = table._snapshot.metadata.doc_mappings

        def term_filter(number: int) -> bytes | None:
            words = pa.array([f"w{word}" for word in range(number, number + 300)])
            return build({"message": words}, columns=mapping.fields, max_bytes=4_096)

        adds = [
            add(f"{n}.split", partition_values={"day": str(n)}, doc_mapping_id=0, term_filter=term_filter(n))
            for n in range(0, 10_000, 5)  # neighbours share most words
        ]
        append(TransactionLog.open(table.path), *adds)
        plan = IndexTable.open(table.path).scan(query="w5000").explain()
        assert plan.total == 2_000
        assert 60 <= plan.opened <= 60 + 0.01 * plan.total
        assert IndexTable.open(table.path).scan(query="absent").explain().opened <= 0.01 * plan.total


class TestACondition:
    @pytest.mark.parametrize(
        ("where", "most", "rows"),
        [
            ("user = 6007", 2, 1),
            ("user <=> 6007", 2, 1),
            ("user = '6007'", 2, 1),
            ("user IN (6007, 2007, NULL)", 3, 2),
            ("NOT (user <> 6007)", 2, 1),
            ("user = 6007 AND trace_id = 'trace-543'", 1, 0),
            ("user = 6007 OR trace_id = 'trace-543'", 3, 2),
            ("user = 6007 OR message INDEXQUERY '0'", 3, 2),
            ("trace_id = 'trace-543'", 2, 1),
            ("trace_id = 'trace-544'", 1, 0),
        ],
    )
    def test_on_exact_values_opens_few_splits(self, logs: IndexTable, where: str, most: int, rows: int) -> None:
        plan = logs.scan(where=where).explain()
        assert plan.opened <= most
        assert plan.pruned_by_terms > 0
        assert logs.count(where) == logs.scan(where=where).to_arrow().num_rows == rows

    @pytest.mark.parametrize(
        "where",
        [
            "message = 'Request 17 took long'",  # the filter has its words
            "user <> 6007",
            "user IS NOT NULL",
            "CAST(user AS STRING) = '6007'",
            "trace_id LIKE '%race-0'",
            f"user IN ({', '.join(map(str, range(4_000, 4_101)))})",
        ],
    )
    def test_on_anything_else_is_not_decided_by_terms(self, logs: IndexTable, where: str) -> None:
        assert logs.scan(where=where).explain().pruned_by_terms == 0

    def test_counts_and_groups_are_those_without_filters(self, logs: IndexTable) -> None:
        plain = appended(lines(), options={MAX_BYTES: "0"})
        for where in ("user = 6007 OR day < 3", "trace_id IN ('trace-543') OR day = 99", "message INDEXQUERY '5 OR 6'"):
            assert logs.count(where) == plain.count(where)
            mine, theirs = logs.scan(where=where), plain.scan(where=where)
            assert mine.group_by("day").count() == theirs.group_by("day").count()
            assert (mine.min("user"), mine.max("user")) == (theirs.min("user"), theirs.max("user"))
            assert theirs.explain().pruned_by_terms == 0


def test_an_explanation_counts_what_filters_prune(logs: IndexTable) -> None:
    plan = logs.scan(where="day >= 90 AND trace_id >= 'trace-' AND message INDEXQUERY '199'").explain()
    assert (plan.pruned_by_layout, plan.pruned_by_statistics, plan.pruned_by_terms) == (90, 0, 9)
    assert "90 by layout, 0 by statistics, 9 by term filters" in str(plan)


def test_a_table_without_filters_opens_every_split() -> None:
    table = appended(lines(5), options={MAX_BYTES: "0"})
    assert table._snapshot.splits["term_filter"].null_count == 5
    assert table.scan(query="absent").explain().opened == 5


class TestEvolution:
    def test_a_column_that_a_split_does_not_have_matches_nothing_there(self) -> None:
        table = appended(lines(5))
        table.add_column("host", "string")
        table.add_column("note", "string", field="text")
        rows = lines(2, start=5)
        table.append(rows.append_column("host", pa.array(list("abcd"))).append_column("note", pa.array(["x"] * 4)))
        assert table.scan(query="host:a").explain().opened == 1
        assert table.scan(query="note:x").explain().opened == 2
        assert table.scan(query="NOT host:a").explain().opened == 7
        assert [table.count(query=q) for q in ("host:a", "note:x", "NOT host:a", "message:3 OR host:b")] == [
            1,
            4,
            13,
            2,
        ]
        assert table.count("host = 'a' OR user = 0") == 2

    def test_a_wider_integer_has_the_same_terms(self) -> None:
        narrow = LOGS.set(3, pa.field("user", pa.int16()))
        table = fresh(narrow)
        table.append(lines(5).cast(narrow))
        table.widen_column("user", pa.int64())
        table.append(lines(5, start=5))
        for value in lines(10)["user"].to_pylist():
            assert table.count(f"user = {value}") == table.count(query=f"user:{value}") == 1
            assert table.scan(where=f"user = {value}").explain().opened <= 2

    def test_compaction_and_replacement_write_filters_too(self) -> None:
        table = appended(lines(6), lines(6))
        table.merge_splits()
        table.replace_where(lines(1), "day = 0")
        assert table._snapshot.splits["term_filter"].null_count == 0
        assert len(table.splits()) == 6
        assert [table.scan(query=query).explain().opened for query in ("1", "7", "8")] == [1, 1, 1]
        assert [table.count(query=query) for query in ("1", "7", "8")] == [1, 2, 2]

    @pytest.mark.parametrize("version", [3, 4])
    def test_a_checkpoint_keeps_the_filters(self, version: int) -> None:
        table = appended(lines(4), lines(4, start=4), lines(4, start=8))
        table.checkpoint()
        table.append(lines(4, start=12))
        again = IndexTable.open(table.path, version=version)
        assert again.scan(query="5").explain().opened == 1
        assert again._snapshot.splits["term_filter"].null_count == 0

    def test_partitions_that_share_a_split_are_pruned_together(self) -> None:
        table = appended(lines(3), lines(3, start=3), options={"coalesce.enabled": "true", "coalesce.minRows": "50"})
        assert len(table.splits()) == 2
        assert table.scan(query="7").explain().opened == 1
        assert table.count(query="7") == table.count("day = 3 AND message INDEXQUERY '7'") == 1
        assert table.count("day = 2 AND message INDEXQUERY '7'") == 0
        assert table.count("day = 2 OR message INDEXQUERY '7'") == 3


class TestUnknown:
    """A filter that is not known to be about the columns of its split does not count."""

    def verdicts(self, snapshot: Snapshot, query: str = "message:absent") -> set[Any]:
        spec = build_scan_spec(snapshot, current_rules(snapshot.metadata), query=query)
        return set(plan_scan(snapshot, spec).split_verdicts.verdicts.to_pylist())

    def changed(self, table: IndexTable, **changes: object) -> Snapshot:
        snapshot = table._snapshot
        [mapping] = snapshot.metadata.doc_mappings
        metadata = structs.replace(snapshot.metadata, doc_mappings=[structs.replace(mapping, **changes)])
        return Snapshot(
            snapshot.version, snapshot.timestamp, snapshot.protocol, metadata, snapshot.txns, snapshot.rows, {}
        )

    def test_a_mapping_that_is_known(self) -> None:
        assert self.verdicts(self.changed(appended(lines(3)))) == {Verdict.NEVER}

    @pytest.mark.parametrize(
        "change", [{"doc_mapping_id": 1}, {"complete": False}, {"fields": {}, "complete": False}, {"fewer": True}]
    )
    def test_a_mapping_that_is_not(self, change: dict[str, Any]) -> None:
        table = appended(lines(3))
        [mapping] = table._snapshot.metadata.doc_mappings
        if change.pop("fewer", False):
            change = {"fields": {name: field for name, field in mapping.fields.items() if name != "user"}}
        assert self.verdicts(self.changed(table, **change)) == {Verdict.SOMETIMES}

    def test_words_of_another_tokenizer(self) -> None:
        table = appended(lines(3))
        [mapping] = table._snapshot.metadata.doc_mappings
        other = structs.replace(mapping.fields["message"], tokenizer="whitespace")
        old, snapshot = table._snapshot.metadata, self.changed(table)
        mappings = [mapping, structs.replace(mapping, doc_mapping_id=1, fields={**mapping.fields, "message": other})]
        metadata = structs.replace(old, doc_mappings=mappings, current_doc_mapping_id=1)
        assert self.verdicts(snapshot) == {Verdict.NEVER}
        changed = Snapshot(
            snapshot.version, snapshot.timestamp, snapshot.protocol, metadata, snapshot.txns, snapshot.rows, {}
        )
        assert self.verdicts(changed) == {Verdict.SOMETIMES}
