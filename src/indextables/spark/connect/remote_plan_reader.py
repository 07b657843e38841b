"""Plans of Spark Connect in the planner's language.

Columns have names here, and the reader gives them numbers. A node that it does not understand, or whose columns it cannot
look up, is opaque: all columns of its inputs may matter to it, and nothing moves below it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import msgspec
import pyarrow as pa
from pyspark.sql.connect.proto import relations_pb2
from pyspark.sql.types import StructType

from indextables.errors import PredicateError
from indextables.predicate.translation import UntranslatableError
from indextables.spark.connect.protocol import Expression, Relation, inputs_of, is_ours, kind_of, node_of, options_of
from indextables.spark.connect.remote_expressions import AGGREGATES, ExpressionReader
from indextables.spark.connect.remote_names import identifier_parts
from indextables.spark.planner.plan import (
    Aggregate,
    Condition,
    Filter,
    Function,
    Item,
    Join,
    JoinType,
    Limit,
    Opaque,
    Output,
    Pass,
    Plan,
    Project,
    SetOperation,
    SetOperator,
    relations_of,
)
from indextables.spark.planner.plan import Relation as TableNode
from indextables.spark.planner.read_options import ReadOptions
from indextables.spark.planner.table_relation import TableRelation
from indextables.spark.source.spark_types import to_arrow_utc

_Join, _Aggregate, _SetOperation = relations_pb2.Join, relations_pb2.Aggregate, relations_pb2.SetOperation
_JOINS = {
    _Join.JOIN_TYPE_INNER: JoinType.INNER,
    _Join.JOIN_TYPE_CROSS: JoinType.INNER,
    _Join.JOIN_TYPE_LEFT_OUTER: JoinType.LEFT_OUTER,
    _Join.JOIN_TYPE_RIGHT_OUTER: JoinType.RIGHT_OUTER,
    _Join.JOIN_TYPE_FULL_OUTER: JoinType.FULL_OUTER,
    _Join.JOIN_TYPE_LEFT_SEMI: JoinType.LEFT_SEMI,
    _Join.JOIN_TYPE_LEFT_ANTI: JoinType.LEFT_ANTI,
}
_NEEDS_ALL = {
    "filter",
    "sort",
    "sample",
}  # Spark finds columns for them that a projection below has left out, or sorts by all
_EXTREMES = {"min": Function.MIN, "max": Function.MAX}


@dataclass
class RemotePlanReader:
    """`relations` are ours by the number of the table, `nodes` all relations by the number of ours, `names` columns'.

    `unpruned` are the tables all of whose columns have to be read. `mentioned` are the columns that the plan names:
    the server looks them up whether their values matter or not.
    """

    case_sensitive: bool
    time_zone: str
    relations: dict[int, Relation] = field(default_factory=dict)
    nodes: dict[int, Relation] = field(default_factory=dict)
    tables: dict[int, TableRelation] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    types: dict[int, pa.DataType] = field(default_factory=dict)
    unpruned: set[int] = field(default_factory=set)
    mentioned: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._columns, self._qualifiers = count(), dict[int, str]()
        self._sources: dict[int, int] = {}  # columns under other names
        self._frames: dict[
            int, tuple[int, ...] | None
        ] = {}  # the columns of a frame by its id; None if it is there twice

    def read(self, relation: Relation) -> Plan:
        number = len(self.nodes)
        self.nodes[number] = relation
        plan = self._understood(number, relation)
        if relation.common.HasField("plan_id"):
            id_ = relation.common.plan_id
            self._frames[id_] = None if id_ in self._frames else plan.columns
        return plan

    def _understood(self, number: int, relation: Relation) -> Plan:
        if is_ours(relation):
            return self._table(number, relation)
        inputs = [self.read(below) for below in inputs_of(relation)]
        if kind_of(relation) == "with_relations" and not isinstance(inputs[0], Opaque):
            return self._with_subqueries(number, *inputs)
        reader = _READERS.get(kind_of(relation))
        if reader is not None and not any(isinstance(below, Opaque) for below in inputs):
            try:
                return reader(self, number, node_of(relation), *inputs)
            except (UntranslatableError, PredicateError):
                pass
        if kind_of(relation) in _NEEDS_ALL:
            self._keep_columns(*inputs)
            if not isinstance(inputs[0], Opaque):
                return self._observed(number, relation, *inputs)
        return Opaque(number, (), tuple(inputs))

    def _keep_columns(self, *plans: Plan) -> None:
        self.unpruned.update(table.table for plan in plans for table in relations_of(plan))

    def _with_subqueries(self, number: int, root: Plan, *subqueries: Plan) -> Plan:
        """A plan with subqueries, which may be about any of its columns."""
        self._keep_columns(root)
        return Pass(number, frozenset(root.columns), (), root, movable=frozenset(), subqueries=subqueries)

    def _table(self, number: int, relation: Relation) -> Plan:
        schema = StructType.fromJson(msgspec.json.decode(relation.read.data_source.schema))
        columns = {next(self._columns): field_ for field_ in to_arrow_utc(schema)}
        self.names.update({column: field_.name for column, field_ in columns.items()})
        self.types.update({column: field_.type for column, field_ in columns.items()})
        table = len(self.relations)
        self.relations[table] = relation
        names = {column: field_.name for column, field_ in columns.items()}
        self.tables[table] = TableRelation(ReadOptions.of(options_of(relation)), names)
        return TableNode(number, tuple(columns), table)

    def expressions_over(self, *inputs: Plan) -> ExpressionReader:
        """Reads the expressions of a node with these inputs."""
        columns = tuple(column for below in inputs for column in below.columns)
        return ExpressionReader(partial(self._resolved, columns), self.time_zone)

    def _resolved(self, columns: tuple[int, ...], identifier: str, frame: int | None) -> int:
        """The column that an identifier means; `frame` is the id of the frame that it is a column of, as in `df["a"]`."""
        *qualifiers, name = identifier_parts(identifier)
        known = columns
        if frame is not None:
            own = self._frames.get(frame)
            if own is None:
                raise UntranslatableError
            known = tuple(column for column in own if column in columns)
        found = [column for column in known if self._same(self.names.get(column), name)]
        if qualifiers:
            found = [column for column in found if self._same(self._qualifiers.get(column), qualifiers[-1])]
        if len(found) != 1:
            raise UntranslatableError
        self._mention(found[0])
        return found[0]

    def _mention(self, column: int) -> None:
        self.mentioned.add(column)
        if column in self._sources:
            self._mention(self._sources[column])

    def _same(self, one: str | None, other: str) -> bool:
        return one is not None and (one == other if self.case_sensitive else one.lower() == other.lower())

    def _filter(self, number: int, node: relations_pb2.Filter, child: Plan) -> Plan:
        return Filter(number, tuple(self.expressions_over(child).conditions(node.condition)), child)

    def _project(self, number: int, node: relations_pb2.Project, child: Plan) -> Plan:
        items: list[Item] = []
        for expression in node.expressions:
            if expression.WhichOneof("expr_type") == "unresolved_star":
                items.extend(self._star(expression, child))
            else:
                items.append(self._item(expression, child))
        return Project(number, tuple(items), child)

    def _star(self, expression: Expression, child: Plan) -> list[Item]:
        star = expression.unresolved_star
        if star.HasField("unparsed_target") or star.HasField("plan_id"):
            raise UntranslatableError
        return [self._same_column(column) for column in child.columns]

    def _same_column(self, column: int) -> Item:
        return Item(column, frozenset({column}), column)

    def _item(self, expression: Expression, child: Plan, name: str | None = None) -> Item:
        """An output column; its name is None where only Spark knows it."""
        reader, kind = self.expressions_over(child), expression.WhichOneof("expr_type")
        if kind == "alias" and len(expression.alias.name) == 1:
            return self._item(expression.alias.expr, child, expression.alias.name[0])
        if kind == "unresolved_attribute":
            column = reader.number(expression)
            return self._same_column(column) if name is None else self._renamed(column, name)
        references, is_deterministic = reader.references(expression), reader.is_deterministic(expression)
        return Item(self._named(name), references, None, is_deterministic, reader.search(expression))

    def _renamed(self, column: int, name: str) -> Item:
        new = self._named(name)
        self._sources[new] = column
        if column in self.types:
            self.types[new] = self.types[column]
        return Item(new, frozenset({column}), column)

    def _named(self, name: str | None) -> int:
        column = next(self._columns)
        if name is not None:
            self.names[column] = name
        return column

    def _with_columns(self, number: int, node: relations_pb2.WithColumns, child: Plan) -> Plan:
        items = {column: self._same_column(column) for column in child.columns}
        added: list[Item] = []
        for alias in node.aliases:
            item = self._item(alias.expr, child, alias.name[0])
            replaced = [column for column in items if self._same(self.names.get(column), alias.name[0])]
            for column in replaced:
                self._mention(column)  # Spark replaces it where it stands
                items[column] = item
            if not replaced:
                added.append(item)
        return Project(number, (*items.values(), *added), child)

    def _with_columns_renamed(self, number: int, node: relations_pb2.WithColumnsRenamed, child: Plan) -> Plan:
        if not node.renames:
            raise UntranslatableError
        items = {column: self._same_column(column) for column in child.columns}
        if len(node.renames) > 1 and {one.new_col_name for one in node.renames} & {
            one.col_name for one in node.renames
        }:
            raise UntranslatableError  # one after the other
        for rename in node.renames:
            for column in child.columns:
                if self._same(self.names.get(column), rename.col_name):
                    items[column] = self._renamed(column, rename.new_col_name)
        return Project(number, tuple(items.values()), child)

    def _drop(self, number: int, node: relations_pb2.Drop, child: Plan) -> Plan:
        dropped = {self.expressions_over(child).number(column) for column in node.columns}
        names = list(node.column_names)
        kept = [
            column
            for column in child.columns
            if column not in dropped and not any(self._same(self.names.get(column), name) for name in names)
        ]
        return Project(number, tuple(self._same_column(column) for column in kept), child)

    def _aggregate(self, number: int, node: relations_pb2.Aggregate, child: Plan) -> Plan:
        if node.group_type != _Aggregate.GROUP_TYPE_GROUPBY:
            raise UntranslatableError
        reader = self.expressions_over(child)
        keys = tuple(reader.number(key) for key in node.grouping_expressions)
        grouped = [Output(key, Function.KEY, frozenset({key}), key) for key in keys]
        spelled = [
            identifier_parts(key.unresolved_attribute.unparsed_identifier)[-1] for key in node.grouping_expressions
        ]
        if spelled != [self.names.get(key) for key in keys]:
            raise UntranslatableError  # Spark gives the column the name that the query has for it
        outputs = [self._output(expression, child) for expression in node.aggregate_expressions]
        is_deterministic = all(reader.is_deterministic(one, AGGREGATES) for one in node.aggregate_expressions)
        return Aggregate(number, keys, frozenset(keys), (*grouped, *outputs), child, is_deterministic)

    def _output(self, expression: Expression, child: Plan, name: str | None = None) -> Output:
        reader, kind = self.expressions_over(child), expression.WhichOneof("expr_type")
        if kind == "alias" and len(expression.alias.name) == 1:
            return self._output(expression.alias.expr, child, expression.alias.name[0])
        references = reader.references(expression)
        called = expression.unresolved_function
        if kind != "unresolved_function" or called.is_distinct or called.is_user_defined_function:
            return Output(self._named(name), Function.OTHER, references)
        function, arguments = called.function_name.lower(), called.arguments
        if function == "count" and len(arguments) == 1 and _is_not_null(arguments[0]):
            is_named = name is not None or _is_one(arguments[0])
            return Output(
                self._named(name or "count(1)"), Function.COUNT_ROWS if is_named else Function.OTHER, frozenset()
            )
        if function in {"count", "min", "max"} and references and len(arguments) == 1:
            argument = self._plain(arguments[0], child)
            if argument is None:
                return Output(self._named(name), Function.OTHER, references)
            column = self._named(name or f"{function}({self.names.get(argument)})")
            return Output(column, _EXTREMES.get(function, Function.COUNT_VALUES), references, argument)
        return Output(self._named(name), Function.OTHER, references)

    def _plain(self, expression: Expression, child: Plan) -> int | None:
        """A column that is spelled as the table spells it: the name of an aggregate has the spelling of the query."""
        if expression.WhichOneof("expr_type") != "unresolved_attribute":
            return None
        column = self.expressions_over(child).number(expression)
        spelled = identifier_parts(expression.unresolved_attribute.unparsed_identifier)[-1]
        return column if spelled == self.names.get(column) else None

    def _limit(self, number: int, node: relations_pb2.Limit, child: Plan) -> Plan:
        return Limit(number, node.limit, is_global=True, child=Limit(number, node.limit, is_global=False, child=child))

    def _alias(self, number: int, node: relations_pb2.SubqueryAlias, child: Plan) -> Plan:
        items = tuple(self._renamed(column, self.names.get(column, "")) for column in child.columns)
        self._qualifiers.update({item.column: node.alias for item in items})
        return Project(number, items, child)

    def _hint(self, number: int, _: relations_pb2.Hint, child: Plan) -> Plan:
        return Pass(number, frozenset(), (), child, passes_limit=True)

    def _sort(self, number: int, node: relations_pb2.Sort, child: Plan) -> Plan:
        reader = self.expressions_over(child)
        references = frozenset[int]().union(*(reader.references(order.child) for order in node.order))
        return Pass(number, references, (), child)

    def _repartition(self, number: int, _: relations_pb2.Repartition, child: Plan) -> Plan:
        return Pass(number, frozenset(), (), child)

    def _repartition_by(self, number: int, node: relations_pb2.RepartitionByExpression, child: Plan) -> Plan:
        reader = self.expressions_over(child)
        references = frozenset[int]().union(*(reader.references(one) for one in node.partition_exprs))
        return Pass(number, references, (), child)

    def _some_rows(self, number: int, _: object, child: Plan) -> Plan:
        return Pass(number, frozenset(), (), child, movable=frozenset())

    def _sample(self, number: int, node: relations_pb2.Sample, child: Plan) -> Plan:
        """`randomSplit` sorts by all columns before it samples."""
        if node.deterministic_order:
            return self._observed(number, node, child)
        return self._some_rows(number, node, child)

    def _observed(self, number: int, _: object, child: Plan) -> Plan:
        """All columns of all rows may matter to it."""
        return Pass(number, frozenset(child.columns), (), child, movable=frozenset())

    def _deduplicate(self, number: int, node: relations_pb2.Deduplicate, child: Plan) -> Plan:
        if node.all_columns_as_keys:
            return Pass(number, frozenset(child.columns), (), child, is_distinct=True)
        keys = frozenset(self._resolved(child.columns, f"`{name}`", None) for name in node.column_names)
        return Pass(number, keys, (), child, movable=keys, is_distinct=True)

    def _join(self, number: int, node: relations_pb2.Join, left: Plan, right: Plan) -> Plan:
        join_type = _JOINS.get(node.join_type)
        if join_type is None or set(left.columns) & set(right.columns):
            raise UntranslatableError
        reader = self.expressions_over(left, right)
        conditions = tuple(reader.conditions(node.join_condition)) if node.HasField("join_condition") else ()
        pairs = [
            (self._resolved(left.columns, f"`{name}`", None), self._resolved(right.columns, f"`{name}`", None))
            for name in node.using_columns
        ]
        compared = tuple(Condition(frozenset(pair)) for pair in pairs)
        join = Join(number, join_type, (*conditions, *compared), self._comparable(pairs), left, right)
        return self._using(number, join, pairs) if pairs else join

    def _comparable(self, pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Pairs of one type, of which equal values are the same value: not so 0.0 and -0.0."""
        return tuple(
            (left, right)
            for left, right in pairs
            if self.types.get(left) is not None and self.types.get(left) == self.types.get(right)
            if not pa.types.is_floating(self.types[left])
        )

    def _using(self, number: int, join: Join, pairs: list[tuple[int, int]]) -> Plan:
        """A join by columns of the same name has each of them once."""
        if join.type is JoinType.FULL_OUTER:
            raise UntranslatableError
        keys = [right if join.type is JoinType.RIGHT_OUTER else left for left, right in pairs]
        hidden = {column for pair in pairs for column in pair}
        columns = (*keys, *(column for column in join.columns if column not in hidden))
        return Project(number, tuple(self._same_column(column) for column in columns), join)

    def _set_operation(self, number: int, node: relations_pb2.SetOperation, left: Plan, right: Plan) -> Plan:
        """UNION ALL by position, of columns of the same types."""
        is_union = node.set_op_type == _SetOperation.SET_OP_TYPE_UNION and node.is_all and not node.by_name
        types = [[self.types.get(column) for column in side.columns] for side in (left, right)]
        if not is_union or types[0] != types[1] or None in types[0]:
            raise UntranslatableError
        for column in (*left.columns, *right.columns):
            self._mention(column)  # both sides have to keep as many columns
        columns = tuple(self._named(self.names.get(column)) for column in left.columns)
        self.types.update(dict(zip(columns, types[0], strict=True)))
        return SetOperation(number, SetOperator.UNION, columns, (left, right))


