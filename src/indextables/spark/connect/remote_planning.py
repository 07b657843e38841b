"""Queries of Spark Connect, planned when they are sent: relations get conditions and columns, aggregates become rows.

The planner is the one of classic Spark, up to its pushdown. Scans are planned by the data source on the server, which gets
the conditions as the option `where` and the columns as the schema of the read; Spark filters again.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from indextables.errors import IndexTablesError, PredicateError
from indextables.predicate import Predicate, bind, casts, conjunction, parse_condition, to_sql
from indextables.schema import normalize
from indextables.spark.connect.protocol import (
    Relation,
    become,
    expressions_in,
    expressions_of,
    inputs_of,
    is_ours,
    kind_of,
    local_rows,
    options_of,
    relations_in,
    set_options,
)
from indextables.spark.connect.remote_plan_reader import RemotePlanReader
from indextables.spark.connect.remote_search import resolve_searches
from indextables.spark.connect.server_answers import aggregate_rows
from indextables.spark.options import SEARCHES
from indextables.spark.planner.column_names import name_of
from indextables.spark.planner.metadata_aggregates import filtered_relation
from indextables.spark.planner.plan import (
    Aggregate,
    Filter,
    Function,
    Origin,
    Plan,
    Rows,
    children_of,
    with_children,
)
from indextables.spark.planner.pushdown import ScanRequest, push_down
from indextables.spark.planner.read_options import as_option
from indextables.spark.planner.table_relation import TableRelation
from indextables.spark.source.planning_requests import AggregateRows, ipc_bytes
from indextables.spark.source.spark_types import spark_schema, to_arrow_utc

logger = logging.getLogger(__name__)


def plan_relation(relation: Relation, session: Any, *, with_metadata: bool = True, prune: bool = True) -> list[str]:
    """Plans the reads of our tables in a plan whose relations have versions and schemas, in place.

    It makes a query faster: a message that cannot be read is sent without it. Gives a sentence for each search that the
    server evaluates.
    """
    read = partial(
        RemotePlanReader,
        case_sensitive=str(session.conf.get("spark.sql.caseSensitive")).lower() == "true",
        time_zone=str(session.conf.get("spark.sql.session.timeZone")),
    )
    evaluated = resolve_searches(relation, read())
    planned = type(relation)()
    planned.CopyFrom(relation)
    try:
        _push_down(planned, read(), session, with_metadata=with_metadata, prune=prune)
    except (IndexTablesError, PySparkException):
        raise
    except Exception as error:
        logger.warning("a query is sent without pushdown, because its plan could not be read: %s", type(error).__name__)
        logger.debug("the plan could not be read", exc_info=error)
    else:
        relation.CopyFrom(planned)
    return evaluated


def _push_down(relation: Relation, reader: RemotePlanReader, session: Any, *, with_metadata: bool, prune: bool) -> None:
    if not any(is_ours(one) for one in relations_in(relation)):
        return
    plan = reader.read(relation)
    if with_metadata:
        plan = _MetadataRows(relation, reader, session).replaced(plan)
    for table, requests in push_down(plan).items():
        everything = frozenset(reader.tables[table].columns)
        mentioned = everything & reader.mentioned if prune and table not in reader.unpruned else everything
        _write_scan(reader.relations[table], reader.tables[table], requests[0], mentioned, reader.time_zone)


def _write_scan(
    relation: Relation, table: TableRelation, request: ScanRequest, mentioned: frozenset[int], time_zone: str
) -> None:
    """Gives a read the conditions and the columns of its one request, and the columns that the plan names."""
    schema = _schema_of(relation)
    where = _pushed(table, request.conditions, schema, time_zone)
    names = {table.columns[number] for number in request.required | mentioned} or {schema.fields[0].name}
    options = options_of(relation)
    if where:
        options["where"] = _both(options.get("where"), to_sql(conjunction(*where)))
    searches = {name: search for name, search in table.options.search_columns.items() if name in names}
    if searches != table.options.search_columns:
        options[SEARCHES] = as_option(searches)
    set_options(relation, options)
    columns = StructType([field for field in schema if field.name in names])
    relation.read.data_source.schema = columns.json()


def _both(own: str | None, pushed: str) -> str:
    """The condition of a read and what is pushed down to it; a plan that is sent again has that already."""
    if own is None or own == pushed or own.endswith(f" AND ({pushed})"):
        return own or pushed
    return f"({own}) AND ({pushed})"


def _pushed(table: TableRelation, conditions: Iterable[Predicate], read: StructType, time_zone: str) -> list[Predicate]:
    """The conditions that mean the same to a scan as to Spark, whatever the session's settings for casts are.

    The read may have been made in another time zone than the query: only a text that means the same in both is passed on.
    """
    own = StructType([field for field in read if field.name not in table.options.search_columns])
    schema, found = normalize(to_arrow_utc(own)), []
    for condition in conditions:
        try:
            bound = bind(table.predicate(condition), schema, time_zone=time_zone)
            again = parse_condition(to_sql(bound), schema, time_zone=table.options.time_zone)
        except PredicateError:
            continue
        if not casts(bound) and repr(again) == repr(bound):
            found.append(bound)
    return found


def _schema_of(relation: Relation) -> StructType:
    schema: StructType = StructType.fromJson(msgspec.json.decode(relation.read.data_source.schema))
    return schema


@dataclass(frozen=True, slots=True)
class _MetadataRows:
    """Aggregates that the log has become rows, in the message as in the plan."""

    top: Relation
    reader: RemotePlanReader
    session: Any

    def replaced(self, plan: Plan) -> Plan:
        if isinstance(plan, Aggregate):
            rows = self._rows(plan)
            if rows is not None:
                names = [self.reader.names[output.column] for output in plan.outputs]
                _put_rows(self.reader.nodes[plan.number], rows.rename_columns(names))
                named = rows.rename_columns([name_of(column) for column in plan.columns])
                return Rows(plan.number, plan.columns, Origin.METADATA, named)
        if self._may_aggregate(plan):
            return plan
        return with_children(plan, tuple(map(self.replaced, children_of(plan))))

    def _may_aggregate(self, plan: Plan) -> bool:
        """Whether Spark may find an aggregate in this node that it computes in the one below."""
        relation = self.reader.nodes[plan.number]
        if isinstance(plan, Filter):
            return any(condition.predicate is None for condition in plan.conditions)
        if kind_of(relation) == "sort":
            return any(order.child.WhichOneof("expr_type") != "unresolved_attribute" for order in relation.sort.order)
        return not isinstance(plan, Filter) and kind_of(relation) == "filter"

    def _rows(self, plan: Aggregate) -> pa.Table | None:
        request = _request_for(plan, self.reader)
        if request is None or self._is_named_outside(self.reader.nodes[plan.number]):
            return None
        if plan.keys and self.session.conf.get("spark.sql.retainGroupColumns", "true") != "true":
            return None
        table, question = request
        return aggregate_rows(self.session, options_of(self.reader.relations[table]), question)

    def _is_named_outside(self, relation: Relation) -> bool:
        """Whether a column of a frame below is named above, as in `df["a"]`: Spark looks for that frame in the plan."""
        below = {one.common.plan_id for one in relations_in(relation)} - {relation.common.plan_id}
        return not below.isdisjoint(_frames_named(self.top, without=relation.common.plan_id))


def _request_for(plan: Aggregate, reader: RemotePlanReader) -> tuple[int, AggregateRows] | None:
    """What to ask the server, and about which table; None if Spark has to compute the aggregate."""
    found = filtered_relation(plan.child)
    if found is None or plan.keys is None or any(output.function is Function.OTHER for output in plan.outputs):
        return None
    arguments = {output.argument for output in plan.outputs if output.argument is not None}
    table = reader.tables[found.table]
    own = {column: table.names.get(source) for column, source in found.sources.items()}
    if any(own.get(column) is None for column in arguments.union(plan.keys)):
        return None
    schema = _schema_of(reader.relations[found.table])
    where = _pushed(table, found.conditions, schema, reader.time_zone)
    if len(where) < len(found.conditions):
        return None
    outputs = tuple(
        (output.function, None if output.argument is None else own[output.argument]) for output in plan.outputs
    )
    keys = tuple(str(own[key]) for key in plan.keys)
    text = to_sql(conjunction(*where)) if where else None
    return found.table, AggregateRows(where=text, keys=keys, outputs=outputs)


def _put_rows(relation: Relation, rows: pa.Table) -> None:
    """Puts rows in the place of a relation, under its id."""
    schema = spark_schema(rows.schema)
    for field, own in zip(schema, rows.schema, strict=True):
        field.nullable = own.nullable
    new = local_rows(ipc_bytes(rows.combine_chunks()), schema.json())
    new.common.CopyFrom(relation.common)
    become(relation, new)


def _frames_named(relation: Relation, *, without: int) -> set[int]:
    """The ids of frames whose columns a plan names, outside of the node with an id."""
    if relation.common.plan_id == without:
        return set()
    own = {
        one.unresolved_attribute.plan_id
        for expression in expressions_of(relation)
        for one in expressions_in(expression)
        if one.WhichOneof("expr_type") == "unresolved_attribute" and one.unresolved_attribute.HasField("plan_id")
    }
    return own.union(*(_frames_named(below, without=without) for below in inputs_of(relation)))
