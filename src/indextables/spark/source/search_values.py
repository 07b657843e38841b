"""The function `indexquery` as Spark's Python workers run it: a search over the values of a column, without an index."""

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from indextables.error_notes import noted_errors
from indextables.errors import UnsupportedOperatorError
from indextables.kernels import flat
from indextables.schema import normalize
from indextables.search import FieldRule, parse
from indextables.search.field_rules import STRING, TEXT, default_rule
from indextables.search.value_search import match_values
from indextables.values import in_table_type

_VALUE = "value"


class SearchedColumns(msgspec.Struct, frozen=True):
    """The field rules of columns, empty where none is known; and the column in which words without a field are searched.

    `reason` says why no index answers the search.
    """

    rules: Mapping[str, str]
    default: str | None = None
    reason: str = ""

    def as_text(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def of_text(cls, text: str) -> "SearchedColumns":
        return msgspec.json.decode(text, type=cls)


@noted_errors()
def indexquery(*arguments: pa.Array) -> pa.Array:
    """Whether each row is found by a query, the last of the arguments; those before it are the columns that it searches.

    After the planner, the query is a struct of the query and of `SearchedColumns` as text, and the columns are one column,
    or a struct of several. Strings of which nothing is known are searched as text.
    """
    *columns, queries = arguments
    searched = None
    if pa.types.is_struct(queries.type):
        known, queries = queries.field(1), queries.field(0)
        searched = SearchedColumns.of_text(known[0].as_py()) if len(known) else None
    if not columns:
        raise no_columns(queries[0].as_py() if len(queries) else "")
    batch = _columns(columns, searched)
    given = searched.rules if searched else {}
    rules = {
        name: FieldRule.parse(given[name]) if given.get(name) else _rule_of(kind)
        for name, kind in zip(batch.schema.names, batch.schema.types, strict=True)
    }
    default = searched.default if searched else _VALUE if batch.schema.names == [_VALUE] else None
    fields = None if default is None else [default]
    distinct = queries.unique().drop_null()
    found = pa.repeat(pa.scalar(value=False), batch.num_rows)
    for query in distinct:
        parsed = parse(query.as_py(), schema=batch.schema, rules=rules, default_fields=fields)
        if len(distinct) == 1 and not queries.null_count:
            return pa.array(match_values(parsed, batch, rules))
        rows = pc.fill_null(pc.equal(queries, query), fill_value=False)
        numbers = pc.indices_nonzero(rows)
        found = pc.replace_with_mask(found, rows, pa.array(match_values(parsed, batch.take(numbers), rules)))
    return found


def no_columns(query: str) -> UnsupportedOperatorError:
    reason = "it searches all columns of a table, and it is not known of which table; name a column"
    return UnsupportedOperatorError(
        f"indexqueryall({query!r}) cannot be evaluated: {reason}",
        predicate=query,
        reason=reason,
        operator="indexqueryall",
    )


def _columns(columns: Sequence[pa.Array], searched: SearchedColumns | None) -> pa.RecordBatch:
    if len(columns) == 1 and pa.types.is_struct(columns[0].type):
        batch = pa.RecordBatch.from_struct_array(flat(columns[0]))
    else:
        names = [_VALUE, *(f"{_VALUE}{number}" for number in range(2, len(columns) + 1))]
        batch = pa.record_batch(dict(zip(names if searched is None else searched.rules, columns, strict=True)))
    schema = normalize(batch.schema)
    return pa.record_batch([in_table_type(column) for column in batch.columns], schema=schema)


def _rule_of(kind: pa.DataType) -> FieldRule:
    rule = default_rule(kind)
    return FieldRule.parse(TEXT) if rule.type == STRING else rule
