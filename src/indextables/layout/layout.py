"""A layout: the partition fields of a table, in order.

It is parsed from text, and prints as the same text:

>>> layout = Layout.parse("region, day(ts), bucket(16, user_id) AS shard")
>>> layout.names
('region', 'ts_day', 'shard')
>>> print(layout)
region, day(ts), bucket(16, user_id) AS shard

`bind` checks it against a schema:

>>> layout.bind(pa.schema({"region": pa.string(), "ts": pa.date32()}))
Traceback (most recent call last):
indextables.errors.LayoutError: bucket(16, user_id) names a column that is not there; the table has region, ts
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from indextables.errors import LayoutError
from indextables.layout.transforms import Calendar, Identity, Transform
from indextables.schema import available_columns_hint, shown_type

_COLUMN = r"(?:`(?:[^`]|``)+`|[^\s,()`]+)"
_SIZE_FIRST, _SIZE_LAST = r"(?:(?P<first>-?[0-9]+)\s*,\s*)?", r"(?:\s*,\s*(?P<last>-?[0-9]+))?"
_CALL = rf"(?P<function>\w+)\s*\(\s*{_SIZE_FIRST}(?P<argument>{_COLUMN}){_SIZE_LAST}\s*\)"
_TERM = re.compile(
    rf"\s*(?:{_CALL}|(?P<column>{_COLUMN}))(?:\s+AS\s+(?P<name>{_COLUMN}))?\s*(?P<end>,|\Z)", re.IGNORECASE
)
_NEEDS_NO_QUOTES = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One column, what is computed from it, and the name of the result.

    >>> PartitionField("ts", Calendar("day"))
    PartitionField(source='ts', transform=Calendar(unit='day'), name='ts_day')
    """

    source: str
    transform: Transform = Identity()  # noqa: RUF009 - frozen
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self._default_name)

    @property
    def _default_name(self) -> str:
        return self.source + self.transform.suffix

    @property
    def has_default_name(self) -> bool:
        return self.name == self._default_name

    @property
    def term(self) -> str:
        """The field without its name: `day(ts)`."""
        return self.transform.over(_quote(self.source))

    @property
    def is_identity(self) -> bool:
        return self.transform == Identity()

    def of_column(self, column: str) -> "PartitionField":
        """The same field of another column; a name that was given stays."""
        name = "" if self.has_default_name else self.name
        return replace(self, source=column, name=name)

    def __str__(self) -> str:
        return self.term if self.has_default_name else f"{self.term} AS {_quote(self.name)}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Partition fields, outermost first; none means that the table is not partitioned."""

    fields: tuple[PartitionField, ...] = ()

    @staticmethod
    def parse(text: str) -> "Layout":
        """The layout of a text such as `region, day(ts), bucket(16, user_id) AS shard`.

        Names that are not plain words go in backquotes. The empty text means no partitioning.

        >>> Layout.parse("`event date`").fields
        (PartitionField(source='event date', transform=Identity(), name='event date'),)
        """
        return Layout(tuple(_parse_terms(text)) if text.strip() else ())

    @staticmethod
    def of(*terms: "str | PartitionField") -> "Layout":
        """The layout of several terms.

        >>> print(Layout.of("day(ts)", PartitionField("event date")))
        day(ts), `event date`
        """
        parsed = ((term,) if isinstance(term, PartitionField) else Layout.parse(term).fields for term in terms)
        return Layout(tuple(field for fields in parsed for field in fields))

    @staticmethod
    def from_json(value: Sequence[dict[str, Any]]) -> "Layout":
        try:
            fields = ((field["source"], Transform.parse(field["transform"]), field["name"]) for field in value)
            return Layout(tuple(PartitionField(*field) for field in fields))
        except (KeyError, TypeError) as error:
            raise LayoutError(
                f"{value!r} is not a layout; every field has source, transform and name", field=None
            ) from error

    def to_json(self) -> list[dict[str, str]]:
        """The layout as the log holds it.

        >>> Layout.parse("bucket(16, id)").to_json()
        [{'source': 'id', 'transform': 'bucket[16]', 'name': 'id_bucket'}]
        """
        return [{"source": f.source, "transform": str(f.transform), "name": f.name} for f in self.fields]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(field.source for field in self.fields)

    def bind(self, schema: pa.Schema, *, case_sensitive: bool = False) -> "Layout":
        """The layout with the schema's spelling of its columns, or a LayoutError."""
        found = [(field, _column_of(field, schema, case_sensitive=case_sensitive)) for field in self.fields]
        _refuse_missing([field for field, column in found if column is None], schema)
        bound = Layout(tuple(field.of_column(column) for field, column in found if column is not None))
        for check in (_refuse_types, _refuse_twins, _refuse_nested_time, _refuse_taken_names, _refuse_all_columns):
            check(bound, schema)
        return bound

    def types(self, schema: pa.Schema) -> tuple[pa.DataType, ...]:
        """The types of the partition values of a table with this schema.

        >>> Layout.parse("region, day(ts)").types(pa.schema({"region": pa.string(), "ts": pa.timestamp("us")}))
        (DataType(string), DataType(int32))
        """
        return tuple(field.transform.result_type(schema.field(field.source).type) for field in self.fields)

    def __str__(self) -> str:
        return ", ".join(map(str, self.fields))


