"""`spark.read` over Spark Connect: a table at one version, with the settings of the session."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql.connect.readwriter import DataFrameReader
from pyspark.sql.types import StructType

from indextables.errors import ConfigError
from indextables.spark.connect.protocol import options_of, schema_json
from indextables.spark.connect.remote_queries import RemoteQueries
from indextables.spark.environment.session_settings import is_default
from indextables.spark.options import FORMAT, is_our_format
from indextables.spark.planner.read_options import warn_of_write_settings


class RemoteReader(DataFrameReader):
    """Spark's reader, which decides the version of a table of ours when a frame is made."""

    def __init__(self, session: Any, queries: RemoteQueries) -> None:
        super().__init__(session)
        self._session, self._queries = session, queries

    def load(
        self,
        path: Any = None,
        format: str | None = None,  # noqa: A002 - Spark's name
        schema: StructType | str | None = None,
        **options: Any,
    ) -> Any:
        if format is not None:
            self.format(format)
        if schema is not None:
            self.schema(schema)
        self.options(**options)
        if not (is_our_format(self._format) if self._format else is_default(self._session)):
            return super().load(path)
        if isinstance(path, list):
            raise ConfigError("a frame is read from one table; union frames of several", key="path", value=str(path))
        given = {**self._options, **({} if path is None else {"path": path})}
        warn_of_write_settings(given)
        return frame_at(self._session, self._queries, given, self._schema or None)


def frame_at(session: Any, queries: RemoteQueries, options: Mapping[str, str], schema: str | None = None) -> Any:
    """A frame over a table at the version that the options mean now; the `schema` is JSON or DDL."""
    relation = queries.table_at(options, schema and schema_json(schema))
    reader = DataFrameReader(session).format(FORMAT).schema(relation.read.data_source.schema)
    return reader.options(**options_of(relation)).load()
