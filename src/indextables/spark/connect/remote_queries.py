"""What a client sends to a server of Spark Connect, planned on the way: every query, view and write of a session.

`PlanningStub` stands between PySpark and the connection. It sees the messages of the protocol, whichever method of a frame
has made them.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from pyspark.sql.connect.proto import relations_pb2
from pyspark.sql.types import StructType

from indextables.errors import UnsupportedOperatorError
from indextables.spark.connect.protocol import (
    Message,
    Relation,
    become,
    column_names,
    is_our_stream,
    is_ours,
    kind_of,
    named,
    options_of,
    read_of,
    relations_in,
    schema_json,
)
from indextables.spark.connect.remote_catalog import RemoteCatalog
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.connect.remote_planning import plan_relation
from indextables.spark.connect.remote_settings import read_settings
from indextables.spark.connect.remote_sql import plan_sql
from indextables.spark.connect.server_answers import explanation, table_description
from indextables.spark.options import REQUEST, RULES, TABLE
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.source.batch_reader import refuse_other_columns
from indextables.spark.source.spark_types import arrow_schema
from indextables.spark.source.stream_options import without_stream_options
from indextables.statements.command_values import TableAt
from indextables.statements.search_calls import bind_queries
from indextables.statements.tokens import tokens_of, word

logger = logging.getLogger(__name__)
_CHANGES_VIEWS = frozenset({"VIEW", "DROP", "ALTER", "EXECUTE", "BEGIN"})
_READING = frozenset(
    {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "INSERT", "("}
)


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A plan to send, and a sentence for each search in it that the server evaluates on the values of rows."""

    relation: Relation
    evaluated: tuple[str, ...]


class PlanningStub:
    """The stub of a connection, which plans what goes through it."""

    def __init__(self, stub: Any, queries: "RemoteQueries") -> None:
        self.stub, self.queries = stub, queries

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stub, name)

    def ExecutePlan(self, request: Message, **options: Any) -> Any:  # noqa: N802 - the protocol's name
        return self.stub.ExecutePlan(self.queries.planned_execution(request), **options)

    def AnalyzePlan(self, request: Message, **options: Any) -> Any:  # noqa: N802
        return self.stub.AnalyzePlan(self.queries.planned_analysis(request), **options)


