"""A proxy on loopback between a client and a server, which does to requests what networks and servers do to them."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from enum import StrEnum
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.stores.servers import Server


class Fault(StrEnum):
    NONE = "none"
    DROPPED = "the request never arrives"
    LOST = "the request is done, and its answer never arrives"
    TRUNCATED = "the request is done, and half of its answer arrives"
    DELAYED = "the request is done, and its answer comes too late"
    ERROR = "500"
    BUSY = "503"
    UNSUPPORTED = "501"
    UNCONDITIONAL = "the server ignores If-None-Match"


FAULTS = (Fault.DROPPED, Fault.LOST, Fault.TRUNCATED, Fault.DELAYED, Fault.ERROR, Fault.BUSY)
Plan = Callable[[str, str], Fault]
"""What happens to a request: its method, its path."""
_STATUS = {Fault.ERROR: 500, Fault.BUSY: 503, Fault.UNSUPPORTED: 501}
_TOO_LATE = 3.0  # seconds; clients of these tests wait for one


def no_faults(method: str, path: str) -> Fault:  # noqa: ARG001
    return Fault.NONE


def some_faults(seed: int, share: float) -> Plan:
    """Faults of all kinds, one in so many requests; the slow one is rarer."""
    dice, lock = random.Random(seed), threading.Lock()

    def plan(method: str, path: str) -> Fault:  # noqa: ARG001
        with lock:
            return dice.choices(FAULTS, [4, 4, 4, 1, 4, 4])[0] if dice.random() < share else Fault.NONE

    return plan


def always(fault: Fault, method: str, part: str, *, times: int = 1_000_000) -> Plan:
    """One fault for requests of a method to paths with a part in them, the first `times` of them."""
    left = [times]

    def plan(sent: str, path: str) -> Fault:
        if sent != method or part not in path or not left[0]:
            return Fault.NONE
        left[0] -= 1
        return fault

    return plan


class _Listener(ThreadingHTTPServer):
    proxy: "Proxy"
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def proxy(self) -> "Proxy":
        return self.server.proxy  # type: ignore[attr-defined,no-any-return]

    def log_message(self, *_: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        with suppress(ConnectionError, TimeoutError):
            super().handle_one_request()

    def serve(self) -> None:
        body = self._body()
        self.proxy.saw(self.headers)
        self.proxy.requests.append((self.command, self.path))
        fault = self.proxy.plan(self.command, self.path)
        if fault is not Fault.NONE:
            self.proxy.faults.append(fault)
        if fault is Fault.DROPPED or self.proxy.closing.is_set():
            self._hang_up()
        elif fault in _STATUS:
            self._answer(_STATUS[fault], [], b"")
        else:
            self._forward(body, fault)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve  # noqa: N815 - the names that http.server looks for

    def _body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _forward(self, body: bytes, fault: Fault) -> None:
        upstream = HTTPConnection("127.0.0.1", self.proxy.upstream.port)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if not (fault is Fault.UNCONDITIONAL and name.lower() == "if-none-match"):
                upstream.putheader(name, value)
        upstream.endheaders(body or None)
        answer = upstream.getresponse()
        content, headers = answer.read(), answer.getheaders()
        upstream.close()
        match fault:
            case Fault.LOST:
                self._hang_up()
            case Fault.DELAYED:
                self.proxy.closing.wait(_TOO_LATE)
                self._hang_up()
            case Fault.TRUNCATED:
                self._answer(answer.status, headers, content, sent=len(content) // 2)
                self._hang_up()
            case _:
                self._answer(answer.status, headers, content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes, *, sent: int = -1) -> None:
        own = {"transfer-encoding", "connection", "content-length", "date", "server", "keep-alive"}
        length = {name.lower(): value for name, value in headers}.get("content-length")
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in own:
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.proxy.bytes_sent += len(content)
            self.wfile.write(content if sent < 0 else content[:sent])

    def _hang_up(self) -> None:
        self.close_connection = True


class Proxy:
    """`requests` that came, and the `faults` that were done to them. The plan may be changed at any time."""

    def __init__(self, server: Server) -> None:
        self.plan: Plan = no_faults
        self.saw: Callable[[Message], object] = lambda headers: None
        self.requests: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self.bytes_sent = 0
        self.closing = threading.Event()
        self.upstream = server
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.proxy = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def server(self) -> Server:
        """The server as clients see it through the proxy."""
        return self.upstream.at(self._http.server_port)

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextmanager
def proxied(server: Server, plan: Plan = no_faults) -> Iterator[Proxy]:
    proxy = Proxy(server)
    proxy.plan = plan
    try:
        yield proxy
    finally:
        proxy.close()
