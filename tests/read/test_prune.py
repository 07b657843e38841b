"""The cases of pruning, on splits that exist in the log only."""

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from indextables.log import Snapshot, TransactionLog
from indextables.log.actions import Add, LogicalPartitions, PartitionSpec, SpecField
from indextables.predicate import Verdict, parse_condition
from indextables.read.log_aggregates import count_from_metadata
from indextables.read.prune import SplitVerdicts, judge_splits
from indextables.schema import to_json
from indextables.table import IndexTable
from tests.log.samples import add, created

COLUMNS = {
    "region": pa.string(),
    "month": pa.int32(),
    "ts": pa.timestamp("us", "UTC"),
    "user": pa.string(),
    "score": pa.float64(),
    "note": pa.string(),
    "price": pa.decimal128(9, 2),
}


def spec(*fields: tuple[str, str], spec_id: int = 0) -> PartitionSpec:
    return PartitionSpec(
        spec_id=spec_id,
        fields=[SpecField(source=source, transform=kind, name=f"{source}_{kind}") for source, kind in fields],
    )


def table(specs: Sequence[PartitionSpec], *adds: Add) -> Snapshot:
    log = TransactionLog.open(f"memory://{uuid4().hex}/t")
    return created(log, *adds, schema=to_json(pa.schema(COLUMNS)), partition_specs=specs)


def split(name: str, partition: dict[str, str | None] | None = None, **facts: object) -> Add:
    return add(name, **{"partition_values": partition or {}, **facts})


def split_verdicts(snapshot: Snapshot, where: str) -> SplitVerdicts:
    return judge_splits(parse_condition(where, snapshot.metadata.arrow_schema()), snapshot)


def kept(snapshot: Snapshot, where: str) -> set[str]:
    found = split_verdicts(snapshot, where)
    return {
        path
        for path, verdict in zip(found.splits["path"].to_pylist(), found.verdicts.to_pylist(), strict=True)
        if verdict != Verdict.NEVER
    }


def certain(snapshot: Snapshot, where: str) -> set[str]:
    return set(split_verdicts(snapshot, where).having(Verdict.ALWAYS)["path"].to_pylist())


def months(*values: int) -> set[str]:
    return {f"m{value}" for value in values}


class TestHivePartitions:
    BY_MONTH = (spec(("month", "identity")),)
    SNAPSHOT = table(BY_MONTH, *(split(f"m{m}", {"month_identity": str(m)}) for m in (-10, *range(1, 13), 99, 100)))

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ("month > 9", months(10, 11, 12, 99, 100)),
            ("month BETWEEN 2 AND 11", months(*range(2, 12))),
            ("month < 10", months(-10, *range(1, 10))),
            ("month = 99", months(99)),
            ("month < -5", months(-10)),
            ("month = 2.0", months(2)),
            ("month = '2'", months(2)),
            ("month = 2 AND month = 3", set()),
            ("FALSE", set()),
            ("MONTH = 2", months(2)),
            ("month IN (1, 2, NULL)", months(1, 2)),
            ("month = 2 OR note = 'x'", months(-10, *range(1, 13), 99, 100)),
            ("(month = 1 AND note = 'x') OR (month = 2 AND note = 'y')", months(1, 2)),
            ("NOT (month = 1 AND note = 'x')", months(-10, *range(1, 13), 99, 100)),
        ],
    )
    def test_ranges_are_numeric(self, where: str, expected: set[str]) -> None:
        assert kept(self.SNAPSHOT, where) == expected

    def test_what_the_value_decides_is_certain(self) -> None:
        assert certain(self.SNAPSHOT, "month >= 12") == months(12, 99, 100)
        assert certain(self.SNAPSHOT, "month >= 12 AND note = 'x'") == set()

    def test_null_and_empty_are_partitions_of_their_own(self) -> None:
        by_region = [spec(("region", "identity"))]
        values = {"a": "a", "empty": "", "null": None}
        snapshot = table(by_region, *(split(name, {"region_identity": v}) for name, v in values.items()))
        assert kept(snapshot, "region <> 'a'") == {"empty"}
        assert kept(snapshot, "NOT (region = 'a')") == {"empty"}
        assert kept(snapshot, "region <=> NULL") == {"null"} == certain(snapshot, "region IS NULL")
        assert kept(snapshot, "region = ''") == {"empty"}
        assert kept(snapshot, "region IS NOT NULL") == {"a", "empty"} == certain(snapshot, "region IS NOT NULL")

    def test_values_are_case_sensitive(self) -> None:
        snapshot = table([spec(("region", "identity"))], *(split(r, {"region_identity": r}) for r in ("US", "us")))
        assert kept(snapshot, "region = 'us'") == {"us"}
        assert kept(snapshot, "region LIKE 'U%'") == {"US"}

    def test_a_malformed_value_keeps_its_split(self) -> None:
        snapshot = table(self.BY_MONTH, split("odd", {"month_identity": "abc"}), split("m1", {"month_identity": "1"}))
        assert kept(snapshot, "month = 7") == {"odd"}
        assert certain(snapshot, "month IS NOT NULL") == {"m1"}

    def test_decimals_compare_as_values(self) -> None:
        snapshot = table([spec(("price", "identity"))], split("p", {"price_identity": "1.10"}))
        assert kept(snapshot, "price = 1.1") == {"p"}
        assert kept(snapshot, "price = 1.2") == set()


