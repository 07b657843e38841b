"""Requests of a client to the data source on the server: the schema of a relation brings the answer."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from indextables.errors import TableNotFoundError
from indextables.spark.connect.protocol import plan_of, read_of
from indextables.spark.options import REQUEST
from indextables.spark.source.planning_requests import (
    AggregateRows,
    DescribeTable,
    ExplainScan,
    PlanWrite,
    Request,
    TableDescription,
    decode_answer,
    encode_request,
)


def table_description(session: Any, options: Mapping[str, str]) -> TableDescription:
    """The table that the options of a read name, at the version that they mean now."""
    found: TableDescription = _ask(session, options, DescribeTable(), TableDescription)
    return found


def existing_table(session: Any, options: Mapping[str, str]) -> TableDescription | None:
    """The same, or None if there is no table."""
    try:
        return table_description(session, options)
    except TableNotFoundError:
        return None


def planned_job(session: Any, options: Mapping[str, str], request: PlanWrite) -> str:
    """A write, planned on the server, as the option of the write."""
    return str(_ask(session, options, request, str))


def aggregate_rows(session: Any, options: Mapping[str, str], request: AggregateRows) -> pa.Table | None:
    """The rows of an aggregate, if the server has them without opening a split."""
    found = _ask(session, options, request, bytes | None)
    return None if found is None else pa.ipc.open_stream(found).read_all()


def explanation(session: Any, options: Mapping[str, str], columns: tuple[str, ...]) -> str:
    return str(_ask(session, options, ExplainScan(columns), str))


def _ask(session: Any, options: Mapping[str, str], request: Request, kind: Any) -> Any:
    relation = read_of({**options, REQUEST: encode_request(request)})
    return decode_answer(session.client.schema(plan_of(relation)), kind)