_READERS: dict[str, Callable[..., Plan]] = {
    "filter": RemotePlanReader._filter,
    "project": RemotePlanReader._project,
    "with_columns": RemotePlanReader._with_columns,
    "with_columns_renamed": RemotePlanReader._with_columns_renamed,
    "drop": RemotePlanReader._drop,
    "aggregate": RemotePlanReader._aggregate,
    "limit": RemotePlanReader._limit,
    "subquery_alias": RemotePlanReader._alias,
    "hint": RemotePlanReader._hint,
    "sort": RemotePlanReader._sort,
    "repartition": RemotePlanReader._repartition,
    "repartition_by_expression": RemotePlanReader._repartition_by,
    "offset": RemotePlanReader._some_rows,
    "tail": RemotePlanReader._some_rows,
    "sample": RemotePlanReader._sample,
    "collect_metrics": RemotePlanReader._observed,
    "deduplicate": RemotePlanReader._deduplicate,
    "join": RemotePlanReader._join,
    "set_op": RemotePlanReader._set_operation,
}


def _is_not_null(counted: Expression) -> bool:
    """count(1), count(*): a literal counts every row."""
    kind = counted.WhichOneof("expr_type")
    if kind == "unresolved_star":
        return True
    return kind == "literal" and counted.literal.WhichOneof("literal_type") not in {None, "null"}


def _is_one(counted: Expression) -> bool:
    """count(1) and count(*) have the same name."""
    return counted.WhichOneof("expr_type") == "unresolved_star" or bool(counted.literal.integer == 1)
