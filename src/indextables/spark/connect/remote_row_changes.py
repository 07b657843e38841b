"""DELETE, UPDATE and MERGE over Spark Connect: run by the client, which evaluates conditions and expressions.

The source of a MERGE is a query of the server, collected.
"""

from collections.abc import Sequence
from typing import Any, assert_never

import pyarrow as pa

from indextables.errors import ExpressionError, PredicateError, StatementError, UnsupportedStatementError
from indextables.maintain.merge_builder import MergeBuilder
from indextables.spark.source.options import condition_settings
from indextables.statements import TableName
from indextables.statements.row_level_statements import (
    Assignment,
    DeleteFrom,
    DeleteRow,
    InsertAll,
    InsertRow,
    MergeClause,
    MergeInto,
    RowLevelStatement,
    UpdateAll,
    UpdateSet,
    UpdateTable,
    When,
    refuse_non_deterministic,
    without_qualifier,
)
from indextables.table import IndexTable

_NAMES = {DeleteFrom: "DELETE", UpdateTable: "UPDATE", MergeInto: "MERGE INTO"}


def statement_name(statement: RowLevelStatement) -> str:
    return _NAMES[type(statement)]


def change_rows(session: Any, table: IndexTable, statement: RowLevelStatement) -> pa.Table:
    """Runs a statement; gives one row with the numbers of rows that changed."""
    try:
        match statement:
            case DeleteFrom():
                counts = _delete(session, table, statement)
            case UpdateTable():
                counts = _update(session, table, statement)
            case MergeInto():
                counts = _merge(session, table, statement)
            case _:
                assert_never(statement)
    except (PredicateError, ExpressionError) as error:
        raise _unsupported(table, statement, str(error)) from error
    return pa.table({name: pa.array([count], pa.int64()) for name, count in counts.items()})


def _delete(session: Any, table: IndexTable, statement: DeleteFrom) -> dict[str, int]:
    _refuse_with_clause(table, statement)
    refuse_non_deterministic(statement.where)
    where = _plain(statement, statement.where or "true")
    return {"num_affected_rows": table.delete(where, **condition_settings(session)).rows}


def _update(session: Any, table: IndexTable, statement: UpdateTable) -> dict[str, int]:
    _refuse_with_clause(table, statement)
    refuse_non_deterministic(statement.where)
    values = {name: _plain(statement, value) for name, value in _assigned(statement.assignments).items()}
    where = None if statement.where is None else _plain(statement, statement.where)
    return {"num_affected_rows": table.update(values, where, **condition_settings(session)).rows}


def _merge(session: Any, table: IndexTable, statement: MergeInto) -> dict[str, int]:
    refuse_non_deterministic(statement.on, *(clause.condition for clause in statement.clauses))
    text = f"{statement.with_clause}SELECT * FROM {statement.source}"  # noqa: S608 - the user's own SQL
    merge = table.merge(
        session.sql(text).toArrow(),
        statement.on,
        target_alias=_alias(statement) or "t",
        source_alias=statement.source_alias or "s",
        merge_schema=statement.schema_evolution,
        **condition_settings(session),
    )
    for clause in statement.clauses:
        merge = _with_clause(merge, clause, table.schema.names)
    done = merge.execute()
    return {
        "num_affected_rows": done.rows_updated + done.rows_deleted + done.rows_inserted,
        "num_updated_rows": done.rows_updated,
        "num_deleted_rows": done.rows_deleted,
        "num_inserted_rows": done.rows_inserted,
    }


def _with_clause(merge: MergeBuilder, clause: MergeClause, columns: Sequence[str]) -> MergeBuilder:
    condition, by_source = clause.condition, clause.when is When.NOT_MATCHED_BY_SOURCE
    match clause.action:
        case DeleteRow():
            delete = merge.when_not_matched_by_source_delete if by_source else merge.when_matched_delete
            return delete(condition)
        case UpdateSet(assignments):
            update = merge.when_not_matched_by_source_update if by_source else merge.when_matched_update
            return update(_assigned(assignments), condition)
        case UpdateAll():
            return merge.when_matched_update_all(condition)
        case InsertRow(names, values):
            targets = [parts[-1] for parts in names] or columns
            pairs = (Assignment((name,), value) for name, value in zip(targets, values, strict=True))
            return merge.when_not_matched_insert(_assigned(tuple(pairs)), condition)
        case InsertAll():
            return merge.when_not_matched_insert_all(condition)
        case _:
            assert_never(clause.action)


def _assigned(assignments: Sequence[Assignment]) -> dict[str, str]:
    """Values by columns; columns have no defaults."""
    given = {one.column[-1]: "NULL" if one.value.upper() == "DEFAULT" else one.value for one in assignments}
    if len(given) < len(assignments):
        names = [one.column[-1] for one in assignments]
        twice = next(name for name in names if names.count(name) > 1)
        reason = f"column {twice} is set twice"
        raise StatementError(f"the statement cannot be run: {reason}", statement="SET", reason=reason, position=0)
    return given


def _alias(statement: RowLevelStatement) -> str | None:
    """How the columns of the table are qualified."""
    return statement.alias or (statement.table.parts[-1] if isinstance(statement.table, TableName) else None)


def _plain(statement: RowLevelStatement, text: str) -> str:
    alias = _alias(statement)
    return text if alias is None else without_qualifier(text, alias)


def _refuse_with_clause(table: IndexTable, statement: RowLevelStatement) -> None:
    if statement.with_clause:
        raise _unsupported(table, statement, "it begins with WITH")


def _unsupported(table: IndexTable, statement: RowLevelStatement, reason: str) -> UnsupportedStatementError:
    name = statement_name(statement)
    return UnsupportedStatementError(
        f"{name} is run by the client over Spark Connect, without Spark, and this one cannot be: {reason}; run it in a "
        "classic session, or use MERGE INTO with a query as its source, which the server runs",
        table=table.path,
        statement=name,
    )
