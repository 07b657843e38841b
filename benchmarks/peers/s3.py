"""Moto's S3 on loopback, which counts requests and the bytes that it sends, whoever asks."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from urllib.request import Request, urlopen

BUCKET = "tables"
_COUNTS = "/_benchmark/counts"


class Counting:
    """A WSGI application around another one."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = Lock()
        self._counts = {"requests": 0, "bytes": 0}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == _COUNTS:
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._counts).encode()]
        body = list(self._application(environ, start_response))
        sent = 0 if environ["REQUEST_METHOD"] == "HEAD" else sum(map(len, body))
        with self._lock:
            self._counts = {"requests": self._counts["requests"] + 1, "bytes": self._counts["bytes"] + sent}
        return body


@contextmanager
def counting_s3() -> Iterator[tuple[dict[str, str], Callable[[], dict[str, int]]]]:
    """The options that reach the server, and a function that gives its counts."""
    command = [sys.executable, "-m", "benchmarks.peers.s3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = f"http://127.0.0.1:{int(server.stdout.readline())}"
            urlopen(Request(f"{address}/{BUCKET}", method="PUT")).close()
            yield _options(address), lambda: json.load(urlopen(address + _COUNTS))
        finally:
            server.terminate()


def _options(address: str) -> dict[str, str]:
    return {
        "s3.endpoint": address,
        "s3.region": "us-east-1",
        "s3.accessKey": "benchmark",
        "s3.secretKey": "benchmark",
    }


def _serve() -> None:
    from moto.moto_server.werkzeug_app import create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    WSGIRequestHandler.protocol_version = "HTTP/1.1"  # connections stay open, as those of S3 do
    server = make_server("127.0.0.1", 0, Counting(create_backend_app("s3")), threaded=True)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve()
