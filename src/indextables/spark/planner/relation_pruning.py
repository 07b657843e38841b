"""Which splits of a relation may have rows for a query: its conditions bound, proved and judged, once for the same ones."""

from collections.abc import Sequence

from indextables.errors import PredicateError
from indextables.log import Snapshot
from indextables.predicate import Predicate, bind, disjunction, distinct_conjunction
from indextables.read.cast_pushdown import provable_terms, prove_casts
from indextables.read.scan_plan import ScanPlan, plan_scan
from indextables.read.scan_spec import ScanSpec, with_predicate
from indextables.spark.planner.snapshots import snapshot_of
from indextables.spark.planner.table_relation import PrunedRelation, TableRelation


def prune(relation: TableRelation, branches: Sequence[Sequence[Predicate]]) -> PrunedRelation:
    """The splits that may have rows of one of the branches: rows that satisfy all conditions of the branch."""
    key = frozenset(map(frozenset, branches))
    if key not in relation.pruned:
        relation.pruned[key] = _pruned(relation, branches)
    return relation.pruned[key]


def exact_plan(relation: TableRelation, conditions: Sequence[Predicate]) -> ScanPlan | None:
    """The plan of a scan of no columns with exactly these conditions; None where one of them is left to Spark."""
    pruned = prune(relation, [conditions])
    return pruned.plan if pruned.is_exact else None


def _pruned(relation: TableRelation, branches: Sequence[Sequence[Predicate]]) -> PrunedRelation:
    snapshot = snapshot_of(relation.options)
    spec = relation.options.scan_spec(snapshot, [])
    found = [_conjunction(relation, conditions, spec, snapshot) for conditions in branches]
    if len(found) == 1:
        predicate, is_exact = found[0]
    elif all(branches):
        predicate, is_exact = distinct_conjunction(spec.predicate, disjunction(*(one for one, _ in found))), False
    else:
        predicate, is_exact = spec.predicate, False
    return PrunedRelation(plan_scan(snapshot, with_predicate(spec, predicate)), is_exact)


def _conjunction(
    relation: TableRelation, conditions: Sequence[Predicate], spec: ScanSpec, snapshot: Snapshot
) -> tuple[Predicate, bool]:
    """As many of the conditions as the log proves to be the same for Spark and for us, and whether that is all of them."""
    whole, is_exact = spec.predicate, True
    for condition in conditions:
        bound = _bound(relation, condition, spec)
        known = None if bound is None else prove_casts(bound, snapshot, where=whole)
        if known is None:
            is_exact = False
            known = None if bound is None else provable_terms(bound, snapshot, where=whole)
        if known is not None:
            whole = distinct_conjunction(whole, known)
    return whole, is_exact


def _bound(relation: TableRelation, condition: Predicate, spec: ScanSpec) -> Predicate | None:
    """A predicate of the plan in the table's names and types; None where the types do not fit."""
    try:
        return bind(relation.predicate(condition), spec.schema, time_zone=relation.options.time_zone)
    except PredicateError:
        return None
