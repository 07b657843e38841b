"""The planner: whatever a scan leaves out and whatever is evaluated first, the rows of a query stay the same."""

from hypothesis import given

from indextables.spark.planner.plan import Condition, Plan
from indextables.spark.planner.pushdown import ScanRequest, push_down
from tests.planner.naive import UNREAD, Row, Tables, rows_of, same, satisfying
from tests.planner.plans import plans, tables
from tests.planner.test_runtime_filters import rewritten


def restricted(rows: list[Row], requests: list[ScanRequest]) -> list[Row]:
    """What scans give at least: rows of one request, and its columns; anything in the other columns."""
    required = frozenset().union(*(request.required for request in requests))
    kept = [satisfying([Condition(frozenset(), one) for one in request.conditions], rows) for request in requests]
    seen = [row for row in rows if any(row is other for some in kept for other in some)]
    return [{column: value if column in required else UNREAD for column, value in row.items()} for row in seen]


def scanned(plan: Plan, tables: Tables) -> dict[int, list[Row]]:
    requests = push_down(plan)
    return {table: restricted(rows, requests[table]) if table in requests else [] for table, rows in tables.items()}


@given(plans(), tables())
def test_a_query_over_restricted_scans_has_the_same_rows(plan: Plan, tables: Tables) -> None:
    assert same(rows_of(plan, scanned(plan, tables)), rows_of(plan, tables))


@given(plans(), tables())
def test_a_count_needs_no_column(plan: Plan, tables: Tables) -> None:
    requests = push_down(plan, is_counted=True)
    few = {table: restricted(rows, requests[table]) if table in requests else [] for table, rows in tables.items()}
    assert len(rows_of(plan, few)) == len(rows_of(plan, tables))


@given(plans(), tables())
def test_the_rows_of_a_query_stay_the_same(plan: Plan, tables: Tables) -> None:
    assert same(rows_of(rewritten(plan, tables), tables), rows_of(plan, tables))


@given(plans(), tables())
def test_so_they_do_over_restricted_scans(plan: Plan, tables: Tables) -> None:
    other = rewritten(plan, tables)
    assert same(rows_of(other, scanned(other, tables)), rows_of(plan, tables))
