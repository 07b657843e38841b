"""The queries of UPDATE and MERGE INTO: SQL text for Spark, whose rows say what happens to which row of the table.

| column | contents |
|---|---|
| `_indextables_path`, `_indextables_row` | where the row of the table is that goes; null for a new row |
| `_indextables_clause` | the number of the clause that applies |
| `_indextables_row_0`, ... | the new row by the clause of this number, as a struct in the order of the table's columns |
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql.types import StructField, StructType

from indextables.errors import SchemaError, StatementError, UnsupportedStatementError
from indextables.read.scan_spec import ADDRESS
from indextables.schema import available_columns_hint
from indextables.spark.source.quoting import quote_name
from indextables.statements.row_level_statements import (
    Action,
    Assignment,
    DeleteFrom,
    DeleteRow,
    InsertAll,
    InsertRow,
    MergeClause,
    MergeInto,
    UpdateAll,
    UpdateSet,
    UpdateTable,
    When,
    qualify_columns,
)

PATH, ROW, CLAUSE = "_indextables_path", "_indextables_row", "_indextables_clause"
MARKER = "_indextables_is_source"  # true in every row of the source, so that it is null where an outer join has none
_NULL = frozenset({"NULL", "DEFAULT"})  # columns have no defaults
_JOINS = {
    (False, False): "INNER",
    (True, False): "RIGHT OUTER",
    (False, True): "LEFT OUTER",
    (True, True): "FULL OUTER",
}


def row_column(clause: int) -> str:
    """The column with the new rows of a clause."""
    return f"_indextables_row_{clause}"


@dataclass(frozen=True, slots=True)
class Named:
    """A relation of the query: the `view` that it is, the `alias` that qualifies its columns, and its own columns.

    `qualifiers` are names in lower case that may stand before a column in SET and INSERT. A source that `is_large` is not
    broadcast: Spark compresses rows that it keeps, and takes them for fewer than they are.
    """

    view: str
    alias: str
    columns: StructType
    qualifiers: frozenset[tuple[str, ...]] = frozenset()
    is_large: bool = False

    @property
    def quoted(self) -> str:
        return quote_name([self.alias])

    @property
    def relation(self) -> str:
        return f"{quote_name([self.view])} AS {self.quoted}"

    def column(self, name: str) -> str:
        return f"{self.quoted}.{quote_name([name])}"


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Writes the query of a statement, which has this name in messages; `columns` are those of the table after it."""

    statement: str
    target: Named
    columns: StructType
    case_sensitive: bool
    source: Named | None = None
    keeps_missing: bool = field(default=False)  # whether a star may leave out columns that the source has not

    def delete(self, delete: DeleteFrom) -> str:
        output = f"{self.address()}, 0 AS {CLAUSE}"
        return f"{delete.with_clause}SELECT {output} FROM {self.target.relation} WHERE ({delete.where})"  # noqa: S608 - SQL of the user

    def update(self, update: UpdateTable) -> str:
        changed = self.row(UpdateSet(update.assignments))
        where = "" if update.where is None else f" WHERE ({update.where})"
        output = f"{self.address()}, 0 AS {CLAUSE}, {changed} AS {row_column(0)}"
        return f"{update.with_clause}SELECT {output} FROM {self.target.relation}{where}"  # noqa: S608 - SQL of the user

    def merge(self, merge: MergeInto, source: Named) -> str:
        kinds = {clause.when for clause in merge.clauses}
        join = _JOINS[When.NOT_MATCHED in kinds, When.NOT_MATCHED_BY_SOURCE in kinds]
        clause = self.clause_number(merge.clauses, source)
        rows = [
            f"CASE WHEN {CLAUSE} = {number} THEN {self.row(one.action, one.when)} END AS {row_column(number)}"
            for number, one in enumerate(merge.clauses)
            if not isinstance(one.action, DeleteRow)
        ]
        joined = f"{self.target.relation} {join} JOIN {source.relation} ON ({merge.on})"
        hint = f"/*+ SHUFFLE_MERGE({source.quoted}) */ " if source.is_large else ""
        output = hint + ", ".join([self.address(), f"{clause} AS {CLAUSE}", *rows])
        return f"{merge.with_clause}SELECT {output} FROM {joined} WHERE {clause} IS NOT NULL"  # noqa: S608 - the same

    def address(self) -> str:
        path, row = (self.target.column(name) for name in ADDRESS)
        return f"{path} AS {PATH}, {row} AS {ROW}"

    def clause_number(self, clauses: Sequence[MergeClause], source: Named) -> str:
        """The number of the first clause whose condition is true; null where there is none."""
        in_target, in_source = f"{self.target.column(ADDRESS[0])} IS NOT NULL", f"{source.column(MARKER)} IS NOT NULL"
        kinds = {
            When.MATCHED: f"{in_target} AND {in_source}",
            When.NOT_MATCHED: in_source,
            When.NOT_MATCHED_BY_SOURCE: in_target,
        }
        branches = [
            f"WHEN {kinds[when]} THEN CASE {' '.join(conditions)} END"
            for when in kinds
            if (conditions := [self.when(number, one) for number, one in enumerate(clauses) if one.when is when])
        ]
        return f"CASE {' '.join(branches)} END"

    def when(self, number: int, clause: MergeClause) -> str:
        condition = "true" if clause.condition is None else self.scoped(clause.condition, clause.when)
        return f"WHEN {condition} THEN {number}"

    def row(self, action: Action, when: When = When.MATCHED) -> str:
        """The new row of an action as a struct."""
        values = self.values(action, when)
        fields = ", ".join(f"'c{place}', {value}" for place, value in enumerate(values))
        return f"named_struct({fields})"

    def values(self, action: Action, when: When) -> list[str]:
        match action:
            case UpdateSet(assignments):
                given = self.assigned(assignments, when)
                return [given.get(column.name) or self.unchanged(column) for column in self.columns]
            case UpdateAll():
                return [self.from_source(column) or self.unchanged(column) for column in self.columns]
            case InsertRow(columns, values):
                given = self.inserted(columns, values)
                return [given.get(column.name) or _null(column) for column in self.columns]
            case InsertAll():
                return [self.from_source(column) or _null(column) for column in self.columns]
            case DeleteRow():
                raise AssertionError("a row that is deleted has no values")

    def assigned(self, assignments: Sequence[Assignment], when: When) -> dict[str, str]:
        given: dict[str, str] = {}
        for one in assignments:
            column = self.own_column(one.column)
            if column.name in given:
                raise self.invalid(f"column {column.name} is set twice")
            given[column.name] = self.value(one.value, column, when)
        return given

    def inserted(self, columns: Sequence[tuple[str, ...]], values: Sequence[str]) -> dict[str, str]:
        named = [self.own_column(parts) for parts in columns] if columns else list(self.columns)
        if len(named) != len(values):
            raise self.invalid(f"there are {len(values)} values for {len(named)} columns")
        if len({column.name for column in named}) < len(named):
            raise self.invalid("INSERT names a column twice")
        pairs = zip(named, values, strict=True)
        return {column.name: self.value(value, column, When.NOT_MATCHED) for column, value in pairs}

    def value(self, text: str, column: StructField, when: When) -> str:
        return _null(column) if text.upper() in _NULL else self.scoped(text, when)

    def scoped(self, text: str, when: When) -> str:
        """An expression; a name that both sides have means the side that the clause is about, if it is about one."""
        if self.source is None or when is When.MATCHED:
            return f"({text})"
        both = {name.lower() for name in self.target.columns.names} & {n.lower() for n in self.source.columns.names}
        side = self.source if when is When.NOT_MATCHED else self.target
        return f"({qualify_columns(text, frozenset(both), side.quoted)})"

    def own_column(self, parts: tuple[str, ...]) -> StructField:
        """The column of the table that SET or INSERT names."""
        *qualifier, name = parts
        if qualifier and tuple(part.lower() for part in qualifier) not in self.target.qualifiers:
            text = ".".join(parts)
            raise UnsupportedStatementError(
                f"{self.statement} cannot set {text}: it sets columns as a whole, by the names that the table has",
                table=self.target.alias,
                statement=self.statement,
            )
        found = self.found(self.columns, name)
        if found is None:
            hint = available_columns_hint(name, self.columns.names)
            raise SchemaError(f"{self.statement}: there is no column {name!r}; {hint}", column=name)
        return found

    def from_source(self, column: StructField) -> str | None:
        """The column of the source that a star means; None where it may be left out."""
        source = self.source
        if source is None:
            raise AssertionError("a star is one of the source")
        found = self.found(source.columns, column.name)
        if found is not None:
            return source.column(found.name)
        if self.keeps_missing:
            return None
        raise SchemaError(
            f"{self.statement}: the source has no column {column.name!r}, which UPDATE SET * and INSERT * need; name the "
            "columns, or use MERGE WITH SCHEMA EVOLUTION",
            column=column.name,
        )

    def unchanged(self, column: StructField) -> str:
        return self.target.column(column.name) if column.name in self.target.columns.names else _null(column)

    def found(self, columns: StructType, name: str) -> StructField | None:
        return find_column(columns, name, case_sensitive=self.case_sensitive)

    def invalid(self, reason: str) -> StatementError:
        return StatementError(
            f"{self.statement} on {self.target.alias} cannot be run: {reason}",
            statement=self.statement,
            reason=reason,
            position=0,
        )


def evolved(merge: MergeInto, target: StructType, source: StructType, *, case_sensitive: bool) -> StructType:
    """The columns of the table after a MERGE with schema evolution: new ones of the source that a clause sets come last."""
    has_star = any(isinstance(clause.action, UpdateAll | InsertAll) for clause in merge.clauses)
    named = {name.lower() for clause in merge.clauses for name in _set_columns(clause.action)}
    new = [one for one in source if find_column(target, one.name, case_sensitive=case_sensitive) is None]
    added = [one for one in new if has_star or one.name.lower() in named]
    return StructType([*target, *(StructField(one.name, one.dataType, nullable=True) for one in added)])


def _set_columns(action: Action) -> list[str]:
    """The columns that an action names."""
    match action:
        case UpdateSet(assignments):
            return [one.column[-1] for one in assignments]
        case InsertRow(columns, _):
            return [parts[-1] for parts in columns]
        case _:
            return []


def find_column(columns: StructType, name: str, *, case_sensitive: bool) -> StructField | None:
    def key(text: str) -> str:
        return text if case_sensitive else text.lower()

    return next((one for one in columns if key(one.name) == key(name)), None)


def _null(column: StructField) -> str:
    return f"CAST(NULL AS {column.dataType.simpleString()})"