def _parse_terms(text: str) -> Iterable[PartitionField]:
    position, more = 0, True
    while more:
        term = _TERM.match(text, position)
        if not term:
            raise LayoutError(
                f"cannot read the layout {text!r} from {text[position:].strip()!r} on; "
                "write terms such as region, day(ts) or bucket(16, user_id), with odd names in backquotes",
                field=text[position:].strip(),
            )
        yield _field_from_term(term)
        position, more = term.end(), term["end"] == ","


def _field_from_term(term: re.Match[str]) -> PartitionField:
    name = _unquote(term["name"] or "")
    if term["column"]:
        return PartitionField(_unquote(term["column"]), name=name)
    sizes = [size for size in (term["first"], term["last"]) if size]
    notation = "".join([term["function"], *(f"[{size}]" for size in sizes)])
    return PartitionField(_unquote(term["argument"]), Transform.parse(notation), name)


def _quote(name: str) -> str:
    return name if _NEEDS_NO_QUOTES.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _unquote(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _column_of(field: PartitionField, schema: pa.Schema, *, case_sensitive: bool) -> str | None:
    fold: Callable[[str], str] = str if case_sensitive else str.lower
    return next((column for column in schema.names if fold(column) == fold(field.source)), None)


def _refuse_missing(fields: Sequence[PartitionField], schema: pa.Schema) -> None:
    if not fields:
        return
    terms, verb = ", ".join(field.term for field in fields), "names" if len(fields) == 1 else "name"
    columns = "a column that is not there" if len(fields) == 1 else "columns that are not there"
    raise LayoutError(
        f"{terms} {verb} {columns}; {available_columns_hint(fields[0].source, schema.names)}", field=fields[0].name
    )


def _refuse_types(layout: Layout, schema: pa.Schema) -> None:
    for field in layout.fields:
        arrow = schema.field(field.source).type
        if not (Identity().accepts(arrow) and field.transform.accepts(arrow)):
            raise LayoutError(
                f"{field.term} is not possible, because column {field.source!r} has type {shown_type(arrow)}; "
                "choose another column or another transform",
                field=field.name,
            )


def _refuse_twins(layout: Layout, _: pa.Schema) -> None:
    term, times = Counter(field.term for field in layout.fields).most_common(1)[0] if layout.fields else ("", 0)
    if times > 1:
        raise LayoutError(f"{term} is there {times} times; once is enough", field=term)


def _refuse_nested_time(layout: Layout, _: pa.Schema) -> None:
    seen: dict[str, PartitionField] = {}
    for field in layout.fields:
        if isinstance(field.transform, Calendar):
            other = seen.setdefault(field.source, field)
            if other is not field:
                raise LayoutError(
                    f"{other.term} and {field.term} partition the same column by time; keep the finer one",
                    field=field.name,
                )


def _refuse_taken_names(layout: Layout, schema: pa.Schema) -> None:
    taken = {column.lower(): f"column {column!r}" for column in schema.names}
    for field in layout.fields:
        key = field.name.lower()
        owner = taken.get(key)
        if owner and not (field.is_identity and key == field.source.lower()):
            raise LayoutError(
                f"{field.term} would be named {field.name!r}, which is the name of {owner}; "
                f"give it another: {field.term} AS ...",
                field=field.name,
            )
        taken[key] = field.term


def _refuse_all_columns(layout: Layout, schema: pa.Schema) -> None:
    partitioned = {field.source for field in layout.fields if field.is_identity}
    if partitioned and partitioned == set(schema.names):
        raise LayoutError(
            f"the layout {layout} takes every column of the table; leave at least one out", field=layout.fields[-1].name
        )
