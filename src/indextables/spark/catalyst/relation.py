"""Our relations in Spark's plans: what they ask for, and the same relations asking for more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pyspark.sql.types import StructType

from indextables.errors import IndexTablesError
from indextables.predicate import IndexQuery
from indextables.spark.catalyst.java import Java, jvm_of, kind, labels, seq, sequence, strings
from indextables.spark.source.options import ABSORBED, FORMAT, SEARCHES, is_our_format
from indextables.spark.source.read_options import Asked, as_option, search_name


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of ours. To Spark, what is made of it here has the same columns, and further ones after them."""

    java: Java
    options: Mapping[str, str]
    asked: Asked

    @classmethod
    def of(cls, plan: Java) -> Self | None:
        """None for other plans, and for relations whose version is not settled."""
        if not is_ours(plan):
            return None
        options = {key.lower(): value for key, value in options_of(plan).items()}
        try:
            asked = Asked.of(options)
        except IndexTablesError:
            return None
        return cls(plan, options, asked) if asked.version is not None else None

    @property
    def columns(self) -> dict[int, str]:
        """All columns, those of searches too, by Spark's ids of them."""
        return dict(labels(self.java.output()))

    @property
    def names(self) -> dict[int, str]:
        """The table's columns by Spark's ids of them."""
        return {id_: name for id_, name in self.columns.items() if name not in self.asked.searched}

    @property
    def searches(self) -> dict[int, IndexQuery]:
        """The searches that the relation answers row by row, by Spark's ids of their columns."""
        searched = self.asked.searched
        return {id_: searched[name] for id_, name in self.columns.items() if name in searched} if searched else {}

    @property
    def is_filtered_above(self) -> bool:
        """Whether the filters of the plan say all that the relation asks for: its own condition only repeats them."""
        return self.asked.query is None and (self.asked.where is None or ABSORBED in self.options)

    def asking(self, spark: Any, options: Mapping[str, str | None]) -> Self:
        """The relation with other options; those that are None are gone."""
        return self._copied(spark, self._with(options))

    def searching(self, spark: Any, search: IndexQuery) -> Self:
        """The relation with a column, its last, that says whether a search finds the row."""
        searches = (*self.asked.searches, search)
        schema = self.java.table().schema().add(search_name(len(searches) - 1), "boolean", False)
        fresh = jvm_of(spark).org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(schema)
        output = [*sequence(self.java.output()), fresh.apply(fresh.size() - 1)]
        return self._copied(spark, self._with({SEARCHES: as_option(searches)}), schema, output)

    def _with(self, options: Mapping[str, str | None]) -> dict[str, str]:
        return {key: value for key, value in {**self.options, **options}.items() if value is not None}

    def _copied(
        self, spark: Any, options: dict[str, str], schema: Java = None, output: list[Java] | None = None
    ) -> Self:
        return type(self)(copied(spark, self.java, options, schema, output), options, Asked.of(options))


def is_ours(plan: Java) -> bool:
    if kind(plan) != "DataSourceV2Relation":
        return False
    table = plan.table()
    return bool(is_our_format(table.name()) and table.getClass().getSimpleName() == "PythonTable")


def options_of(relation: Java) -> dict[str, str]:
    """The options of a relation, as they were written."""
    return strings(relation.options().asCaseSensitiveMap())


def made(spark: Any, schema: StructType, options: Mapping[str, str]) -> Java:
    """What `spark.read.format("indextables").schema(...).load()` makes, but for the process that Spark starts there."""
    jvm, columns = jvm_of(spark), spark._jsparkSession.parseDataType(schema.json())  # noqa: SLF001
    nothing = jvm.scala.Option.empty()
    relations = jvm.org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
    return copied(spark, relations.create(_table(jvm, columns), nothing, nothing), options)


def copied(
    spark: Any, relation: Java, options: Mapping[str, str], schema: Java = None, output: list[Java] | None = None
) -> Java:
    """The relation with these options. It is a source of its own, with the same columns (to Spark) unless told."""
    jvm = jvm_of(spark)
    return relation.copy(
        _table(jvm, relation.table().schema() if schema is None else schema),
        relation.output() if output is None else seq(output, spark),
        relation.catalog(),
        relation.identifier(),
        jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(dict(options)),
        relation.timeTravelSpec(),
    )


def relations_in(plan: Java) -> list[Java]:
    """The relations of ours in a plan, in its subqueries too."""
    parts = [plan, *sequence(plan.subqueriesAll())]
    return [leaf for part in parts for leaf in sequence(part.collectLeaves()) if is_ours(leaf)]


def _table(jvm: Any, schema: Java) -> Java:
    """The format as a table of these columns; Spark asks the data source itself when it plans a scan."""
    python = jvm.org.apache.spark.sql.execution.datasources.v2.python
    source = python.PythonDataSourceV2()
    source.setShortName(FORMAT)
    return python.PythonTable(source, FORMAT, schema)