class RemoteQueries:
    """The queries of one session, and what is remembered of it: its views and the frames that it has persisted."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._views: dict[str, bytes] = {}
        self._persisted: dict[bytes, bytes] = {}
        self.catalog = RemoteCatalog(session)

    def planned_execution(self, request: Message) -> Message:
        """A request to run a plan or a command, planned; the request itself if there is nothing to plan."""
        kind = request.plan.WhichOneof("op_type")
        if kind == "root":
            if kind_of(request.plan.root) == "catalog":
                self.catalog.clear()  # the current database may be another one afterwards
            return self._with_planned(request, lambda copy: copy.plan.root)
        if kind != "command":
            return request
        command = request.plan.command
        self._remember(command)
        name = command.WhichOneof("command_type")
        part = _INPUTS.get(name or "")
        if part is None or not getattr(command, name).HasField(part):
            return request
        return self._with_planned(request, lambda copy: getattr(getattr(copy.plan.command, name), part))

    def planned_analysis(self, request: Message) -> Message:
        """A request for the schema or the plan of a frame, or to persist it."""
        kind = request.WhichOneof("analyze")
        inner = getattr(request, kind) if kind else None
        if kind in {"persist", "unpersist", "get_storage_level"}:
            return self._persistence(request, kind)
        if inner is None or not any(field.name == "plan" for field in inner.DESCRIPTOR.fields):
            return request
        if inner.plan.WhichOneof("op_type") != "root":
            return request
        return self._with_planned(request, lambda copy: getattr(copy, kind).plan.root, is_run=False)

    def explain(self, relation: Relation) -> str:
        """What the server reads of our tables for a plan."""
        planned = self._planned(relation, with_metadata=True)
        reads = [] if planned is None else [one for one in relations_in(planned.relation) if is_ours(one)]
        found = [self._explained(one) for one in reads] or ["no split is read"]
        return "\n".join([*found, *(planned.evaluated if planned else ())])

    def _explained(self, read: Relation) -> str:
        options = options_of(read)
        flags = ReadOptions.of(options).search_columns
        columns = tuple(name for name in column_names(read) if name not in flags)
        return explanation(self._session, options, columns) + "\n  read by           executors, with indexes"

    def table_at(self, options: Mapping[str, str], schema: str | None = None) -> Relation:
        """A read of a table at the version that the options mean now, with its schema and the session's settings."""
        given = {**read_settings(self._session, options), **{key.lower(): value for key, value in options.items()}}
        found = table_description(self._session, given)
        if schema is not None:
            wanted, own = (arrow_schema(StructType.fromJson(json.loads(text))) for text in (schema, found.schema))
            refuse_other_columns(wanted, own, ReadOptions.of(given))
        pinned = {key: value for key, value in given.items() if key not in {"path", "versionasof", "timestampasof"}}
        rules = msgspec.json.encode(found.rules).decode()
        decision = {"path": found.location, "versionAsOf": str(found.version), TABLE: found.id, RULES: rules}
        return read_of({**pinned, **decision}, found.schema if schema is None else schema)

    def _with_planned(self, request: Message, part: Any, *, is_run: bool = True) -> Message:
        """The request with another plan in its place. Of one that `is_run`, the searches without an index are logged."""
        planned = self._planned(part(request), with_metadata=is_run)
        if planned is None:
            return request
        for sentence in planned.evaluated if is_run else ():
            logger.warning(sentence)
        copy = type(request)()
        copy.CopyFrom(request)
        part(copy).CopyFrom(planned.relation)
        return copy

    def _planned(self, relation: Relation, *, with_metadata: bool, prune: bool = True) -> "PlannedQuery | None":
        """A planned copy of a plan; None if it reads no table of ours."""
        kinds = {"read", "sql"}
        leaves = [one for one in relations_in(relation) if kind_of(one) in kinds]
        if not leaves or any(is_ours(one) and REQUEST in options_of(one) for one in leaves):
            return None
        try:
            return self._planned_copy(relation, self._persisted, with_metadata=with_metadata, prune=prune)
        except UnsupportedOperatorError:
            if not self._persisted:
                raise
            # rows in memory cannot be searched
            return self._planned_copy(relation, {}, with_metadata=with_metadata, prune=prune)

    def _planned_copy(
        self, relation: Relation, persisted: Mapping[bytes, bytes], *, with_metadata: bool, prune: bool
    ) -> "PlannedQuery | None":
        copy = relations_pb2.Relation()
        copy.CopyFrom(relation)
        held = _hold(copy, persisted)
        evaluated = self._locate(copy)
        if held or any(is_ours(one) or is_our_stream(one) for one in relations_in(copy)):
            evaluated += plan_relation(copy, self._session, with_metadata=with_metadata, prune=prune)
            _release(copy, held)
        elif copy == relation and not evaluated:
            return None
        return PlannedQuery(copy, tuple(dict.fromkeys(evaluated)))

    def _locate(self, relation: Relation) -> list[str]:
        """Gives every table of ours in a plan its path, version and schema, in SQL texts too.

        Gives a sentence for each search in a text that the server evaluates.
        """
        evaluated: list[str] = []
        for one in list(relations_in(relation)):
            kind = kind_of(one)
            if kind == "sql":
                evaluated += self._locate_in_text(one, relation)
            elif kind == "read" and one.read.HasField("named_table") and not one.read.is_streaming:
                parts = identifier_parts(one.read.named_table.unparsed_identifier)
                found = self._named(parts, one.read.named_table.options)
                if found is not None:
                    _replace(one, named(found, parts[-1]))
            elif is_our_stream(one) and RULES not in options_of(one):
                given = without_stream_options(options_of(one))
                found_table = table_description(self._session, {**read_settings(self._session, given), **given})
                one.read.data_source.options[RULES] = msgspec.json.encode(found_table.rules).decode()
            elif is_ours(one) and TABLE not in options_of(one):  # of a frame that was made without us
                schema = one.read.data_source.schema
                _replace(one, self.table_at(options_of(one), schema_json(schema) if schema else None))
        return evaluated

    def _locate_in_text(self, relation: Relation, top: Relation) -> Sequence[str]:
        """A text that comes back from the server, as `spark.sql` has sent it, has its relations with it already."""
        around = next((one for one in relations_in(top) if _is_root_of(one, relation)), None)
        _bind_queries(relation.sql)
        known = set() if around is None else _aliases(around.with_relations.references)
        planned = plan_sql(
            relation.sql.query, self._at_path, lambda parts: None if parts[-1].lower() in known else self._named(parts)
        )
        if planned is None:
            return ()
        relation.sql.query = planned.text
        if not planned.relations:
            return planned.evaluated
        if around is not None:
            around.with_relations.references.extend(planned.relations)
            return planned.evaluated
        outer = relations_pb2.Relation()
        outer.common.CopyFrom(relation.common)
        outer.with_relations.root.CopyFrom(relation)
        outer.with_relations.references.extend(planned.relations)
        become(relation, outer)
        return planned.evaluated

    def _at_path(self, table: TableAt) -> Relation:
        given = {"path": table.path, "versionAsOf": table.version, "timestampAsOf": table.timestamp}
        return self.table_at({key: value for key, value in given.items() if value is not None})

    def _named(self, parts: Sequence[str], options: Mapping[str, str] | None = None) -> Relation | None:
        """The relation that a name means: a view of this client, or a table of ours in the catalog, read with options."""
        if len(parts) == 1 and (view := self._views.get(parts[0].lower())) is not None:
            relation = relations_pb2.Relation()
            relation.ParseFromString(view)
            return relation
        location = self.catalog.location_of(parts)
        return None if location is None else self.table_at({**(options or {}), "path": location})

    def _remember(self, command: Message) -> None:
        """Keeps track of temporary views over our tables, and forgets what a command may change."""
        kind = command.WhichOneof("command_type")
        if kind == "create_dataframe_view":
            self.catalog.clear()
            view = command.create_dataframe_view
            name = view.name.strip("`").lower()
            if not view.is_global and (view.replace or name not in self._views):
                self._views.pop(name, None)
                located = relations_pb2.Relation()
                located.CopyFrom(view.input)
                self._locate(located)  # as it is now: Spark keeps the plan of a view
                if any(is_ours(one) for one in relations_in(located)):
                    self._views[name] = located.SerializeToString()
        elif kind == "sql_command":
            self._forget_changed(command.sql_command.input.sql.query or command.sql_command.sql)

    def _forget_changed(self, text: str) -> None:
        words = [word(token) for token in tokens_of(text)]
        if words[:1] and words[0] in _READING:
            return
        self.catalog.clear()
        if not _CHANGES_VIEWS.isdisjoint(words):
            self._views = {name: view for name, view in self._views.items() if name not in text.lower()}

    def forget_view(self, name: str) -> None:
        self._views.pop(name.strip("`").lower(), None)

    def _persistence(self, request: Message, kind: str) -> Message:
        relation = getattr(request, kind).relation
        key = relation.SerializeToString(deterministic=True)
        if kind == "persist" and key not in self._persisted:
            planned = self._planned(relation, with_metadata=False, prune=False)
            if planned is not None:
                self._persisted[key] = planned.relation.SerializeToString()
        if key not in self._persisted:
            return request
        copy = type(request)()
        copy.CopyFrom(request)
        getattr(copy, kind).relation.ParseFromString(self._persisted[key])
        if kind == "unpersist":
            del self._persisted[key]
        return copy


