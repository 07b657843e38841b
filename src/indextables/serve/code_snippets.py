"""Code that gives the rows of a view: Python, SQL of Spark, and a command."""

import shlex

from indextables.predicate import IndexQuery, Predicate, conjunction, to_sql
from indextables.predicate.sql_text import name_sql
from indextables.read.sort_order import SortTerm
from indextables.serve.served_tables import TableVersion
from indextables.serve.view_rows import order_of
from indextables.serve.view_state import Sort, ViewState


def snippets(shown: TableVersion, state: ViewState, *, version: int | None) -> dict[str, str]:
    """Code for the rows from the first one to the last one that a view shows, of a version or of the newest one."""
    condition = state.condition(shown.schema, shown.time)
    where = None if condition is None else to_sql(condition)
    path, order = shown.table.path, _order(shown, state)
    return {
        "python": _python(state, path, where, order, version),
        "sql": _sql(state, path, condition, order, version),
        "cli": _command(state, path, where, order, version),
    }


def _is_ranked(state: ViewState) -> bool:
    return state.sort is Sort.SCORE and state.query is not None


def _order(shown: TableVersion, state: ViewState) -> str | None:
    """The order of the rows, as in SQL; None where they are ranked, or have no order."""
    terms = () if _is_ranked(state) else order_of(state.sort, shown.schema, shown.time)
    return ", ".join(map(_order_term, terms)) or None


def _order_term(term: SortTerm) -> str:
    is_default = term.nulls_first is not term.descending
    nulls = "" if is_default else f" nulls {'first' if term.nulls_first else 'last'}"
    return f"{name_sql(term.column)}{' desc' if term.descending else ''}{nulls}"


def _python(state: ViewState, path: str, where: str | None, order: str | None, version: int | None) -> str:
    given = {
        "query": state.query,
        "where": where,
        "columns": None if state.columns is None else list(state.columns),
        "order_by": order,
        "limit": state.offset + state.size,
    }
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    pinned = "" if version is None else f", version={version}"
    rows = f"table.search({arguments})" if _is_ranked(state) else f"table.scan({arguments}).to_arrow()"
    return f"from indextables import IndexTable\n\ntable = IndexTable.open({path!r}{pinned})\nrows = {rows}\n"


def _sql(state: ViewState, path: str, condition: Predicate | None, order: str | None, version: int | None) -> str:
    columns = "*" if state.columns is None else ", ".join(map(name_sql, state.columns))
    searches = [] if state.query is None else [IndexQuery(None, state.query)]
    terms = [*searches, *([] if condition is None else [condition])]
    order = "score() DESC" if _is_ranked(state) else order
    quoted = path.replace("`", "``")
    lines = [
        f"SELECT {columns}",
        f"FROM indextables.`{quoted}`" + ("" if version is None else f" VERSION AS OF {version}"),
        *([f"WHERE {to_sql(conjunction(*terms))}"] if terms else []),
        *([] if order is None else [f"ORDER BY {order}"]),
        f"LIMIT {state.offset + state.size}",
    ]
    return "\n".join(lines)


def _command(state: ViewState, path: str, where: str | None, order: str | None, version: int | None) -> str:
    options = {
        "--where": where,
        "--columns": None if state.columns is None else ",".join(state.columns),
        "--sort": order,
        "--limit": str(state.offset + state.size),
        "--version": None if version is None else str(version),
    }
    given = [word for name, value in options.items() if value is not None for word in (name, value)]
    query = "*:*" if state.query is None else state.query
    return shlex.join(["indextables", "search", *given, *(["--"] if query.startswith("-") else []), path, query])
