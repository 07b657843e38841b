"""A read as `spark.read` or `spark.readStream` describes it: format and options, before it is planned."""

from collections.abc import Mapping
from typing import Any, Self

from indextables.spark.environment.session_settings import is_default
from indextables.spark.options import is_our_format


class RecordedRead:
    """Put before Spark's own reader among the bases of a class."""

    def __init__(self, spark: Any) -> None:
        super().__init__(spark)  # type: ignore[call-arg] # Spark's own reader comes after it
        self._session = spark
        self._source: str | None = None
        self._given: dict[str, str] = {}

    @property
    def _spark_reader(self) -> Any:
        """Spark's own methods, which this class overrides."""
        return super()

    @property
    def _ours(self) -> bool:
        """Whether the format is ours, or there is none and ours is the session's default."""
        return is_default(self._session) if self._source is None else is_our_format(self._source)

    @property
    def given(self) -> Mapping[str, str]:
        """The options so far."""
        return self._given

    def format(self, source: str) -> Self:
        self._source = source
        self._spark_reader.format(source)
        return self

    def option(self, key: str, value: Any) -> Self:
        if value is None:  # as if it were not given
            self._given.pop(key.lower(), None)
        else:
            self._given[key.lower()] = str(value).lower() if isinstance(value, bool) else str(value)
        self._spark_reader.option(key, value)
        return self

    def options(self, **options: Any) -> Self:
        for key, value in options.items():
            self.option(key, value)
        return self

    def _apply(self, source: str | None, schema: Any, options: Mapping[str, Any]) -> None:
        """The arguments of `load`."""
        if source is not None:
            self.format(source)
        if schema is not None:
            self.schema(schema)  # type: ignore[attr-defined] # Spark's own reader has it
        self.options(**options)