def day(text: str) -> dict[str, str | None]:
    return {"ts_day": text}


class TestHiddenPartitions:
    BY_DAY = table([spec(("ts", "day"))], *(split(d, day(f"2022-11-{d}")) for d in ("25", "26", "27", "28")))

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ("ts < TIMESTAMP '2022-11-27T00:00:00Z'", {"25", "26"}),
            ("ts <= TIMESTAMP '2022-11-27T00:00:00Z'", {"25", "26", "27"}),
            ("ts > TIMESTAMP '2022-11-26T23:59:59.999999Z'", {"27", "28"}),
            ("ts >= TIMESTAMP '2022-11-26T23:59:59.999999Z'", {"26", "27", "28"}),
            ("ts = TIMESTAMP '2022-11-27T10:00:00Z'", {"27"}),
            ("ts IN (TIMESTAMP '2022-11-27T10:00:00Z', TIMESTAMP '2022-11-26T01:00:00Z')", {"26", "27"}),
            ("ts <> TIMESTAMP '2022-11-27T10:00:00Z'", {"25", "26", "27", "28"}),
        ],
    )
    def test_days(self, where: str, expected: set[str]) -> None:
        assert kept(self.BY_DAY, where) == expected

    def test_whole_days_are_certain(self) -> None:
        where = "ts >= TIMESTAMP '2022-11-26T00:00:00Z' AND ts < TIMESTAMP '2022-11-28T00:00:00Z'"
        assert certain(self.BY_DAY, where) == {"26", "27"} == kept(self.BY_DAY, where)

    def test_buckets(self) -> None:
        buckets = [split(str(b), {"user_bucket[16]": str(b)}) for b in range(16)]
        snapshot = table([spec(("user", "bucket[16]"))], *buckets, split("none", {"user_bucket[16]": None}))
        assert kept(snapshot, "user = 'val'") == {"14"}
        assert len(kept(snapshot, "user > 'val'")) == 16
        assert len(kept(snapshot, "user <> 'val'")) == 16
        assert kept(snapshot, "user IS NULL") == {"none"}

    def test_truncated_strings(self) -> None:
        pieces = [split(p, {"note_truncate[2]": p}) for p in ("he", "hf", "ho", "zz", "h")]
        snapshot = table([spec(("note", "truncate[2]"))], *pieces)
        assert kept(snapshot, "note LIKE 'hello%'") == {"he"}
        assert kept(snapshot, "note NOT LIKE 'he%'") == {"hf", "ho", "zz", "h"}
        assert kept(snapshot, "note > 'hoa'") == {"ho", "zz"}
        assert certain(snapshot, "note >= 'h'") == {"he", "hf", "ho", "zz", "h"}

    def test_each_split_is_pruned_by_its_own_spec(self) -> None:
        specs = [spec(("region", "identity")), spec(("ts", "day"), spec_id=1), spec(spec_id=2)]
        snapshot = table(
            specs,
            split("old eu", {"region_identity": "eu"}),
            split("old us", {"region_identity": "us"}),
            split("new 26", day("2022-11-26"), spec_id=1),
            split("new 27", day("2022-11-27"), spec_id=1),
            split("plain", {}, spec_id=2),
        )
        where = "region = 'eu' AND ts < TIMESTAMP '2022-11-27T00:00:00Z'"
        assert kept(snapshot, where) == {"old eu", "new 26", "plain"}


