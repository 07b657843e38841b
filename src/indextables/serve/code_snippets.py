"""Code that gives the rows of a view: Python, SQL, and a command."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from indextables.predicate import IndexQuery, conjunction, to_sql
from indextables.predicate.sql_text import name_sql

if TYPE_CHECKING:
    from indextables.serve.served_tables import TableVersion
    from indextables.serve.view_state import ViewState


def snippets(shown: TableVersion, state: ViewState, *, version: int | None) -> dict[str, str]:
    condition = state.condition(shown.schema, shown.time)
    where = None if condition is None else to_sql(condition)
    path = shown.table.path
    arguments = [f"query={state.query!r}"] if state.query else []
    arguments += [f"where={where!r}"] if where else []
    arguments += [f"columns={list(state.columns)!r}"] if state.columns else []
    opened = f", version={version}" if version is not None else ""
    python = (
        "from indextables import IndexTable\n\n"
        f"table = IndexTable.open({path!r}{opened})\n"
        f"rows = table.scan({', '.join(arguments)}).to_arrow()\n"
    )
    every = conjunction(*([IndexQuery(None, state.query)] if state.query else []), *([condition] if condition else []))
    columns = ", ".join(map(name_sql, state.columns)) if state.columns else "*"
    filtered = f"\nWHERE {to_sql(every)}" if where or state.query else ""
    sql = "\n".join([f"SELECT {columns}", f"FROM indextables.`{path}`{filtered}"])
    command = ["indextables", "search", path, state.query or "*:*", "--limit", str(state.size)]
    command += ["--where", where] if where else []
    return {"python": python, "sql": sql, "cli": shlex.join(command)}
