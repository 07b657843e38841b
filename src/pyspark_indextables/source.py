"""The data source as PySpark finds it. PySpark imports this in every session, so that the rest is loaded when it is used."""

from typing import Any

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """`indextables.spark.source.data_source.IndexTablesDataSource`, loaded on demand."""

    @classmethod
    def name(cls) -> str:
        return "indextables"

    def schema(self) -> Any:
        return self._loaded().schema()

    def reader(self, schema: Any) -> Any:
        return self._loaded().reader(schema)

    def writer(self, schema: Any, overwrite: bool) -> Any:  # noqa: FBT001 - Spark's signature
        return self._loaded().writer(schema, overwrite)

    def streamReader(self, schema: Any) -> Any:  # noqa: N802 - Spark's name
        return self._loaded().streamReader(schema)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802, FBT001 - Spark's signature
        return self._loaded().streamWriter(schema, overwrite)

    def _loaded(self) -> DataSource:
        """Shares the options, in which `schema` notes the version that it has shown."""
        from indextables.spark.source.data_source import IndexTablesDataSource  # noqa: PLC0415 - see above

        return IndexTablesDataSource(self.options)
