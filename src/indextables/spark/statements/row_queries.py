"""The query of a statement that changes rows: SQL text for Spark, whose rows say what happens to which row of the table.

| column | contents |
|---|---|
| `_indextables_path`, `_indextables_row` | where the row of the table is that goes; null for a new row |
| `_indextables_clause` | the number of the clause that applies |
| `_indextables_row_0`, ... | the new row by the clause of this number, as a struct in the order of the table's columns |
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType

from indextables.errors import SchemaError
from indextables.read.scan_spec import ADDRESS
from indextables.schema import available_columns_hint
from indextables.spark.source.quoting import quote_name
from indextables.statements.row_changes import Action, Clause, Merge, RowChange, When, assigned_by_name
from indextables.statements.tokens import qualify_columns

PATH, ROW, CLAUSE = "_indextables_path", "_indextables_row", "_indextables_clause"
MARKER = "_indextables_is_source"  # true in every row of the source, so that it is null where an outer join has none
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

    A source that `is_large` is not broadcast: Spark compresses rows that it keeps, and takes them for fewer than they are.
    """

    view: str
    alias: str
    columns: StructType
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
    """Writes the query of a change; `columns` are those of the table after it.

    With `keeps_missing`, a star may leave out columns that the source has not.
    """

    change: RowChange
    target: Named
    columns: StructType
    case_sensitive: bool
    source: Named | None = None
    keeps_missing: bool = False

    @property
    def text(self) -> str:
        rows = [
            f"{self.row(number, clause)} AS {row_column(number)}"
            for number, clause in enumerate(self.change.clauses)
            if clause.action is not Action.DELETE
        ]
        path, row = (self.target.column(name) for name in ADDRESS)
        relation, number, where = self.rows_found()
        hint = "" if self.source is None or not self.source.is_large else f"/*+ SHUFFLE_MERGE({self.source.quoted}) */ "
        output = ", ".join([f"{path} AS {PATH}", f"{row} AS {ROW}", f"{number} AS {CLAUSE}", *rows])
        return f"SELECT {hint}{output} FROM {relation} WHERE {where}"  # noqa: S608 - SQL of the user

    def rows_found(self) -> tuple[str, str, str]:
        """The relation of the query, the number of the clause that applies to one of its rows, and the condition."""
        if not isinstance(self.change, Merge):
            return self.target.relation, "0", f"({self.change.where or 'true'})"
        if self.source is None:
            raise AssertionError("a merge has a source")
        kinds = {clause.when for clause in self.change.clauses}
        join = _JOINS[When.NOT_MATCHED in kinds, When.NOT_MATCHED_BY_SOURCE in kinds]
        number = self.clause_number(self.source)
        joined = f"{self.target.relation} {join} JOIN {self.source.relation} ON ({self.change.on})"
        return joined, number, f"{number} IS NOT NULL"

    def clause_number(self, source: Named) -> str:
        """The number of the first clause whose condition is true; null where there is none."""
        in_target, in_source = f"{self.target.column(ADDRESS[0])} IS NOT NULL", f"{source.column(MARKER)} IS NOT NULL"
        kinds = {
            When.MATCHED: f"{in_target} AND {in_source}",
            When.NOT_MATCHED: in_source,
            When.NOT_MATCHED_BY_SOURCE: in_target,
        }
        clauses = list(enumerate(self.change.clauses))
        branches = [
            f"WHEN {kinds[when]} THEN CASE {' '.join(conditions)} END"
            for when in kinds
            if (conditions := [self.branch(number, one) for number, one in clauses if one.when is when])
        ]
        return f"CASE {' '.join(branches)} END"

    def branch(self, number: int, clause: Clause) -> str:
        condition = "true" if clause.predicate is None else self.scoped(clause.predicate, clause.when)
        return f"WHEN {condition} THEN {number}"

    def row(self, number: int, clause: Clause) -> str:
        """The new row of a clause as a struct."""
        given = self.from_source() if clause.assignments is None else self.assigned(clause)
        missing = self.unchanged if clause.action is Action.UPDATE else _null
        values = [given.get(column.name) or missing(column) for column in self.columns]
        fields = ", ".join(f"'c{place}', {value}" for place, value in enumerate(values))
        struct = f"named_struct({fields})"
        return f"CASE WHEN {CLAUSE} = {number} THEN {struct} END" if isinstance(self.change, Merge) else struct

    def assigned(self, clause: Clause) -> dict[str, str]:
        """The values of SET or INSERT, by columns of the table."""
        given = {}
        for name, value in assigned_by_name(clause.assignments or (), self.columns.names):
            column = find_column(self.columns, name, case_sensitive=self.case_sensitive)
            if column is None:
                hint = available_columns_hint(name, self.columns.names)
                raise SchemaError(f"{self.change.name}: there is no column {name!r}; {hint}", column=name)
            given[column.name] = _null(column) if value.upper() == "NULL" else self.scoped(value, clause.when)
        return given

    def from_source(self) -> dict[str, str]:
        """The columns of the source that a star means, by columns of the table."""
        if self.source is None:
            raise AssertionError("a star is one of the source")
        given = {}
        for column in self.columns:
            found = find_column(self.source.columns, column.name, case_sensitive=self.case_sensitive)
            if found is not None:
                given[column.name] = self.source.column(found.name)
            elif not self.keeps_missing:
                raise SchemaError(
                    f"{self.change.name}: the source has no column {column.name!r}, which UPDATE SET * and INSERT * need; "
                    "name the columns, or use MERGE WITH SCHEMA EVOLUTION",
                    column=column.name,
                )
        return given

    def scoped(self, text: str, when: When) -> str:
        """An expression; a name that both sides have means the side that the clause is about, if it is about one."""
        if self.source is None or when is When.MATCHED:
            return f"({text})"
        both = {name.lower() for name in self.target.columns.names} & {n.lower() for n in self.source.columns.names}
        side = self.source if when is When.NOT_MATCHED else self.target
        return f"({qualify_columns(text, frozenset(both), side.quoted)})"

    def unchanged(self, column: StructField) -> str:
        return self.target.column(column.name) if column.name in self.target.columns.names else _null(column)


def evolved(clauses: Sequence[Clause], target: StructType, source: StructType, *, case_sensitive: bool) -> StructType:
    """The columns of the table after a MERGE with schema evolution: new ones of the source that a clause sets come last."""
    new = [one for one in source if find_column(target, one.name, case_sensitive=case_sensitive) is None]
    added = [one for one in new if any(clause.assigns(one.name) for clause in clauses)]
    return StructType([*target, *(StructField(one.name, one.dataType, nullable=True) for one in added)])


def find_column(columns: StructType, name: str, *, case_sensitive: bool) -> StructField | None:
    return next(
        (one for one in columns if one.name == name or (not case_sensitive and one.name.lower() == name.lower())), None
    )


def _null(column: StructField) -> str:
    return f"CAST(NULL AS {column.dataType.simpleString()})"
