"""Queries run on a few threads. One that nobody waits for any more, or that takes too long, ends at its next split."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic
from typing import Any, TypeVar

from indextables.errors import IndexTablesError

T = TypeVar("T")


class QueryEndedError(IndexTablesError):
    """A query that was ended: nobody waits for it, or it has taken too long."""


class TooManyQueriesError(IndexTablesError):
    """More queries are waiting than the server keeps."""


class Cancellation:
    """Says to a running query whether to go on."""

    def __init__(self, seconds: float) -> None:
        self._cancelled = Event()
        self._seconds = seconds
        self._end = monotonic() + seconds

    def cancel(self) -> None:
        self._cancelled.set()

    def check(self) -> None:
        """Raises a QueryEndedError if the query is to end."""
        if self._cancelled.is_set():
            raise QueryEndedError("the request was cancelled")
        if monotonic() > self._end:
            raise QueryEndedError(
                f"the query took longer than {self._seconds:.0f} seconds; narrow it by time or by a search"
            )


class QueryThreads:
    """Runs functions, a few at a time."""

    def __init__(self, *, threads: int = 4, waiting: int = 64, seconds: float = 60) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="serve")
        self._room = threads + waiting
        self._seconds = seconds
        self._running = 0

    async def run(self, query: Callable[[Cancellation], T], disconnected: Callable[[], Awaitable[object]]) -> T:
        """The result of a query; it is cancelled when its client goes."""
        if self._running >= self._room:
            raise TooManyQueriesError("too many queries are waiting; try again in a moment")
        cancellation = Cancellation(self._seconds)

        def checked() -> T:
            cancellation.check()
            return query(cancellation)

        self._running += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, checked)
        future.add_done_callback(self._ended)
        gone = asyncio.ensure_future(disconnected())
        try:
            waiting: set[asyncio.Future[Any]] = {future, gone}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                cancellation.cancel()
            return await future
        finally:
            cancellation.cancel()
            gone.cancel()

    def _ended(self, future: "asyncio.Future[Any]") -> None:
        self._running -= 1
        if not future.cancelled():
            future.exception()  # seen here, if nobody waits for it

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
