"""Binds a port, and answers until Ctrl-C."""

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

import uvicorn

from indextables.errors import IndexTablesError
from indextables.serve.query_threads import QueryThreads
from indextables.serve.request_access import ANY_ADDRESS, Access
from indextables.serve.served_tables import ServedTables
from indextables.serve.web_app import web_app
from indextables.table import IndexTable

USUAL_PORT = 8642
_MAX_REQUEST = 64 * 1024  # bytes of an address and its headers
_MAX_CONNECTIONS = 200


@dataclass(frozen=True, slots=True)
class Bound:
    """A server that is bound to its port and not running yet."""

    access: Access
    server: uvicorn.Server
    socket: socket.socket
    threads: QueryThreads

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        host = socket.gethostname() if self.access.host in ANY_ADDRESS else self.access.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.access.port}/?token={self.access.token}"

    def run(self) -> None:
        """Answers until Ctrl-C, or until `server.should_exit`."""
        try:
            with suppress(KeyboardInterrupt):
                self.server.run(sockets=[self.socket])
        finally:
            self.threads.close()
            self.socket.close()


def bind_server(
    tables: Sequence[IndexTable], *, host: str = "127.0.0.1", port: int | None = None, time: str | None = None
) -> Bound:
    """A server of some tables, bound to a port: a free one for 0; without a port, the usual one or else a free one."""
    served = ServedTables(tables, time=time)
    listening = _listen_on_usual(host) if port is None else _listen(host, port)
    access = Access(secrets.token_urlsafe(32), host, listening.getsockname()[1])
    threads = QueryThreads()
    config = uvicorn.Config(
        web_app(served, access, threads),
        log_config=None,
        access_log=False,
        server_header=False,
        http="h11",
        ws="none",
        lifespan="off",
        h11_max_incomplete_event_size=_MAX_REQUEST,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    return Bound(access, uvicorn.Server(config), listening, threads)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen_on_usual(host: str) -> socket.socket:
    """The usual port, under which a browser has saved searches; a free one where another server has it."""
    try:
        return _listen(host, USUAL_PORT)
    except IndexTablesError:
        return _listen(host, 0)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise IndexTablesError(f"{host}:{port} cannot be bound: {reason}; give another --host or --port") from None


def serve(bound: Bound, *, announce: Callable[[Bound], object], open_browser: Callable[[str], object] | None) -> None:
    """Says where the page is, opens it, and answers. Connections wait from the bind on, so the page may come first."""
    announce(bound)
    if open_browser is not None:
        open_browser(bound.address)
    bound.run()
