"""The whole matrix: each kind of transaction against each kind of winner, through a real log."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from msgspec import structs

from indextables.errors import ConflictError
from indextables.log import Operation, Snapshot, Transaction, TransactionLog
from indextables.log.actions import Add, DocMapping, FieldMapping, Metadata, Remove, Txn
from indextables.log.conflict import MetadataChange, metadata_changes
from indextables.log.splits import removes_for
from indextables.log.transaction import MayMatch
from indextables.schema import to_json
from tests.log.samples import BY_DAY, BY_REGION, EVENTS, PROTOCOL, add, created, metadata, overwriting, paths

EU, US, US2, ASIA = (
    add("region=eu/0.split", region="eu"),
    add("region=us/0.split", region="us"),
    add("region=us/1.split", region="us"),
    add("region=asia/0.split", region="asia"),
)


@pytest.fixture
def log() -> TransactionLog:
    return TransactionLog.open(f"memory://{uuid4().hex}/t")


def in_region(region: str) -> MayMatch:
    def may_match(splits: pa.Table) -> bool:
        value = pc.struct_field(splits["partition"], ["region", "value"])
        return bool(pc.any(pc.fill_null(pc.equal(value, region), fill_value=True)).as_py())

    return may_match


def remove(snapshot: Snapshot, *adds: Add, data_change: bool = True) -> list[Remove]:
    mine = snapshot.splits.filter(pc.is_in(snapshot.splits["path"], pa.array([a.path for a in adds], pa.string())))
    return removes_for(mine, snapshot.metadata, deletion_timestamp=1, data_change=data_change)


def appending(snapshot: Snapshot, region: str = "eu") -> Transaction:
    return Transaction(operation=Operation.APPEND, snapshot=snapshot, adds=[add(f"{region}.append", region=region)])


def replacing(snapshot: Snapshot, region: str, *removed: Add, rewritten: bool = False) -> Transaction:
    return Transaction(
        operation=Operation.REPLACE_WHERE,
        snapshot=snapshot,
        reads=in_region(region),
        removes=remove(snapshot, *removed),
        rewritten=frozenset(a.path for a in removed) if rewritten else frozenset(),
        adds=[add(f"{region}.replace", region=region)],
    )


def merging(snapshot: Snapshot, *sources: Add) -> Transaction:
    merged = add(f"{'+'.join(a.path for a in sources)}.merge".replace("/", "-"), region="us", data_change=False)
    removes = remove(snapshot, *sources, data_change=False)
    return Transaction(operation=Operation.MERGE, snapshot=snapshot, removes=removes, adds=[merged])


def bundling(snapshot: Snapshot, *groups: tuple[Add, ...]) -> Transaction:
    """Several merges in one commit, which says what became of which."""
    merges = [merging(snapshot, *group) for group in groups]
    numbered = list(enumerate(merges))
    return replace(
        merges[0],
        removes=[structs.replace(r, merge_group=number) for number, merge in numbered for r in merge.removes],
        adds=[structs.replace(a, merge_group=number) for number, merge in numbered for a in merge.adds],
    )


def dropping(snapshot: Snapshot, region: str) -> Transaction:
    matching = snapshot.splits.filter(
        pc.equal(pc.struct_field(snapshot.splits["partition"], ["region", "value"]), region)
    )
    removes = removes_for(matching, snapshot.metadata, deletion_timestamp=1)
    return Transaction(operation=Operation.DROP, snapshot=snapshot, reads=in_region(region), removes=removes)


def altering(snapshot: Snapshot, **changes: object) -> Transaction:
    return Transaction(
        operation=Operation.ALTER, snapshot=snapshot, metadata=structs.replace(snapshot.metadata, **changes)
    )


def streaming(snapshot: Snapshot, app: str, batch: int, region: str = "eu") -> Transaction:
    txn = Txn(app_id=app, version=batch)
    return replace(appending(snapshot, region), adds=[add(f"{app}-{batch}.stream", region=region)], txn=txn)


def with_column(snapshot: Snapshot, field: pa.Field) -> dict[str, object]:
    return to_json(snapshot.metadata.arrow_schema().append(field))


PROPERTY: Callable[[Snapshot], Transaction] = lambda s: altering(s, properties={"a": "1"})
OTHER_PROPERTY: Callable[[Snapshot], Transaction] = lambda s: altering(s, properties={"b": "2"})
NEW_LAYOUT: Callable[[Snapshot], Transaction] = lambda s: altering(
    s, partition_specs=[BY_REGION, BY_DAY], current_spec_id=1
)
NEW_COLUMN: Callable[[Snapshot], Transaction] = lambda s: altering(
    s, schema=with_column(s, pa.field("extra", pa.int32()))
)
OTHER_SCHEMA: Callable[[Snapshot], Transaction] = lambda s: altering(
    s, schema=with_column(s, pa.field("required", pa.int32(), nullable=False))
)
MAPPED = [DocMapping(doc_mapping_id=0, fields={"note": FieldMapping(type="text")})]
FIELD_TYPE: Callable[[Snapshot], Transaction] = lambda s: altering(
    s,
    doc_mappings=[*MAPPED, DocMapping(doc_mapping_id=1, fields={"note": FieldMapping(type="string")})],
    current_doc_mapping_id=1,
)


@dataclass(frozen=True)
class Case:
    """The loser planned on the same snapshot as the winner, and commits after it."""

    loser: Callable[[Snapshot], Transaction]
    winner: Callable[[Snapshot], Transaction]
    live: set[str] | None = None
    """What is live afterwards; None where the loser must fail."""


A = [EU.path, US.path, US2.path, ASIA.path]


def live(*changes: str) -> set[str]:
    """All splits of the sample table, without those after a minus and with the others."""
    return (set(A) - {c[1:] for c in changes if c[0] == "-"}) | {c for c in changes if c[0] != "-"}


MERGED = "region=us-0.split+region=us-1.split.merge"
MERGED_OTHERS = "region=eu-0.split+region=asia-0.split.merge"
NO_US = ("-" + US.path, "-" + US2.path)
APPEND_LOSES = {
    "append/append": Case(appending, lambda s: appending(s, "us"), live("eu.append", "us.append")),
    "append/overwrite": Case(appending, lambda s: overwriting(s, add("o")), {"o", "eu.append"}),
    "append/replace": Case(appending, lambda s: replacing(s, "eu", EU), live("-" + EU.path, "eu.replace", "eu.append")),
    "append/merge": Case(appending, lambda s: merging(s, US, US2), live(*NO_US, MERGED, "eu.append")),
    "append/drop": Case(appending, lambda s: dropping(s, "eu"), live("-" + EU.path, "eu.append")),
    "append/properties": Case(appending, PROPERTY, live("eu.append")),
    "append/layout": Case(appending, NEW_LAYOUT, live("eu.append")),
    "append/new column": Case(appending, NEW_COLUMN, live("eu.append")),
    "append/other schema": Case(appending, OTHER_SCHEMA),
    "append/field type": Case(appending, FIELD_TYPE, live("eu.append")),
    "append/stream": Case(appending, lambda s: streaming(s, "x", 1), live("x-1.stream", "eu.append")),
}
OVERWRITE = lambda s: overwriting(s, add("mine"))
OVERWRITE_LOSES = {
    "overwrite/append": Case(OVERWRITE, appending),
    "overwrite/overwrite": Case(OVERWRITE, lambda s: overwriting(s, add("o"))),
    "overwrite/replace": Case(OVERWRITE, lambda s: replacing(s, "eu", EU)),
    "overwrite/merge": Case(OVERWRITE, lambda s: merging(s, US, US2), {"mine"}),
    "overwrite/drop": Case(OVERWRITE, lambda s: dropping(s, "eu")),
    "overwrite/properties": Case(OVERWRITE, PROPERTY),
    "overwrite/layout": Case(OVERWRITE, NEW_LAYOUT),
    "overwrite/stream": Case(OVERWRITE, lambda s: streaming(s, "x", 1)),
}
REPLACE = lambda s: replacing(s, "us", US, US2)
AFTER_REPLACE = (*NO_US, "us.replace")
REPLACE_LOSES = {
    "replace/append elsewhere": Case(REPLACE, appending, live("eu.append", *AFTER_REPLACE)),
    "replace/append inside": Case(REPLACE, lambda s: appending(s, "us")),
    "replace/overwrite": Case(REPLACE, lambda s: overwriting(s, add("o"))),
    "replace/replace elsewhere": Case(
        REPLACE, lambda s: replacing(s, "eu", EU), live("-" + EU.path, "eu.replace", *AFTER_REPLACE)
    ),
    "replace/replace inside": Case(REPLACE, lambda s: replace(REPLACE(s), adds=[add("theirs", region="us")])),
    "replace/replace, both of nothing": Case(
        lambda s: replacing(s, "mars"), lambda s: replace(replacing(s, "mars"), adds=[add("theirs", region="mars")])
    ),
    "replace/merge outside": Case(
        lambda s: replacing(s, "eu", EU),
        lambda s: merging(s, US, US2),
        live("-" + EU.path, *NO_US, MERGED, "eu.replace"),
    ),
    "replace/merge of what is removed whole": Case(REPLACE, lambda s: merging(s, US, US2), live(*AFTER_REPLACE)),
    "replace/merge of what is rewritten": Case(
        lambda s: replacing(s, "us", US, US2, rewritten=True), lambda s: merging(s, US, US2)
    ),
    "replace/merge across its edge": Case(lambda s: replacing(s, "us", US), lambda s: merging(s, US, US2)),
    "replace/merge of others and of what is removed whole": Case(
        REPLACE, lambda s: bundling(s, (EU, ASIA), (US, US2)), {MERGED_OTHERS, "us.replace"}
    ),
    "replace/merge of others and across its edge": Case(
        lambda s: replacing(s, "us", US), lambda s: bundling(s, (EU, ASIA), (US, US2))
    ),
    "replace/merge of several, none told apart": Case(
        REPLACE, lambda s: replace(merging(s, EU, ASIA, US, US2), adds=[add("a"), add("b")])
    ),
    "replace/drop elsewhere": Case(REPLACE, lambda s: dropping(s, "eu"), live("-" + EU.path, *AFTER_REPLACE)),
    "replace/drop of the same": Case(REPLACE, lambda s: dropping(s, "us")),
    "replace/properties": Case(REPLACE, PROPERTY, live(*AFTER_REPLACE)),
    "replace/layout": Case(REPLACE, NEW_LAYOUT),
    "replace/new column": Case(REPLACE, NEW_COLUMN),
    "replace/stream elsewhere": Case(REPLACE, lambda s: streaming(s, "x", 1), live("x-1.stream", *AFTER_REPLACE)),
    "replace/stream inside": Case(REPLACE, lambda s: streaming(s, "x", 1, "us")),
}
MERGE = lambda s: merging(s, US, US2)
AFTER_MERGE = (*NO_US, MERGED)
MERGE_LOSES = {
    "merge/append, same partition": Case(MERGE, lambda s: appending(s, "us"), live("us.append", *AFTER_MERGE)),
    "merge/overwrite": Case(MERGE, lambda s: overwriting(s, add("o"))),
    "merge/replace of a source": Case(MERGE, REPLACE),
    "merge/replace elsewhere": Case(
        MERGE, lambda s: replacing(s, "eu", EU), live("-" + EU.path, "eu.replace", *AFTER_MERGE)
    ),
    "merge/merge of a source": Case(MERGE, lambda s: merging(s, US2, ASIA)),
    "merge/merge of others": Case(
        MERGE,
        lambda s: merging(s, EU, ASIA),
        {MERGED_OTHERS, MERGED},
    ),
    "merge/drop of a source": Case(MERGE, lambda s: dropping(s, "us")),
    "merge/drop of others": Case(MERGE, lambda s: dropping(s, "eu"), live("-" + EU.path, *AFTER_MERGE)),
    "merge/properties": Case(MERGE, PROPERTY, live(*AFTER_MERGE)),
    "merge/layout": Case(MERGE, NEW_LAYOUT, live(*AFTER_MERGE)),
    "merge/field type": Case(MERGE, FIELD_TYPE, live(*AFTER_MERGE)),
    "merge/stream": Case(MERGE, lambda s: streaming(s, "x", 1, "us"), live("x-1.stream", *AFTER_MERGE)),
}
DROP = lambda s: dropping(s, "us")
DROP_LOSES = {
    "drop/append elsewhere": Case(DROP, appending, live("eu.append", *NO_US)),
    "drop/append inside": Case(DROP, lambda s: appending(s, "us"), live(*NO_US)),
    "drop/overwrite": Case(DROP, lambda s: overwriting(s, add("o", region="us")), set()),
    "drop/replace": Case(DROP, REPLACE, live(*NO_US)),
    "drop/merge": Case(DROP, MERGE, live(*NO_US)),
    "drop/drop of the same": Case(DROP, DROP, live(*NO_US)),
    "drop/drop of others": Case(DROP, lambda s: dropping(s, "eu"), live("-" + EU.path, *NO_US)),
    "drop/properties": Case(DROP, PROPERTY, live(*NO_US)),
    "drop/stream": Case(DROP, lambda s: streaming(s, "x", 1, "us"), live(*NO_US)),
}
ALTER_LOSES = {
    "alter/append": Case(PROPERTY, appending, live("eu.append")),
    "alter/overwrite": Case(NEW_LAYOUT, lambda s: overwriting(s, add("o")), {"o"}),
    "alter/replace": Case(NEW_COLUMN, lambda s: replacing(s, "eu", EU), live("-" + EU.path, "eu.replace")),
    "alter/merge": Case(OTHER_SCHEMA, MERGE, live(*AFTER_MERGE)),
    "alter/drop": Case(OTHER_SCHEMA, DROP, live(*NO_US)),
    "alter/stream": Case(PROPERTY, lambda s: streaming(s, "x", 1), live("x-1.stream")),
    "alter/another property": Case(PROPERTY, OTHER_PROPERTY, live()),
    "alter/the same property": Case(PROPERTY, lambda s: altering(s, properties={"a": "2"})),
    "alter/layout and property": Case(PROPERTY, NEW_LAYOUT),
    "alter/layout and layout": Case(NEW_LAYOUT, NEW_LAYOUT),
    "alter/field type over an append": Case(FIELD_TYPE, appending),
    "alter/schema over a stream": Case(OTHER_SCHEMA, lambda s: streaming(s, "x", 1)),
}
STREAM = lambda s: streaming(s, "x", 5)
STREAM_LOSES = {
    "stream/append": Case(STREAM, appending, live("eu.append", "x-5.stream")),
    "stream/overwrite": Case(STREAM, lambda s: overwriting(s, add("o")), {"o", "x-5.stream"}),
    "stream/replace": Case(STREAM, REPLACE, live(*AFTER_REPLACE, "x-5.stream")),
    "stream/merge": Case(STREAM, MERGE, live(*AFTER_MERGE, "x-5.stream")),
    "stream/drop": Case(STREAM, DROP, live(*NO_US, "x-5.stream")),
    "stream/properties": Case(STREAM, PROPERTY, live("x-5.stream")),
    "stream/field type": Case(STREAM, FIELD_TYPE, live("x-5.stream")),
    "stream/other application": Case(STREAM, lambda s: streaming(s, "y", 5), live("y-5.stream", "x-5.stream")),
    "stream/same batch": Case(STREAM, lambda s: replace(STREAM(s), adds=[add("first")]), live("first")),
    "stream/later batch": Case(STREAM, lambda s: streaming(s, "x", 6), live("x-6.stream")),
    "stream/earlier batch": Case(STREAM, lambda s: streaming(s, "x", 4)),
}
MATRIX = APPEND_LOSES | OVERWRITE_LOSES | REPLACE_LOSES | MERGE_LOSES | DROP_LOSES | ALTER_LOSES | STREAM_LOSES


@pytest.mark.parametrize("case", MATRIX.values(), ids=MATRIX.keys())
def test_matrix(log: TransactionLog, case: Case) -> None:
    before = created(log, EU, US, US2, ASIA, doc_mappings=MAPPED, current_doc_mapping_id=0)
    loser = case.loser(before)
    won = log.commit(case.winner(before))
    replan = case.loser if loser.operation is Operation.DROP else None
    if case.live is None:
        with pytest.raises(ConflictError, match=f"version {won.version} of .* was taken by") as caught:
            log.commit(loser, replan=replan)
        assert (caught.value.version, caught.value.operation) == (won.version, case.winner(before).operation)
        assert log.snapshot().version == won.version
    else:
        done = log.commit(loser, replan=replan)
        assert paths(log.snapshot()) == case.live == paths(done.snapshot)
        assert log.snapshot().version == won.version + done.written


def test_every_kind_meets_every_kind() -> None:
    kinds = ("append", "overwrite", "replace", "merge", "drop", "alter", "stream")
    metadata_words = ("propert", "layout", "column", "schema", "field")
    seen = {
        (loser, kind)
        for name in MATRIX
        for loser, winner in [name.split("/", 1)]
        for kind in kinds
        if kind in winner or (kind == "alter" and any(word in winner for word in metadata_words))
    } | {("stream", "stream")}
    assert seen >= {(loser, winner) for loser in kinds for winner in kinds}


def test_two_property_changes_are_both_kept(log: TransactionLog) -> None:
    before = created(log, properties={"gone": "x", "kept": "y"})
    log.commit(altering(before, properties={"gone": "x", "kept": "y", "b": "2"}))
    log.commit(altering(before, properties={"kept": "y", "a": "1"}))
    assert log.snapshot().metadata.properties == {"kept": "y", "a": "1", "b": "2"}


def test_a_stale_append_keeps_its_spec(log: TransactionLog) -> None:
    before = created(log)
    log.commit(NEW_LAYOUT(before))
    log.commit(appending(before))
    assert log.snapshot().splits["spec_id"].to_pylist() == [0]
    assert log.snapshot().metadata.current_spec_id == 1


def test_a_loser_meets_every_winner_in_turn(log: TransactionLog) -> None:
    before = created(log, EU, US)
    log.commit(appending(before, "asia"))
    log.commit(merging(before, US))
    log.commit(appending(log.snapshot(), "us"))
    with pytest.raises(ConflictError) as caught:
        log.commit(replacing(before, "us", US))
    assert caught.value.version == 3
    assert caught.value.paths == ["us.append"]


def test_a_remove_without_partition_values_conflicts_by_path(log: TransactionLog) -> None:
    before = created(log, EU, US)
    bare = Remove(path=US.path, deletion_timestamp=1)
    log.commit(Transaction(operation=Operation.DROP, snapshot=before, removes=[bare]))
    with pytest.raises(ConflictError) as caught:
        log.commit(replacing(before, "us", US))
    assert caught.value.paths == [US.path]


def test_a_protocol_change_stops_everybody(log: TransactionLog) -> None:
    before = created(log)
    upgrade = Transaction(operation=Operation.ALTER, snapshot=before, protocol=PROTOCOL)
    log.commit(upgrade)
    with pytest.raises(ConflictError, match="protocol"):
        log.commit(appending(before))


def test_another_table_in_the_same_place_stops_everybody(log: TransactionLog) -> None:
    before = created(log)
    log.commit(altering(before, id="another"))
    with pytest.raises(ConflictError, match="replaced the table"):
        log.commit(appending(before))


class TestCreation:
    def first(self, operation: Operation, path: str) -> Transaction:
        return Transaction(operation=operation, snapshot=None, protocol=PROTOCOL, metadata=metadata(), adds=[add(path)])

    def test_the_second_to_create_by_appending_plans_again(self, log: TransactionLog) -> None:
        log.commit(self.first(Operation.APPEND, "one"))

        def plan(found: Snapshot) -> Transaction:
            assert found.version == 0
            return Transaction(operation=Operation.APPEND, snapshot=found, adds=[add("two")])

        log.commit(self.first(Operation.APPEND, "two"), replan=plan)
        assert paths(log.snapshot()) == {"one", "two"}
        assert log.snapshot().version == 1

    @pytest.mark.parametrize("operation", [Operation.CREATE, Operation.OVERWRITE, Operation.REPLACE_WHERE])
    def test_the_second_to_create_otherwise_fails(self, log: TransactionLog, operation: Operation) -> None:
        log.commit(self.first(operation, "one"))
        with pytest.raises(ConflictError, match="created by another writer"):
            log.commit(self.first(operation, "two"), replan=lambda _: self.first(operation, "never"))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (metadata(), set()),
        (metadata(properties={"a": "b"}), {MetadataChange.PROPERTIES}),
        (metadata(partition_specs=[BY_REGION, BY_DAY]), {MetadataChange.LAYOUT}),
        (metadata(schema=to_json(EVENTS.append(pa.field("x", pa.int8())))), {MetadataChange.NEW_COLUMNS}),
        (metadata(schema=to_json(EVENTS.remove(0))), {MetadataChange.SCHEMA}),
        (metadata(schema=to_json(EVENTS.set(0, pa.field("id", pa.int32())))), {MetadataChange.SCHEMA}),
        (
            metadata(schema=to_json(EVENTS.append(pa.field("x", pa.int8(), nullable=False)))),
            {MetadataChange.SCHEMA},
        ),
    ],
)
def test_what_changed_in_the_metadata(after: Metadata, expected: set[MetadataChange]) -> None:
    assert metadata_changes(metadata(), after) == expected
