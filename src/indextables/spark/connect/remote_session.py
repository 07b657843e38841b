"""indextables in a session of Spark Connect: the data source on the server, the planning stub, the hooks of the client."""

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException

from indextables.error_notes import error_in
from indextables.spark.connect.remote_queries import PlanningStub, RemoteQueries
from indextables.spark.source.data_source import IndexTablesDataSource

_queries: "WeakKeyDictionary[Any, RemoteQueries]" = WeakKeyDictionary()


def register(session: Any) -> RemoteQueries:
    """Makes the server know the data source, and plans what the session sends from now on; once for each session."""
    known = _queries.get(session)
    if known is not None:
        return known
    try:
        session.dataSource.register(IndexTablesDataSource)
    except PySparkException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":  # the server has found it by itself
            raise
    queries = _queries[session] = RemoteQueries(session)
    session.client._stub = PlanningStub(session.client._stub, queries)
    session.client._handle_error = partial(_raise_ours, session.client._handle_error)
    return queries


def _raise_ours(handle: Callable[..., NoReturn], *args: Any) -> NoReturn:
    """Raises an error of the server; one of ours as itself."""
    try:
        handle(*args)
    except PySparkException as error:
        if (ours := error_in(str(error))) is not None:
            raise ours from error
        raise


def unregister(session: Any) -> None:
    """Sends plans as they are again; the server keeps the data source."""
    if _queries.pop(session, None) is not None and isinstance(session.client._stub, PlanningStub):
        session.client._stub = session.client._stub.stub
        session.client.__dict__.pop("_handle_error", None)


def queries_of(session: Any) -> RemoteQueries | None:
    """None in a session that is not enabled."""
    return _queries.get(session)


def any_enabled() -> bool:
    return bool(_queries)