class TestStatistics:
    def bounded(self, **facts: object) -> Snapshot:
        return table([spec()], split("s", **facts))

    def test_a_range_outside_is_never_and_one_around_is_always(self) -> None:
        snapshot = self.bounded(min_values={"month": 3}, max_values={"month": 5}, null_counts={"month": 0})
        assert kept(snapshot, "month > 5") == set()
        assert certain(snapshot, "month <= 5") == {"s"}
        assert kept(snapshot, "month = 4") == {"s"}
        assert certain(snapshot, "month = 4") == set()

    def test_nulls_are_never_certain_to_match(self) -> None:
        snapshot = self.bounded(min_values={"month": 3}, max_values={"month": 5}, null_counts={"month": 1}, rows=2)
        assert certain(snapshot, "month <= 5") == set()
        assert kept(snapshot, "month IS NULL") == {"s"}
        unknown = self.bounded(min_values={"month": 3}, max_values={"month": 5})
        assert certain(unknown, "month <= 5") == set()

    def test_all_null(self) -> None:
        snapshot = self.bounded(null_counts={"month": 2}, rows=2)
        assert kept(snapshot, "month > 0") == set()
        assert certain(snapshot, "month IS NULL") == {"s"}

    def test_without_statistics_a_split_is_kept(self) -> None:
        assert kept(self.bounded(), "month > 5") == {"s"}

    def test_a_cut_maximum_keeps_the_full_value(self) -> None:
        cut = self.bounded(min_values={"note": "a" * 32}, max_values={"note": "a" * 31 + "b"})
        assert kept(cut, f"note = '{'a' * 40}'") == {"s"}

    def test_bounds_of_floats_say_nothing_of_nan(self) -> None:
        snapshot = self.bounded(min_values={"score": 1}, max_values={"score": 2}, null_counts={"score": 0})
        assert kept(snapshot, "score > 100") == {"s"}
        assert certain(snapshot, "score < 5") == set()
        assert kept(snapshot, "score < 0") == set()


def coalesced(name: str, *tuples: tuple[str | None, ...], complete: bool = True, **facts: object) -> Add:
    logical = LogicalPartitions(complete=complete, columns=["region_identity"], tuples=tuples, counts=[1] * len(tuples))
    return split(name, logical_partitions=logical, **facts)