_INPUTS = {  # the commands that have a plan, and the field that it is in
    "write_operation": "input",
    "write_operation_v2": "input",
    "create_dataframe_view": "input",
    "sql_command": "input",
    "checkpoint_command": "relation",
    "write_stream_operation_start": "input",
    "merge_into_table_command": "source_table_plan",
}


def _replace(relation: Relation, other: Relation) -> None:
    """Another relation in the place of one, under its id."""
    other.common.CopyFrom(relation.common)
    become(relation, other)


def _bind_queries(sql: Message) -> None:
    """Makes parameters that are queries of searches literals, which the client can plan."""
    named = {name: value for name, one in sql.named_arguments.items() if (value := _text_in(one)) is not None}
    sql.query, bound = bind_queries(sql.query, named, list(map(_text_in, sql.pos_arguments)))
    for number in reversed(bound):
        del sql.pos_arguments[number]


def _text_in(argument: Message) -> str | None:
    is_text = argument.WhichOneof("expr_type") == "literal" and argument.literal.HasField("string")
    return str(argument.literal.string) if is_text else None


def _aliases(references: Sequence[Relation]) -> set[str]:
    return {one.subquery_alias.alias.lower() for one in references if kind_of(one) == "subquery_alias"}


def _is_root_of(relation: Relation, sql: Relation) -> bool:
    return kind_of(relation) == "with_relations" and relation.with_relations.root == sql


def _hold(relation: Relation, persisted: Mapping[bytes, bytes]) -> dict[str, bytes]:
    """Puts marks in the places of persisted frames, so that they are sent exactly as they were persisted."""
    held: dict[str, bytes] = {}
    for one in list(relations_in(relation)) if persisted else []:
        planned = persisted.get(one.SerializeToString(deterministic=True))
        if planned is not None:
            name = f"persisted {len(held)}"
            held[name] = planned
            mark = relations_pb2.Relation()
            mark.cached_remote_relation.relation_id = name
            become(one, mark)
    return held


def _release(relation: Relation, held: Mapping[str, bytes]) -> None:
    for one in list(relations_in(relation)) if held else []:
        if kind_of(one) == "cached_remote_relation" and one.cached_remote_relation.relation_id in held:
            one.ParseFromString(held[one.cached_remote_relation.relation_id])
