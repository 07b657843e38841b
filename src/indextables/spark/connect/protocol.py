"""Messages of Spark Connect's protocol: relations, the expressions in them, and the few that we make ourselves.

The protocol is public and the same for all clients and versions of a server, which PySpark's own classes around it are not.
Messages can be changed: whoever rewrites a plan works on a copy.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from pyspark.sql.connect.proto import base_pb2, expressions_pb2, relations_pb2
from pyspark.sql.types import DataType

from indextables.spark.options import FORMAT, is_our_format
from indextables.spark.source.quoting import quote_name

Message: TypeAlias = Any
Relation: TypeAlias = Any  # relations_pb2.Relation
Expression: TypeAlias = Any  # expressions_pb2.Expression

_RELATION, _EXPRESSION = relations_pb2.Relation.DESCRIPTOR, expressions_pb2.Expression.DESCRIPTOR


def kind_of(relation: Relation) -> str:
    """The kind of a relation: `read`, `filter`, `project`."""
    return str(relation.WhichOneof("rel_type"))


def node_of(relation: Relation) -> Message:
    """The message of its kind, such as a `Filter`."""
    return getattr(relation, kind_of(relation))


def inputs_of(relation: Relation) -> list[Relation]:
    """The relations directly below a relation."""
    return list(_below(node_of(relation), _RELATION))


def relations_in(message: Message) -> Iterator[Relation]:
    """Every relation in a message, from the top down; the message itself, if it is one."""
    if message.DESCRIPTOR is _RELATION:
        yield message
        message = node_of(message)
    for relation in _below(message, _RELATION):
        yield from relations_in(relation)


def expressions_of(relation: Relation) -> list[Expression]:
    """The expressions of one node, without those inside them."""
    return list(_below(node_of(relation), _EXPRESSION, around=_RELATION))


def expressions_in(expression: Expression) -> Iterator[Expression]:
    """An expression and all that are inside it."""
    yield expression
    for inner in _below(expression, _EXPRESSION, around=_RELATION):
        yield from expressions_in(inner)


def _below(message: Message, wanted: Any, around: Any = None) -> Iterator[Message]:
    """The topmost messages of a kind inside a message; those inside messages of the kind `around` are left out."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        is_map = field.message_type.GetOptions().map_entry
        repeated = list(value.values()) if is_map else value if field.is_repeated else [value]
        for one in repeated:
            kind = getattr(one, "DESCRIPTOR", None)
            if kind is wanted:
                yield one
            elif kind is not None and kind is not around:
                yield from _below(one, wanted, around)


def is_ours(relation: Relation) -> bool:
    """Whether this is a read of our format by a path, and not a stream."""
    if kind_of(relation) != "read" or relation.read.is_streaming or not relation.read.HasField("data_source"):
        return False
    return is_our_format(relation.read.data_source.format)


def is_our_stream(relation: Relation) -> bool:
    """Whether this is a stream of a table of ours by its path."""
    is_stream = kind_of(relation) == "read" and relation.read.is_streaming and relation.read.HasField("data_source")
    return bool(is_stream) and is_our_format(relation.read.data_source.format)


def options_of(relation: Relation) -> dict[str, str]:
    """The options of a read of ours, with the path among them."""
    source = relation.read.data_source
    options = {key.lower(): value for key, value in source.options.items()}
    return {**options, **({"path": source.paths[0]} if len(source.paths) == 1 else {})}


def read_of(options: Mapping[str, str], schema: str | None = None) -> Relation:
    """A read of our format."""
    relation = relations_pb2.Relation()
    relation.read.data_source.format = FORMAT
    relation.read.data_source.options.update(options)
    if schema is not None:
        relation.read.data_source.schema = schema
    return relation


def set_options(relation: Relation, options: Mapping[str, str]) -> None:
    """Gives a read of ours these options, its path among them, in place of all that it had."""
    source = relation.read.data_source
    source.options.clear()
    source.options.update(options)
    del source.paths[:]


def become(relation: Relation, other: Relation) -> None:
    """Turns a relation into another one, which may have a copy of it inside."""
    copy = relations_pb2.Relation()
    copy.CopyFrom(other)
    relation.CopyFrom(copy)


def drop_columns(relation: Relation, names: list[str]) -> None:
    """Takes columns out of the output of a relation."""
    outer = relations_pb2.Relation()
    outer.drop.input.CopyFrom(relation)
    outer.drop.column_names.extend(names)
    become(relation, outer)


def named(relation: Relation, name: str) -> Relation:
    """The relation under the name by which a SQL text knows it."""
    outer = relations_pb2.Relation()
    outer.subquery_alias.input.CopyFrom(relation)
    outer.subquery_alias.alias = name
    return outer


def filtered(relation: Relation, condition: str) -> Relation:
    """The rows that satisfy a condition in SQL."""
    outer = relations_pb2.Relation()
    outer.filter.input.CopyFrom(relation)
    outer.filter.condition.expression_string.expression = condition
    return outer


def selected(relation: Relation, columns: list[str]) -> Relation:
    outer = relations_pb2.Relation()
    outer.project.input.CopyFrom(relation)
    outer.project.expressions.extend(map(attribute, columns))
    return outer


def with_column(relation: Relation, name: str, value: str) -> Relation:
    """The relation with a further column, its value in SQL."""
    outer = relations_pb2.Relation()
    outer.project.input.CopyFrom(relation)
    outer.project.expressions.add().unresolved_star.SetInParent()
    added = outer.project.expressions.add().alias
    added.expr.expression_string.expression = value
    added.name.append(name)
    return outer


def column_names(relation: Relation) -> list[str]:
    """The columns of a read of ours whose schema is known."""
    return [field["name"] for field in msgspec.json.decode(relation.read.data_source.schema)["fields"]]


def schema_json(schema: str) -> str:
    """A schema as JSON, from JSON or DDL."""
    return schema if schema.lstrip().startswith("{") else str(DataType.fromDDL(schema).json())


def local_rows(data: bytes, schema: str) -> Relation:
    """Rows that the client has, as Arrow's bytes."""
    relation = relations_pb2.Relation()
    relation.local_relation.data = data
    relation.local_relation.schema = schema
    return relation


def plan_of(relation: Relation) -> Message:
    plan = base_pb2.Plan()
    plan.root.CopyFrom(relation)
    return plan


def attribute(name: str) -> Expression:
    expression = expressions_pb2.Expression()
    expression.unresolved_attribute.unparsed_identifier = quote_name([name])
    return expression


def aliased(expression: Expression, name: str) -> Expression:
    """An expression under a name."""
    outer = expressions_pb2.Expression()
    outer.alias.expr.CopyFrom(expression)
    outer.alias.name.append(name)
    return outer


def called(function: str, *arguments: Expression) -> Expression:
    expression = expressions_pb2.Expression()
    expression.unresolved_function.function_name = function
    expression.unresolved_function.arguments.extend(arguments)
    return expression


def text_of(value: str) -> Expression:
    """A literal."""
    expression = expressions_pb2.Expression()
    expression.literal.string = value
    return expression


def never_null(flag: Expression) -> Expression:
    """A row that an outer join made up is found by no search."""
    otherwise = expressions_pb2.Expression()
    otherwise.literal.boolean = False
    return called("coalesce", flag, otherwise)