class TestCoalesced:
    BY_REGION = (spec(("region", "identity")),)

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ("region = 'A'", {"abc"}),
            ("region = 'D'", set()),
            ("region > 'B'", {"abc"}),
            ("region LIKE 'D%'", set()),
            ("region IN ('X', 'C')", {"abc"}),
            ("region IS NULL", set()),
        ],
    )
    def test_a_complete_list_prunes(self, where: str, expected: set[str]) -> None:
        snapshot = table(self.BY_REGION, coalesced("abc", ("A",), ("B",), ("C",)))
        assert kept(snapshot, where) == expected

    def test_certain_only_if_every_tuple_is(self) -> None:
        snapshot = table(self.BY_REGION, coalesced("abc", ("A",), ("B",), ("C",)))
        assert certain(snapshot, "region >= 'A'") == {"abc"}
        assert certain(snapshot, "region >= 'B'") == set()

    @pytest.mark.parametrize(
        "unknown",
        [
            coalesced("s", ("A",), complete=False),
            split("s"),
            coalesced("s"),
            coalesced("s", ("A", "B")),
            split("s", logical_partitions=LogicalPartitions(complete=True, columns=["other"], tuples=[["A"]])),
            split("s", logical_partitions=LogicalPartitions(complete=True, columns=[], tuples=[[]])),
        ],
        ids=["incomplete", "missing", "empty", "of another width", "of another column", "of no column"],
    )
    def test_what_is_not_known_is_kept(self, unknown: Add) -> None:
        snapshot = table(self.BY_REGION, unknown)
        assert kept(snapshot, "region = 'D'") == {"s"}
        assert certain(snapshot, "region >= 'A'") == set()

    def test_nulls_among_the_tuples(self) -> None:
        snapshot = table(self.BY_REGION, coalesced("s", ("A",), ("B",), (None,)))
        assert kept(snapshot, "region IS NULL") == {"s"}
        assert kept(snapshot, "region <> 'A'") == {"s"}
        assert kept(snapshot, "region <> 'A' AND region <> 'B'") == set()

    def test_a_users_own_value_is_not_the_directory(self) -> None:
        snapshot = table(self.BY_REGION, coalesced("shared", ("A",)), split("own", {"region_identity": "[#small]"}))
        assert kept(snapshot, "region = '[#small]'") == {"own"}

    def test_tuples_are_judged_as_a_whole(self) -> None:
        by_both = [spec(("region", "identity"), ("month", "identity"))]
        logical = LogicalPartitions(
            complete=True, columns=["region_identity", "month_identity"], tuples=[["A", "1"], ["B", "2"]], counts=[1, 1]
        )
        snapshot = table(by_both, split("s", logical_partitions=logical))
        assert kept(snapshot, "region = 'A' AND month = 1") == {"s"}
        assert kept(snapshot, "region = 'A' AND month = 2") == set()

    def test_the_other_columns_prune_as_ever(self) -> None:
        by_day = [spec(("ts", "day"), ("region", "identity"))]
        snapshot = table(by_day, coalesced("s", ("A",), partition_values=day("2022-11-26")))
        assert kept(snapshot, "region = 'A' AND ts >= TIMESTAMP '2022-11-27T00:00:00Z'") == set()
        assert kept(snapshot, "region = 'A' AND ts < TIMESTAMP '2022-11-27T00:00:00Z'") == {"s"}

    def test_counts_that_do_not_add_up_are_not_known(self) -> None:
        snapshot = table(self.BY_REGION, coalesced("s", ("A",), ("B",), rows=5))
        assert split_verdicts(snapshot, "TRUE").parts.table["num_records"].to_pylist() == [None, None]

    def test_a_table_without_partitions_has_no_logical_ones(self) -> None:
        snapshot = table([spec()], coalesced("s", ("A",), rows=1))
        assert kept(snapshot, "region = 'D'") == {"s"}

    def test_parts_carry_their_counts(self) -> None:
        snapshot = table(self.BY_REGION, coalesced("s", ("A",), ("B",), rows=2), split("p", {"region_identity": "C"}))
        parts = split_verdicts(snapshot, "region = 'A'").parts
        assert sorted(zip(parts.split.to_pylist(), parts.table["num_records"].to_pylist(), strict=True)) == [
            (0, 1),
            (0, 1),
            (1, 1),
        ]


def test_layout_and_statistics_are_told_apart() -> None:
    snapshot = table(
        [spec(("region", "identity"))],
        split("a", {"region_identity": "us"}),
        split("b", {"region_identity": "eu"}, min_values={"month": 1}, max_values={"month": 2}),
        split("c", {"region_identity": "eu"}, min_values={"month": 5}, max_values={"month": 6}),
    )
    predicate = parse_condition("region = 'eu' AND month > 4", snapshot.metadata.arrow_schema())
    by_layout, by_all = (judge_splits(predicate, snapshot, statistics=given) for given in (False, True))
    assert (by_layout.count(Verdict.NEVER), by_all.count(Verdict.NEVER)) == (1, 2)


def test_a_count_copies_nothing_but_row_counts(tmp_path: Path) -> None:
    table = IndexTable.create(tmp_path, {"region": pa.string(), "n": pa.int64()}, partition_by="region")
    table.append(pa.table({"region": ["eu", "us", "us"], "n": [1, 2, 3]}))
    counted = count_from_metadata(table.scan(where="region = 'us'").plan)
    assert (counted.rows, counted.unknown, counted.parts.column_names) == (2, [], ["rows"])
