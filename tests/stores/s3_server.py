"""Moto's S3, in a process of its own: `python -m tests.stores.s3_server` prints its address and serves.

Moto looks whether a file is there and then stores it, in as many threads as there are requests; S3 does so at once. Here
requests that change something take turns.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import make_server


class TakingTurns:
    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            return self._application(environ, start_response)
        with self._lock:
            return self._application(environ, start_response)


def main() -> None:
    application = TakingTurns(create_backend_app("s3"))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(f"serving at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
