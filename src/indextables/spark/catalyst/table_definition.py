"""The columns and clauses of a parsed CREATE TABLE."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType

from indextables.spark.catalyst.catalog_tables import text_of
from indextables.spark.catalyst.java import Java, kind, pairs, sequence
from indextables.spark.catalyst.parsed_statement import CreateTable, data_type
from indextables.spark.source.quoting import quote_name


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """`partitioning` holds terms as Spark writes them: `` `app` ``, `days(ts)`; `clustering` the columns of CLUSTER BY.

    `computed_columns` tells which of DEFAULT, GENERATED and IDENTITY a column has; `computed_options` are expressions
    that are not literals.
    """

    columns: StructType
    computed_columns: Mapping[str, str]
    partitioning: tuple[str, ...]
    clustering: tuple[str, ...]
    options: Mapping[str, str]
    computed_options: tuple[str, ...]
    properties: Mapping[str, str]
    location: str | None
    comment: str | None
    collation: str | None
    has_constraints: bool
    is_external: bool


def table_definition(statement: CreateTable) -> TableDefinition:
    plan: Java = statement.plan
    spec = plan.tableSpec()
    columns = sequence(plan.columns()) if statement.query is None else []
    transforms = sequence(plan.partitioning())
    options = [(str(key), value) for key, value in pairs(spec.optionExpression().options())]
    return TableDefinition(
        columns=StructType([_column(column) for column in columns]),
        computed_columns={str(column.name()): clause for column in columns for clause in _computed_by(column)},
        partitioning=tuple(_term(transform) for transform in transforms if not _is_clustering(transform)),
        clustering=tuple(
            ".".join(reference.fieldNames())
            for transform in transforms
            if _is_clustering(transform)
            for reference in transform.references()
        ),
        options={key: _literal_text(value) for key, value in options if kind(value) == "Literal"},
        computed_options=tuple(str(value.sql()) for _, value in options if kind(value) != "Literal"),
        properties={str(key): str(value) for key, value in pairs(spec.properties())},
        location=text_of(spec.location()),
        comment=text_of(spec.comment()),
        collation=text_of(spec.collation()),
        has_constraints=spec.constraints().size() > 0,
        is_external=bool(spec.external()),
    )


def _column(column: Java) -> StructField:
    comment = text_of(column.comment())
    metadata = {} if comment is None else {"comment": comment}
    return StructField(str(column.name()), data_type(column.dataType()), bool(column.nullable()), metadata)


def _computed_by(column: Java) -> list[str]:
    parts = {
        "DEFAULT": column.defaultValue(),
        "GENERATED": column.generationExpression(),
        "IDENTITY": column.identityColumnSpec(),
    }
    return [clause for clause, part in parts.items() if part.isDefined()]


def _literal_text(literal: Java) -> str:
    value = literal.value()
    return str(value.toString() if hasattr(value, "toString") else value)


def _is_clustering(transform: Java) -> bool:
    return str(transform.name()) == "cluster_by"


def _term(transform: Java) -> str:
    is_column = str(transform.name()) == "identity"
    return quote_name(transform.references()[0].fieldNames()) if is_column else str(transform.toString())
