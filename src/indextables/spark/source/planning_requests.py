"""What a client of Spark Connect asks the server about a table before it sends a query or a write.

The client has no driver to plan in, and may be unable to read the table's storage. The server can: Spark calls the data
source there whenever it needs the schema of a relation. So a request is an option of a relation, and its answer is the
metadata of a column. No job runs. As with write jobs (`job_option`), a text is decoded into values of known types, never
into code.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import partial
from typing import Any, assert_never

import msgspec
import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from indextables.error_notes import ErrorNote
from indextables.errors import ConfigError, IndexTablesError
from indextables.maintain.replace_where import resolve_overwrite
from indextables.predicate import parse_condition
from indextables.read.scan_plan import explain, plan_scan
from indextables.schema import column_named
from indextables.spark.options import REQUEST, path_in, settings_in
from indextables.spark.planner.column_names import columns_of, name_of, renamed
from indextables.spark.planner.metadata_aggregates import aggregate_rows
from indextables.spark.planner.plan import Aggregate, Condition, Filter, Function, Output, Relation
from indextables.spark.planner.query_log import log_metadata_rows
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.table_relation import TableRelation
from indextables.spark.source.job_option import encode_job
from indextables.spark.source.spark_types import spark_schema
from indextables.write.job_planning import plan_job
from indextables.write.write_job import Mode
from indextables.write.write_plan import current_rules

_ANSWER = "indextables"  # the column, and the key of its metadata


class DescribeTable(msgspec.Struct, frozen=True, tag=True):
    """The version that a read means now, and its schema."""


class PlanWrite(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The job of a write of rows with this schema, in Arrow's bytes; settings and path are options.

    `texts` are the columns of the rows that are text, if text columns are to be chosen.
    """

    schema: bytes
    mode: Mode
    time_zone: str
    case_sensitive: bool
    properties: Mapping[str, str] = {}
    texts: tuple[str, ...] | None = None


class AggregateRows(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The rows of an aggregate, if no split has to be opened for it. `outputs` are functions and their columns."""

    where: str | None
    keys: tuple[str, ...]
    outputs: tuple[tuple[Function, str | None], ...]


class ExplainScan(msgspec.Struct, frozen=True, tag=True):
    """What a read of some columns opens and prunes, in words."""

    columns: tuple[str, ...]


Request = DescribeTable | PlanWrite | AggregateRows | ExplainScan


class TableDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A table at a version; `schema` is JSON in Spark's form, and `rules` are the field rules of its columns."""

    location: str
    version: int
    id: str
    schema: str
    rules: Mapping[str, str]


class _Answer(msgspec.Struct, frozen=True):
    content: msgspec.Raw = msgspec.Raw(msgspec.msgpack.encode(None))
    refusal: ErrorNote | None = None


def encode_request(request: Request) -> str:
    return b64encode(msgspec.msgpack.encode(request)).decode()


def answer_request(options: Mapping[str, str]) -> StructType:
    """The schema whose metadata has the answer to the request in the options."""
    try:
        request = msgspec.msgpack.decode(b64decode(options[REQUEST], validate=True), type=Request)
    except (ValueError, msgspec.MsgspecError) as error:
        raise ConfigError(
            f"the option {REQUEST} cannot be read; the client and the server of Spark Connect need the same release "
            "of indextables",
            key=REQUEST,
            value=None,
        ) from error
    try:
        answer = _Answer(msgspec.Raw(msgspec.msgpack.encode(_answer(request, options))))
    except IndexTablesError as error:
        answer = _Answer(refusal=ErrorNote.of(error))
    text = b64encode(msgspec.msgpack.encode(answer)).decode()
    return StructType([StructField(_ANSWER, StringType(), metadata={_ANSWER: text})])


def decode_answer(schema: StructType, kind: Any) -> Any:
    """The answer in a schema, as a value of the kind that the request has; the server's error is raised here."""
    answer = msgspec.msgpack.decode(b64decode(schema[0].metadata[_ANSWER]), type=_Answer)
    if answer.refusal is not None:
        raise answer.refusal.exception()
    return msgspec.msgpack.decode(answer.content, type=kind)


def _answer(request: Request, options: Mapping[str, str]) -> Any:
    match request:
        case DescribeTable():
            return _described(ReadOptions.of(options))
        case PlanWrite():
            return _planned(request, options)
        case AggregateRows():
            return _aggregated(request, ReadOptions.of(options))
        case ExplainScan():
            return _explained(request, ReadOptions.of(options))
        case _:
            assert_never(request)


def _described(options: ReadOptions) -> TableDescription:
    snapshot = options.snapshot()
    columns = spark_schema(snapshot.metadata.arrow_schema()).json()
    rules = {name: str(rule) for name, rule in current_rules(snapshot.metadata).items()}
    return TableDescription(
        location=options.path, version=snapshot.version, id=snapshot.metadata.id, schema=columns, rules=rules
    )


def _planned(request: PlanWrite, options: Mapping[str, str]) -> str:
    """The job as the option of a write."""
    overwrite = partial(resolve_overwrite, time_zone=request.time_zone, case_sensitive=request.case_sensitive)
    job = plan_job(
        path_in(options),
        pa.ipc.read_schema(pa.py_buffer(request.schema)),
        mode=request.mode,
        sources=[settings_in(options)],
        overwrite=overwrite,
        properties=request.properties,
        texts=None if (texts := request.texts) is None else lambda: texts,
    )
    return encode_job(job)


def _aggregated(request: AggregateRows, options: ReadOptions) -> bytes | None:
    schema = options.snapshot().metadata.arrow_schema()
    columns = dict(enumerate(schema.names))
    numbers = {name: number for number, name in columns.items()}

    def number_of(name: str) -> int:
        return numbers[column_named(schema, name, case_sensitive=options.case_sensitive)]

    relation = Relation(0, tuple(columns), table=0)
    child: Relation | Filter = relation
    if request.where is not None:
        bound = parse_condition(request.where, schema, time_zone=options.time_zone)
        condition = renamed(bound, {name: name_of(number) for name, number in numbers.items()})
        child = Filter(1, (Condition(columns_of(condition), condition),), relation)
    keys = tuple(map(number_of, request.keys))
    outputs = tuple(
        Output(len(columns) + place, function, frozenset(), None if name is None else number_of(name))
        for place, (function, name) in enumerate(request.outputs)
    )
    aggregate, tables = Aggregate(2, keys, frozenset(keys), outputs, child), {0: TableRelation(options, columns)}
    rows = aggregate_rows(aggregate, tables)
    if rows is None:
        return None
    log_metadata_rows(aggregate, tables)
    return ipc_bytes(rows)


def _explained(request: ExplainScan, options: ReadOptions) -> str:
    snapshot = options.snapshot()
    plan = plan_scan(snapshot, options.scan_spec(snapshot, request.columns))
    return f"{options.path}, version {snapshot.version}\n{explain(plan)}"


def ipc_bytes(rows: pa.Table) -> bytes:
    """Rows as Arrow's stream, the form in which Spark Connect has local rows too."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())
