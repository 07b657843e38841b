"""Our relations in Spark's plans: which leaves they are, and the same relations with other options or columns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.types import StructType

from indextables.errors import IndexTablesError
from indextables.read.scan_spec import Score, SearchResult
from indextables.spark.catalyst.java import (
    Java,
    UnknownIdsError,
    frame_over,
    java_map,
    jvm_of,
    kind,
    labels,
    nothing,
    seq,
    sequence,
    strings,
)
from indextables.spark.catalyst.probe import Capability, capabilities
from indextables.spark.options import FORMAT, SEARCHES, is_our_format
from indextables.spark.planner.read_options import ReadOptions, as_option, search_name
from indextables.spark.planner.snapshots import latest_snapshot
from indextables.spark.planner.table_relation import TableRelation
from indextables.spark.source.stream_options import without_stream_options

STREAM = "StreamingRelationV2"

SharingKey: TypeAlias = tuple[Any, frozenset[tuple[str, str]]]  # the JVM, and the options of a relation
_SHARED: dict[SharingKey, Java] = {}


@dataclass(frozen=True)
class RelationNode:
    """A leaf of a plan that reads one of our tables at a version."""

    java: Java
    options: Mapping[str, str]
    read: ReadOptions

    @classmethod
    def of(cls, plan: Java) -> Self | None:
        """None for other plans, and for relations whose version is not decided."""
        return cls.of_leaf(plan) if kind(plan) == "DataSourceV2Relation" else None

    @classmethod
    def of_leaf(cls, plan: Java) -> Self | None:
        """The same for a DataSourceV2Relation."""
        if not _is_ours(plan):
            return None
        options = {key.lower(): value for key, value in options_of(plan).items()}
        try:
            read = ReadOptions.of(options)
        except IndexTablesError:
            return None
        return cls(plan, options, read) if read.version is not None else None

    @classmethod
    def of_stream(cls, plan: Java) -> Self | None:
        """The table that a stream reads, as it is now; None for other leaves. No scan of it is planned."""
        if kind(plan) != STREAM or not _is_ours(plan):
            return None
        options = {key.lower(): value for key, value in strings(plan.extraOptions().asCaseSensitiveMap()).items()}
        read = ReadOptions.of(without_stream_options(options))
        return cls(plan, options, replace(read, version=latest_snapshot(read).version))

    @cached_property
    def table(self) -> TableRelation:
        return TableRelation(self.read, dict(labels(self.java.output())))

    def with_where(self, spark: Any, where: str) -> Self:
        """The relation with another condition of its own."""
        options = {**self.options, "where": where}
        return type(self)(with_options(spark, self.java, options), options, ReadOptions.of(options))

    def with_search_column(self, spark: Any, result: SearchResult) -> Self:
        """The relation with a column, its last: true where a search finds the row, or the score of the row."""
        name, is_score = self.search_name(result), isinstance(result, Score)
        schema = self.java.table().schema().add(name, "float" if is_score else "boolean", is_score)
        fresh = jvm_of(spark).org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(schema)
        output = [*sequence(self.java.output()), fresh.apply(fresh.size() - 1)]
        options = {**self.options, SEARCHES: as_option({**self.read.search_columns, name: result})}
        return type(self)(with_options(spark, self.java, options, schema, output), options, ReadOptions.of(options))

    def search_name(self, result: SearchResult) -> str:
        """The name that a further column of a search would have."""
        return search_name(result, len(self.read.search_columns))


def is_ours(plan: Java) -> bool:
    return kind(plan) == "DataSourceV2Relation" and _is_ours(plan)


def _is_ours(relation: Java) -> bool:
    table = relation.table()
    return bool(is_our_format(table.name()) and table.getClass().getSimpleName() == "PythonTable")


def options_of(relation: Java) -> dict[str, str]:
    """The options of a relation, as they were written."""
    return strings(relation.options().asCaseSensitiveMap())


def relation_frame(spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> DataFrame:
    """What `spark.read.format("indextables").schema(...).load()` gives, without the process that Spark starts there."""
    if Capability.TABLE_RELATIONS not in capabilities(spark):
        return DataFrameReader(spark).format(FORMAT).schema(schema).options(**options).load()
    session: Any = spark
    jvm, columns = jvm_of(spark), session._jsparkSession.parseDataType(schema.json())
    relations = jvm.org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
    relation = relations.create(_table(jvm, columns), nothing(spark), nothing(spark))
    return frame_over(with_options(spark, relation, options), spark)


def with_options(
    spark: Any, relation: Java, options: Mapping[str, str], schema: Java = None, output: list[Java] | None = None
) -> Java:
    """The relation with these options. It is a source of its own, with the same columns (to Spark) unless given others."""
    jvm = jvm_of(spark)
    return relation.copy(
        _shared_table(spark, relation, options) or _table(jvm, relation.table().schema() if schema is None else schema),
        relation.output() if output is None else seq(output, spark),
        relation.catalog(),
        relation.identifier(),
        jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(java_map(options)),
        relation.timeTravelSpec(),
    )


def share_table(spark: Any, relation: Java) -> bool:
    """Lets relations with the options of this one have its table, which Spark's cache compares; False where they do."""
    key = _sharing_key(spark, options_of(relation))
    is_new = key not in _SHARED
    _SHARED.setdefault(key, relation.table())
    return is_new


def unshare_table(spark: Any, relation: Java) -> None:
    _SHARED.pop(_sharing_key(spark, options_of(relation)), None)


def _shared_table(spark: Any, relation: Java, options: Mapping[str, str]) -> Java | None:
    """The table of a relation that is in Spark's cache, if these options and columns are its own."""
    table = _SHARED.get(_sharing_key(spark, options)) if _SHARED else None
    return table if table is not None and table.schema().equals(relation.table().schema()) else None


def _sharing_key(spark: Any, options: Mapping[str, str]) -> SharingKey:
    return jvm_of(spark), frozenset((key.lower(), value) for key, value in options.items())


def relations_in(plan: Java) -> list[Java]:
    """The relations of ours in a plan, in its subqueries too."""
    return [leaf for leaf in relation_leaves(plan) if _is_ours(leaf)]


def distinct_relations(plan: Java) -> list[RelationNode]:
    """The relations of ours in a plan, in its subqueries too; equal ones once."""
    found = [relation for relation in map(RelationNode.of_leaf, relation_leaves(plan)) if relation is not None]
    distinct = {tuple(relation.table.columns): relation for relation in found}
    if any(relation.options != distinct[tuple(relation.table.columns)].options for relation in found):
        raise UnknownIdsError  # two relations with the same columns, to Spark, may read other rows
    return list(distinct.values())


def relation_leaves(plan: Java) -> list[Java]:
    """The relations of any Spark data source of version 2 in a plan, in its subqueries too."""
    parts = [plan, *sequence(plan.subqueriesAll())]
    return [leaf for part in parts for leaf in sequence(part.collectLeaves()) if kind(leaf) == "DataSourceV2Relation"]


def _table(jvm: Any, schema: Java) -> Java:
    """The format as a table of these columns; Spark asks the data source itself when it plans a scan."""
    python = jvm.org.apache.spark.sql.execution.datasources.v2.python
    source = python.PythonDataSourceV2()
    source.setShortName(FORMAT)
    return python.PythonTable(source, FORMAT, schema)
