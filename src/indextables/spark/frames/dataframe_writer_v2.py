"""`df.writeTo(name)`: tables of ours are written by our writer, others by Spark's own."""

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.readwriter import DataFrameWriterV2

from indextables.errors import ConfigError, TableNotFoundError
from indextables.spark.catalyst.handles import Expression
from indextables.spark.catalyst.query_planning import planned_frame
from indextables.spark.catalyst.session_state import column_expression, expression_sql, parse_name
from indextables.spark.environment.session_settings import is_default, settings_of
from indextables.spark.frames.catalog import (
    CatalogTable,
    lookup_table,
    qualify,
    refresh_columns,
)
from indextables.spark.frames.dataframe_writer import TableWriter
from indextables.spark.frames.insert import replace_where_text
from indextables.spark.frames.recorded_write import partition_term
from indextables.spark.options import FORMAT, is_our_format, settings_in
from indextables.spark.source.quoting import quote_name
from indextables.table import IndexTable

_EVERYTHING = "TRUE"


class TableWriterV2(DataFrameWriterV2):
    """Records its calls until the verb, which decides whose table it is."""

    def __init__(self, df: DataFrame, table: str) -> None:
        super().__init__(df, table)
        self._table, self._parts = table, parse_name(self._spark, table)
        self._calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._provider: str | None = None
        self._given: dict[str, Any] = {}
        self._properties: dict[str, str] = {}
        self._terms: tuple[str, ...] = ()
        self._clustered: tuple[str, ...] = ()

    def using(self, provider: str) -> "TableWriterV2":
        self._provider = provider
        return self._record("using", provider)

    def option(self, key: str, value: Any) -> "TableWriterV2":
        self._given[key] = value
        return self._record("option", key, value)

    def options(self, **options: Any) -> "TableWriterV2":
        self._given |= options
        return self._record("options", **options)

    def tableProperty(self, property: str, value: str) -> "TableWriterV2":  # noqa: A002, N802 - Spark's names
        self._properties[property] = value
        return self._record("tableProperty", property, value)

    def partitionedBy(self, col: Column | str, *cols: Column | str) -> "TableWriterV2":  # noqa: N802
        self._terms = tuple(partition_term(expression_sql(self._expression(one))) for one in (col, *cols))
        return self._record("partitionedBy", col, *cols)

    def clusterBy(self, col: str, *cols: str) -> "TableWriterV2":  # noqa: N802
        self._clustered = (col, *cols)
        return self._record("clusterBy", col, *cols)

    def create(self) -> None:
        if self._creates_ours:
            self._save("errorifexists", {})
        else:
            self._planned_writer().create()

    def createOrReplace(self) -> None:  # noqa: N802
        if self._replaces_ours:
            self._save("overwrite", {}, replaces_table=True)
        else:
            self._planned_writer().createOrReplace()

    def replace(self) -> None:
        if not self._replaces_ours:
            self._planned_writer().replace()
        elif self._entry() is None:
            name = quote_name(qualify(self._spark, self._parts))
            raise TableNotFoundError(f"there is no table {name} to replace; use createOrReplace()", table=name)
        else:
            self._save("overwrite", {}, replaces_table=True)

    def append(self) -> None:
        if self._entry() is not None:
            self._save("append", {})
        else:
            self._planned_writer().append()

    def overwrite(self, condition: Column | str) -> None:
        entry = self._entry()
        if entry is None:
            self._planned_writer().overwrite(condition)
            return
        options = {**self._given, "path": entry.location}
        text = replace_where_text(self._spark, self._expression(condition), options, alias=self._parts[-1])
        settings = {**settings_of(self._spark, entry.location, options), **settings_in(options)}
        is_all = text == _EVERYTHING and not IndexTable.open(entry.location, options=settings).layout.fields
        self._save("overwrite", {"partitionOverwriteMode": "static"} if is_all else {"replaceWhere": text})

    def overwritePartitions(self) -> None:  # noqa: N802
        if self._entry() is not None:
            self._save("overwrite", {"partitionOverwriteMode": "dynamic"})
        else:
            self._planned_writer().overwritePartitions()

    @property
    def _creates_ours(self) -> bool:
        return is_default(self._spark) if self._provider is None else is_our_format(self._provider)

    @property
    def _replaces_ours(self) -> bool:
        """Without a format, a table of ours stays one, whatever the session's default is."""
        if self._creates_ours:
            return True
        entry = self._entry()
        if entry is not None and self._provider is not None:
            raise ConfigError(
                f"table {entry.name} is of the format {FORMAT}, and the write says {self._provider}; leave using() out, or "
                "drop the table first",
                key="using",
                value=self._provider,
            )
        return entry is not None

    def _expression(self, column: Column | str) -> Expression:
        return column_expression(self._spark, F.col(column) if isinstance(column, str) else column)

    def _entry(self) -> CatalogTable | None:
        """The table, if it is there and ours."""
        if lookup_table(self._spark, self._parts) is None:
            return None
        return refresh_columns(self._spark, self._parts, {key: str(value) for key, value in self._given.items()})

    def _save(self, mode: str, options: dict[str, str], *, replaces_table: bool = False) -> None:
        writer = TableWriter(self._df).format(FORMAT).mode(mode).options(**self._given).options(**options)
        writer.partitionBy(*self._terms).clusterBy(*self._clustered).with_properties(self._properties)
        writer = writer.replacing_table() if replaces_table else writer
        writer.saveAsTable(quote_name(qualify(self._spark, self._parts)))

    def _record(self, method: str, *args: Any, **options: Any) -> "TableWriterV2":
        self._calls.append((method, args, options))
        return self

    def _planned_writer(self) -> DataFrameWriterV2:
        """Spark's own writer over the planned rows, after the recorded calls."""
        writer = DataFrameWriterV2(planned_frame(self._df), self._table)
        for method, args, options in self._calls:
            getattr(writer, method)(*args, **options)
        return writer
